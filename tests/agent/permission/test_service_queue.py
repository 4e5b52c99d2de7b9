"""The queue of requests: late replies, child sessions, stored rules, the auto mode."""

import asyncio
from dataclasses import replace
from typing import Literal

import pytest

from agent.permission.rules import PROJECT, Rule
from agent.permission.service import PermissionContext
from agent.records.errors import PermissionRejected
from agent.records.requests import PermissionNeed, PermissionReply
from tests.agent.permission.request_queue import ALWAYS, ONCE, REJECT, WITH_WORDS, RequestQueue

CONTEXT = PermissionContext("ses_1", "ses_1", "msg", "call", "build", "bash", "/w")


async def test_a_late_or_unknown_reply_is_refused() -> None:
    queue = RequestQueue()
    first, second = queue.ask("one", always="one *"), queue.ask("two")
    request, other = await queue.published(2)
    assert not queue.service.reply("per_unknown", ALWAYS)
    assert queue.service.reply(request.id, ONCE)
    assert not queue.service.reply(request.id, ALWAYS)
    assert not queue.service.reply(request.id, REJECT)
    assert await first == ONCE
    assert queue.service.pending() == (other,)
    assert queue.stored.rules == {}
    queue.service.reply(other.id, ONCE)
    await second


async def test_pending_returns_the_requests_of_one_tree() -> None:
    queue = RequestQueue()
    asking = [
        queue.ask("a"),
        queue.ask("b", session="ses_child", root="ses_1"),
        queue.ask("c", session="ses_2", root="ses_2"),
    ]
    requests = await queue.published(3)
    assert queue.service.pending("ses_1") == tuple(requests[:2])
    assert queue.service.pending("ses_2") == (requests[2],)
    assert queue.service.pending("ses_3") == ()
    for request in requests:
        queue.service.reply(request.id, ONCE)
    await asyncio.gather(*asking)


async def test_a_cancelled_session_leaves_other_requests_of_its_tree_pending() -> None:
    queue = RequestQueue()
    one, child = queue.ask("a"), queue.ask("b", session="ses_child")
    await queue.published(2)
    queue.service.cancel_session("ses_child")
    with pytest.raises(PermissionRejected) as caught:
        await child
    assert caught.value.withdrawn
    assert caught.value.feedback is None
    (request,) = queue.service.pending()
    queue.service.reply(request.id, ONCE)
    assert await one == ONCE


async def test_reject_leaves_the_requests_of_a_child_session() -> None:
    queue = RequestQueue()
    one, child = queue.ask("a"), queue.ask("b", session="ses_child")
    request, other = await queue.published(2)
    queue.service.reply(request.id, REJECT)
    with pytest.raises(PermissionRejected) as caught:
        await one
    assert not caught.value.by_rule
    assert not caught.value.withdrawn
    assert queue.service.pending() == (other,)
    queue.service.reply(other.id, ONCE)
    await child


async def test_a_comment_of_spaces_counts_as_none() -> None:
    queue = RequestQueue()
    first, second = queue.ask("one"), queue.ask("two")
    request, _ = await queue.published(2)
    queue.service.reply(request.id, PermissionReply("reject", "  \n"))
    for asking in (first, second):
        with pytest.raises(PermissionRejected) as caught:
            await asking
        assert caught.value.feedback is None


async def test_the_comment_reaches_the_model_and_every_reply_is_published() -> None:
    queue = RequestQueue()
    first, second = queue.ask("one"), queue.ask("two")
    request, other = await queue.published(2)
    queue.service.reply(request.id, WITH_WORDS)
    with pytest.raises(PermissionRejected, match="use make"):
        await first
    queue.service.reply(other.id, REJECT)
    with pytest.raises(PermissionRejected):
        await second
    assert queue.replies() == {request.id: WITH_WORDS, other.id: REJECT}


async def test_a_reject_reports_each_request_that_it_ends() -> None:
    queue = RequestQueue()
    asking = [queue.ask(name) for name in ("one", "two", "three")]
    requests = await queue.published(3)
    queue.service.reply(requests[1].id, REJECT)
    await asyncio.gather(*asking, return_exceptions=True)
    assert queue.replies() == dict.fromkeys((r.id for r in requests), REJECT)
    assert not any(queue.service.reply(r.id, ONCE) for r in requests)


