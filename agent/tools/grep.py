"""The ``grep`` tool: find lines of files by regular expression."""

import asyncio
import os
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import AliasChoices, Field, model_validator

from agent.files import printable
from agent.permission.protected import Identity, is_secret, kept_identities, shared_identity
from agent.permission.read_rules import ReadRules
from agent.records.blocks import ListingBlock, ToolLabel
from agent.records.errors import ToolError
from agent.records.frozen import frozen
from agent.records.requests import EvaluatedNeed, PermissionNeed, PermissionReply
from agent.records.tool_facts import ToolFacts
from agent.tools.core.tool import BaseTool, Plan, Result, ToolContext, ToolSpec
from agent.tools.core.tool_args import ToolArgs
from agent.tools.core.truncate import MAX_BYTES, head_of, shared_width
from agent.tools.files.paths import (
    ToolPath,
    missing_file_error,
    resolve_path,
    search_needs,
    show_path,
)
from agent.tools.search.globs import check_glob, fits_type, type_globs
from agent.tools.search.searcher import (
    MAX_RECORD,
    MAX_RESULTS,
    PARTIAL,
    TIMED_OUT,
    FoundLine,
    NewestMatches,
    Outcome,
    Searcher,
    find_rg,
    mtime_of,
)
from agent.tools.search.tree import IgnoreRules, find_links, is_ignored
from agent.tools.search.worker import SearchRequest

MAX_LIMIT = 1_000
"""The maximum number of results that a call can ask for."""

MAX_CONTEXT = 100
"""The maximum number of lines of context before and after a match."""

SHOWN_COLUMNS = 500
"""Characters of a line in the transcript's block."""

Output = Literal["content", "files_with_matches", "count"]


class GrepArgs(ToolArgs):
    """Arguments of ``grep``."""

    pattern: str = Field(description="The regular expression to search for")
    path: str | None = Field(
        default=None, description="The folder or file to search (default: the working directory)"
    )
    include: str | None = Field(
        default=None,
        validation_alias=AliasChoices("include", "glob"),
        description="A glob that file names must match, for example *.{ts,tsx}",
    )
    type: str | None = Field(
        default=None, description="A type of files: py, js, ts, go, rust, java, md, …"
    )
    output_mode: Output = Field(
        default="content", description="Lines, only the names of files, or matches per file"
    )
    context: int = Field(
        default=0,
        ge=0,
        validation_alias=AliasChoices("context", "-C"),
        description="Lines to show around each match",
    )
    before: int = Field(
        default=0,
        ge=0,
        validation_alias=AliasChoices("before", "-B"),
        description="Lines before it",
    )
    after: int = Field(
        default=0,
        ge=0,
        validation_alias=AliasChoices("after", "-A"),
        description="Lines after it",
    )
    ignore_case: bool = Field(
        default=False,
        validation_alias=AliasChoices("ignore_case", "-i", "case_insensitive"),
        description="Ignore case",
    )
    multiline: bool = Field(
        default=False, description="Matches can span lines; . matches line breaks"
    )
    limit: int = Field(
        default=MAX_RESULTS,
        ge=0,
        validation_alias=AliasChoices("limit", "head_limit", "max_results"),
        description=f"Results to return, at most {MAX_LIMIT}",
    )
    offset: int = Field(default=0, ge=0, description="Results to skip: the next page")

    @model_validator(mode="before")
    @classmethod
    def _without_line_numbers(cls, values: Any) -> Any:
        """Remove Claude Code's switch for line numbers, which are always shown."""
        if not isinstance(values, dict):
            return values
        given = cast("dict[str, Any]", values)
        return {key: value for key, value in given.items() if key != "-n"}

    @property
    def page_size(self) -> int:
        """Return the number of results to return."""
        return min(self.limit or MAX_LIMIT, MAX_LIMIT)


@frozen
class GrepPlan:
    root: ToolPath
    request: SearchRequest
    output: Output = "content"
    limit: int = MAX_RESULTS
    offset: int = 0
    rules: ReadRules | None = None
    """The rules for reading, None if they restrict nothing here."""

    asked: bool = False
    """A rule asks for the named file or folder, so the user allowed what is in it."""


