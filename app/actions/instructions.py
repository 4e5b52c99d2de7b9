"""Actions on instruction files and skills."""

import time
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from textual.content import Content

from agent.records.errors import NothingToDo
from agent.records.memory import MemoryOrigin
from agent.records.messages import Completed, ToolPart
from agent.records.requests import PermissionReply
from app.commands.context import ActionContext
from app.commands.registry import action
from app.screens.base.page import PageScreen
from app.screens.base.small_dialogs import TextScreen
from app.screens.memory import memory_text
from app.screens.permission.screen import PermissionScreen
from app.session.view import SessionView
from app.text.sanitize import sanitize, sanitize_line

if TYPE_CHECKING:  # imports the agent
    from agent.session.prompt.instruction_editor import InstructionDraft

SCOPES = {"yours": "yours", "config": "from the settings", "project": "from the project"}
LEFT_OUT = "This folder is not trusted, so its own files are ignored. /trust changes that."
PROPOSE = "propose"
MEMORY_USAGE = "/memory shows the memory file; /memory propose lets the agent propose lines."
NO_SESSION = "No session is open yet: there is nothing to remember."
PROPOSING = "The agent is looking for facts worth remembering…"
NOTHING_NEW = "The agent found nothing new to remember."
NOTHING_WRITTEN = "Nothing was written."
ASK_LINE = "Remember this? Edit it, or press esc to skip it ({number} of {total})"
NONE = "No instruction files are loaded. /init creates one, and # adds a line to it."


@action(
    "folder.remember",
    "Add a line to the project's instructions",
    "Prompt",
    slash=("remember",),
    argument="[line]",
)
async def remember(context: ActionContext, argument: str) -> None:
    """Ask about the change as about any edit, then write it."""
    draft = await context.live.runtime.guidance.instruction_editor.draft(argument)
    reply = await context.show(PermissionScreen(draft.request, grace=0.0, can_wait=False))
    if not isinstance(reply, PermissionReply) or reply.answer == "reject":
        if not context.prompt.text:
            context.prompt.set_text(f"# {argument}")
        return
    session = context.live.session
    origin = MemoryOrigin("user", time.time(), session.id if session is not None else "")
    await _write(context, draft, reply, {" ".join(argument.split()): origin})


async def _write(
    context: ActionContext,
    draft: "InstructionDraft",
    reply: PermissionReply,
    origins: Mapping[str, MemoryOrigin],
) -> None:
    from agent.session.memory import write_lines  # loads the agent package

    runtime = context.live.runtime
    editor = runtime.guidance.instruction_editor
    name = await write_lines(runtime.store, editor, draft, reply, origins)
    more = "" if runtime.trust.trusted else " It is used once you trust this folder (/trust)."
    context.notify(f"Added to {sanitize_line(name)}.{more}")


@action(
    "folder.memory",
    "Show the project's memory",
    "Program",
    slash=("memory",),
    argument="[propose]",
)
async def memory(context: ActionContext, argument: str) -> None:
    """Show where each line of the memory file comes from, or let the agent propose lines."""
    from agent.session.memory import memory_lines  # loads the agent package

    if argument.strip().lower() == PROPOSE:
        await _propose(context)
    elif argument.strip():
        raise NothingToDo(MEMORY_USAGE)
    else:
        runtime = context.live.runtime
        path, lines = await memory_lines(runtime.store, runtime.guidance.instruction_editor)
        page = partial(memory_text, path, lines)
        await context.show(PageScreen("Project memory", page))


async def _propose(context: ActionContext) -> None:
    """Let the user accept, edit or skip each proposed line, then show the change as a diff."""
    from agent.session.memory import propose  # loads the agent package

    runtime, session = context.live.runtime, context.live.session
    if session is None:
        raise NothingToDo(NO_SESSION)
    editor = runtime.guidance.instruction_editor
    context.notify(PROPOSING)
    lines = await propose(runtime.sessions.quick_questions, editor, session.id)
    if not lines:
        context.notify(NOTHING_NEW)
        return
    kept: dict[str, MemoryOrigin] = {}
    for number, line in enumerate(lines, 1):
        question = ASK_LINE.format(number=number, total=len(lines))
        if given := await context.show(TextScreen(question, line)):
            text = " ".join(given.split())
            kept[text] = MemoryOrigin("agent", time.time(), session.id, text != line)
    if not kept:
        context.notify(NOTHING_WRITTEN)
        return
    draft = await editor.draft(*kept)
    reply = await context.show(PermissionScreen(draft.request, grace=0.0, can_wait=False))
    if isinstance(reply, PermissionReply) and reply.answer != "reject":
        await _write(context, draft, reply, kept)
    else:
        context.notify(NOTHING_WRITTEN)


@action(
    "folder.init",
    "Create AGENTS.md for this project",
    "Session",
    slash=("init",),
    argument="[what matters]",
    sends_prompt=True,
)
async def init(context: ActionContext, argument: str) -> None:
    """Send the request as a prompt. What the user wrote is trusted."""
    from agent.session.prompt.templates import init_prompt  # loads the agent package

    if not context.live.runtime.server:
        context.live.runtime.trust.trust_own_file()
    await context.live.send(init_prompt(argument))


@action(
    "folder.instructions",
    "Show the loaded instructions and skills",
    "Program",
    slash=("instructions", "skills"),
)
async def instructions(context: ActionContext, argument: str) -> None:
    runtime = context.live.runtime
    directory, project = str(runtime.directory), str(runtime.project)
    found = await runtime.guidance.instructions.collect(directory, project, fetch=False)
    skills = await runtime.guidance.find_skills()
    rows = [
        _row(each.source, f"{SCOPES.get(each.scope, each.scope)}, {len(each.text):,} characters")
        for each in found.files
    ]
    rows += [
        _row(name, "loaded with a file that was read or changed")
        for name in attached(context.live.view)
    ]
    sections = [rows or [Content.styled(NONE, "$tone-muted")]]
    if runtime.trust.status in {"open", "refused"}:
        sections.append([Content.styled(LEFT_OUT, "$tone-warn")])
    if skills.skills:
        heading = Content.styled("Skills", "bold")
        listed = [_row(s.name, s.description) for s in skills.skills.values()]
        sections.append([heading, *listed])
    notes = [Content.styled(sanitize(note), "$tone-warn") for note in (*found.notes, *skills.notes)]
    if notes:
        sections.append(notes)
    await context.show(PageScreen("Instructions", _joined(sections)))


def attached(view: SessionView | None) -> list[str]:
    """Return the instruction files that came with tool results of the open session, each once."""
    names: dict[str, None] = {}
    for message_id in view.message_ids if view is not None else ():
        entry = view.entry(message_id) if view is not None else None
        for part in entry.parts if entry is not None else ():
            if isinstance(part, ToolPart) and isinstance(part.state, Completed):
                names |= dict.fromkeys(mark.rpartition(" ")[0] for mark in part.state.attached)
    return list(names)


def _row(name: str, note: str) -> Content:
    return Content.assemble(
        (sanitize_line(name), "$tone-accent"), (f"   {sanitize_line(note)}", "$tone-muted")
    )


def _joined(sections: Iterable[list[Content]]) -> Content:
    return Content("\n\n").join([Content("\n").join(section) for section in sections])