async def test_rules_stored_for_the_root_apply_to_a_child_and_a_new_service() -> None:
    queue = RequestQueue()
    queue.stored.rules = {"ses_1": [("bash", "make *")]}
    assert await queue.ask("make x", session="ses_child", root="ses_1") is None
    elsewhere = queue.ask("make x", session="ses_2", root="ses_2")
    (request,) = await queue.published(1)
    assert request.root_id == "ses_2"
    queue.service.reply(request.id, ONCE)
    await elsewhere


async def test_once_stores_nothing_and_the_next_call_needs_permission_again() -> None:
    queue = RequestQueue()
    first = queue.ask("make a", always="make *")
    (request,) = await queue.published(1)
    queue.service.reply(request.id, ONCE)
    await first
    assert queue.stored.rules == {}
    again = queue.ask("make a", always="make *")
    _, second = await queue.published(2)
    queue.service.reply(second.id, ONCE)
    assert await again == ONCE


async def test_always_without_a_pattern_counts_once() -> None:
    queue = RequestQueue()
    first = queue.ask("eval x")
    (request,) = await queue.published(1)
    assert request.always == ()
    queue.service.reply(request.id, ALWAYS)
    await first
    assert queue.stored.rules == {}
    assert queue.service.always_rules("ses_1") == ()


async def test_always_settles_nothing_of_another_root() -> None:
    queue = RequestQueue()
    first = queue.ask("make a", always="make *")
    other = queue.ask("make b", session="ses_2", root="ses_2", always="make *")
    request, second = await queue.published(2)
    queue.service.reply(request.id, ALWAYS)
    await first
    assert queue.service.pending() == (second,)
    queue.service.reply(second.id, REJECT)
    with pytest.raises(PermissionRejected):
        await other


async def test_always_leaves_a_request_that_needs_more_than_it_covers() -> None:
    queue = RequestQueue()
    first = queue.ask("make a", always="make *")
    needs = (PermissionNeed("bash", "make b", always="make *"), PermissionNeed("edit", "out.txt"))
    second = asyncio.ensure_future(queue.service.ask(CONTEXT, needs, "Run this command?"))
    request, other = await queue.published(2)
    queue.service.reply(request.id, ALWAYS)
    await first
    assert queue.service.pending() == (other,)
    queue.service.reply(other.id, ONCE)
    assert await second == ONCE


async def test_a_deny_found_in_a_later_evaluation_denies_the_request() -> None:
    queue = RequestQueue()
    first = queue.ask("make a", always="make *")
    second = queue.ask("make evil", always="make *")
    request, other = await queue.published(2)
    queue.rules = (*queue.rules, Rule("bash", "make evil", "deny", "user"))
    queue.service.reply(request.id, ALWAYS)
    await first
    with pytest.raises(PermissionRejected) as caught:
        await second
    assert caught.value.by_rule
    reply = queue.replies()[other.id]
    assert reply is not None
    assert reply.answer == "reject"


async def test_always_applies_to_the_next_request_before_it_is_stored() -> None:
    """The rule applies at once: the waiting task need not have run again."""
    queue = RequestQueue()
    first = queue.ask("make a", always="make *")
    (request,) = await queue.published(1)
    queue.service.reply(request.id, ALWAYS)
    assert [rule.pattern for rule in queue.service.always_rules("ses_1")] == ["make *"]
    assert await queue.ask("make b") is None
    await first


async def test_cancelling_one_task_leaves_the_others_and_notifies_its_context() -> None:
    queue = RequestQueue()
    reported: list[str | None] = []
    context = replace(CONTEXT, on_request=reported.append)
    needs = (PermissionNeed("bash", "one"),)
    asking = asyncio.ensure_future(queue.service.ask(context, needs, "Run this command?"))
    other = queue.ask("two")
    request, second = await queue.published(2)
    assert reported == [request.id]
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert reported == [request.id, None]
    assert queue.service.pending() == (second,)
    assert not queue.service.reply(request.id, ALWAYS)
    queue.service.reply(second.id, ONCE)
    assert await other == ONCE


async def test_auto_covers_children_and_stores_nothing() -> None:
    queue = RequestQueue(mode="auto")
    assert await queue.ask("make", session="ses_child", always="make *") == ONCE
    assert queue.service.pending() == ()
    assert queue.stored.rules == {}
    assert queue.events.drain() == []


