"""Lines that the user adds to the instructions with ``#``."""

import asyncio
import time
from pathlib import Path

from agent.files import FileTracker
from agent.permission.trust.trust import Trust
from agent.records.blocks import Block
from agent.records.errors import ToolError
from agent.records.frozen import frozen
from agent.records.ids import new_id
from agent.records.requests import EvaluatedNeed, PermissionNeed, PermissionReply, PermissionRequest
from agent.session.prompt.instructions import InstructionsMode, project_files
from agent.tools.core.tool import ToolContext
from agent.tools.files.change import Change, apply_change, plan_change
from agent.tools.files.paths import ToolPath, resolve_path
from agent.tools.files.text_file import check_text, load_text

NEW_FILE = "# Instructions for coding agents\n\n"
"""The beginning of a new file."""


@frozen
class InstructionDraft:
    """A change that needs permission: *request* is shown in the dialog."""

    change: Change
    request: PermissionRequest


class InstructionEditor:
    """Adds lines to the instruction file that is in force in *directory*. Permission is asked like
    for any edit: the dialog shows the change, and exactly that is written."""

    def __init__(
        self, directory: Path, project: Path, trust: Trust, mode: InstructionsMode
    ) -> None:
        self._directory = directory
        self._project = project
        self._trust = trust
        self._mode: InstructionsMode = mode
        self._files = FileTracker()

    async def draft(self, *lines: str) -> InstructionDraft:
        """Return the change that adds *lines*. Raises ``ToolError`` when the file cannot be
        changed."""
        for line in lines:
            check_text(line, "the line")
        return await asyncio.to_thread(self._draft, [" ".join(line.split()) for line in lines])

    async def read(self) -> tuple[str, str]:
        """Return the path of the file, and its text; "" for a file that does not exist yet. Raises
        ``ToolError``."""

        def read() -> tuple[str, str]:
            target = self._target()
            loaded = load_text(target)
            return target.real, loaded.file.text if loaded else ""

        return await asyncio.to_thread(read)

    async def write(self, draft: InstructionDraft, reply: PermissionReply) -> str:
        """Write the change as shown; return the name of the file. Raises ``ToolError``."""
        done = await apply_change(draft.change, reply, self._context())
        self._trust.trust_own_file()
        return done.target.shown

    def _target(self) -> ToolPath:
        found = project_files(self._directory, self._project, self._mode)
        path = found[-1] if found else self._project / "AGENTS.md"
        target = resolve_path(str(path), self._context())
        if target.outside:
            raise ToolError(
                f"{target.shown} points outside the project, so nothing is added to it."
            )
        return target

    def _draft(self, lines: list[str]) -> InstructionDraft:
        if not all(lines):
            raise ToolError("Nothing to add. Write the line after the #.")
        target = self._target()
        loaded = load_text(target)
        text = loaded.file.text if loaded else ""
        for line in lines:
            text = _with_line(text, line)
        change = plan_change(target, loaded, text)
        added = "this line" if len(lines) == 1 else "these lines"
        need = PermissionNeed(
            "edit", target.real_pattern, reason=f"you add {added}", root=target.project
        )
        request = PermissionRequest(
            id=new_id("per"),
            session_id="",
            root_id="",
            message_id="",
            call_id="",
            agent="you",
            tool="edit",
            heading=f"Add {added} to {target.shown}?",
            folder=str(self._directory),
            blocks=(change.diff.block,),
            needs=(EvaluatedNeed(need, "ask", need.reason),),
            always=(),
            created=time.time(),
        )
        return InstructionDraft(change, request)

    def _context(self) -> ToolContext:
        return ToolContext(
            session_id="",
            root_id="",
            message_id="",
            call_id="",
            agent="you",
            directory=str(self._directory),
            project=str(self._project),
            files=self._files,
            progress=_ignore,
            ask=_cannot_ask,
        )


def _with_line(text: str, line: str) -> str:
    """Return *text* with *line* as its last list item, with the file's own line ends."""
    newline = "\r\n" if "\r\n" in text else "\n"
    if not text.strip():
        return f"{NEW_FILE}- {line}\n"
    body = text.rstrip()
    last = body.splitlines()[-1].lstrip()
    gap = newline if last.startswith(("- ", "* ", "+ ")) else newline * 2
    bullet = last[0] if last.startswith(("* ", "+ ")) else "-"
    return f"{body}{gap}{bullet} {line}{newline}"


def _ignore(text: str) -> None:
    """Ignore the progress of writing a line."""


async def _cannot_ask(
    needs: tuple[PermissionNeed, ...], heading: str, blocks: tuple[Block, ...] = (), /
) -> PermissionReply:
    raise ToolError(f"{heading} This cannot be approved here: it needs {len(needs)} permissions.")