class GrepTool(BaseTool):
    """Searches contents with *searcher*, by default ripgrep or the worker process.

    *spill* is the folder of kept outputs, which can be searched without permission.
    """

    spec = ToolSpec(
        name="grep",
        verb="Grep",
        aliases=("search", "ripgrep", "search_files", "grep_search"),
        concurrent=True,
    )
    facts = ToolFacts(action="allow", kind="search", claude_name="Grep", in_claude_settings=True)
    args = GrepArgs

    def __init__(self, searcher: Searcher | None = None, spill: str | None = None) -> None:
        self._searcher = searcher or Searcher(find_rg())
        self._spill = None if spill is None else os.path.realpath(spill)

    async def prepare(self, args: GrepArgs, ctx: ToolContext) -> Plan[GrepPlan]:
        if not args.pattern:
            raise ToolError("The pattern is empty. Give a regular expression to search for.")
        if "\0" in args.pattern:
            raise ToolError("The pattern contains a NUL byte. Give a plain regular expression.")
        if args.include is not None:
            check_glob(args.include, "include")
            if args.include.startswith("!"):
                raise ToolError("include names what to search; a leading ! is not supported.")
        if args.type is not None and not re.fullmatch(r"\.?[\w+-]+", args.type.strip()):
            raise ToolError(
                f"{args.type!r} is not a known file type. Use one such as py, or use include."
            )
        root = resolve_path(args.path or ".", ctx)
        payload = await asyncio.to_thread(_plan, args, root, ctx)
        where = f" in {root.shown}" if args.path else ""
        names = ", ".join(filter(None, (args.include, args.type and f"type {args.type}")))
        which = f" ({names})" if names else ""
        is_folder = payload.request.root == payload.request.folder
        needs = search_needs("grep", args.pattern, root, folder=is_folder, spill=self._spill)
        if needs and ctx.read_rules is not None and (rules := await ctx.read_rules()).restrict:
            read, asked = _named_need(rules, root, folder=is_folder)
            needs = (*needs, *read)
            payload = replace(payload, rules=rules, asked=asked)
        return Plan(
            label=ToolLabel("Grep", f'"{args.pattern}"{where}{which}'),
            payload=payload,
            needs=needs,
            heading="Search these files?",
        )

    async def execute(
        self, plan: Plan[GrepPlan], reply: PermissionReply | None, ctx: ToolContext
    ) -> Result:
        hits = _Hits(plan.payload, ctx.project)
        outcome = await self._searcher.run(plan.payload.request, hits.take)
        if plan.payload.rules is not None and plan.payload.rules.deny:
            # What the pattern finds in denied files must not show in their number.
            listing = replace(plan.payload.request, pattern=None, multiline=False)
            await self._searcher.run(listing, hits.take_denied)
        links = [] if hits.found_any else await asyncio.to_thread(_linked_folders, plan.payload)
        return hits.result(outcome, links, ctx)


