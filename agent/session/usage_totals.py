"""Usage and cost of sessions, added up after each model call."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

from agent.records.errors import SessionNotFound
from agent.records.messages import Session, SidePurpose, SideUsage, Usage

UpdateSession = Callable[[str, Callable[[Session], Session]], Awaitable[Session]]
"""Replaces a session's record (``Directory.update``)."""


async def record_usage(
    update: UpdateSession,
    session_id: str,
    usage: Usage | None,
    cost: float | None,
    now: float,
    *,
    extra_model: str = "",
    purpose: SidePurpose = "",
) -> None:
    """Add a model call to its session, and to the sessions that it works for, nearest first.
    *extra_model* is the model of a call of which no message is kept, and *purpose* its purpose."""

    def own(session: Session) -> Session:
        if extra_model:
            session = with_model_usage(session, extra_model, usage, cost, purpose)
        total = session.usage + usage if usage else session.usage
        return replace(session, usage=total, cost=add_costs(session.cost, cost), updated=now)

    def below(session: Session) -> Session:
        total = session.subagent_usage + usage if usage else session.subagent_usage
        return replace(
            session, subagent_usage=total, subagent_cost=add_costs(session.subagent_cost, cost)
        )

    session = await update(session_id, own)
    while session.parent_id is not None:
        try:
            session = await update(session.parent_id, below)
        except SessionNotFound:
            return


def with_model_usage(
    session: Session,
    model: str,
    usage: Usage | None,
    cost: float | None,
    purpose: SidePurpose = "",
) -> Session:
    """*session* that knows which model a call was of that it has no message of. Its sums stay."""
    if usage is None and cost is None:
        return session
    held = {(each.model, each.purpose): each for each in session.side_usage}
    none = SideUsage(model=model, usage=Usage(), purpose=purpose)
    before = held.get((model, purpose), none)
    total = before.usage + usage if usage else before.usage
    held[model, purpose] = replace(before, usage=total, cost=add_costs(before.cost, cost))
    return replace(session, side_usage=tuple(held.values()))


def add_costs(one: float | None, other: float | None) -> float | None:
    """The sum of two costs, of which either can be unknown; None where both are."""
    if one is None or other is None:
        return other if one is None else one
    return one + other
