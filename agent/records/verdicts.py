"""Verdicts of the judge: the small model that decides on calls in the ``judge`` permission mode."""

from typing import Literal, TypeAlias

from agent.records.frozen import frozen

VerdictAnswer: TypeAlias = Literal["allow", "ask", "none"]
"""``none`` means that the model gave no verdict in time, or none that can be used."""


@frozen(kw_only=True)
class Verdict:
    """One verdict on a call. The user is asked unless its answer is ``allow``."""

    answer: VerdictAnswer
    model: str = ""
    """The judge, as ``provider/model``; "" if it was not asked: only the user can allow the
    call."""
    reason: str = ""
    """One sentence: the judge's own, or the reason for having no verdict."""


def explain_verdict(verdict: Verdict) -> str:
    """Return the verdict in words: ``haiku suggests asking: it deletes a table``."""
    name = judge_name(verdict.model)
    match verdict.answer:
        case "allow":
            return f"allowed by {name}: {verdict.reason}"
        case "ask" if name:
            return f"{name} suggests asking: {verdict.reason}"
        case "none" if name:
            return f"{name} gave no verdict: {verdict.reason}"
        case _:
            return f"not judged: {verdict.reason}"


def judge_name(model: str) -> str:
    """Return the name of a model without its provider."""
    provider, _, name = model.partition("/")
    return name or provider
