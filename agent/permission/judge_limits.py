"""The limits of the judge: the calls that it can allow in the ``judge`` permission mode, and those
that only the user can. What the analysis found decides, never the judge."""

import os.path
from collections.abc import Iterator, Sequence
from typing import Protocol

from agent.permission.rules import (
    ALLOWED_BY_NAME,
    DEFAULT,
    Rule,
    mentioned_denial,
    rule_for,
)
from agent.permission.sandbox_policy.command_policy import (
    folder_of,
    temporary_folders,
    unproven_commands,
)
from agent.records.decisions import Verdict
from agent.records.requests import EvaluatedNeed, PermissionNeed, PermissionRequest
from agent.records.sandbox import SandboxGrant


class Judge(Protocol):
    """Judges calls of one session."""

    async def judge(self, request: PermissionRequest) -> Verdict:
        """Return the verdict on *request*. Everything that goes wrong is a verdict too."""
        ...


def reason_to_ask(
    request: PermissionRequest, rule_sets: Sequence[Sequence[Rule]], **how: bool
) -> str:
    """Return the reason why no judge can allow *request*, "" if one can. *rule_sets* are the rules
    of the agent and of each of its callers; *how* is as for ``deciding_rule``."""
    needs = [one.need for one in request.needs]
    asking = [one for one in request.needs if one.action == "ask"]
    changes = bool(unproven_commands(needs)) or any(n.permission == "edit" for n in needs)
    for one in asking:
        reason = _by_analysis(one, request.sandbox, changes=changes)
        reason = reason or next(_by_rules(one.need, rule_sets, **how), "")
        if reason:
            return reason
    return ""


def _by_analysis(one: EvaluatedNeed, sandbox: SandboxGrant | None, *, changes: bool) -> str:
    """Return the reason that lies in what the call does."""
    need = one.need
    if need.strict == "guarded" or need.permission in ALLOWED_BY_NAME or need.destructive:
        return one.reason or need.reason
    if need.permission == "read":
        return one.reason or need.reason
    if need.strict == "unknown" and not _is_confined(sandbox):
        return f"{one.reason or need.reason}, and no sandbox without network confines it"
    if need.permission == "external_directory" and changes and not _is_temporary(need):
        return f"it can change files outside the project: {folder_of(need)}"
    return ""


def _by_rules(
    need: PermissionNeed, rule_sets: Sequence[Sequence[Rule]], **how: bool
) -> Iterator[str]:
    """Yield the reasons that lie in rules: one that asks for more than everything by name, or one
    that denies what the call may run."""
    for rules in rule_sets:
        rule = rule_for(need, rules, text=None, **how)
        named = rule is not None and rule.source != DEFAULT and bool(rule.pattern.strip("*"))
        if rule is not None and named and rule.action == "ask":
            yield f"a rule asks: {rule.permission} `{rule.pattern}` ({rule.source})"
        if denied := mentioned_denial(need, rules, **how):
            yield denied


def _is_confined(sandbox: SandboxGrant | None) -> bool:
    """Return whether the operating system keeps a command in the project and off the network."""
    return sandbox is not None and sandbox.level == "workspace-write" and not sandbox.network


def _is_temporary(need: PermissionNeed) -> bool:
    path = os.path.realpath(folder_of(need))
    return any(path == one or path.startswith(f"{one}/") for one in temporary_folders())
