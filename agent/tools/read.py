"""The ``read`` tool: a page of a text file with line numbers, a folder, or an image."""

import asyncio
import os
import threading
from dataclasses import replace
from pathlib import Path

from pydantic import AliasChoices, Field

from agent.files import FileContent, FileStamp, load, printable
from agent.records.blocks import Block, CodeBlock, ListingBlock, ToolLabel
from agent.records.errors import ToolError
from agent.records.frozen import frozen
from agent.records.requests import PermissionReply
from agent.records.tool_facts import ToolFacts
from agent.tools.core.tool import BaseTool, Plan, Result, ToolContext, ToolSpec
from agent.tools.core.tool_args import ToolArgs
from agent.tools.files.attachments import MediaFile, attach, load_media
from agent.tools.files.media import media_type, refuse_misnamed
from agent.tools.files.notebook import is_notebook, render
from agent.tools.files.pages import (
    MAX_BYTES,
    MAX_LINES,
    CutLine,
    Page,
    Wanted,
    page_of,
    read_head,
    read_page,
)
from agent.tools.files.paths import (
    ToolPath,
    missing_file_error,
    os_error_message,
    read_needs,
    refuse_system,
    resolve_path,
    within,
)
from agent.tools.files.text_file import (
    MAX_EDITOR_TEXT,
    LoadedText,
    editor_of,
    language_of,
    normalize_text,
    unsaved_text,
)

SHOWN_LINES, SHOWN_COLUMNS = 200, 2_000
"""Lines in the transcript's block, and characters of each."""

MAX_NOTEBOOK = 64 * 1024 * 1024
"""Bytes of the largest notebook that is shown as cells; a larger one is read as JSON."""


class ReadArgs(ToolArgs):
    """Arguments of ``read``."""

    file_path: str = Field(
        validation_alias=AliasChoices("file_path", "filePath", "path"),
        description="The file or folder to read",
    )
    offset: int | None = Field(default=None, ge=0, description="The first line to read (default 1)")
    limit: int | None = Field(
        default=None, ge=1, description=f"How many lines to read (default {MAX_LINES})"
    )
    column: int | None = Field(
        default=None, ge=1, description="The first character of that line (default 1)"
    )
    raw: bool = Field(
        default=False, description="For a notebook: return its JSON, as edits need it"
    )


@frozen
class ReadPlan:
    target: ToolPath
    wanted: Wanted
    raw: bool


@frozen
class _NotedPage:
    """A page that differs from the file on disk: a notebook's cells, or an editor's text."""

    page: Page
    note: str


