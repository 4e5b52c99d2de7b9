"""Asking for consent (spec 4, M5): one queue of questions, answered once each.

The record of a question is public (``PermissionRequest``); the future that waits for its
answer stays in here. A question outlives neither its tool nor its session: whatever ends
the waiting task takes the question away and says so on the bus.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from agent.bus import Bus
from agent.permission.decisions import decision_of_reply, decision_of_rules, denial_error, refusal
from agent.permission.rules import (
    ALLOWED_BY_NAME,
    ALWAYS,
    SAVED,
    Rule,
    accept_edit,
    allow_by_hook,
    evaluate,
)
from agent.records.blocks import Block
from agent.records.decisions import Decision
from agent.records.errors import PermissionRejected
from agent.records.events import PermissionAsked, PermissionReplied
from agent.records.ids import new_id
from agent.records.requests import (
    Action,
    EvaluatedNeed,
    PermissionMode,
    PermissionNeed,
    PermissionReply,
    PermissionRequest,
)

_STRICTER = ("allow", "ask", "deny")


class RuleStore(Protocol):
    """Where "always" is kept, by the root of the session tree (spec 3, S1)."""

    async def session_rules(self, root_id: str) -> tuple[tuple[str, str], ...]:
        """The stored ``(permission, pattern)`` pairs, oldest first."""
        ...

    async def add_session_rule(self, root_id: str, permission: str, pattern: str) -> None: ...

    async def drop_session_rule(self, root_id: str, permission: str, pattern: str) -> None: ...


class RulesOfAgent(Protocol):
    """The rules in force for an agent's name, in the order of M1, without "always"; *child*
    when it works as a sub-agent."""

    def __call__(self, name: str, /, *, child: bool) -> Sequence[Rule]: ...


@dataclass(frozen=True, slots=True)
class PermissionContext:
    """Who asks. *callers* are the agents for which a sub-agent works, nearest first: their rules
    hold too (spec 3, S1). *on_asked* gets the question's id when it waits, None when it is over.
    *on_answered* gets each decision about the call. *vouched*: a hook allows the call. *consult* is
    asked before the user is: allow or deny, and why; both only ever save a question that no rule
    asks (spec 3, T3).
    """

    session_id: str
    root_id: str
    message_id: str
    call_id: str
    agent: str
    tool: str
    folder: str
    callers: tuple[str, ...] = ()
    on_request: Callable[[str | None], None] | None = None
    on_decision: Callable[[Decision], None] | None = None
    allowed_by_hook: bool = False
    ask_hooks: Callable[[], Awaitable[tuple[Action | None, str]]] | None = None


@dataclass(frozen=True, slots=True)
class _Pending:
    """The future holds an exception as a *result*: nobody may be left to retrieve it."""

    request: PermissionRequest
    context: PermissionContext
    future: asyncio.Future[PermissionReply | PermissionRejected]


class PermissionService:
    """Judges needs and asks the user, as *mode* says (M15).

    *trusted* tells whether the project's rules may loosen an ask, *deny_wins* is the mode
    of M3. Mode and flags may be set while questions wait; they hold for what is asked next.
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
        self.mode: PermissionMode = mode
        self.trusted = trusted
        self.deny_wins = deny_wins

    async def ask(
        self,
        request: PermissionContext,
        needs: tuple[PermissionNeed, ...],
        heading: str,
        blocks: tuple[Block, ...] = (),
    ) -> PermissionReply | None:
        """Get consent for *needs*; None when the rules allow all of them.

        Raises ``PermissionRejected`` when a rule denies one, the user rejects, or the
        question is withdrawn.
        """
        await self._load(request.root_id)
        judged = self._evaluate(request, needs)
        _raise_denied(request, judged)
        if request.ask_hooks is not None and any(one.action == "ask" for one in judged):
            judged = await self._evaluate_with_hooks(request, needs, request.ask_hooks)
        if all(one.action == "allow" for one in judged):
            if (consent := decision_of_rules(judged)) is not None:
                _report_decision(request, consent)
            return None
        record = _new_request(request, judged, heading, blocks)
        if self.mode == "auto" and not any(
            one.need.permission in ALLOWED_BY_NAME for one in judged
        ):
            reply = PermissionReply("once", by="mode")
            _report_decision(request, decision_of_reply(record, reply))
            return reply
        return await self._wait_for_reply(record, request)

    async def _evaluate_with_hooks(
        self,
        request: PermissionContext,
        needs: tuple[PermissionNeed, ...],
        consult: Callable[[], Awaitable[tuple[Action | None, str]]],
    ) -> tuple[EvaluatedNeed, ...]:
        """*needs* judged once more after what a hook said of them."""
        word, reason = await consult()
        if word == "deny":
            _report_decision(request, refusal("hook", reason))
            raise PermissionRejected(reason, by_rule=True)
        judged = self._evaluate(
            replace(request, allowed_by_hook=True) if word == "allow" else request, needs
        )
        _raise_denied(request, judged)
        return judged

    async def raise_if_denied(
        self, request: PermissionContext, needs: tuple[PermissionNeed, ...]
    ) -> None:
        """Raise ``PermissionRejected`` if a rule denies one of *needs*, which the user has given
        consent to."""
        await self._load(request.root_id)
        _raise_denied(request, self._evaluate(request, needs))

    def reply(self, request_id: str, reply: PermissionReply) -> bool:
        """Answer a question. False when it was answered or withdrawn before (M5)."""
        waiting = self._pending.get(request_id)
        if waiting is None:
            return False
        request = waiting.request
        if reply.answer == "reject":
            comment = reply.comment.strip()
            self._settle(waiting, reply, _rejection_error(comment))
            if not comment:
                self._reject_session(request.session_id)
            return True
        self._settle(waiting, reply, reply)
        if reply.answer == "always" and request.always:
            known = self._session_rules.setdefault(request.root_id, [])
            known.extend(rule for rule in request.always if rule not in known)
            self._evaluate_pending(request.root_id)
        return True

    def refuse(self, request_id: str, reason: str) -> bool:
        """Refuse a question with a sentence for the model, as a policy does where nobody can be
        asked (M11). False when it was answered or withdrawn before."""
        waiting = self._pending.get(request_id)
        if waiting is None:
            return False
        refusal = PermissionRejected(reason, by_rule=True)
        self._settle(waiting, PermissionReply("reject", reason, by="policy"), refusal)
        return True

    def pending(self, root_id: str | None = None) -> tuple[PermissionRequest, ...]:
        """The questions that wait, oldest first; of one session tree or of all."""
        return tuple(
            waiting.request
            for waiting in self._pending.values()
            if root_id is None or waiting.request.root_id == root_id
        )

    def cancel_session(self, session_id: str) -> None:
        """Withdraw every question of one session; the calls that wait are rejected."""
        gone = PermissionRejected(
            "Cancelled by the user before the question was answered.", withdrawn=True
        )
        for waiting in list(self._pending.values()):
            if waiting.request.session_id == session_id:
                self._settle(waiting, None, gone)

    def always_rules(self, root_id: str | None) -> tuple[Rule, ...]:
        """What the user said "always" to: saved since the start, then in this session tree."""
        session = self._session_rules.get(root_id, []) if root_id is not None else []
        return tuple(
            Rule(permission, pattern, "allow", source)
            for source, given in ((SAVED, self._saved_rules), (ALWAYS, session))
            for permission, pattern in given
        )

    async def current_rules(self, root_id: str | None) -> tuple[Rule, ...]:
        """``always_rules``, with what was stored for the session before the program started."""
        if root_id is not None:
            await self._load(root_id)
        return self.always_rules(root_id)

    async def revoke(self, root_id: str, permission: str, pattern: str) -> bool:
        """Take back what the user said "always" to in this session tree (M14). False when it
        does not stand there. A call that it let through goes on."""
        await self._load(root_id)
        known = self._session_rules[root_id]
        if (permission, pattern) not in known:
            return False
        known.remove((permission, pattern))
        await self._store.drop_session_rule(root_id, permission, pattern)
        return True

    def add_saved_rule(self, permission: str, pattern: str) -> None:
        """The user's settings allow *pattern* now: for every session from here on, and at once
        for what waits."""
        if (permission, pattern) not in self._saved_rules:
            self._saved_rules.append((permission, pattern))
        for root_id in {waiting.request.root_id for waiting in self._pending.values()}:
            self._evaluate_pending(root_id)

    async def _load(self, root_id: str) -> None:
        if root_id not in self._session_rules:
            stored = await self._store.session_rules(root_id)
            known = self._session_rules.setdefault(root_id, [])
            known.extend(rule for rule in stored if rule not in known)

    def _evaluate(
        self, asker: PermissionContext | PermissionRequest, needs: tuple[PermissionNeed, ...]
    ) -> tuple[EvaluatedNeed, ...]:
        """Each need under the rules of the agent and of all its callers; the strictest holds."""
        always = self.always_rules(asker.root_id)
        vouch = isinstance(asker, PermissionContext) and asker.allowed_by_hook
        names = (asker.agent, *asker.callers)
        sets = [
            (*self._rules_for(name, child=place < len(asker.callers)), *always)
            for place, name in enumerate(names)
        ]
        return tuple(
            max(
                (self._evaluate_one(need, rules, vouch=vouch) for rules in sets),
                key=lambda one: _STRICTER.index(one.action),
            )
            for need in needs
        )

    def _evaluate_one(
        self, need: PermissionNeed, rules: Sequence[Rule], *, vouch: bool
    ) -> EvaluatedNeed:
        how = {"trusted": self.trusted, "deny_wins": self.deny_wins}
        one = evaluate(need, rules, **how)
        one = allow_by_hook(one, rules, **how) if vouch else one
        return accept_edit(one, rules, **how) if self.mode == "accept edits" else one

    async def _wait_for_reply(
        self, request: PermissionRequest, asker: PermissionContext
    ) -> PermissionReply:
        waiting = _Pending(request, asker, asyncio.get_running_loop().create_future())
        on_asked = asker.on_request
        self._pending[request.id] = waiting
        try:
            self._bus.publish(PermissionAsked(request))
            if on_asked is not None:
                on_asked(request.id)
            answer = await waiting.future
        finally:
            if self._pending.pop(request.id, None) is not None:
                self._bus.publish(PermissionReplied(request.id, request.session_id, None))
            if on_asked is not None:
                on_asked(None)
        if isinstance(answer, PermissionRejected):
            raise answer
        if answer.answer == "always":
            for rule in request.always:
                if rule in self._session_rules[request.root_id]:  # else it was taken back meanwhile
                    await self._store.add_session_rule(request.root_id, *rule)
        return answer

    def _settle(
        self,
        waiting: _Pending,
        reply: PermissionReply | None,
        answer: PermissionReply | PermissionRejected,
    ) -> None:
        """End one question: out of the queue, told to the bus, its call woken."""
        request = waiting.request
        del self._pending[request.id]
        if not waiting.future.done():
            waiting.future.set_result(answer)
            if reply is not None:
                _report_decision(waiting.context, decision_of_reply(request, reply))
        self._bus.publish(PermissionReplied(request.id, request.session_id, reply))

    def _reject_session(self, session_id: str) -> None:
        reply = PermissionReply("reject")
        for waiting in list(self._pending.values()):
            if waiting.request.session_id == session_id:
                self._settle(waiting, reply, _rejection_error(""))

    def _evaluate_pending(self, root_id: str) -> None:
        """After "always": let go what is covered now; a deny found now still denies."""
        for waiting in list(self._pending.values()):
            request = waiting.request
            if request.root_id != root_id:
                continue
            needs = tuple(one.need for one in request.needs)
            judged = self._evaluate(request, needs)
            denied = denial_error(judged)
            if denied is not None:
                reply = PermissionReply("reject", str(denied), by="rule")
                self._settle(waiting, reply, denied)
            elif all(one.action == "allow" for one in judged):
                once = PermissionReply("once", by="rule")
                self._settle(waiting, once, once)


def _new_request(
    context: PermissionContext,
    judged: tuple[EvaluatedNeed, ...],
    heading: str,
    blocks: tuple[Block, ...],
) -> PermissionRequest:
    asking = [one.need for one in judged if one.action == "ask"]
    always = dict.fromkeys(
        (need.permission, need.always)
        for need in asking
        if need.always is not None and not need.strict
    )
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
        needs=judged,
        always=tuple(always),
        created=time.time(),
    )


def _rejection_error(comment: str) -> PermissionRejected:
    if comment:
        return PermissionRejected(
            f"The user rejected this call and said: {comment}", feedback=comment
        )
    return PermissionRejected("The user rejected this call.")


def _report_decision(asker: PermissionContext, consent: Decision) -> None:
    if asker.on_decision is not None:
        asker.on_decision(consent)


def _raise_denied(asker: PermissionContext, judged: tuple[EvaluatedNeed, ...]) -> None:
    denied = denial_error(judged)
    if denied is not None:
        why = next(one.reason for one in judged if one.action == "deny")
        _report_decision(asker, refusal("rule", why))
        raise denied
