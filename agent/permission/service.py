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
from agent.permission.decisions import allowed, answered, denial, refused
from agent.permission.rules import ALWAYS, BY_NAME, SAVED, Rule, accepted, judge, vouched
from agent.records.blocks import Block
from agent.records.decisions import Decision
from agent.records.errors import PermissionRejected
from agent.records.events import PermissionAsked, PermissionReplied
from agent.records.ids import new_id
from agent.records.requests import (
    Action,
    JudgedNeed,
    Need,
    PermissionMode,
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


class RulesFor(Protocol):
    """The rules in force for an agent's name, in the order of M1, without "always"; *child*
    when it works as a sub-agent."""

    def __call__(self, name: str, /, *, child: bool) -> Sequence[Rule]: ...


@dataclass(frozen=True, slots=True)
class AskContext:
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
    on_asked: Callable[[str | None], None] | None = None
    on_answered: Callable[[Decision], None] | None = None
    vouched: bool = False
    consult: Callable[[], Awaitable[tuple[Action | None, str]]] | None = None


@dataclass(frozen=True, slots=True)
class _Waiting:
    """The future holds an exception as a *result*: nobody may be left to retrieve it."""

    request: PermissionRequest
    asker: AskContext
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
        rules_for: RulesFor,
        *,
        mode: PermissionMode = "ask",
        trusted: bool = False,
        deny_wins: bool = False,
    ) -> None:
        self._bus = bus
        self._store = store
        self._rules_for = rules_for
        self._waiting: dict[str, _Waiting] = {}
        self._always: dict[str, list[tuple[str, str]]] = {}
        self._saved: list[tuple[str, str]] = []
        self.mode: PermissionMode = mode
        self.trusted = trusted
        self.deny_wins = deny_wins

    async def ask(
        self,
        request: AskContext,
        needs: tuple[Need, ...],
        heading: str,
        blocks: tuple[Block, ...] = (),
    ) -> PermissionReply | None:
        """Get consent for *needs*; None when the rules allow all of them.

        Raises ``PermissionRejected`` when a rule denies one, the user rejects, or the
        question is withdrawn.
        """
        await self._load(request.root_id)
        judged = self._judge(request, needs)
        _raise_denied(request, judged)
        if request.consult is not None and any(one.action == "ask" for one in judged):
            judged = await self._consulted(request, needs, request.consult)
        if all(one.action == "allow" for one in judged):
            if (consent := allowed(judged)) is not None:
                _tell(request, consent)
            return None
        record = _record(request, judged, heading, blocks)
        if self.mode == "auto" and not any(one.need.permission in BY_NAME for one in judged):
            reply = PermissionReply("once", by="mode")
            _tell(request, answered(record, reply))
            return reply
        return await self._question(record, request)

    async def _consulted(
        self,
        request: AskContext,
        needs: tuple[Need, ...],
        consult: Callable[[], Awaitable[tuple[Action | None, str]]],
    ) -> tuple[JudgedNeed, ...]:
        """*needs* judged once more after what a hook said of them."""
        word, reason = await consult()
        if word == "deny":
            _tell(request, refused("hook", reason))
            raise PermissionRejected(reason, by_rule=True)
        judged = self._judge(replace(request, vouched=True) if word == "allow" else request, needs)
        _raise_denied(request, judged)
        return judged

    async def check(self, request: AskContext, needs: tuple[Need, ...]) -> None:
        """Raise ``PermissionRejected`` if a rule denies one of *needs*, which the user has given
        consent to."""
        await self._load(request.root_id)
        _raise_denied(request, self._judge(request, needs))

    def reply(self, request_id: str, reply: PermissionReply) -> bool:
        """Answer a question. False when it was answered or withdrawn before (M5)."""
        waiting = self._waiting.get(request_id)
        if waiting is None:
            return False
        request = waiting.request
        if reply.answer == "reject":
            comment = reply.comment.strip()
            self._settle(waiting, reply, _rejected(comment))
            if not comment:
                self._reject_session(request.session_id)
            return True
        self._settle(waiting, reply, reply)
        if reply.answer == "always" and request.always:
            known = self._always.setdefault(request.root_id, [])
            known.extend(rule for rule in request.always if rule not in known)
            self._judge_again(request.root_id)
        return True

    def refuse(self, request_id: str, reason: str) -> bool:
        """Refuse a question with a sentence for the model, as a policy does where nobody can be
        asked (M11). False when it was answered or withdrawn before."""
        waiting = self._waiting.get(request_id)
        if waiting is None:
            return False
        refusal = PermissionRejected(reason, by_rule=True)
        self._settle(waiting, PermissionReply("reject", reason, by="policy"), refusal)
        return True

    def pending(self, root_id: str | None = None) -> tuple[PermissionRequest, ...]:
        """The questions that wait, oldest first; of one session tree or of all."""
        return tuple(
            waiting.request
            for waiting in self._waiting.values()
            if root_id is None or waiting.request.root_id == root_id
        )

    def cancel_session(self, session_id: str) -> None:
        """Withdraw every question of one session; the calls that wait are rejected."""
        gone = PermissionRejected(
            "Cancelled by the user before the question was answered.", withdrawn=True
        )
        for waiting in list(self._waiting.values()):
            if waiting.request.session_id == session_id:
                self._settle(waiting, None, gone)

    def always_rules(self, root_id: str | None) -> tuple[Rule, ...]:
        """What the user said "always" to: saved since the start, then in this session tree."""
        session = self._always.get(root_id, []) if root_id is not None else []
        return tuple(
            Rule(permission, pattern, "allow", source)
            for source, given in ((SAVED, self._saved), (ALWAYS, session))
            for permission, pattern in given
        )

    async def standing(self, root_id: str | None) -> tuple[Rule, ...]:
        """``always_rules``, with what was stored for the session before the program started."""
        if root_id is not None:
            await self._load(root_id)
        return self.always_rules(root_id)

    async def revoke(self, root_id: str, permission: str, pattern: str) -> bool:
        """Take back what the user said "always" to in this session tree (M14). False when it
        does not stand there. A call that it let through goes on."""
        await self._load(root_id)
        known = self._always[root_id]
        if (permission, pattern) not in known:
            return False
        known.remove((permission, pattern))
        await self._store.drop_session_rule(root_id, permission, pattern)
        return True

    def saved(self, permission: str, pattern: str) -> None:
        """The user's settings allow *pattern* now: for every session from here on, and at once
        for what waits."""
        if (permission, pattern) not in self._saved:
            self._saved.append((permission, pattern))
        for root_id in {waiting.request.root_id for waiting in self._waiting.values()}:
            self._judge_again(root_id)

    async def _load(self, root_id: str) -> None:
        if root_id not in self._always:
            stored = await self._store.session_rules(root_id)
            known = self._always.setdefault(root_id, [])
            known.extend(rule for rule in stored if rule not in known)

    def _judge(
        self, asker: AskContext | PermissionRequest, needs: tuple[Need, ...]
    ) -> tuple[JudgedNeed, ...]:
        """Each need under the rules of the agent and of all its callers; the strictest holds."""
        always = self.always_rules(asker.root_id)
        vouch = isinstance(asker, AskContext) and asker.vouched
        names = (asker.agent, *asker.callers)
        sets = [
            (*self._rules_for(name, child=place < len(asker.callers)), *always)
            for place, name in enumerate(names)
        ]
        return tuple(
            max(
                (self._judged(need, rules, vouch=vouch) for rules in sets),
                key=lambda one: _STRICTER.index(one.action),
            )
            for need in needs
        )

    def _judged(self, need: Need, rules: Sequence[Rule], *, vouch: bool) -> JudgedNeed:
        how = {"trusted": self.trusted, "deny_wins": self.deny_wins}
        one = judge(need, rules, **how)
        one = vouched(one, rules, **how) if vouch else one
        return accepted(one, rules, **how) if self.mode == "accept edits" else one

    async def _question(self, request: PermissionRequest, asker: AskContext) -> PermissionReply:
        waiting = _Waiting(request, asker, asyncio.get_running_loop().create_future())
        on_asked = asker.on_asked
        self._waiting[request.id] = waiting
        try:
            self._bus.publish(PermissionAsked(request))
            if on_asked is not None:
                on_asked(request.id)
            answer = await waiting.future
        finally:
            if self._waiting.pop(request.id, None) is not None:
                self._bus.publish(PermissionReplied(request.id, request.session_id, None))
            if on_asked is not None:
                on_asked(None)
        if isinstance(answer, PermissionRejected):
            raise answer
        if answer.answer == "always":
            for rule in request.always:
                if rule in self._always[request.root_id]:  # else it was taken back meanwhile
                    await self._store.add_session_rule(request.root_id, *rule)
        return answer

    def _settle(
        self,
        waiting: _Waiting,
        reply: PermissionReply | None,
        answer: PermissionReply | PermissionRejected,
    ) -> None:
        """End one question: out of the queue, told to the bus, its call woken."""
        request = waiting.request
        del self._waiting[request.id]
        if not waiting.future.done():
            waiting.future.set_result(answer)
            if reply is not None:
                _tell(waiting.asker, answered(request, reply))
        self._bus.publish(PermissionReplied(request.id, request.session_id, reply))

    def _reject_session(self, session_id: str) -> None:
        reply = PermissionReply("reject")
        for waiting in list(self._waiting.values()):
            if waiting.request.session_id == session_id:
                self._settle(waiting, reply, _rejected(""))

    def _judge_again(self, root_id: str) -> None:
        """After "always": let go what is covered now; a deny found now still denies."""
        for waiting in list(self._waiting.values()):
            request = waiting.request
            if request.root_id != root_id:
                continue
            needs = tuple(one.need for one in request.needs)
            judged = self._judge(request, needs)
            denied = denial(judged)
            if denied is not None:
                reply = PermissionReply("reject", str(denied), by="rule")
                self._settle(waiting, reply, denied)
            elif all(one.action == "allow" for one in judged):
                once = PermissionReply("once", by="rule")
                self._settle(waiting, once, once)


def _record(
    context: AskContext, judged: tuple[JudgedNeed, ...], heading: str, blocks: tuple[Block, ...]
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


def _rejected(comment: str) -> PermissionRejected:
    if comment:
        return PermissionRejected(
            f"The user rejected this call and said: {comment}", feedback=comment
        )
    return PermissionRejected("The user rejected this call.")


def _tell(asker: AskContext, consent: Decision) -> None:
    if asker.on_answered is not None:
        asker.on_answered(consent)


def _raise_denied(asker: AskContext, judged: tuple[JudgedNeed, ...]) -> None:
    denied = denial(judged)
    if denied is not None:
        why = next(one.reason for one in judged if one.action == "deny")
        _tell(asker, refused("rule", why))
        raise denied
