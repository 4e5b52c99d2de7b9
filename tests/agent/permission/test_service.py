"""Permission requests and the replies to them."""

import asyncio

import pytest

from agent.permission.rules import Rule
from agent.permission.service import PermissionContext
from agent.records.errors import PermissionRejected
from agent.records.requests import PermissionNeed, PermissionReply
from tests.agent.permission.request_queue import ALWAYS, ONCE, REJECT, WITH_WORDS, RequestQueue


async def test_a_request_waits_for_its_reply_and_the_first_one_wins() -> None:
    queue = RequestQueue()
    asking = queue.ask("make")
    (request,) = await queue.published(1)
    assert queue.service.pending() == (request,)
    assert queue.service.reply(request.id, ONCE)
    assert not queue.service.reply(request.id, REJECT)
    assert await asking == ONCE
    assert queue.service.pending() == ()
    assert queue.replies() == {request.id: ONCE}


async def test_a_call_that_the_rules_allow_does_not_ask() -> None:
    queue = RequestQueue(Rule("bash", "make *", "allow", "user"))
    assert await queue.ask("make test") is None
    assert queue.service.pending() == ()


async def test_a_denial_asks_no_user_and_names_its_rule() -> None:
    queue = RequestQueue(Rule("bash", "rm *", "deny", "~/config.json"))
    with pytest.raises(PermissionRejected) as caught:
        await queue.ask("rm -r x")
    assert caught.value.by_rule
    assert "rm *" in str(caught.value)
    assert "~/config.json" in str(caught.value)


async def test_requests_are_queued_oldest_first() -> None:
    queue = RequestQueue()
    asking = [queue.ask(name) for name in ("one", "two", "three")]
    requests = await queue.published(3)
    assert [r.needs[0].need.pattern for r in queue.service.pending()] == ["one", "two", "three"]
    for request in requests:
        queue.service.reply(request.id, ONCE)
    assert await asyncio.gather(*asking) == [ONCE] * 3


async def test_always_is_stored_for_the_root_and_settles_covered_requests() -> None:
    queue = RequestQueue()
    first = queue.ask("make a", always="make *")
    covered = queue.ask("make b", session="ses_child", always="make *")
    other = queue.ask("ls x")
    request, *_ = await queue.published(3)
    queue.service.reply(request.id, ALWAYS)
    assert (await first) == ALWAYS
    assert (await covered) is not None
    assert not other.done()
    assert [r.needs[0].need.pattern for r in queue.service.pending()] == ["ls x"]
    assert await queue.ask("make c") is None
    assert queue.stored.rules == {"ses_1": [("bash", "make *")]}
    other.cancel()


async def test_always_is_stored_and_once_is_not() -> None:
    queue = RequestQueue()
    for reply, stored in ((ONCE, {}), (ALWAYS, {"ses_1": [("bash", "make *")]})):
        asking = queue.ask("make a", always="make *")
        request = (await queue.published(1))[-1]
        while not queue.service.reply(request.id, reply):
            request = (await queue.published(2))[-1]
        assert await asking == reply
        assert queue.stored.rules == stored


async def test_a_request_settled_by_a_rule_is_reported_as_such() -> None:
    queue = RequestQueue()
    first = queue.ask("make a", always="make *")
    covered = queue.ask("make b", always="make *")
    request, other = await queue.published(2)
    queue.service.reply(request.id, ALWAYS)
    assert await first == ALWAYS
    assert await covered == PermissionReply("once", by="rule")
    assert queue.replies()[other.id] == PermissionReply("once", by="rule")


async def test_always_never_lifts_a_deny() -> None:
    queue = RequestQueue(Rule("bash", "make evil", "deny", "user"))
    asking = queue.ask("make a", always="make *")
    (request,) = await queue.published(1)
    queue.service.reply(request.id, ALWAYS)
    await asking
    with pytest.raises(PermissionRejected):
        await queue.ask("make evil")


async def test_reject_without_a_comment_rejects_the_other_requests_of_the_session() -> None:
    queue = RequestQueue()
    first, second = queue.ask("one"), queue.ask("two")
    elsewhere = queue.ask("three", session="ses_2", root="ses_2")
    request, *_ = await queue.published(3)
    queue.service.reply(request.id, REJECT)
    for asking in (first, second):
        with pytest.raises(PermissionRejected) as caught:
            await asking
        assert caught.value.feedback is None
    assert not elsewhere.done()
    elsewhere.cancel()


