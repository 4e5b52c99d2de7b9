"""Records of permission decisions, and the errors for refusals."""

import time
from collections.abc import Iterator, Sequence

from agent.permission.rules import EDITS_ACCEPTED, HOOK_ALLOWS
from agent.permission.sandbox_policy.command_policy import grant_of_reply
from agent.records.blocks import DiffBlock, ShellBlock
from agent.records.decisions import Decision, DecisionSource
from agent.records.errors import PermissionRejected
from agent.records.requests import EvaluatedNeed, PermissionReply, PermissionRequest
from agent.records.sandbox import SandboxGrant

MAX_REFUSED = 20_000
"""Characters of what was refused that are kept."""

_BY: dict[str, DecisionSource] = {HOOK_ALLOWS: "hook", EDITS_ACCEPTED: "mode"}


def decision_of_rules(
    evaluated: Sequence[EvaluatedNeed], sandbox: SandboxGrant | None = None
) -> Decision | None:
    """Return the decision on needs that are all allowed; None if none of them needs approval."""
    settled = [one for one in evaluated if one.need.default_action == "ask"]
    if not settled:
        return None
    reasons = dict.fromkeys(one.reason for one in settled)
    by: DecisionSource = "rule"
    for reason in reasons:
        by = _BY.get(reason, by)
    return Decision(
        answer="allow",
        by=by,
        at=time.time(),
        reason="; ".join(reasons),
        sandbox=sandbox.level if sandbox is not None else None,
        network=sandbox is not None and sandbox.network,
    )


def decision_of_reply(request: PermissionRequest, reply: PermissionReply) -> Decision:
    """Return the decision that *reply* to *request* makes."""
    rests: list[str] = []
    refused = ""
    if reply.answer == "always":
        rests += [f"{permission} `{pattern}`" for permission, pattern in request.always]
    if reply.edited_command is not None:
        rests.append("with an edited command")
        shells = (block for block in request.blocks if isinstance(block, ShellBlock))
        refused = next((block.command for block in shells), "")
    sandbox = grant_of_reply(request, reply) if reply.answer != "reject" else None
    changes = sum(len(b.hunks) for b in request.blocks if isinstance(b, DiffBlock))
    if reply.hunks is not None and len(reply.hunks) < changes:
        rests.append("only some of the changes")
        refused = "\n".join(_refused_lines(request, reply.hunks))
    return Decision(
        answer=reply.answer,
        by=reply.by,
        at=time.time(),
        question=request.heading,
        comment=reply.comment.strip(),
        reason="; ".join(rests),
        refused=refused[:MAX_REFUSED],
        verdict=request.verdict,
        sandbox=sandbox.level if sandbox is not None else None,
        network=sandbox is not None and sandbox.network,
    )


def _refused_lines(request: PermissionRequest, accepted: frozenset[int]) -> Iterator[str]:
    """Yield the changed lines of the hunks that are not *accepted*, below their files."""
    for block in request.blocks:
        if not isinstance(block, DiffBlock):
            continue
        for hunk in block.hunks:
            if hunk.index in accepted:
                continue
            first = next((n for line in hunk.lines if (n := line.new or line.old)), 0)
            yield f"{block.path}:{first}"
            for line in hunk.lines:
                if line.kind != "context":
                    yield f"{'+' if line.kind == 'add' else '-'}{line.text}"


def refusal(by: DecisionSource, reason: str) -> Decision:
    """Return a refusal without a request."""
    return Decision(answer="reject", by=by, at=time.time(), reason=reason)


def denial_error(evaluated: Sequence[EvaluatedNeed]) -> PermissionRejected | None:
    """Return the error that names permission, text and rule; None if nothing is denied."""
    for one in evaluated:
        if one.action == "deny":
            need = one.need
            return PermissionRejected(
                f"`{need.pattern}` ({need.permission}) is {one.reason}. "
                "Do it another way or ask the user to change the rule.",
                by_rule=True,
            )
    return None
