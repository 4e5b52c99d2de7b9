"""Asking and answering (spec 4, M5 and M15; spec 0, A4)."""

import asyncio
from collections.abc import Sequence

import pytest

from agent.bus import Bus, Subscription
from agent.permission.rules import DEFAULT_RULES, Rule
from agent.permission.service import PermissionContext, PermissionService
from agent.records.errors import PermissionRejected
from agent.records.events import Event, PermissionAsked, PermissionReplied
from agent.records.requests import PermissionNeed, PermissionReply, PermissionRequest


class Kept:
    """The rules of "always", in memory."""

    def __init__(self) -> None:
        self.rules: dict[str, list[tuple[str, str]]] = {}

    async def session_rules(self, root_id: str) -> tuple[tuple[str, str], ...]:
        return tuple(self.rules.get(root_id, ()))

    async def add_session_rule(self, root_id: str, permission: str, pattern: str) -> None:
        self.rules.setdefault(root_id, []).append((permission, pattern))

    async def drop_session_rule(self, root_id: str, permission: str, pattern: str) -> None:
        kept = self.rules.get(root_id, [])
        kept[:] = [rule for rule in kept if rule != (permission, pattern)]


class Desk:
    def __init__(self, *rules: Rule, **how: object) -> None:
        self.bus = Bus()
        self.kept = Kept()
        self.rules: Sequence[Rule] = (*DEFAULT_RULES, *rules)
        self.service = PermissionService(self.bus, self.kept, lambda _agent, **_: self.rules, **how)
        self.events: Subscription = self.bus.subscribe()
        self.seen: list[Event] = []

    def ask(
        self,
        pattern: str,
        *,
        session: str = "ses_1",
        root: str = "ses_1",
        always: str | None = None,
    ) -> "asyncio.Task[PermissionReply | None]":
        context = PermissionContext(session, root, "msg", f"call {pattern}", "build", "bash", "/w")
        need = PermissionNeed("bash", pattern, always=always)
        return asyncio.ensure_future(self.service.ask(context, (need,), "Run this command?"))

    async def asked(self, count: int) -> list[PermissionRequest]:
        """The questions so far, once there are *count*."""
        while True:
            self.seen += self.events.drain()
            found = [e.request for e in self.seen if isinstance(e, PermissionAsked)]
            if len(found) >= count:
                return found
            await asyncio.wait_for(self.events.wait(), 30)

    def replies(self) -> dict[str, PermissionReply | None]:
        self.seen += self.events.drain()
        return {e.request_id: e.reply for e in self.seen if isinstance(e, PermissionReplied)}


ONCE, ALWAYS = PermissionReply("once"), PermissionReply("always")
REJECT, WITH_WORDS = PermissionReply("reject"), PermissionReply("reject", "use make")


async def test_m5_a_question_waits_for_its_answer_and_the_first_one_wins() -> None:
    desk = Desk()
    asking = desk.ask("make")
    (request,) = await desk.asked(1)
    assert desk.service.pending() == (request,)
    assert desk.service.reply(request.id, ONCE)
    assert not desk.service.reply(request.id, REJECT)
    assert await asking == ONCE
    assert desk.service.pending() == ()
    assert desk.replies() == {request.id: ONCE}


async def test_m5_what_the_rules_allow_is_not_asked() -> None:
    desk = Desk(Rule("bash", "make *", "allow", "user"))
    assert await desk.ask("make test") is None
    assert desk.service.pending() == ()


async def test_m5_a_deny_asks_nobody_and_says_which_rule() -> None:
    desk = Desk(Rule("bash", "rm *", "deny", "~/config.json"))
    with pytest.raises(PermissionRejected) as caught:
        await desk.ask("rm -r x")
    assert caught.value.by_rule
    assert "rm *" in str(caught.value)
    assert "~/config.json" in str(caught.value)


async def test_m5_questions_are_queued_oldest_first() -> None:
    desk = Desk()
    asking = [desk.ask(name) for name in ("one", "two", "three")]
    requests = await desk.asked(3)
    assert [r.needs[0].need.pattern for r in desk.service.pending()] == ["one", "two", "three"]
    for request in requests:
        desk.service.reply(request.id, ONCE)
    assert await asyncio.gather(*asking) == [ONCE] * 3


async def test_m5_always_is_kept_for_the_root_and_resolves_what_it_covers() -> None:
    desk = Desk()
    first = desk.ask("make a", always="make *")
    covered = desk.ask("make b", session="ses_child", always="make *")
    other = desk.ask("ls x")
    request, *_ = await desk.asked(3)
    desk.service.reply(request.id, ALWAYS)
    assert (await first) == ALWAYS
    assert (await covered) is not None
    assert not other.done()
    assert [r.needs[0].need.pattern for r in desk.service.pending()] == ["ls x"]
    assert await desk.ask("make c") is None
    assert desk.kept.rules == {"ses_1": [("bash", "make *")]}
    other.cancel()


async def test_m5_always_to_one_question_is_stored_and_once_is_not() -> None:
    desk = Desk()
    for reply, stored in ((ONCE, {}), (ALWAYS, {"ses_1": [("bash", "make *")]})):
        asking = desk.ask("make a", always="make *")
        request = (await desk.asked(1))[-1]
        while not desk.service.reply(request.id, reply):
            request = (await desk.asked(2))[-1]
        assert await asking == reply
        assert desk.kept.rules == stored