async def test_reject_with_a_comment_leaves_the_other_requests_pending() -> None:
    queue = RequestQueue()
    first, second = queue.ask("one"), queue.ask("two")
    request, other = await queue.published(2)
    queue.service.reply(request.id, WITH_WORDS)
    with pytest.raises(PermissionRejected) as caught:
        await first
    assert caught.value.feedback == "use make"
    queue.service.reply(other.id, ONCE)
    assert await second == ONCE


async def test_a_cancelled_session_withdraws_its_requests() -> None:
    queue = RequestQueue()
    asking = queue.ask("one")
    (request,) = await queue.published(1)
    queue.service.cancel_session("ses_1")
    with pytest.raises(PermissionRejected) as caught:
        await asking
    assert caught.value.withdrawn
    assert queue.replies() == {request.id: None}
    assert not queue.service.reply(request.id, ONCE)


async def test_a_request_does_not_outlive_its_task() -> None:
    queue = RequestQueue()
    asking = queue.ask("one")
    (request,) = await queue.published(1)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert queue.service.pending() == ()
    assert queue.replies() == {request.id: None}


async def test_auto_allows_once_and_denies_still_apply() -> None:
    queue = RequestQueue(Rule("bash", "rm *", "deny", "user"), mode="auto")
    assert await queue.ask("make") == ONCE
    with pytest.raises(PermissionRejected):
        await queue.ask("rm x")


async def test_a_request_shows_every_part_and_stores_only_those_that_ask() -> None:
    queue = RequestQueue(Rule("bash", "ls *", "allow", "user"))
    context = PermissionContext("ses_1", "ses_1", "msg", "call", "build", "bash", "/w")
    needs = (
        PermissionNeed("bash", "ls", always="ls *"),
        PermissionNeed("bash", "npm run build", always="npm run build *"),
        PermissionNeed("bash", "rm x", always=None),
    )
    asking = asyncio.ensure_future(queue.service.ask(context, needs, "Run this command?"))
    (request,) = await queue.published(1)
    assert [j.action for j in request.needs] == ["allow", "ask", "ask"]
    assert request.always == (("bash", "npm run build *"),)
    queue.service.reply(request.id, ONCE)
    await asking


async def test_a_revoked_always_asks_again() -> None:
    queue = RequestQueue()
    queue.stored.rules["ses_1"] = [("bash", "git *"), ("bash", "make *")]
    assert [rule.pattern for rule in await queue.service.current_rules("ses_1")] == [
        "git *",
        "make *",
    ]
    assert await queue.ask("make a") is None
    assert await queue.service.revoke("ses_1", "bash", "make *")
    assert not await queue.service.revoke("ses_1", "bash", "make *")
    assert queue.stored.rules == {"ses_1": [("bash", "git *")]}
    assert await queue.ask("git x") is None
    asking = queue.ask("make b")
    (request,) = await queue.published(1)
    queue.service.reply(request.id, ONCE)
    assert await asking == ONCE


async def test_an_always_that_is_revoked_at_once_is_not_stored() -> None:
    queue = RequestQueue()
    asking = queue.ask("make a", always="make *")
    (request,) = await queue.published(1)
    queue.service.reply(request.id, ALWAYS)
    assert await queue.service.revoke("ses_1", "bash", "make *")
    assert await asking == ALWAYS
    assert queue.stored.rules.get("ses_1", []) == []


async def test_a_saved_rule_applies_to_every_session_and_lifts_no_deny() -> None:
    queue = RequestQueue(Rule("bash", "make clean *", "deny", "user"))
    waiting = queue.ask("make a", session="ses_2", root="ses_2")
    await queue.published(1)
    queue.service.add_saved_rule("bash", "make *")
    queue.service.add_saved_rule("bash", "make *")
    assert await waiting == ONCE
    assert await queue.ask("make b", session="ses_3", root="ses_3") is None
    with pytest.raises(PermissionRejected):
        await queue.ask("make clean all")
    assert [rule.pattern for rule in await queue.service.current_rules(None)] == ["make *"]
