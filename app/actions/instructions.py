"""Actions on instruction files and skills."""

from collections.abc import Iterable

from textual.content import Content

from agent.records.messages import Completed, ToolPart
from agent.records.requests import PermissionReply
from app.commands.context import ActionContext
from app.commands.registry import action
from app.screens.base.page import PageScreen
from app.screens.permission.screen import PermissionScreen
from app.session.view import SessionView
from app.text.sanitize import sanitize, sanitize_line

SCOPES = {"yours": "yours", "config": "named in config", "project": "of the project"}
LEFT_OUT = "This folder is not trusted, so its own files are ignored. /trust changes that."
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
    notes = context.live.runtime.guidance.instruction_editor
    draft = await notes.draft(argument)
    reply = await context.show(PermissionScreen(draft.request, grace=0.0, can_wait=False))
    if not isinstance(reply, PermissionReply) or reply.answer == "reject":
        if not context.prompt.text:
            context.prompt.set_text(f"# {argument}")
        return
    name = await notes.write(draft, reply)
    used = context.live.runtime.trust.trusted
    more = "" if used else " It is used once you trust this folder (/trust)."
    context.notify(f"Added to {sanitize_line(name)}.{more}")


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

    context.live.runtime.trust.trust_own_file()
    await context.live.send(init_prompt(argument))


@action(
    "folder.instructions",
    "Show the loaded instructions and skills",
    "Program",
    slash=("instructions", "skills", "memory"),
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
