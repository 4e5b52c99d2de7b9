"""Usage and costs of a session, by purpose and by model."""

from collections.abc import Sequence
from dataclasses import field
from typing import Literal

from agent.records.frozen import frozen
from agent.records.messages import AssistantMessage, CompactionPart, MessageWithParts, Session
from agent.records.usage import Usage
from agent.session.spending import add_costs
from agent.store.store import Store

Purpose = Literal["conversation", "sub-agents", "summaries", "verdicts", "titles and other calls"]
PURPOSES: tuple[Purpose, ...] = (
    "conversation",
    "sub-agents",
    "summaries",
    "verdicts",
    "titles and other calls",
)
UNKNOWN_MODEL = "model unknown"
"""The placeholder for the models of calls of which the session keeps only the sums."""


@frozen
class Spending:
    """Usage and cost of model calls."""

    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    """US dollars; None where no price is known."""
    unpriced: bool = False
    """True if some of these calls have no known price, so that *cost* is too low."""

    def __add__(self, other: "Spending") -> "Spending":
        usage = self.usage + other.usage
        return Spending(usage, add_costs(self.cost, other.cost), self.unpriced or other.unpriced)

    @property
    def is_empty(self) -> bool:
        return not (self.usage.input or self.usage.output or self.cost)


@frozen
class SessionCosts:
    """The costs of a session. *purposes* and *models* each add up to *total*."""

    total: Spending
    purposes: tuple[tuple[str, Spending], ...]
    models: tuple[tuple[str, Spending], ...]
    last: Usage | None = None
    """The usage of the newest step, None without one."""


class CostLedger:
    """Adds up the usage of sessions, call by call."""

    def __init__(self) -> None:
        self._purposes: dict[str, Spending] = {}
        self._models: dict[str, Spending] = {}
        self._last: Usage | None = None

    def add(self, session: Session, messages: Sequence[MessageWithParts], *, child: bool) -> None:
        """Add the calls of a session; *child*: it is a sub-agent's. The rest of its sums is from
        before it recorded the models of calls without a message."""
        kept = Spending()
        for item in messages:
            for purpose, model, spent in _model_calls(item):
                kept += spent
                self._record("sub-agents" if child else purpose, model, spent)
            message = item.message
            if not child and isinstance(message, AssistantMessage) and message.usage is not None:
                self._last = message.usage
        for each in session.side_usage:
            spent = _spending(each.usage, each.cost)
            kept += spent
            purpose = each.purpose or PURPOSES[-1]
            self._record("sub-agents" if child else purpose, each.model, spent)
        rest = _difference(Spending(session.usage, session.cost), kept)
        if not rest.is_empty:
            self._record("sub-agents" if child else PURPOSES[-1], UNKNOWN_MODEL, rest)

    def costs(self) -> SessionCosts:
        total = Spending()
        for spent in self._models.values():
            total += spent
        order: dict[str, int] = {name: at for at, name in enumerate(PURPOSES)}
        by_cost = sorted(self._models.items(), key=lambda pair: -(pair[1].cost or 0.0))
        purposes = sorted(self._purposes.items(), key=lambda pair: order[pair[0]])
        return SessionCosts(total, tuple(purposes), tuple(by_cost), self._last)

    def _record(self, purpose: str, model: str, spent: Spending) -> None:
        self._purposes[purpose] = self._purposes.get(purpose, Spending()) + spent
        self._models[model] = self._models.get(model, Spending()) + spent


def _model_calls(item: MessageWithParts) -> list[tuple[Purpose, str, Spending]]:
    message = item.message
    if isinstance(message, AssistantMessage) and message.usage is not None:
        return [("conversation", message.model, _spending(message.usage, message.cost))]
    return [
        ("summaries", part.model, _spending(part.usage, part.cost))
        for part in item.parts
        if isinstance(part, CompactionPart) and part.usage is not None
    ]


def _spending(usage: Usage, cost: float | None) -> Spending:
    return Spending(usage, cost, unpriced=cost is None)


def _difference(whole: Spending, part: Spending) -> Spending:
    """Return *whole* minus *part*, never below zero; the sums are floats."""
    cost = None
    if whole.cost is not None and whole.cost - (part.cost or 0.0) > 1e-9:
        cost = whole.cost - (part.cost or 0.0)
    return Spending(
        Usage(
            max(0, whole.usage.input - part.usage.input),
            max(0, whole.usage.output - part.usage.output),
            max(0, whole.usage.reasoning - part.usage.reasoning),
            max(0, whole.usage.cache_read - part.usage.cache_read),
            max(0, whole.usage.cache_write - part.usage.cache_write),
        ),
        cost,
    )


async def session_costs(store: Store, session_id: str) -> SessionCosts:
    """Return the costs of a session with its sub-agents, at any depth. Raises
    ``SessionNotFound``."""
    ledger = CostLedger()
    session = await store.session(session_id)
    ledger.add(session, await store.messages(session_id), child=False)
    waiting = await store.children(session_id)
    while waiting:
        child = waiting.pop()
        ledger.add(child, await store.messages(child.id), child=True)
        waiting += await store.children(child.id)
    return ledger.costs()
