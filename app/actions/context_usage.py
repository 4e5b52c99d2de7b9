"""Actions on the model's context: compaction, what fills it, its cost, pinned messages."""

from functools import partial

from app.actions.session import NONE_OPEN
from app.commands.context import ActionContext
from app.commands.registry import action
from app.screens import cost as cost_page
from app.screens.base.page import PageScreen
from app.screens.base.picker import Picker, Row
from app.screens.context_usage import context_usage_text
from app.text.excerpt import excerpt
from app.toolkit.tasks import show_dialog


@action(
    "session.compact",
    "Sum the session up to make room",
    "Session",
    slash=("compact", "summarize"),
    argument="[what to keep above all]",
)
async def compact(context: ActionContext, argument: str) -> None:
    """Compact the session. Nothing is deleted, and esc stops it like a turn."""
    session = context.live.session
    if session is None:
        context.notify(NONE_OPEN)
        return
    await context.live.runtime.sessions.compaction.start(session.id, argument)


@action("session.context", "What fills the context", "Session", slash=("context",))
async def contents(context: ActionContext, argument: str) -> None:
    """Show what fills the context; without a session, what a new one begins with."""
    del argument
    live = context.live
    open_id = live.session.id if live.session is not None else None
    found = await live.runtime.context_usage.measure(open_id, live.model, live.agent)
    await show_dialog(context.app, PageScreen("Context", partial(context_usage_text, found)))


@action("session.cost", "Tokens and cost of the session", "Session", slash=("cost", "usage"))
async def cost(context: ActionContext, argument: str) -> None:
    """Show the cost of the session with its sub-agents, compactions and title."""
    from agent.session.review.costs import session_costs  # loads the agent package

    del argument
    live = context.live
    if live.session is None:
        context.notify(NONE_OPEN)
        return
    found = await session_costs(live.runtime.store, live.session.id)
    await show_dialog(context.app, PageScreen("Cost", partial(cost_page.cost_text, found)))


MAX_SHOWN = 200
"""Characters of a message in its row, more than fit on one line."""


@action("session.pin", "Pin a message, or no longer", "Session", slash=("pin", "unpin"))
async def pin(context: ActionContext, argument: str) -> None:
    """List the messages that can be pinned, newest first, pinned ones on top. A pinned message
    survives every compaction word for word."""
    from agent.session.context import pins  # loads the agent package

    del argument
    session = context.live.session
    if session is None:
        context.notify(NONE_OPEN)
        return
    store = context.live.runtime.store
    found = {
        p.message_id: p for p in reversed(pins.pinnable_messages(await store.messages(session.id)))
    }
    rows = [
        Row(
            each.message_id,
            _beginning(each.text if each.role == "user" else excerpt(each.text)),
            group="Pinned" if each.pinned else "Not pinned",
            right="you" if each.role == "user" else "the agent",
        )
        for each in sorted(found.values(), key=lambda each: not each.pinned)
    ]
    chosen = await show_dialog(
        context.app, Picker("Pin a message", rows, empty="Nothing was said yet")
    )
    if chosen is None:
        return
    pinned = not found[chosen].pinned
    await pins.set_pinned(store, chosen, pinned=pinned)
    context.notify(
        "Pinned: every summary keeps it word for word." if pinned else "No longer pinned."
    )


def _beginning(text: str) -> str:
    line = " ".join(text[: 4 * MAX_SHOWN].split())
    return line if len(line) <= MAX_SHOWN else f"{line[: MAX_SHOWN - 1].rstrip()}…"