class _Hits:
    """Collects matches, without those in secret, ignored and restricted files, and builds the
    result."""

    def __init__(self, plan: GrepPlan, project: str) -> None:
        self._plan = plan
        self._project = os.path.realpath(project)
        self._kept: dict[Identity, str] | None = None
        self._other_names: dict[str, str | None] = {}
        self._named_secret = plan.root.is_secret
        self._found = NewestMatches(plan.offset + plan.limit)
        self._counts: Counter[str] = Counter()
        self._secrets: set[str] = set()
        self._asked: set[str] = set()
        self._denied: dict[str, str] = {}
        """Denied files that are in the search, with the reasons."""

        # An include glob overrides ignore rules in ripgrep; here they still apply.
        filtered = plan.request.include is not None and not plan.request.ignored
        self._ignore = IgnoreRules(plan.request.folder) if filtered else None
        self._verdicts: dict[str, bool] = {}
        self._restrictions: dict[str, EvaluatedNeed | None] = {}

    def take_denied(self, records: list[bytes]) -> None:
        """Take a part of the list of all files that were searched."""
        for record in records:
            path = os.fsdecode(record)
            found = self._restriction(path) if self._is_wanted_type(path) else None
            if found is not None and found.action == "deny" and not self._is_ignored(path):
                self._denied[path] = found.reason

    def take(self, records: list[bytes]) -> None:
        for record in records:
            self._take(record)

    def _take(self, record: bytes) -> None:
        name, zero, rest = record.partition(b"\0")
        parts = _RECORD.match(rest) if zero else None
        if parts is None:
            return  # a message of the program, not a match
        path = os.fsdecode(name)
        if not self._is_wanted_type(path):
            return
        if not self._named_secret and self._is_secret(path):
            self._secrets.add(path)
            return
        if self._is_ignored(path) or self._is_kept(path):
            return
        if self._plan.output == "content":
            columns = not self._plan.request.spans_lines
            line = _found_line(parts, columns=columns, cut=len(record) >= MAX_RECORD)
            self._found.offer(path, line)
        elif parts["mark"] == b":":
            self._counts[path] += 1

    def _is_wanted_type(self, path: str) -> bool:
        # For ripgrep an include glob counts before the type.
        types = self._plan.request.types if self._plan.request.include else ()
        return not types or fits_type(path, types)

    def _is_ignored(self, path: str) -> bool:
        if self._ignore is None:
            return False
        ignored = self._verdicts.get(path)
        if ignored is None:
            ignored = self._verdicts[path] = self._ignore.ignores(path)
        return ignored

    def _is_kept(self, path: str) -> bool:
        """Return whether a rule for reading keeps the matches in *path* from the model."""
        if path not in self._restrictions:
            self._restrictions[path] = self._restriction(path)
        found = self._restrictions[path]
        if found is None or (found.action == "ask" and self._plan.asked):
            return False
        if found.action == "ask":
            self._asked.add(path)
        return True

    def _restriction(self, path: str) -> EvaluatedNeed | None:
        if self._plan.rules is None:
            return None
        found = self._plan.rules.restriction(self._real(path), path)
        other = self._other_name(path) if found is None else None
        return found if other is None else self._plan.rules.restriction(other)

    def _real(self, path: str) -> str:
        root = self._plan.root
        return root.real + path[len(root.path) :]  # below the root, links are not followed

    def _is_secret(self, path: str) -> bool:
        other = self._other_name(path)
        return is_secret(path) or (other is not None and self._has_secret_name(other))

    def _has_secret_name(self, path: str) -> bool:
        return is_secret(path[len(self._project) :])

    def _other_name(self, path: str) -> str | None:
        """Return the name of the file *path* in the project by which it is kept from searches."""
        if path not in self._other_names:
            identity = shared_identity(self._real(path))
            if identity is not None and self._kept is None:
                self._kept = kept_identities(self._project, self._is_kept_name)
            found = None if identity is None or self._kept is None else self._kept.get(identity)
            self._other_names[path] = found
        return self._other_names[path]

    def _is_kept_name(self, path: str) -> bool:
        rules = self._plan.rules
        return self._has_secret_name(path) or (
            rules is not None and rules.restriction(path) is not None
        )

    @property
    def found_any(self) -> bool:
        return self._found.total > 0 or bool(self._counts)

    def result(self, outcome: Outcome, links: list[str], ctx: ToolContext) -> Result:
        """Return the result. *links* are linked folders that were not searched."""
        notes = self._notes(outcome)
        if links:
            names = ", ".join(show_path(link, ctx) for link in links[:3])
            notes.append(f"Links to folders were not followed ({names}); name one as path.")
        page = self._lines(ctx) if self._plan.output == "content" else self._files(ctx)
        lines = list(page.lines)
        if not page.items:
            none = f"No results from {self._plan.offset:,} on." if page.total else "No lines match."
            lines = [none, ""]
        notes = [*page.notes, *notes]
        if notes:
            lines += [""] * (lines[-1] != "")
            lines.append(f"({' '.join(notes)})")
        return Result(
            "\n".join(lines).rstrip("\n"),
            blocks=(ListingBlock(page.items, page.total),),
            facts=(f"{page.total:,} {page.unit}",),
        )

    def _lines(self, ctx: ToolContext) -> "_Page":
        """Return the page of lines, by file."""
        request, found, offset = self._plan.request, self._found, self._plan.offset
        groups = found.page(offset, request.before, request.after)
        names = {path: show_path(path, ctx) for path, _ in groups}
        width = _line_width(groups, names.values())
        lines: list[str] = []
        items: list[str] = []
        for path, matches in groups:
            lines.append(names[path])
            last = matches[0].number
            for line in matches:
                if line.number > last + 1 and (request.before or request.after):
                    lines.append("  --")
                last = line.number
                mark = "-" if line.column is None else ":"
                lines.append(f"  {line.number}{mark} {_shown_text(line, width)}")
                if line.column is not None:
                    items.append(f"{names[path]}:{line.number}: {line.text[:SHOWN_COLUMNS]}")
            lines.append("")
        unit = "match" if found.total == 1 else "matches"
        notes: list[str] = []
        if found.total > offset + len(items):
            which = f"the {len(items)} in the newest files"
            if offset:
                which = f"{offset + 1:,} to {offset + len(items):,}, newest files first"
            notes.append(
                f"At least {found.total:,} lines match in {found.files:,} "
                f"{'file' if found.files == 1 else 'files'}; these are {which}. Narrow the "
                f"pattern, path or include, or continue with offset={offset + len(items)}."
            )
        if any(_is_cut(line, width) for _, matches in groups for line in matches):
            notes.append("Long lines are cut; read shows the rest of one with offset and column.")
        return _Page(lines, tuple(items), found.total, unit, notes)

    def _files(self, ctx: ToolContext) -> "_Page":
        """Return the page of files, with the number of their matches if that is wanted."""
        counts, offset = self._counts, self._plan.offset
        ordered = sorted(counts, key=lambda path: (-mtime_of(path), path))
        page = ordered[offset : offset + self._plan.limit]
        counted = self._plan.output == "count"
        items = tuple(
            f"{show_path(path, ctx)}{f': {counts[path]:,}' if counted else ''}" for path in page
        )
        total = len(ordered)
        notes: list[str] = []
        if counted and total:
            lines, files = counts.total(), "file" if total == 1 else "files"
            notes.append(f"{lines:,} {'line' if lines == 1 else 'lines'} in {total:,} {files}.")
        if total > offset + len(page):
            notes.append(
                f"{total:,} files match; these are {offset + 1:,} to {offset + len(page):,}, "
                f"newest first. Continue with offset={offset + len(page)}."
            )
        return _Page(list(items), items, total, "file" if total == 1 else "files", notes)

    def _notes(self, outcome: Outcome) -> list[str]:
        notes: list[str] = []
        if self._denied:
            count = len(self._denied)
            reasons = list(dict.fromkeys(self._denied.values()))
            notes.append(
                f"{count:,} {'file was' if count == 1 else 'files were'} not searched: "
                f"{', '.join(reasons[:3])}."
            )
        if self._asked:
            count = len(self._asked)
            notes.append(
                f"{count:,} {'file' if count == 1 else 'files'} that a read rule asks for "
                f"{'matches' if count == 1 else 'match'} too; name one as path to ask for it."
            )
        if self._secrets:
            count = len(self._secrets)
            notes.append(
                f"{count} {'file' if count == 1 else 'files'} that may contain secrets "
                f"{'matches' if count == 1 else 'match'} too; name one as path to ask for it."
            )
        if outcome.timed_out:
            notes.append(TIMED_OUT)
        if outcome.partial:
            notes.append(PARTIAL)
        return notes


