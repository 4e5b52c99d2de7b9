"""Actions on what works in the background: sub-agents and shell commands."""

import time
from collections.abc import Sequence

from agent.records.amounts import count, duration
from agent.records.events import (
    PermissionAsked,
    PermissionReplied,
    SessionStatusChanged,
    ShellChanged,
)
from agent.records.messages import Busy, Idle, Running, Session, SessionStatus, ToolPart
from app.action_registry.context import ActionContext
from app.action_registry.keymap import Keymap
from app.action_registry.registry import DETACH, action
from app.screens.background import (
    BackgroundList,
    ShellScreen,
    SubagentState,
    shell_rows,
    subagent_row,
)
from app.screens.base.picker import Row, show_updated
from app.session_state.live import LiveSession, family_of
from app.session_state.view import SessionView
from app.widgets.input.prompt import Prompt

NONE = "This session has no sub-agents."
NOTHING_RUNS = "No running command or sub-agent to move to the background."
DETACHED = frozenset({"bash", "task"})
"""The tools whose calls can be sent to the background."""
OWN = "This is not a sub-agent's session."


@action("family.list", "Show sub-agents", "Session", slash=("subagents",))
async def subagents(context: ActionContext, argument: str) -> None:
    """List the sub-agents of the session, or the siblings of an open one."""
    found = await _children(context) or await _siblings(context)
    if not found:
        context.notify(NONE)
        return
    here = context.live.session.id if context.live.session is not None else None

    def stop(session_id: str) -> None:
        service = context.live.runtime.sessions
        context.tasks.spawn(service.cancel(session_id), "stopping a sub-agent")

    async def rows() -> list[Row]:
        return [_row(context, one) for one in found]

    picker = BackgroundList(
        "Sub-agents", await rows(), stop=stop, stop_hint="stop", current=here, enter="open"
    )
    changes = context.live.runtime.bus.subscribe(
        lambda event: isinstance(event, SessionStatusChanged | PermissionAsked | PermissionReplied)
    )
    chosen = await show_updated(context.app, picker, changes, rows, context.tasks)
    if chosen is not None:
        await context.live.open(chosen)


def _row(context: ActionContext, child: Session) -> Row:
    runtime = context.live.runtime
    status = runtime.sessions.status(child.id)
    asks = (*runtime.permissions.pending(), *runtime.questions.pending())
    state, lasted = _state(context, child, status), ""
    if any(request.session_id == child.id for request in asks):
        state = "needs you"
    if isinstance(status, Busy):
        lasted = duration(time.time() - status.since)
    return subagent_row(child.id, child.title, child.agent, state, lasted)


def _state(context: ActionContext, child: Session, status: SessionStatus) -> SubagentState:
    if isinstance(status, Idle):
        return "done"
    run = context.live.runtime.sessions.subagents.background_tasks.run(child.id)
    return "background" if run is not None else "working"


@action("family.stop", "Stop everything, including background tasks", "Session", slash=("stop",))
async def stop(context: ActionContext, argument: str) -> None:
    """Stop the turn of the session and all its sub-agents."""
    if not await context.live.cancel():
        context.notify("Nothing is running in this session.")


async def _children(context: ActionContext) -> Sequence[Session]:
    session = context.live.session
    return await context.live.runtime.store.children(session.id) if session is not None else ()


async def _siblings(context: ActionContext) -> Sequence[Session]:
    session = context.live.session
    return (await family_of(context.live, session)).siblings if session is not None else ()


@action("family.down", "Go to the newest sub-agent", "Session", keys=("<leader>down",))
async def down(context: ActionContext, argument: str) -> None:
    """Open the newest sub-agent, preferably one that works."""
    found = await _children(context)
    if not found:
        context.notify(NONE)
        return
    status = context.live.runtime.sessions.status
    busy = [one for one in found if not isinstance(status(one.id), Idle)]
    await context.live.open((busy or found)[-1].id)


