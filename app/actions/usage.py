"""Actions on the model's context and what it costs: compaction, pinned messages, usage."""

from functools import partial

from agent.records.errors import NothingToDo
from agent.records.messages import Session
from app.action_registry.context import ActionContext, with_session
from app.action_registry.registry import action
from app.screens.base.page import PageScreen
from app.screens.base.picker import Picker, Row
from app.screens.spending import spending_page
from app.screens.usage import DEFAULT_DAYS, context_usage_text, cost_text, stats_text
from app.text.excerpt import excerpt


@action(
    "session.compact",
    "Compact the conversation to free context",
    "Session",
    slash=("compact", "summarize"),
    argument="[what to preserve]",
)
@with_session
async def compact(context: ActionContext, argument: str, session: Session) -> None:
    """Compact the session. Nothing is deleted, and esc stops it like a turn."""
    await context.live.runtime.sessions.compaction.start(session.id, argument)


@action("session.context", "Show context usage", "Session", slash=("context",))
async def contents(context: ActionContext, argument: str) -> None:
    """Show what fills the context; without a session, what a new one begins with."""
    live = context.live
    open_id = live.session.id if live.session is not None else None
    found = await context.controls.context(open_id, live.model, live.agent)
    await context.show(PageScreen("Context", partial(context_usage_text, found)))


@action("session.cost", "Show tokens and cost of the session", "Session", slash=("cost", "usage"))
@with_session
async def cost(context: ActionContext, argument: str, session: Session) -> None:
    """Show the cost of the session with its sub-agents, compactions and title."""
    from agent.session.review.costs import session_costs  # loads the agent package

    found = await session_costs(context.live.runtime.store, session.id)
    await context.show(PageScreen("Cost", partial(cost_text, found)))


@action(
    "session.budget",
    "Show spending caps and rate limits",
    "Session",
    slash=("budget",),
    argument="[session or day] [amount or off]",
)
async def budget(context: ActionContext, argument: str) -> None:
    """Show what is used of the caps and of the providers' limits, or set a cap."""
    session = context.live.session
    open_id = session.id if session is not None else None
    if argument:
        context.notify(await context.controls.set_cap(argument, context.live.ensure_session))
    else:
        name_of = context.live.runtime.catalog.access.display_name
        page = spending_page(await context.controls.spending(open_id), name_of)
        await context.show(PageScreen("Spending", page))


@action("app.stats", "Show usage statistics", "Program", slash=("stats",), argument="[days]")
async def stats(context: ActionContext, argument: str) -> None:
    if argument and not (argument.isdigit() and int(argument)):
        raise NothingToDo("Enter a number of days, such as /stats 7.")
    days = int(argument) if argument else DEFAULT_DAYS
    rows = await context.controls.usage(days)
    title = f"Tokens of the last {days} days, in all folders"
    await context.show(PageScreen(title, lambda width: stats_text(rows, width)))


MAX_SHOWN = 200
"""Characters of a message in its row, more than fit on one line."""


@action("session.pin", "Pin or unpin a message", "Session", slash=("pin", "unpin"))
@with_session
async def pin(context: ActionContext, argument: str, session: Session) -> None:
    """List the messages that can be pinned, newest first, pinned ones on top. A pinned message
    survives every compaction word for word."""
    from agent.session.context import pins  # loads the agent package

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
    chosen = await context.show(Picker("Pin a message", rows, empty="No messages yet"))
    if chosen is None:
        return
    pinned = not found[chosen].pinned
    await context.controls.pin(session.id, chosen, pinned=pinned)
    context.notify(
        "Pinned: it is kept verbatim when the conversation is compacted." if pinned else "Unpinned."
    )


def _beginning(text: str) -> str:
    line = " ".join(text[: 4 * MAX_SHOWN].split())
    return line if len(line) <= MAX_SHOWN else f"{line[: MAX_SHOWN - 1].rstrip()}…"
