"""Caps on what a session spends, and all sessions of a day: warnings, and the stop at a cap."""

import asyncio
import re
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import get_args

from agent.bus import Bus
from agent.provider.client import ModelInfo
from agent.records.errors import NothingToDo, PermissionRejected, SessionNotFound, ToolError
from agent.records.events import Notice
from agent.records.frozen import frozen
from agent.records.ids import new_id
from agent.records.messages import Session, SidePurpose, SideUsage, Usage
from agent.records.requests import Question, QuestionOption, QuestionReply
from agent.records.spending import SpendingCap, SpendingScope, SpendingUnit
from agent.store import queries, stats, writes
from agent.store.queries import StoredCaps
from agent.store.store import Store
from agent.tools.core.questions import QuestionService

NO_CAP, STOP = "No cap", "Stop here"
RAISES = (1.5, 2.0, 5.0)
"""Factors of the amounts that are offered at a cap."""

ZERO = "A cap of zero would stop every prompt. Enter an amount above 0, or off for no cap."
NO_AMOUNT = "Enter an amount such as $5, 0.50, 200k or 2M tokens, or off for no cap."
NEARLY = "{share:.0%} of a spending cap is used. {sentence}"
REACHED = "A spending cap is reached. {sentence} Running calls finish; /budget raises the cap."
RAISED, REMOVED = "The spending cap is now {amount}.", "There is no spending cap now."
RAISE = "/budget raises the cap, and so does {setting} in your settings."
STOPPED = "Stopped. {sentence} {how}"
BUDGET_USED = "The goal's budget is used up."
GOAL_ENDS = f"{BUDGET_USED} Running calls finish, then the goal ends."
UNPRICED = (
    "The price of {model} is not known, so a cap in dollars does not include it. Set its `cost` in "
    "the settings, or a cap in tokens."
)

_AMOUNT = re.compile(r"(\$?)\s*(\d{1,12}(?:\.\d{1,6})?)\s*([km]?)\s*(tokens?|usd|dollars?|)")

ConfiguredCaps = Mapping[tuple[SpendingScope, SpendingUnit], float | None]


@frozen
class Spender:
    """The session that is about to call *model*, in the tree of the session *root_id*."""

    root_id: str
    session_id: str
    agent: str
    model: ModelInfo