async def test_under_auto_a_deny_of_one_part_denies_the_call() -> None:
    queue = RequestQueue(Rule("edit", ".env", "deny", "user"), mode="auto")
    needs = (PermissionNeed("bash", "ls"), PermissionNeed("edit", ".env"))
    with pytest.raises(PermissionRejected) as caught:
        await queue.service.ask(CONTEXT, needs, "Run this command?")
    assert caught.value.by_rule


async def test_auto_can_be_switched_on_and_off_between_requests() -> None:
    queue = RequestQueue()
    queue.service.mode = "auto"
    assert await queue.ask("a") == ONCE
    queue.service.mode = "ask"
    asking = queue.ask("b")
    (request,) = await queue.published(1)
    queue.service.reply(request.id, ONCE)
    assert await asking == ONCE


@pytest.mark.parametrize("trusted", [False, True])
async def test_the_project_loosens_only_for_a_service_that_trusts_it(trusted: bool) -> None:
    queue = RequestQueue(
        Rule("bash", "*", "ask", "user"),
        Rule("bash", "make *", "allow", PROJECT),
        trusted=trusted,
    )
    asking = queue.ask("make x")
    if not trusted:
        (request,) = await queue.published(1)
        queue.service.reply(request.id, REJECT)
        with pytest.raises(PermissionRejected):
            await asking
    else:
        assert await asking is None


async def test_deny_wins_denies_before_a_later_allow() -> None:
    queue = RequestQueue(
        Rule("bash", "rm *", "deny", "user"), Rule("bash", "*", "allow", "user"), deny_wins=True
    )
    with pytest.raises(PermissionRejected):
        await queue.ask("rm x")
    assert await queue.ask("ls x") is None


async def test_guarded_and_unknown_parts_have_no_pattern_for_always() -> None:
    queue = RequestQueue()
    needs = (
        PermissionNeed("edit", ".git/config", always=".git/*", strict="guarded"),
        PermissionNeed("bash", "$X", always="$X", strict="unknown"),
        PermissionNeed("bash", "make", always="make *"),
        PermissionNeed("bash", "make", always="make *", shown="again"),
    )
    asking = asyncio.ensure_future(queue.service.ask(CONTEXT, needs, "Run this command?"))
    (request,) = await queue.published(1)
    assert request.always == (("bash", "make *"),)
    assert [one.need for one in request.needs] == list(needs)
    queue.service.reply(request.id, ONCE)
    await asking


EDITED = (
    ("src/a.py", "", "allow"),
    ("AGENTS.md", "guarded", "ask"),
    ("db/schema.sql", "", "ask"),
    ("keep.txt", "", "deny"),
)


@pytest.mark.parametrize(("path", "strict", "action"), EDITED)
async def test_accepted_edits_are_those_that_no_rule_names(
    path: str, strict: Literal["", "guarded"], action: str
) -> None:
    queue = RequestQueue(
        Rule("edit", "*", "ask", "user"),
        Rule("edit", "*.sql", "ask", "user"),
        Rule("edit", "keep.txt", "deny", "user"),
        mode="accept edits",
    )
    needs = (PermissionNeed("edit", path, strict=strict),)
    asking = asyncio.ensure_future(queue.service.ask(CONTEXT, needs, "Make this edit?"))
    if action == "deny":
        with pytest.raises(PermissionRejected):
            await asking
        return
    if action == "ask":
        (request,) = await queue.published(1)
        queue.service.reply(request.id, ONCE)
    assert await asking == (None if action == "allow" else ONCE)


async def test_accepting_edits_does_not_allow_commands_or_other_folders() -> None:
    queue = RequestQueue(mode="accept edits")
    needs = (
        PermissionNeed("edit", "/etc/x"),
        PermissionNeed("external_directory", "/etc/*"),
        PermissionNeed("bash", "make"),
    )
    asking = asyncio.ensure_future(queue.service.ask(CONTEXT, needs, "Make this edit?"))
    (request,) = await queue.published(1)
    assert [one.action for one in request.needs] == ["allow", "ask", "ask"]
    queue.service.reply(request.id, ONCE)
    await asking