@frozen
class _Page:
    """A page of results: the *lines* for the model, the *items* for the transcript."""

    lines: list[str]
    items: tuple[str, ...]
    total: int
    unit: str
    notes: list[str]


_RECORD = re.compile(rb"(?P<number>\d+)(?P<mark>[:-])(?P<rest>.*)", re.DOTALL)
_COLUMN = re.compile(rb"(\d{1,9}):(.*)", re.DOTALL)


def _found_line(parts: re.Match[bytes], *, columns: bool, cut: bool) -> FoundLine:
    raw, column = parts["rest"], None
    if parts["mark"] == b":":
        column = 1
        given = _COLUMN.match(raw) if columns else None
        # ripgrep leaves the column out for a match after the end of the last line.
        if given is not None and int(given[1]) <= len(given[2]) + 1:
            raw = given[2]
            column = len(raw[: int(given[1]) - 1].decode("utf-8", "replace")) + 1
    text = raw.decode("utf-8", "replace").removesuffix("\r")
    return FoundLine(int(parts["number"]), text, column, cut)


def _line_width(groups: list[tuple[str, list[FoundLine]]], names: Iterable[str]) -> int | None:
    """Return the bytes that a line can have so that all fit in an output, None if they do."""
    sizes = [len(name) + 2 for name in names]
    sizes += [
        len(line.text.encode("utf-8", "replace")) + NUMBER_BYTES
        for _, lines in groups
        for line in lines
    ]
    width = shared_width(sizes, MAX_BYTES - NOTE_BYTES)
    return None if width is None else max(width - NUMBER_BYTES - MARK_BYTES, SHOWN_COLUMNS)


