"""The permission service: it evaluates the needs of tool calls and keeps the queue of requests to
the user, each of which is answered once.

The record of a request is public (``PermissionRequest``); the future that waits for the reply is
private. A request outlives neither its tool call nor its session: whatever ends the waiting task
withdraws the request and reports that on the bus.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Protocol

from agent.bus import Bus
from agent.permission.decision_records import (
    decision_of_reply,
    decision_of_rules,
    denial_error,
    refusal,
)
from agent.permission.judge_limits import Judge, reason_to_ask
from agent.permission.read_rules import ReadRules
from agent.permission.rules import (
    ALLOWED_BY_NAME,
    ALWAYS,
    SAVED,
    UNSANDBOXED,
    Rule,
    accept_edit,
    allow_by_hook,
    evaluate,
    strictest,
)
from agent.permission.sandbox_policy.command_policy import (
    as_permission,
    grant_of,
    grant_of_reply,
    unproven_commands,
)
from agent.records.blocks import Block
from agent.records.decisions import Decision, Verdict
from agent.records.errors import REJECTED, REJECTED_SAYING, PermissionRejected
from agent.records.events import PermissionAsked, PermissionModeChanged, PermissionReplied
from agent.records.frozen import frozen
from agent.records.ids import new_id
from agent.records.requests import (
    Action,
    EvaluatedNeed,
    PermissionMode,
    PermissionNeed,
    PermissionReply,
    PermissionRequest,
)
from agent.records.sandbox import UNSANDBOXED as NO_SANDBOX
from agent.records.sandbox import SandboxGrant

_STRICTNESS = ("allow", "ask", "deny")


class RuleStore(Protocol):
    """The stored patterns that the user answered "always" to, by the root of the session tree."""

    async def session_rules(self, root_id: str) -> tuple[tuple[str, str], ...]:
        """Return the stored ``(permission, pattern)`` pairs, oldest first."""
        ...

    async def add_session_rule(self, root_id: str, permission: str, pattern: str) -> None: ...

    async def drop_session_rule(self, root_id: str, permission: str, pattern: str) -> None: ...


class RulesOfAgent(Protocol):
    """Returns the rules in force for an agent's name without those from "always", in the order in
    which they are evaluated; *child* if it works as a sub-agent."""

    def __call__(self, name: str, /, *, child: bool) -> Sequence[Rule]: ...


@frozen
class PermissionContext:
    """The tool call that needs permissions."""

    session_id: str

    root_id: str
    """The root of the session tree."""

    message_id: str
    call_id: str
    agent: str
    tool: str
    folder: str

    callers: tuple[str, ...] = ()
    """The agents for which a sub-agent works, nearest first: their rules apply too."""

    on_request: Callable[[str | None], None] | None = None
    """Receives the id of the pending request, and None when it is over."""

    on_judging: Callable[[], None] | None = None
    """Called when the judge is asked; ``on_request`` then receives None."""

    on_decision: Callable[[Decision], None] | None = None
    """Receives each decision about the call."""

    on_sandbox: Callable[[SandboxGrant], None] | None = None
    """Receives the sandbox of an allowed call, None for a call that runs in none."""

    allowed_by_hook: bool = False

    ask_hooks: Callable[[], Awaitable[tuple[Action | None, str]]] | None = None
    """Called before the user is asked; returns allow or deny with the reason. Neither overrides a
    rule that asks."""

    judge: Judge | None = None
    """Asked before the user in the mode ``judge``; None for requests that only the user answers."""


@frozen
class _Pending:
    """A request that waits for its reply.

    The future holds an exception as a *result*: perhaps nothing is left to retrieve it.
    """

    request: PermissionRequest
    context: PermissionContext
    future: asyncio.Future[PermissionReply | PermissionRejected]


class PermissionService:
    """Evaluates needs and asks the user, as *mode* says.

    With *trusted*, rules of the project can loosen an ask; with *deny_wins*, any deny that matches
    decides. Mode and flags can be set while requests are pending; they apply to later ones.
    """

    def __init__(
        self,
        bus: Bus,
        store: RuleStore,
        rules_for: RulesOfAgent,
        *,
        mode: PermissionMode = "ask",
        trusted: bool = False,
        deny_wins: bool = False,
    ) -> None:
        self._bus = bus
        self._store = store
        self._rules_for = rules_for
        self._pending: dict[str, _Pending] = {}
        self._session_rules: dict[str, list[tuple[str, str]]] = {}
        self._saved_rules: list[tuple[str, str]] = []
        self._mode: PermissionMode = mode
        self.trusted = trusted
        self.deny_wins = deny_wins

    @property
    def mode(self) -> PermissionMode:
        return self._mode

    @mode.setter
    def mode(self, mode: PermissionMode) -> None:
        if mode != self._mode:
            self._mode = mode
            self._bus.publish(PermissionModeChanged(mode))

    async def ask(
        self,
        request: PermissionContext,
        needs: tuple[PermissionNeed, ...],
        heading: str,
        blocks: tuple[Block, ...] = (),
    ) -> PermissionReply | None:
        """Get approval for *needs*; return None if the rules allow all of them.

        Raises ``PermissionRejected`` if a rule denies one, the user rejects, or the request is
        withdrawn.
        """
        await self._load(request.root_id)
        evaluated = self._evaluate(request, needs)
        _raise_denied(request, evaluated)
        if request.ask_hooks is not None and any(one.action == "ask" for one in evaluated):
            evaluated = await self._evaluate_with_hooks(request, needs, request.ask_hooks)
        if all(one.action == "allow" for one in evaluated):
            sandbox = self._sandbox(request, evaluated, answered=False)
            if (decision := decision_of_rules(evaluated, sandbox)) is not None:
                _report_decision(request, decision)
            _report_sandbox(request, sandbox)
            return None
        record = self._new_request(request, evaluated, heading, blocks)
        if self.mode == "auto" and not any(
            one.action == "ask" and one.need.permission in ALLOWED_BY_NAME for one in evaluated
        ):
            return _allow_by_mode(record, request)
        if self.mode == "judge" and request.judge is not None:
            verdict = await self._judge(record, request, request.judge)
            record = replace(record, verdict=verdict)
            actions: list[Action] = [one.action for one in self._evaluate(request, needs)]
            now = strictest(*actions)
            if self.mode != "judge" or now != "ask":  # the mode or a rule was changed meanwhile
                return await self.ask(request, needs, heading, blocks)
            if verdict.answer == "allow":
                return _allow_by_mode(record, request)
        return await self._wait_for_reply(record, request)

    async def _judge(
        self, record: PermissionRequest, context: PermissionContext, judge: Judge
    ) -> Verdict:
        """Return the verdict on a call: the judge's, unless only the user can allow it."""
        how = {"trusted": self.trusted, "deny_wins": self.deny_wins}
        if reason := reason_to_ask(record, self._rule_sets(context), **how):
            return Verdict(answer="ask", reason=reason)
        if context.on_judging is not None:
            context.on_judging()
        verdict = await judge.judge(record)
        if context.on_request is not None:
            context.on_request(None)  # the time of the judge is not the tool's
        return verdict

    async def _evaluate_with_hooks(
        self,
        request: PermissionContext,
        needs: tuple[PermissionNeed, ...],
        ask_hooks: Callable[[], Awaitable[tuple[Action | None, str]]],
    ) -> tuple[EvaluatedNeed, ...]:
        """Evaluate *needs* once more after asking the hooks."""
        action, reason = await ask_hooks()
        if action == "deny":
            _report_decision(request, refusal("hook", reason))
            raise PermissionRejected(reason, by_rule=True)
        evaluated = self._evaluate(
            replace(request, allowed_by_hook=True) if action == "allow" else request, needs
        )
        _raise_denied(request, evaluated)
        return evaluated

    async def raise_if_denied(
        self, request: PermissionContext, needs: tuple[PermissionNeed, ...]
    ) -> None:
        """Raise ``PermissionRejected`` if a rule denies one of *needs*, which the user has
        approved."""
        await self._load(request.root_id)
        _raise_denied(request, self._evaluate(request, needs))

    async def allow_edited(
        self,
        request: PermissionContext,
        needs: tuple[PermissionNeed, ...],
        reply: PermissionReply,
    ) -> None:
        """Allow a command that the user wrote in place of the model's, in *reply* to its request.
        Raises ``PermissionRejected`` if a rule denies it."""
        await self.raise_if_denied(request, needs)
        evaluated = self._evaluate(request, needs)
        sandbox = self._sandbox(request, evaluated, answered=True)
        if reply.unsandboxed and sandbox is not None and self._can_leave_sandbox(request, needs):
            sandbox = NO_SANDBOX
        _report_sandbox(request, sandbox)

    def reply(self, request_id: str, reply: PermissionReply) -> bool:
        """Reply to a request. False if it was answered or withdrawn before."""
        pending = self._pending.get(request_id)
        if pending is None:
            return False
        request = pending.request
        if reply.answer == "reject":
            comment = reply.comment.strip()
            self._settle(pending, reply, _rejection_error(comment))
            if not comment:
                self._reject_session(request.session_id)
            return True
        self._settle(pending, reply, reply)
        if reply.answer == "always" and request.always:
            known = self._session_rules.setdefault(request.root_id, [])
            known.extend(rule for rule in request.always if rule not in known)
            self._evaluate_pending(request.root_id)
        return True

    def refuse(self, request_id: str, reason: str) -> bool:
        """Refuse a request with a reason for the model, as a policy does if no user can be asked.
        False if it was answered or withdrawn before."""
        pending = self._pending.get(request_id)
        if pending is None:
            return False
        refusal = PermissionRejected(reason, by_rule=True)
        self._settle(pending, PermissionReply("reject", reason, by="policy"), refusal)
        return True

    def pending(self, root_id: str | None = None) -> tuple[PermissionRequest, ...]:
        """Return the pending requests of one session tree or of all, oldest first."""
        return tuple(
            pending.request
            for pending in self._pending.values()
            if root_id is None or pending.request.root_id == root_id
        )

    def cancel_session(self, session_id: str) -> None:
        """Withdraw every request of one session; the calls that wait are rejected."""
        gone = PermissionRejected(
            "Canceled by the user before the question was answered.", withdrawn=True
        )
        for pending in list(self._pending.values()):
            if pending.request.session_id == session_id:
                self._settle(pending, None, gone)

    def always_rules(self, root_id: str | None) -> tuple[Rule, ...]:
        """Return the rules from "always": saved since the start, then those of this session
        tree."""
        session = self._session_rules.get(root_id, []) if root_id is not None else []
        return tuple(
            Rule(permission, pattern, "allow", source)
            for source, given in ((SAVED, self._saved_rules), (ALWAYS, session))
            for permission, pattern in given
        )

    async def current_rules(self, root_id: str | None) -> tuple[Rule, ...]:
        """Return ``always_rules`` with those stored for the session before the program started."""
        if root_id is not None:
            await self._load(root_id)
        return self.always_rules(root_id)

    async def revoke(self, root_id: str, permission: str, pattern: str) -> bool:
        """Remove a pattern that the user answered "always" to in this session tree. False if there
        is none. Calls that it allowed continue."""
        await self._load(root_id)
        known = self._session_rules[root_id]
        if (permission, pattern) not in known:
            return False
        known.remove((permission, pattern))
        await self._store.drop_session_rule(root_id, permission, pattern)
        return True

    def add_saved_rule(self, permission: str, pattern: str) -> None:
        """Add a rule that was saved to the user's settings: it applies to every session from now
        on, and to pending requests."""
        if (permission, pattern) not in self._saved_rules:
            self._saved_rules.append((permission, pattern))
        for root_id in {pending.request.root_id for pending in self._pending.values()}:
            self._evaluate_pending(root_id)

    async def _load(self, root_id: str) -> None:
        if root_id not in self._session_rules:
            stored = await self._store.session_rules(root_id)
            known = self._session_rules.setdefault(root_id, [])
            known.extend(rule for rule in stored if rule not in known)

    def _evaluate(
        self, context: PermissionContext | PermissionRequest, needs: tuple[PermissionNeed, ...]
    ) -> tuple[EvaluatedNeed, ...]:
        """Evaluate each need under the rules of the agent and of all its callers; the strictest
        verdict counts."""
        allowed_by_hook = isinstance(context, PermissionContext) and context.allowed_by_hook
        sets = self._rule_sets(context)
        return tuple(
            max(
                (
                    self._evaluate_one(need, rules, allowed_by_hook=allowed_by_hook)
                    for rules in sets
                ),
                key=lambda one: _STRICTNESS.index(one.action),
            )
            for need in needs
        )

    async def read_rules(self, request: PermissionContext, project: str) -> ReadRules:
        """Return the rules for reading that apply to a call in *project*."""
        await self._load(request.root_id)
        return ReadRules(
            self._rule_sets(request), lambda need: self._evaluate(request, (need,))[0], project
        )

    def _rule_sets(self, context: PermissionContext | PermissionRequest) -> list[tuple[Rule, ...]]:
        """Return the rules of the agent and of each of its callers."""
        always = self.always_rules(context.root_id)
        return [
            (*self._rules_for(name, child=place < len(context.callers)), *always)
            for place, name in enumerate((context.agent, *context.callers))
        ]

    def _sandbox(
        self, context: PermissionContext, evaluated: tuple[EvaluatedNeed, ...], *, answered: bool
    ) -> SandboxGrant | None:
        """Return the sandbox of a call whose needs are allowed, None if it runs in none."""
        if context.on_sandbox is None:
            return None

        def allowed_by_name(permission: str, commands: Sequence[PermissionNeed]) -> bool:
            sets = [
                [rule for rule in rules if rule.permission == permission]
                for rules in self._rule_sets(context)
            ]
            return all(
                self._evaluate_one(need, rules, allowed_by_hook=False).action == "allow"
                for need in (as_permission(command, permission) for command in commands)
                for rules in sets
            )

        return grant_of(evaluated, allowed_by_name, answered=answered)

    def _can_leave_sandbox(
        self, context: PermissionContext, needs: Sequence[PermissionNeed]
    ) -> bool:
        """Return whether no rule denies to run the commands among *needs* without the sandbox."""
        outside = (as_permission(need, UNSANDBOXED) for need in unproven_commands(needs))
        return all(one.action != "deny" for one in self._evaluate(context, tuple(outside)))

    def _evaluate_one(
        self, need: PermissionNeed, rules: Sequence[Rule], *, allowed_by_hook: bool
    ) -> EvaluatedNeed:
        how = {"trusted": self.trusted, "deny_wins": self.deny_wins}
        one = evaluate(need, rules, **how)
        one = allow_by_hook(one, rules, **how) if allowed_by_hook else one
        return accept_edit(one, rules, **how) if self.mode == "accept edits" else one

    def _new_request(
        self,
        context: PermissionContext,
        evaluated: tuple[EvaluatedNeed, ...],
        heading: str,
        blocks: tuple[Block, ...],
    ) -> PermissionRequest:
        asking = [one.need for one in evaluated if one.action == "ask"]
        always = dict.fromkeys(
            (need.permission, need.always)
            for need in asking
            if need.always is not None and not need.strict
        )
        sandbox = self._sandbox(context, evaluated, answered=True)
        can_leave = sandbox is not None and sandbox.level != "none"
        return PermissionRequest(
            id=new_id("per"),
            session_id=context.session_id,
            root_id=context.root_id,
            message_id=context.message_id,
            call_id=context.call_id,
            agent=context.agent,
            tool=context.tool,
            heading=heading,
            folder=context.folder,
            callers=context.callers,
            blocks=blocks,
            needs=evaluated,
            always=tuple(always),
            created=time.time(),
            sandbox=sandbox,
            can_leave_sandbox=can_leave
            and self._can_leave_sandbox(context, [one.need for one in evaluated]),
        )

    async def _wait_for_reply(
        self, request: PermissionRequest, context: PermissionContext
    ) -> PermissionReply:
        pending = _Pending(request, context, asyncio.get_running_loop().create_future())
        on_request = context.on_request
        self._pending[request.id] = pending
        try:
            self._bus.publish(PermissionAsked(request))
            if on_request is not None:
                on_request(request.id)
            answer = await pending.future
        finally:
            if self._pending.pop(request.id, None) is not None:
                self._bus.publish(PermissionReplied(request.id, request.session_id, None))
            if on_request is not None:
                on_request(None)
        if isinstance(answer, PermissionRejected):
            raise answer
        _report_sandbox(context, grant_of_reply(request, answer))
        if answer.answer == "always":
            for rule in request.always:
                if rule in self._session_rules[request.root_id]:  # else it was revoked meanwhile
                    await self._store.add_session_rule(request.root_id, *rule)
        return answer

    def _settle(
        self,
        pending: _Pending,
        reply: PermissionReply | None,
        answer: PermissionReply | PermissionRejected,
    ) -> None:
        """End one request: remove it from the queue, wake its call and report it on the bus."""
        request = pending.request
        del self._pending[request.id]
        if not pending.future.done():
            pending.future.set_result(answer)
            if reply is not None:
                _report_decision(pending.context, decision_of_reply(request, reply))
        self._bus.publish(PermissionReplied(request.id, request.session_id, reply))

    def _reject_session(self, session_id: str) -> None:
        reply = PermissionReply("reject")
        for pending in list(self._pending.values()):
            if pending.request.session_id == session_id:
                self._settle(pending, reply, _rejection_error(""))

    def _evaluate_pending(self, root_id: str) -> None:
        """Settle the requests that are covered after an "always"; a deny found now still denies."""
        for pending in list(self._pending.values()):
            request = pending.request
            if request.root_id != root_id:
                continue
            needs = tuple(one.need for one in request.needs)
            evaluated = self._evaluate(request, needs)
            denied = denial_error(evaluated)
            if denied is not None:
                reply = PermissionReply("reject", str(denied), by="rule")
                self._settle(pending, reply, denied)
            elif all(one.action == "allow" for one in evaluated):
                once = PermissionReply("once", by="rule")
                self._settle(pending, once, once)


def _rejection_error(comment: str) -> PermissionRejected:
    if comment:
        return PermissionRejected(f"{REJECTED_SAYING}{comment}", feedback=comment)
    return PermissionRejected(REJECTED)


def _allow_by_mode(record: PermissionRequest, context: PermissionContext) -> PermissionReply:
    reply = PermissionReply("once", by="mode")
    _report_decision(context, decision_of_reply(record, reply))
    _report_sandbox(context, record.sandbox)
    return reply


def _report_decision(context: PermissionContext, decision: Decision) -> None:
    if context.on_decision is not None:
        context.on_decision(decision)


def _report_sandbox(context: PermissionContext, sandbox: SandboxGrant | None) -> None:
    if context.on_sandbox is not None and sandbox is not None:
        context.on_sandbox(sandbox)


def _raise_denied(context: PermissionContext, evaluated: tuple[EvaluatedNeed, ...]) -> None:
    denied = denial_error(evaluated)
    if denied is not None:
        why = next(one.reason for one in evaluated if one.action == "deny")
        _report_decision(context, refusal("rule", why))
        raise denied