@action("family.up", "Go to the parent session", "Session", keys=("<leader>up",))
async def up(context: ActionContext, argument: str) -> None:
    session = context.live.session
    if session is None or session.parent_id is None:
        context.notify(OWN)
    else:
        await context.live.open(session.parent_id)


@action("family.next", "Go to the next sub-agent", "Session", keys=("<leader>right",))
async def following(context: ActionContext, argument: str) -> None:
    await _beside(context, 1)


@action("family.previous", "Go to the previous sub-agent", "Session", keys=("<leader>left",))
async def before(context: ActionContext, argument: str) -> None:
    await _beside(context, -1)


async def _beside(context: ActionContext, step: int) -> None:
    session = context.live.session
    if session is None or session.parent_id is None:
        context.notify(OWN)
        return
    other = (await family_of(context.live, session)).sibling(step)
    if other is None:
        context.notify("There is no other sub-agent.")
    else:
        await context.live.open(other.id)


@action("shells.list", "Show background commands", "Session", slash=("shells", "bashes"))
async def shells(context: ActionContext, argument: str) -> None:
    """List the commands; enter shows the output of one, and closing it returns to the list."""
    controls = context.controls
    if not await controls.shells():
        context.notify("No background commands yet.")
        return

    def kill(shell_id: str) -> None:
        context.tasks.spawn(controls.kill_shell(shell_id), "ending a command")

    async def rows() -> list[Row]:
        return shell_rows(await controls.shells(), time.time())

    while True:
        changes = context.live.runtime.bus.subscribe(lambda event: isinstance(event, ShellChanged))
        picker = BackgroundList(
            "Background commands",
            await rows(),
            stop=kill,
            enter="show output",
            empty="No background commands",
        )
        chosen = await show_updated(context.app, picker, changes, rows, context.tasks)
        shell = next((one for one in await controls.shells() if one.id == chosen), None)
        if shell is None:
            return
        output = controls.shell_output
        await context.show(ShellScreen(shell, output, clock=time.time, kill=kill))


def can_detach(live: LiveSession, prompt: Prompt) -> bool:
    """Return whether a command or a sub-agent can go to the background and the prompt is empty: in
    a text the key moves the cursor."""
    session = live.session
    if session is None or not live.is_ready or prompt.text:
        return False
    runtime = live.runtime
    if runtime.server_controls is not None:
        return not runtime.permissions.pending() and _runs_call(live.view)
    subagents = runtime.sessions.subagents
    return subagents.can_detach(session.id) or runtime.shells.can_detach(session.id)


def _runs_call(view: SessionView | None) -> bool:
    """Return whether the newest message has a running call of a kind that can be detached."""
    entry = view.entry(view.message_ids[-1]) if view is not None and view.message_ids else None
    return any(
        isinstance(part, ToolPart) and part.tool in DETACHED and isinstance(part.state, Running)
        for part in (entry.parts if entry is not None else ())
    )


def detach_key(live: LiveSession, prompt: Prompt, keys: Keymap) -> str:
    """Return the key that would send a command to the background now, empty for none."""
    detach_keys = keys.keys_of(DETACH) if can_detach(live, prompt) else ()
    return detach_keys[0] if detach_keys else ""


@action(
    DETACH,
    "Move the running command to the background",
    "Session",
    keys=("ctrl+b",),
    when=can_detach,
)
async def detach(context: ActionContext, argument: str) -> None:
    """Send the sub-agents that the turn waits for to the background, or else its commands."""
    session = context.live.session
    if session is None:
        context.notify(NOTHING_RUNS)
        return
    sent = await context.controls.detach(session.id)
    if sent.subagents:
        context.notify(f"{count(sent.subagents, 'sub-agent')} moved to the background.")
    elif sent.commands:
        moved = count(sent.commands, "command")
        context.notify(f"{moved} moved to the background. /shells lists them.")
    else:
        context.notify(NOTHING_RUNS)
