"""Actions on instruction files and skills."""

import time
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

from textual.content import Content

from agent.records.errors import NothingToDo
from agent.records.memory import MemoryOrigin
from agent.records.messages import Completed, ToolPart
from agent.records.requests import PermissionReply, PermissionRequest
from app.action_registry.context import ActionContext
from app.action_registry.registry import action
from app.screens.base.page import PageScreen
from app.screens.base.small_dialogs import TextScreen
from app.screens.memory import memory_text
from app.screens.requests.permission import PermissionScreen
from app.session_state.folder_facts import short_folder
from app.session_state.view import SessionView
from app.text.sanitize import sanitize, sanitize_line

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
    request = await context.controls.draft_memory((argument,))
    reply = await context.show(PermissionScreen(request, grace=0.0, can_wait=False))
    if not isinstance(reply, PermissionReply) or reply.answer == "reject":
        if not context.prompt.text:
            context.prompt.set_text(f"# {argument}")
        return
    session = context.live.session
    origin = MemoryOrigin("user", time.time(), session.id if session is not None else "")
    await _write(context, request, reply, {" ".join(argument.split()): origin})


async def _write(
    context: ActionContext,
    request: PermissionRequest,
    reply: PermissionReply,
    origins: Mapping[str, MemoryOrigin],
) -> None:
    name = await context.controls.write_memory(request, reply, origins)
    left_out = (await context.controls.guidance()).left_out
    more = " It is used once you trust this folder (/trust)." if left_out else ""
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
    if argument.strip().lower() == PROPOSE:
        await _propose(context)
    elif argument.strip():
        raise NothingToDo(MEMORY_USAGE)
    else:
        found = await context.controls.memory()
        path = short_folder(Path(found.path), context.env.get("HOME", ""))
        page = partial(memory_text, path, found.lines)
        await context.show(PageScreen("Project memory", page))


async def _propose(context: ActionContext) -> None:
    """Let the user accept, edit or skip each proposed line, then show the change as a diff."""
    session = context.live.session
    if session is None:
        raise NothingToDo(NO_SESSION)
    context.notify(PROPOSING)
    lines = await context.controls.propose_memory(session.id)
    if not lines:
        context.notify(NOTHING_NEW)
        return
    kept: dict[str, MemoryOrigin] = {}
    for number, line in enumerate(lines, 1):
        question = ASK_LINE.format(number=number, total=len(lines))
        screen = TextScreen(question, line, enter="keep", escape="skip")
        if given := await context.show(screen):
            text = " ".join(given.split())
            kept[text] = MemoryOrigin("agent", time.time(), session.id, text != line)
    if not kept:
        context.notify(NOTHING_WRITTEN)
        return
    request = await context.controls.draft_memory(tuple(kept))
    reply = await context.show(PermissionScreen(request, grace=0.0, can_wait=False))
    if isinstance(reply, PermissionReply) and reply.answer != "reject":
        await _write(context, request, reply, kept)
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
    found = await context.controls.guidance()
    rows = [
        _row(each.source, f"{SCOPES.get(each.scope, each.scope)}, {each.characters:,} characters")
        for each in found.files
    ]
    rows += [
        _row(name, "loaded with a file that was read or changed")
        for name in attached(context.live.view)
    ]
    sections = [rows or [Content.styled(NONE, "$tone-muted")]]
    if found.left_out:
        sections.append([Content.styled(LEFT_OUT, "$tone-warn")])
    if found.skills:
        heading = Content.styled("Skills", "bold")
        listed = [_row(skill.name, skill.description) for skill in found.skills]
        sections.append([heading, *listed])
    notes = [Content.styled(sanitize(note), "$tone-warn") for note in found.notes]
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
