"""How a tool call came to be allowed or refused: what is kept with it."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

DecisionAnswer: TypeAlias = Literal["allow", "once", "always", "reject"]
"""``allow`` where nobody was asked: something that was settled before allows it."""

DecisionSource: TypeAlias = Literal["person", "rule", "mode", "policy", "hook"]
"""Who decided: the person who was asked, a rule, the mode in which the program asks less, the
policy of a run with nobody there, or a hook."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One decision about a call, made *at* (seconds since the epoch).

    *asked* is the question as it was put, "" where none was. *comment* is what the person or the
    policy said, *reason* what it rests on: the rule, what "always" covers, what was changed.
    """

    answer: DecisionAnswer
    by: DecisionSource
    at: float
    question: str = ""
    comment: str = ""
    reason: str = ""


def decision_label(decision: Decision) -> str:
    """The decision in a few words: ``allowed once``, ``denied by a rule``."""
    if decision.answer == "reject":
        return _REFUSED[decision.by]
    if decision.by == "person":
        return "allowed from now on" if decision.answer == "always" else "allowed once"
    return _ALLOWED[decision.by]


def explain_decision(decision: Decision) -> str:
    """``told`` with what was said and what it rests on."""
    words = decision_label(decision)
    if decision.reason:
        words = decision.reason if decision.by == "rule" else f"{words}: {decision.reason}"
    return f"{words} “{decision.comment}”" if decision.comment else words


_ALLOWED: dict[DecisionSource, str] = {
    "rule": "allowed by a rule",
    "mode": "allowed by the mode",
    "policy": "allowed beforehand",
    "hook": "allowed by a hook",
}
_REFUSED: dict[DecisionSource, str] = {
    "person": "rejected",
    "rule": "denied by a rule",
    "mode": "denied by the mode",
    "policy": "nobody was there to allow it",
    "hook": "refused by a hook",
}
