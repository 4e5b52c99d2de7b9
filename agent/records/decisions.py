"""Decisions to allow or reject a tool call, as they are stored with it, and a judge's verdicts."""

from typing import Literal, TypeAlias

from agent.records.frozen import frozen
from agent.records.sandbox import SandboxLevel, sandbox_label

# Verdicts of the judge: the small model that decides on calls in the ``judge`` permission mode.

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


DecisionAnswer: TypeAlias = Literal["allow", "once", "always", "reject"]
"""``allow`` means that the user was not asked: an earlier decision allows the call."""

DecisionSource: TypeAlias = Literal["person", "rule", "mode", "policy", "hook"]
"""The source of a decision: the user who was asked, a rule, a permission mode that asks less, the
policy of an unattended run, or a hook."""


@frozen(kw_only=True)
class Decision:
    """One decision about a call."""

    answer: DecisionAnswer
    by: DecisionSource
    at: float
    """Seconds since the epoch."""
    question: str = ""
    """The question that was asked; "" for none."""
    comment: str = ""
    """The comment of the user or the policy."""
    reason: str = ""
    """The rule, the scope of "always", or the changes that the decision rests on."""
    refused: str = ""
    """The refused part: the command of the question, or hunks as a patch."""
    sandbox: SandboxLevel | None = None
    """The level of the sandbox that the call got; None if there was no choice."""
    network: bool = False
    """True if the call got the network in its sandbox."""
    verdict: Verdict | None = None
    """The verdict of the judge; None without one."""


def decision_label(decision: Decision) -> str:
    """Return the decision in a few words: ``allowed once``, ``denied by a rule``."""
    if decision.answer == "reject":
        return _REFUSED[decision.by]
    if decision.by == "mode" and decision.verdict is not None:
        return f"allowed by {judge_name(decision.verdict.model)}"
    if decision.by == "person":
        return "allowed from now on" if decision.answer == "always" else "allowed once"
    return _ALLOWED[decision.by]


def explain_decision(decision: Decision) -> str:
    """Return the label with the comment and the reason."""
    words = decision_label(decision)
    if decision.reason:
        words = decision.reason if decision.by == "rule" else f"{words}: {decision.reason}"
    judged = decision.verdict
    if judged is not None and decision.by == "mode":
        words = explain_verdict(judged)
    if decision.sandbox is not None:
        words = f"{words}, {sandbox_label(decision.sandbox, network=decision.network)}"
    words = f"{words} “{decision.comment}”" if decision.comment else words
    told = explain_verdict(judged) if judged is not None else ""
    return words if told in words else f"{words} ({told})"


_ALLOWED: dict[DecisionSource, str] = {
    "rule": "allowed by a rule",
    "mode": "allowed by the mode",
    "policy": "allowed in advance",
    "hook": "allowed by a hook",
}
_REFUSED: dict[DecisionSource, str] = {
    "person": "rejected",
    "rule": "denied by a rule",
    "mode": "denied by the mode",
    "policy": "no one was available to approve it",
    "hook": "refused by a hook",
}
