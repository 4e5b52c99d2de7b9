"""How a tool call came to be allowed or refused: what is kept with it (spec 7, D1; spec 8, U11)."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

Answer: TypeAlias = Literal["allow", "once", "always", "reject"]
"""``allow`` where nobody was asked: something that was settled before allows it."""

Decider: TypeAlias = Literal["person", "rule", "mode", "policy", "hook"]
"""Who decided: the person who was asked, a rule, the mode in which the program asks less, the
policy of a run with nobody there, or a hook."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Consent:
    """One decision about a call, made *at* (seconds since the epoch).

    *asked* is the question as it was put, "" where none was. *comment* is what the person or the
    policy said, *reason* what it rests on: the rule, what "always" covers, what was changed.
    """

    answer: Answer
    by: Decider
    at: float
    asked: str = ""
    comment: str = ""
    reason: str = ""