class Spending:
    """The caps of all sessions of a runtime."""

    def __init__(
        self,
        store: Store,
        bus: Bus,
        questions: QuestionService,
        configured: ConfiguredCaps,
        clock: Callable[[], float],
    ) -> None:
        self._store = store
        self._bus = bus
        self._questions = questions
        self._configured = configured
        self._clock = clock
        self._stored: StoredCaps = {}
        self._budgets: dict[str, tuple[SpendingUnit, float]] = {}
        self._told: set[tuple[str, ...]] = set()
        self._asking: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def set_budget(self, root_id: str, budget: tuple[SpendingUnit, float] | None) -> None:
        """Set the total at which the turns of a session end, without a question; None for none."""
        if budget is None:
            self._budgets.pop(root_id, None)
        else:
            self._budgets[root_id] = budget

    async def budget_reached(self, root_id: str) -> str | None:
        """Return a sentence if the budget of a session is used up, else None."""
        budget = self._budgets.get(root_id)
        if budget is None or await self.used(root_id, budget[0]) < budget[1]:
            return None
        return BUDGET_USED

    async def used(self, root_id: str, unit: SpendingUnit) -> float:
        """Return what a session with its sub-agents has used."""
        root = await self._store.session(root_id)
        if unit == "cost":
            return (root.cost or 0.0) + (root.subagent_cost or 0.0)
        total = root.usage + root.subagent_usage
        return total.input + total.output

    async def refresh(self, root_id: str | None) -> None:
        """Read the caps that were set, perhaps by another program, for a session and for today."""
        scopes = [self._today(), *([root_id] if root_id else [])]
        self._stored |= await self._store.read(queries.spending_caps, scopes)

    async def caps(self, root_id: str | None) -> tuple[SpendingCap, ...]:
        """Return the caps of a session, if one is named, and of today, with what is used; those
        without an amount too."""
        used: dict[SpendingScope, Mapping[SpendingUnit, float]] = {}
        if root_id is not None:
            used["session"] = {
                unit: await self.used(root_id, unit) for unit in get_args(SpendingUnit)
            }
        used["day"] = await self._store.read(stats.spent_since, self._midnight())
        return tuple(
            SpendingCap(scope, unit, amount, self._amount(root_id, scope, unit))
            for scope, units in used.items()
            for unit, amount in units.items()
        )

    async def set_cap(
        self, root_id: str | None, scope: SpendingScope, unit: SpendingUnit, amount: float | None
    ) -> None:
        """Set a cap of a session, or of all sessions today; None for no cap."""
        key = self._key(root_id, scope)
        await self._store.write(writes.save_spending_cap, key, unit, amount)
        self._stored[key, unit] = amount

    async def check(self, spender: Spender) -> str | None:
        """Return a sentence if a cap is reached and the user does not raise it, else None. Warns
        before that."""
        root_id = spender.root_id
        if (used_up := await self.budget_reached(root_id)) is not None:
            return used_up
        await self.refresh(root_id)  # another program can have set one meanwhile
        if not self._has_caps(root_id):
            return None
        while (cap := await self._reached(spender)) is not None:
            async with self._asking[f"{self._key(root_id, cap.scope)} {cap.unit}"]:
                # Another session can have asked meanwhile.
                if cap.amount != self._amount(root_id, cap.scope, cap.unit):
                    continue
                if not await self._ask(spender, cap):
                    return STOPPED.format(
                        sentence=cap.sentence, how=RAISE.format(setting=cap.setting)
                    )
        return None

    async def warn(self, spender: Spender) -> None:
        """Say while calls run that a cap, or the budget of a goal, is used up or nearly, as far as
        the caps are known. The next ``check`` acts on it."""
        budget = self._budgets.get(spender.root_id)
        if await self.budget_reached(spender.root_id) is not None:
            self._tell_once(spender, GOAL_ENDS, (spender.root_id, str(budget)))
        if self._has_caps(spender.root_id) and (cap := await self._reached(spender)) is not None:
            key = (self._key(spender.root_id, cap.scope), cap.unit, str(cap.amount), "reached")
            self._tell_once(spender, REACHED.format(sentence=cap.sentence), key)

    def _has_caps(self, root_id: str) -> bool:
        return any(
            self._amount(root_id, scope, unit) is not None
            for scope in get_args(SpendingScope)
            for unit in get_args(SpendingUnit)
        )

    async def _reached(self, spender: Spender) -> SpendingCap | None:
        caps = await self.caps(spender.root_id)
        for cap in caps:
            if cap.amount is None:
                continue
            if cap.unit == "cost" and spender.model.price is None:
                self._tell_once(spender, UNPRICED.format(model=spender.model.full_name))
            if cap.nearly_reached and not cap.reached:
                sentence = NEARLY.format(share=cap.used / cap.amount, sentence=cap.sentence)
                key = (self._key(spender.root_id, cap.scope), cap.unit, str(cap.amount))
                self._tell_once(spender, sentence, key)
        return next((cap for cap in caps if cap.reached), None)

    def _tell_once(self, spender: Spender, sentence: str, key: tuple[str, ...] = ()) -> None:
        key = key or (sentence,)
        if key not in self._told:
            self._told.add(key)
            self._bus.publish(Notice(sentence, session_id=spender.root_id))

    async def _ask(self, spender: Spender, cap: SpendingCap) -> bool:
        """Ask whether to raise *cap*; return whether it was."""
        amounts = _offered(cap)
        problem = ""
        while True:
            question = cap_question(spender, cap, problem)
            try:
                reply = await self._questions.ask(question, lambda _: None)
            except (ToolError, PermissionRejected):
                return False  # nobody is there, or the turn is being stopped
            if reply.dismissed or STOP in reply.labels:
                return False
            try:
                amount = _chosen(reply, amounts, cap)
            except NothingToDo as error:
                problem = f"{error.message} "
                continue
            await self.set_cap(spender.root_id, cap.scope, cap.unit, amount)
            done = REMOVED if amount is None else RAISED.format(amount=cap.format(amount))
            self._bus.publish(Notice(done, session_id=spender.root_id))
            return True

    def _amount(
        self, root_id: str | None, scope: SpendingScope, unit: SpendingUnit
    ) -> float | None:
        key = (self._key(root_id, scope), unit)
        return self._stored[key] if key in self._stored else self._configured.get((scope, unit))

    def _key(self, root_id: str | None, scope: SpendingScope) -> str:
        return self._today() if scope == "day" else root_id or ""

    def _today(self) -> str:
        return time.strftime("%Y-%m-%d", time.localtime(self._clock()))

    def _midnight(self) -> float:
        now = time.localtime(self._clock())
        return time.mktime((now.tm_year, now.tm_mon, now.tm_mday, 0, 0, 0, 0, 0, -1))


