"""Actions on what fills the model's window."""

from functools import partial

from app.actions.session import NONE_OPEN
from app.commands.context import Context
from app.commands.registry import action
from app.screens import cost as cost_page
from app.screens.base.page import PageScreen
from app.screens.context_usage import context_usage_text
from app.toolkit.tasks import show_dialog


@action(
    "session.compact",
    "Sum the session up to make room",
    "Session",
    slash=("compact", "summarize"),
    argument="[what to keep above all]",
)
async def compact(context: Context, argument: str) -> None:
    """Nothing is deleted, and esc stops it like a turn."""
    session = context.live.session
    if session is None:
        context.tell(NONE_OPEN)
        return
    await context.live.runtime.sessions.compacting.start(session.id, argument)


@action("session.context", "What fills the context", "Session", slash=("context",))
async def contents(context: Context, argument: str) -> None:
    """Without a session: what a new one begins with."""
    del argument
    live = context.live
    open_id = live.session.id if live.session is not None else None
    found = await live.runtime.window.contents(open_id, live.model, live.agent)
    await show_dialog(context.app, PageScreen("Context", partial(context_usage_text, found)))


@action("session.cost", "Tokens and cost of the session", "Session", slash=("cost", "usage"))
async def cost(context: Context, argument: str) -> None:
    """With its sub-agents, summaries and title."""
    from agent.session.review.costs import costs_of  # brings the harness

    del argument
    live = context.live
    if live.session is None:
        context.tell(NONE_OPEN)
        return
    found = await costs_of(live.runtime.store, live.session.id)
    await show_dialog(context.app, PageScreen("Cost", partial(cost_page.cost_text, found)))