class ReadTool(BaseTool):
    """Reads text files and folders. Free to read are *spill*, the folder of kept outputs,
    and the folders of the user's own *skills*, but for secrets in them."""

    spec = ToolSpec(
        name="read",
        verb="Read",
        aliases=("read_file", "view", "cat", "open_file"),
        paginates=True,
        variables={
            "max_lines": f"{MAX_LINES:,}",
            "max_kib": str(MAX_BYTES // 1024),
        },
        concurrent=True,
    )
    facts = ToolFacts(action="allow", kind="read", claude_name="Read", in_claude_settings=True)
    args = ReadArgs

    def __init__(self, spill: str | None = None, skills: tuple[str, ...] = ()) -> None:
        self._spill = None if spill is None else os.path.realpath(spill)
        self._skills = tuple(os.path.realpath(folder) for folder in skills)

    async def prepare(self, args: ReadArgs, ctx: ToolContext) -> Plan[ReadPlan]:
        target = resolve_path(args.file_path, ctx)
        refuse_system(target)
        free = self._spill is not None and within(target.real, self._spill)
        if any(within(target.real, folder) for folder in self._skills):
            free = free or not target.is_secret
        payload = ReadPlan(
            target,
            Wanted(
                offset=max(1, args.offset or 1),
                limit=min(args.limit or MAX_LINES, MAX_LINES),
                column=args.column or 1,
            ),
            args.raw,
        )
        return Plan(
            label=ToolLabel("Read", target.shown),
            payload=payload,
            needs=() if free else read_needs(target),
            heading="Read this file?",
        )

    async def execute(
        self, plan: Plan[ReadPlan], reply: PermissionReply | None, ctx: ToolContext
    ) -> Result:
        target = plan.payload.target
        stop = threading.Event()
        try:
            found = await asyncio.to_thread(_read, plan.payload, ctx, stop)
        except FileNotFoundError:
            raise await asyncio.to_thread(
                missing_file_error, target, ctx.project, granted=True
            ) from None
        except OSError as error:
            raise os_error_message(error, target.shown, "read") from None
        finally:
            stop.set()  # a canceled call must not keep reading a huge file
        match found:
            case Result():
                return found
            case MediaFile():
                return await asyncio.to_thread(attach, target.shown, found, ctx)
            case _NotedPage(page, note):
                _record(target, page, ctx)
                return replace(_result(target, page, note), touched=(target.real,))
            case Page():
                _record(target, found, ctx)
                return replace(_result(target, found), touched=(target.real,))


NOTEBOOK_NOTE = (
    "These are the notebook's cells; the file itself is JSON. Before you edit it, read it with "
    "raw set to true."
)

UNSAVED_NOTE = (
    "The user has changes in their editor that are not saved: this is the editor's text. Searches "
    "and commands see what is on disk."
)


def _read(
    plan: ReadPlan, ctx: ToolContext, stop: threading.Event
) -> Page | _NotedPage | MediaFile | Result:
    target = plan.target
    if Path(target.real).is_dir():
        return _list_folder(target, plan.wanted.offset, plan.wanted.limit)
    sample, size = read_head(target.real)
    found = media_type(sample)
    if found is not None:
        return load_media(target, found, size, ctx)
    refuse_misnamed(target.shown, sample, size)
    held = _unsaved(target, size, ctx)
    if is_notebook(target.real) and not plan.raw and size <= MAX_NOTEBOOK:
        whole = load(target.real, MAX_NOTEBOOK) if held is None else _snapshot_of(held)
        text = render(whole.data)
        if text is not None:
            page = page_of(text, target.shown, plan.wanted, whole.stamp)
            return _NotedPage(
                page, NOTEBOOK_NOTE if held is None else f"{NOTEBOOK_NOTE} {UNSAVED_NOTE}"
            )
    if held is not None:
        text = normalize_text(held.file.text)
        return _NotedPage(page_of(text, target.shown, plan.wanted, held.stamp), UNSAVED_NOTE)
    return read_page(target.real, target.shown, plan.wanted, stop)


def _unsaved(target: ToolPath, size: int, ctx: ToolContext) -> LoadedText | None:
    """Return the unsaved text of the file in the user's editor, None without one."""
    if editor_of(target, ctx) is None or size > MAX_EDITOR_TEXT:
        return None
    return unsaved_text(target, load(target.real, MAX_EDITOR_TEXT), ctx)


def _snapshot_of(held: LoadedText) -> FileContent:
    """Return the file as it will be once the user saves it."""
    return FileContent(held.file.encode(held.file.text), held.stamp)


def _record(target: ToolPath, page: Page, ctx: ToolContext) -> None:
    ctx.files.record(ctx.session_id, target.real, FileStamp(page.size, page.mtime_ns, page.digest))


def _result(target: ToolPath, page: Page, note: str = "") -> Result:
    if page.size == 0 or page.total == 0:
        return Result(f"{target.shown} is empty (0 lines).", facts=("empty",))
    numbered = [f"{page.first + n}: {line}" for n, line in enumerate(page.lines)]
    shown = [line[:SHOWN_COLUMNS] for line in page.lines[:SHOWN_LINES]]
    block: Block = CodeBlock(target.shown, "\n".join(shown), page.first, language_of(target.real))
    count = len(page.lines)
    return Result(
        "\n".join((*numbered, "", _footer(page, note))),
        blocks=(block,),
        facts=(f"{count:,} {'line' if count == 1 else 'lines'}",),
    )


def _footer(page: Page, note: str) -> str:
    last = page.first + len(page.lines) - 1
    notes = [note] if note else []
    if page.column > 1:
        notes.append(f"Line {page.first:,} is shown from its character {page.column:,} on.")
    if page.encoding:
        notes.append(f"The file is stored as {page.encoding}.")
    total = f" of {page.total:,}" if page.total is not None else ""
    if page.cut is not None:
        notes.append(_cut_note(page.cut, page.total))
    elif page.more:
        notes.append(f"Lines {page.first:,}–{last:,}{total}. Continue with offset={last + 1}.")
    else:
        notes.append(f"End of file, {last:,} {'line' if last == 1 else 'lines'}.")
    return f"({' '.join(notes)})"


def _cut_note(cut: CutLine, total: int | None) -> str:
    length = f" of {cut.length:,}" if cut.length is not None else ""
    lines = f" of {total:,}" if total is not None else ""
    after = f", or with offset={cut.number + 1}" if total is None or cut.number < total else ""
    return (
        f"Line {cut.number:,}{lines} is cut: its characters {cut.start:,}–{cut.end:,}{length} are "
        f"shown. Continue with offset={cut.number} and column={cut.end + 1}{after}."
    )


def _list_folder(target: ToolPath, offset: int, limit: int) -> Result:
    entries: list[str] = []
    with os.scandir(target.real) as found:
        for entry in found:
            name = printable(entry.name)
            if entry.is_symlink():
                link = printable(str(Path(entry.path).readlink()))
                name += f"{'/' if entry.is_dir() else ''} -> {link}"
            elif entry.is_dir():
                name += "/"
            entries.append(name)
    entries.sort()
    if not entries:
        return Result(f"{target.shown} is an empty folder.", facts=("empty folder",))
    if offset > len(entries):
        raise ToolError(
            f"{target.shown} has {len(entries):,} entries; offset {offset:,} is beyond the end."
        )
    page = entries[offset - 1 : offset - 1 + limit]
    last = offset + len(page) - 1
    note = f"({len(entries):,} entries.)"
    if last < len(entries):
        note = (
            f"(Entries {offset:,}–{last:,} of {len(entries):,}. Continue with offset={last + 1}.)"
        )
    return Result(
        "\n".join((f"{target.shown} is a folder:", *page, "", note)),
        blocks=(ListingBlock(tuple(page[:SHOWN_LINES]), len(entries)),),
        facts=(f"{len(entries):,} {'entry' if len(entries) == 1 else 'entries'}",),
    )