async def test_m5_what_a_rule_settles_is_told_as_settled_by_a_rule() -> None:
    desk = Desk()
    first = desk.ask("make a", always="make *")
    covered = desk.ask("make b", always="make *")
    request, other = await desk.asked(2)
    desk.service.reply(request.id, ALWAYS)
    assert await first == ALWAYS
    assert await covered == PermissionReply("once", by="rule")
    assert desk.replies()[other.id] == PermissionReply("once", by="rule")


async def test_m5_always_never_lifts_a_deny() -> None:
    desk = Desk(Rule("bash", "make evil", "deny", "user"))
    asking = desk.ask("make a", always="make *")
    (request,) = await desk.asked(1)
    desk.service.reply(request.id, ALWAYS)
    await asking
    with pytest.raises(PermissionRejected):
        await desk.ask("make evil")


async def test_m5_reject_without_words_rejects_the_sessions_other_questions() -> None:
    desk = Desk()
    first, second = desk.ask("one"), desk.ask("two")
    elsewhere = desk.ask("three", session="ses_2", root="ses_2")
    request, *_ = await desk.asked(3)
    desk.service.reply(request.id, REJECT)
    for asking in (first, second):
        with pytest.raises(PermissionRejected) as caught:
            await asking
        assert caught.value.feedback is None
    assert not elsewhere.done()
    elsewhere.cancel()


async def test_m5_reject_with_words_leaves_the_others_waiting() -> None:
    desk = Desk()
    first, second = desk.ask("one"), desk.ask("two")
    request, other = await desk.asked(2)
    desk.service.reply(request.id, WITH_WORDS)
    with pytest.raises(PermissionRejected) as caught:
        await first
    assert caught.value.feedback == "use make"
    desk.service.reply(other.id, ONCE)
    assert await second == ONCE


async def test_l11_a_cancelled_session_withdraws_its_questions() -> None:
    desk = Desk()
    asking = desk.ask("one")
    (request,) = await desk.asked(1)
    desk.service.cancel_session("ses_1")
    with pytest.raises(PermissionRejected) as caught:
        await asking
    assert caught.value.withdrawn
    assert desk.replies() == {request.id: None}
    assert not desk.service.reply(request.id, ONCE)


async def test_m5_a_question_does_not_outlive_the_task_that_asks() -> None:
    desk = Desk()
    asking = desk.ask("one")
    (request,) = await desk.asked(1)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert desk.service.pending() == ()
    assert desk.replies() == {request.id: None}


async def test_m15_auto_answers_once_and_denies_still_hold() -> None:
    desk = Desk(Rule("bash", "rm *", "deny", "user"), mode="auto")
    assert await desk.ask("make") == ONCE
    with pytest.raises(PermissionRejected):
        await desk.ask("rm x")


async def test_m6_a_request_shows_every_part_and_offers_only_what_asks() -> None:
    desk = Desk(Rule("bash", "ls *", "allow", "user"))
    context = PermissionContext("ses_1", "ses_1", "msg", "call", "build", "bash", "/w")
    needs = (
        PermissionNeed("bash", "ls", always="ls *"),
        PermissionNeed("bash", "npm run build", always="npm run build *"),
        PermissionNeed("bash", "rm x", always=None),
    )
    asking = asyncio.ensure_future(desk.service.ask(context, needs, "Run this command?"))
    (request,) = await desk.asked(1)
    assert [j.action for j in request.needs] == ["allow", "ask", "ask"]
    assert request.always == (("bash", "npm run build *"),)
    desk.service.reply(request.id, ONCE)
    await asking


async def test_m14_what_was_always_asks_again_once_it_is_taken_back() -> None:
    desk = Desk()
    desk.kept.rules["ses_1"] = [("bash", "git *"), ("bash", "make *")]
    assert [rule.pattern for rule in await desk.service.current_rules("ses_1")] == [
        "git *",
        "make *",
    ]
    assert await desk.ask("make a") is None
    assert await desk.service.revoke("ses_1", "bash", "make *")
    assert not await desk.service.revoke("ses_1", "bash", "make *")
    assert desk.kept.rules == {"ses_1": [("bash", "git *")]}
    assert await desk.ask("git x") is None
    asking = desk.ask("make b")
    (request,) = await desk.asked(1)
    desk.service.reply(request.id, ONCE)
    assert await asking == ONCE


async def test_m14_an_always_that_is_taken_back_at_once_is_not_stored() -> None:
    desk = Desk()
    asking = desk.ask("make a", always="make *")
    (request,) = await desk.asked(1)
    desk.service.reply(request.id, ALWAYS)
    assert await desk.service.revoke("ses_1", "bash", "make *")
    assert await asking == ALWAYS
    assert desk.kept.rules.get("ses_1", []) == []


async def test_m14_what_is_saved_holds_for_every_session_and_lifts_no_deny() -> None:
    desk = Desk(Rule("bash", "make clean *", "deny", "user"))
    waiting = desk.ask("make a", session="ses_2", root="ses_2")
    await desk.asked(1)
    desk.service.add_saved_rule("bash", "make *")
    desk.service.add_saved_rule("bash", "make *")
    assert await waiting == ONCE
    assert await desk.ask("make b", session="ses_3", root="ses_3") is None
    with pytest.raises(PermissionRejected):
        await desk.ask("make clean all")
    assert [rule.pattern for rule in await desk.service.current_rules(None)] == ["make *"]
