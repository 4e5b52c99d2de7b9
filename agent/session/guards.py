"""What stops a turn that would not stop by itself: limits and the doom loop (spec 1, L2a, L4)."""

import json
import re
from collections import deque
from dataclasses import dataclass, field, replace
from typing import Protocol

from agent.records.json import JsonObject
from agent.records.messages import Usage
from agent.records.units import money, tokens

DOOM_THRESHOLD = 3
"""Equal calls in a row, the present one included, before the user is asked (L4)."""

MAX_CUT_CALLS = 3
"""Steps in a row whose call was cut off by the output limit (L2a)."""


@dataclass(frozen=True, slots=True)
class TurnTotals:
    """What a turn has used so far, children included. *cost* is None while unknown. Of the turns
    before it that the user did not begin, all is in there but the steps, which are *earlier*."""

    steps: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    earlier_steps: int = 0

    def carried_over(self) -> "TurnTotals":
        """What a turn begins with that goes on where this one ended."""
        return replace(self, steps=0, earlier_steps=self.earlier_steps + self.steps)

    def add_extra(self, usage: Usage | None, cost: float | None) -> "TurnTotals":
        """With a model call that was no step of the turn, such as a summary."""
        return replace(self.add_step(usage, cost), steps=self.steps)

    def add_step(self, usage: Usage | None, cost: float | None) -> "TurnTotals":
        total = self.cost if cost is None else (self.cost or 0.0) + cost
        used = self.usage + (usage or Usage())
        return replace(self, steps=self.steps + 1, usage=used, cost=total)


class Guard(Protocol):
    """One reason to end a turn before its next step."""

    def before_step(self, totals: TurnTotals) -> str | None:
        """A sentence for the user when the turn must end now, else None."""
        ...


@dataclass(frozen=True, slots=True)
class StepLimit:
    """The agent's ``max_steps``. One more step without tools follows, to sum up (L2)."""

    steps: int

    def before_step(self, totals: TurnTotals) -> str | None:
        if totals.steps + totals.earlier_steps > self.steps:
            return f"Stopped after {self.steps} steps, the limit of this agent."
        return None

    def is_last(self, totals: TurnTotals) -> bool:
        return totals.steps + totals.earlier_steps == self.steps


@dataclass(frozen=True, slots=True)
class TokenLimit:
    tokens: int

    def before_step(self, totals: TurnTotals) -> str | None:
        used = totals.usage.input + totals.usage.output
        return (
            f"Stopped at {tokens(used)} of {tokens(self.tokens)} tokens."
            if used >= self.tokens
            else None
        )


@dataclass(frozen=True, slots=True)
class CostLimit:
    dollars: float

    def before_step(self, totals: TurnTotals) -> str | None:
        if totals.cost is not None and totals.cost >= self.dollars:
            return f"Stopped at {money(totals.cost)} of {money(self.dollars)}."
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnLimits:
    """What bounds each turn, children included (spec 1, L2a); None for no limit. *target* is
    no limit but an aim, in output tokens; *repeats* is the threshold of the doom loop (L4)."""

    max_steps: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    target_tokens: int | None = None
    max_repeats: int = DOOM_THRESHOLD
    auto_compact: bool = True

    def guards(self, agent_steps: int | None) -> tuple[Guard, ...]:
        given = [s for s in (self.max_steps, agent_steps) if s is not None]
        guards: list[Guard] = [StepLimit(min(given))] if given else []
        if self.max_tokens is not None:
            guards.append(TokenLimit(self.max_tokens))
        if self.max_cost is not None:
            guards.append(CostLimit(self.max_cost))
        return tuple(guards)


@dataclass(slots=True)
class _Seen:
    call: str
    tool: str
    exact: str
    loose: str
    result: str | None = None


class DoomLoop:
    """Notices the same call over and over, across the steps of one turn (L4).

    Exact repeats count, and near-duplicates: the same tool with inputs equal but for white
    space and numbers, whose results were equal too.
    """

    def __init__(self, threshold: int = DOOM_THRESHOLD) -> None:
        self._threshold = threshold
        self._seen: deque[_Seen] = deque(maxlen=max(1, threshold - 1))

    def observe(self, call: str, tool: str, arguments: JsonObject | str) -> bool:
        """Note a call as it is submitted; true when it is the one too many.

        *call* names it for ``finished``; *arguments* are the parsed input, or the text of
        what did not parse.
        """
        exact, loose = _keys(arguments)
        before = list(self._seen)
        self._seen.append(_Seen(call, tool, exact, loose))
        if self._threshold <= 1 or len(before) < self._threshold - 1:
            return False
        if any(s.tool != tool for s in before):
            return False
        if all(s.exact == exact for s in before):
            return True
        results = {s.result for s in before}
        return all(s.loose == loose for s in before) and len(results) == 1 and None not in results

    def record_result(self, call: str, result: str) -> None:
        """Note what the model read of a call's end."""
        for seen in self._seen:
            if seen.call == call:
                seen.result = result

    def reset(self) -> None:
        """Forget what was seen: the user said to go on."""
        self._seen.clear()


def _keys(arguments: JsonObject | str) -> tuple[str, str]:
    exact = (
        arguments
        if isinstance(arguments, str)
        else json.dumps(arguments, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    )
    return exact, re.sub(r"[\s\d]+", "", exact)
