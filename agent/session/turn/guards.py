"""The guards of a turn: limits that are checked before each step, and the doom loop.

The guard that compacts a session whose window is full is ``CompactionGuard`` in
``agent.session.turn.compactor``.
"""

import json
import re
from collections import deque
from dataclasses import dataclass
from typing import Protocol

from agent.records.amounts import money, tokens
from agent.records.frozen import frozen
from agent.records.json import JsonObject
from agent.records.messages import (
    AssistantMessage,
    ErrorInfo,
    MessageWithParts,
    ReasoningPart,
    TextPart,
    ToolPart,
    Usage,
)
from agent.session.context.token_meter import StepSettings
from agent.session.spending import Spender, Spending
from agent.session.turn.state import PlannedStep, TurnEnd, TurnTotals

DOOM_THRESHOLD = 3
"""Equal calls in a row, the present one included, before the user is asked."""

MAX_CUT_CALLS = 3
"""Steps in a row whose call was cut off by the output limit."""


class Guard(Protocol):
    """A check before each step of a turn."""

    async def before_step(self, step: PlannedStep) -> PlannedStep | TurnEnd:
        """Return the step as it is to run, or the end of the turn."""
        ...


def _limit_reached(text: str) -> TurnEnd:
    return TurnEnd("limit_reached", error=ErrorInfo("limit", text))


@frozen
class StepLimit:
    """The most steps of a turn. One more step without tools follows, in which the model says what
    was done."""

    steps: int

    async def before_step(self, step: PlannedStep) -> PlannedStep | TurnEnd:
        if step.totals.all_steps > self.steps:
            return _limit_reached(f"Stopped after {self.steps} steps, the limit of this agent.")
        return step

    def is_last(self, totals: TurnTotals) -> bool:
        return totals.all_steps == self.steps


@frozen
class TokenLimit:
    """The most input and output tokens of a turn."""

    tokens: int

    async def before_step(self, step: PlannedStep) -> PlannedStep | TurnEnd:
        used = step.totals.usage.input + step.totals.usage.output
        if used >= self.tokens:
            return _limit_reached(f"Stopped at {tokens(used)} of {tokens(self.tokens)} tokens.")
        return step


@frozen
class CostLimit:
    """The most that a turn can cost."""

    dollars: float

    async def before_step(self, step: PlannedStep) -> PlannedStep | TurnEnd:
        cost = step.totals.cost
        if cost is not None and cost >= self.dollars:
            return _limit_reached(f"Stopped at {money(cost)} of {money(self.dollars)}.")
        return step


class SpendingGuard:
    """The caps on what the session, and all sessions of the day, can spend."""

    def __init__(self, spending: Spending, session_id: str, root_id: str) -> None:
        self._spending = spending
        self._session_id = session_id
        self._root_id = root_id

    async def before_step(self, step: PlannedStep) -> PlannedStep | TurnEnd:
        reached = await self._spending.check(self._spender(step.settings))
        return step if reached is None else _limit_reached(reached)

    async def warn(self, settings: StepSettings) -> None:
        """Say that a cap is used up, or nearly."""
        await self._spending.warn(self._spender(settings))

    def _spender(self, settings: StepSettings) -> Spender:
        return Spender(self._root_id, self._session_id, settings.agent, settings.model)


@frozen(kw_only=True)
class TurnLimits:
    """The limits of each turn, its sub-agents included; None for no limit."""

    max_steps: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    """In US dollars."""
    target_tokens: int | None = None
    """Output tokens that a turn aims at: until then the model is asked to continue."""
    max_repeats: int = DOOM_THRESHOLD
    """The threshold of the doom loop."""
    auto_compact: bool = True

    def guards(self, agent_steps: int | None) -> tuple[Guard, ...]:
        """Return the guards of a turn of an agent with a limit of *agent_steps*."""
        given = [s for s in (self.max_steps, agent_steps) if s is not None]
        guards: list[Guard] = [StepLimit(min(given))] if given else []
        if self.max_tokens is not None:
            guards.append(TokenLimit(self.max_tokens))
        if self.max_cost is not None:
            guards.append(CostLimit(self.max_cost))
        return tuple(guards)