def cap_question(spender: Spender, cap: SpendingCap, problem: str = "") -> Question:
    """Return the question whether to raise *cap*. *problem* is what was wrong with the last
    answer."""
    return Question(
        id=new_id("que"),
        session_id=spender.session_id,
        root_id=spender.root_id,
        header="Spending cap",
        text=f"{problem}{cap.sentence} Raise it?",
        options=tuple(QuestionOption(label) for label in (*_offered(cap), NO_CAP, STOP)),
        agent=spender.agent,
    )


def _offered(cap: SpendingCap) -> dict[str, float]:
    """Return the amounts that are offered at *cap*, by label. As they are shown, they are all above
    what is used."""
    base = cap.amount or 0.0
    digits = 2 if cap.unit == "cost" else 0
    while round(base * RAISES[0], digits) <= max(cap.used, round(cap.used, digits)):
        base *= 2
    return {
        f"Raise to {cap.format(amount)}": amount
        for amount in (round(base * factor, digits) for factor in RAISES)
    }


def _chosen(reply: QuestionReply, amounts: Mapping[str, float], cap: SpendingCap) -> float | None:
    """Return the new amount. Raises ``NothingToDo`` for text that gives none."""
    if reply.text:
        unit, amount = parse_amount(reply.text, cap.unit)
        if unit != cap.unit:
            raise NothingToDo(NO_AMOUNT)
        if amount is not None and amount <= cap.used:
            raise NothingToDo(f"{cap.format(amount)} is already used up.")
        return amount
    return next((amounts[label] for label in reply.labels if label in amounts), None)


def parse_amount(text: str, unit: SpendingUnit = "cost") -> tuple[SpendingUnit, float | None]:
    """Parse ``$5``, ``2M tokens``, ``300k`` or ``off``; a plain number is in *unit*.

    Raises ``NothingToDo`` for anything else, and for zero.
    """
    given = text.strip().lower()
    if given in {"off", "none", "no cap"}:
        return unit, None
    match = _AMOUNT.fullmatch(given)
    if match is None:
        raise NothingToDo(NO_AMOUNT)
    dollar, number, factor, word = match.groups()
    amount = float(number) * {"": 1, "k": 1_000, "m": 1_000_000}[factor]
    if dollar or word in {"usd", "dollar", "dollars"}:
        unit = "cost"
    elif factor or word:
        unit = "tokens"
    if amount < (0.0001 if unit == "cost" else 1):
        raise NothingToDo(ZERO)
    return unit, amount


def parse_cap(text: str) -> tuple[SpendingScope, tuple[SpendingUnit, ...], float | None]:
    """Parse the argument of ``/budget``: ``session $5``, ``day 2M tokens``, ``day off``. Without a
    unit, ``off`` is for both.

    Raises ``NothingToDo`` with a sentence.
    """
    word, _, rest = text.strip().partition(" ")
    scopes: dict[str, SpendingScope] = {
        "session": "session",
        "day": "day",
        "daily": "day",
        "today": "day",
    }
    if word.lower() not in scopes:
        raise NothingToDo(f"Say which cap to set: session or day. {NO_AMOUNT}")
    unit, amount = parse_amount(rest)
    units: tuple[SpendingUnit, ...] = ("cost", "tokens") if amount is None else (unit,)
    return scopes[word.lower()], units, amount


# Usage and cost of sessions, added up after each model call.

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
