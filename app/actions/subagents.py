"""Actions on sub-agents: opening their sessions and going back."""

from collections.abc import Sequence

from agent.records.events import SessionStatusChanged
from agent.records.messages import Idle, Session
from app.commands.context import ActionContext
from app.commands.registry import action
from app.screens.base.picker import Row
from app.screens.subagents import SubagentsScreen
from app.session.live import family_of
from app.toolkit.tasks import show_dialog

NONE = "No sub-agent has worked for this session."
OWN = "This is no sub-agent's session."


@action("family.list", "Sub-agents", "Session", slash=("subagents",))
async def subagents(context: ActionContext, argument: str) -> None:
    """List the sub-agents of the session, or the siblings of an open one; enter opens one, ctrl+d
    stops it."""
    del argument
    found = await _children(context) or await _siblings(context)
    if not found:
        context.notify(NONE)
        return
    here = context.live.session.id if context.live.session is not None else None

    def stop(session_id: str) -> None:
        service = context.live.runtime.sessions
        context.tasks.spawn(service.cancel(session_id), "stopping a sub-agent")

    rows = [_row(context, one) for one in found]
    screen = SubagentsScreen(rows, current=here, stop=stop)
    following = context.tasks.spawn(_follow(context, screen, found), "listing sub-agents")
    try:
        chosen = await show_dialog(context.app, screen)
    finally:
        following.cancel()
    if chosen is not None:
        await context.live.open(chosen)


async def _follow(
    context: ActionContext, screen: SubagentsScreen, found: Sequence[Session]
) -> None:
    """Keep the list up to date while it is open."""
    with context.live.runtime.bus.subscribe(
        lambda event: isinstance(event, SessionStatusChanged)
    ) as events:
        async for _ in events:
            if screen.is_attached:
                screen.set_rows([_row(context, one) for one in found])


def _row(context: ActionContext, child: Session) -> Row:
    sessions = context.live.runtime.sessions
    note = child.agent
    if not isinstance(sessions.status(child.id), Idle):
        job = sessions.subagents.background_tasks.run(child.id)
        note += ", works in the background" if job is not None else ", works"
    return Row(child.id, child.title or "Untitled", note)


@action("family.stop", "Stop all that works, the background too", "Session", slash=("stop",))
async def stop(context: ActionContext, argument: str) -> None:
    """Stop the turn of the session and all its sub-agents."""
    del argument
    if not await context.live.cancel():
        context.notify("Nothing works in this session.")


async def _children(context: ActionContext) -> Sequence[Session]:
    session = context.live.session
    return await context.live.runtime.store.children(session.id) if session is not None else ()


async def _siblings(context: ActionContext) -> Sequence[Session]:
    session = context.live.session
    return (await family_of(context.live, session)).siblings if session is not None else ()


@action("family.down", "Go to the newest sub-agent", "Session", keys=("<leader>down",))
async def down(context: ActionContext, argument: str) -> None:
    """Open the newest sub-agent, preferably one that works."""
    del argument
    found = await _children(context)
    if not found:
        context.notify(NONE)
        return
    status = context.live.runtime.sessions.status
    busy = [one for one in found if not isinstance(status(one.id), Idle)]
    await context.live.open((busy or found)[-1].id)


@action("family.up", "Go back to the session above", "Session", keys=("<leader>up",))
async def up(context: ActionContext, argument: str) -> None:
    del argument
    session = context.live.session
    if session is None or session.parent_id is None:
        context.notify(OWN)
    else:
        await context.live.open(session.parent_id)


@action("family.next", "Go to the next sub-agent", "Session", keys=("<leader>right",))
async def following(context: ActionContext, argument: str) -> None:
    del argument
    await _beside(context, 1)


@action("family.previous", "Go to the sub-agent before", "Session", keys=("<leader>left",))
async def before(context: ActionContext, argument: str) -> None:
    del argument
    await _beside(context, -1)


async def _beside(context: ActionContext, step: int) -> None:
    session = context.live.session
    if session is None or session.parent_id is None:
        context.notify(OWN)
        return
    other = (await family_of(context.live, session)).sibling(step)
    if other is None:
        context.notify("There is no other sub-agent beside this one.")
    else:
        await context.live.open(other.id)