@dataclass(slots=True)
class _ObservedCall:
    call: str
    tool: str
    exact: str
    loose: str
    result: str | None = None


class DoomLoop:
    """Detects a call that is repeated over and over, across the steps of one turn.

    Exact repeats count, and near-duplicates: the same tool with inputs that differ only in white
    space and numbers, and with equal results.
    """

    def __init__(self, threshold: int = DOOM_THRESHOLD) -> None:
        self._threshold = threshold
        self._seen: deque[_ObservedCall] = deque(maxlen=max(1, threshold - 1))

    def observe(self, call: str, tool: str, arguments: JsonObject | str) -> bool:
        """Note a call as it is submitted; true when it is one repeat too many.

        *call* identifies it for ``record_result``; *arguments* are the parsed input, or the text
        that did not parse.
        """
        exact, loose = _keys(arguments)
        before = list(self._seen)
        self._seen.append(_ObservedCall(call, tool, exact, loose))
        if self._threshold <= 1 or len(before) < self._threshold - 1:
            return False
        if any(s.tool != tool for s in before):
            return False
        if all(s.exact == exact for s in before):
            return True
        results = {s.result for s in before}
        return all(s.loose == loose for s in before) and len(results) == 1 and None not in results

    def record_result(self, call: str, result: str) -> None:
        """Note the result of a call, as the model read it."""
        for seen in self._seen:
            if seen.call == call:
                seen.result = result

    def reset(self) -> None:
        """Forget the calls so far: the user allowed the repeat."""
        self._seen.clear()


def _keys(arguments: JsonObject | str) -> tuple[str, str]:
    """The input as a canonical text, and that text without whitespace and numbers."""
    exact = (
        arguments
        if isinstance(arguments, str)
        else json.dumps(arguments, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    )
    return exact, re.sub(r"[\s\d]+", "", exact)


# Messages to the user about responses without an answer: the cause and the next step.

EMPTY_RESPONSE = "empty"
"""The kind of these errors."""

NO_ROOM_AFTER_REASONING = (
    "The model used its whole output limit{limit} for reasoning and gave no answer. Lower the "
    "effort (/effort, or --effort), ask for less at once, or choose a model with a larger limit."
)
NO_ROOM = (
    "The model reached its output limit{limit} before it gave an answer. Ask for less at once, or "
    "choose a model with a larger limit."
)
FILTERED = (
    "The provider's content filter stopped the response. Rephrase the request, or choose another "
    "model (/model, or --model)."
)
REASONING_ONLY = (
    "The model stopped after its reasoning and gave no answer. Send “continue”, or choose another "
    "effort (/effort, or --effort) or model."
)
NOTHING_AFTER_CALLS = (
    "The model stopped after its tool calls and gave no answer. Send “continue” to get one."
)
NOTHING = (
    "The model returned an empty response. Send “continue” to try again, or choose another model "
    "(/model, or --model)."
)


def is_empty(item: MessageWithParts) -> bool:
    """Return whether a response has neither text nor calls."""
    return not any(
        isinstance(part, ToolPart) or (isinstance(part, TextPart) and part.text.strip())
        for part in item.parts
    )


def empty_response_error(
    item: MessageWithParts, usage: Usage | None, limit: int | None, *, after_calls: bool
) -> ErrorInfo:
    """Return the error for an empty response, by its cause.

    *limit* is the output limit of its request in tokens, None if unknown; *after_calls* is true if
    the turn has made tool calls before.
    """
    message = item.message
    finish = message.finish if isinstance(message, AssistantMessage) else None
    reasoned = any(isinstance(part, ReasoningPart) for part in item.parts) or bool(
        usage is not None and usage.reasoning
    )
    if finish == "content-filter":
        return ErrorInfo(EMPTY_RESPONSE, FILTERED)
    if finish == "length":
        text = NO_ROOM_AFTER_REASONING if reasoned else NO_ROOM
        return ErrorInfo(
            EMPTY_RESPONSE, text.format(limit=f" of {limit:,} tokens" if limit else "")
        )
    if reasoned:
        return ErrorInfo(EMPTY_RESPONSE, REASONING_ONLY)
    return ErrorInfo(EMPTY_RESPONSE, NOTHING_AFTER_CALLS if after_calls else NOTHING)