NUMBER_BYTES, MARK_BYTES, NOTE_BYTES = 14, 60, 2_048
"""Bytes for the number of a line, the mark of a cut one, and the notes of a result."""


def _is_cut(line: FoundLine, width: int | None) -> bool:
    size = len(line.text.encode("utf-8", "replace"))
    return line.cut or (width is not None and size > width + MARK_BYTES)


def _shown_text(line: FoundLine, width: int | None) -> str:
    """Return the text of *line*; of a line that is too long, the part with the match."""
    text = line.text
    if not _is_cut(line, width):
        return text
    whole = f"over {len(text):,}" if line.cut else f"{len(text):,}"
    if width is None:
        return f"{text}… (of {whole} characters)"
    start = min(max(0, (line.column or 1) - 1 - width // 4), len(text))
    part = head_of(text[start:], width)
    marks = ("…" if start else "", "…" if start + len(part) < len(text) or line.cut else "")
    return f"{marks[0]}{part}{marks[1]} (characters {start + 1:,}–{start + len(part):,} of {whole})"


def _named_need(
    rules: ReadRules, root: ToolPath, *, folder: bool
) -> tuple[tuple[PermissionNeed, ...], bool]:
    """Return the need to read what ``path`` names, if a rule denies it or asks for it, and whether
    one asks. Of a denied folder nothing is searched except what another rule allows."""
    names = [root.real_pattern, *([root.pattern] if root.pattern != root.real_pattern else [])]
    found = (rules.folder_verdict if folder else rules.verdict)(*map(printable, names))
    if found.action == "allow" or root.is_secret or (folder and found.action == "deny"):
        return (), False
    return (replace(found.need, always=found.need.pattern),), found.action == "ask"


def _linked_folders(plan: GrepPlan) -> list[str]:
    order = plan.request
    if order.root != order.folder:
        return []
    links = find_links(order.root, hidden=order.hidden, ignored=order.ignored)
    return [link for link in links if Path(link).is_dir()]


def _plan(args: GrepArgs, root: ToolPath, ctx: ToolContext) -> GrepPlan:
    path = Path(root.path)
    if not path.exists():
        raise missing_file_error(root)
    if not path.is_dir() and not path.is_file():
        raise ToolError(f"{root.shown} is neither a file nor a folder, so it is not searched.")
    folder = root.path if path.is_dir() else str(path.parent)
    order = SearchRequest(
        root=root.path,
        folder=folder,
        hidden=True,
        ignored=args.path is not None and is_ignored(root.path, ctx.project),
        pattern=args.pattern,
        include=args.include,
        types=type_globs(args.type) if args.type else (),
        max_count=None,
        before=_context(args, args.before),
        after=_context(args, args.after),
        ignore_case=args.ignore_case,
        multiline=args.multiline,
        texts=args.output_mode == "content",
    )
    if args.output_mode == "files_with_matches":
        order = replace(order, max_count=1)
    elif args.output_mode == "content" and not order.spans_lines:
        # One more shows that there are more. Over lines it would count matches, not lines.
        order = replace(order, max_count=args.offset + args.page_size + 1)
    return GrepPlan(root, order, args.output_mode, args.page_size, args.offset)


def _context(args: GrepArgs, lines: int) -> int:
    """Return the lines of context on a side for which *lines* are wanted."""
    return 0 if args.output_mode != "content" else min(lines or args.context, MAX_CONTEXT)
