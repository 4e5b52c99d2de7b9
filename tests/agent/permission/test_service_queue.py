"""The queue of requests: late replies, child sessions, stored rules, the auto mode."""

import asyncio
from dataclasses import replace
from typing import Literal

import pytest

from agent.permission.rules import PROJECT, Rule
from agent.permission.service import PermissionContext
from agent.records.errors import PermissionRejected
from agent.records.requests import PermissionNeed, PermissionReply
from tests.agent.permission.test_service import ALWAYS, ONCE, REJECT, WITH_WORDS, Requests

CONTEXT = PermissionContext("ses_1", "ses_1", "msg", "call", "build", "bash", "/w")


async def test_a_late_or_foreign_reply_is_refused_and_changes_nothing() -> None:
    requests = Requests()
    first, second = requests.ask("one", always="one *"), requests.ask("two")
    request, other = await requests.published(2)
    assert not requests.service.reply("per_unknown", ALWAYS)
    assert requests.service.reply(request.id, ONCE)
    assert not requests.service.reply(request.id, ALWAYS)
    assert not requests.service.reply(request.id, REJECT)
    assert await first == ONCE
    assert requests.service.pending() == (other,)
    assert requests.stored.rules == {}
    requests.service.reply(other.id, ONCE)
    await second


async def test_pending_returns_the_requests_of_one_tree() -> None:
    requests = Requests()
    asking = [
        requests.ask("a"),
        requests.ask("b", session="ses_child", root="ses_1"),
        requests.ask("c", session="ses_2", root="ses_2"),
    ]
    requests = await requests.published(3)
    assert requests.service.pending("ses_1") == tuple(requests[:2])
    assert requests.service.pending("ses_2") == (requests[2],)
    assert requests.service.pending("ses_3") == ()
    for request in requests:
        requests.service.reply(request.id, ONCE)
    await asyncio.gather(*asking)


async def test_a_cancelled_session_leaves_other_requests_of_its_tree_pending() -> None:
    requests = Requests()
    one, child = requests.ask("a"), requests.ask("b", session="ses_child")
    await requests.published(2)
    requests.service.cancel_session("ses_child")
    with pytest.raises(PermissionRejected) as caught:
        await child
    assert caught.value.withdrawn
    assert caught.value.feedback is None
    (request,) = requests.service.pending()
    requests.service.reply(request.id, ONCE)
    assert await one == ONCE


async def test_reject_leaves_the_requests_of_a_child_session() -> None:
    requests = Requests()
    one, child = requests.ask("a"), requests.ask("b", session="ses_child")
    request, other = await requests.published(2)
    requests.service.reply(request.id, REJECT)
    with pytest.raises(PermissionRejected) as caught:
        await one
    assert not caught.value.by_rule
    assert not caught.value.withdrawn
    assert requests.service.pending() == (other,)
    requests.service.reply(other.id, ONCE)
    await child


async def test_a_comment_of_blanks_counts_as_none() -> None:
    requests = Requests()
    first, second = requests.ask("one"), requests.ask("two")
    request, _ = await requests.published(2)
    requests.service.reply(request.id, PermissionReply("reject", "  \n"))
    for asking in (first, second):
        with pytest.raises(PermissionRejected) as caught:
            await asking
        assert caught.value.feedback is None


async def test_the_comment_reaches_the_model_and_every_reply_is_published() -> None:
    requests = Requests()
    first, second = requests.ask("one"), requests.ask("two")
    request, other = await requests.published(2)
    requests.service.reply(request.id, WITH_WORDS)
    with pytest.raises(PermissionRejected, match="use make"):
        await first
    requests.service.reply(other.id, REJECT)
    with pytest.raises(PermissionRejected):
        await second
    assert requests.replies() == {request.id: WITH_WORDS, other.id: REJECT}


async def test_a_reject_reports_each_request_that_it_ends() -> None:
    requests = Requests()
    asking = [requests.ask(name) for name in ("one", "two", "three")]
    requests = await requests.published(3)
    requests.service.reply(requests[1].id, REJECT)
    await asyncio.gather(*asking, return_exceptions=True)
    assert requests.replies() == dict.fromkeys((r.id for r in requests), REJECT)
    assert not any(requests.service.reply(r.id, ONCE) for r in requests)


async def test_rules_stored_for_the_root_apply_to_a_child_and_a_new_service() -> None:
    requests = Requests()
    requests.stored.rules = {"ses_1": [("bash", "make *")]}
    assert await requests.ask("make x", session="ses_child", root="ses_1") is None
    elsewhere = requests.ask("make x", session="ses_2", root="ses_2")
    (request,) = await requests.published(1)
    assert request.root_id == "ses_2"
    requests.service.reply(request.id, ONCE)
    await elsewhere


async def test_once_stores_nothing_and_the_next_call_asks_again() -> None:
    requests = Requests()
    first = requests.ask("make a", always="make *")
    (request,) = await requests.published(1)
    requests.service.reply(request.id, ONCE)
    await first
    assert requests.stored.rules == {}
    again = requests.ask("make a", always="make *")
    _, second = await requests.published(2)
    requests.service.reply(second.id, ONCE)
    assert await again == ONCE


async def test_always_without_a_pattern_counts_once() -> None:
    requests = Requests()
    first = requests.ask("eval x")
    (request,) = await requests.published(1)
    assert request.always == ()
    requests.service.reply(request.id, ALWAYS)
    await first
    assert requests.stored.rules == {}
    assert requests.service.always_rules("ses_1") == ()


async def test_always_settles_nothing_of_another_root() -> None:
    requests = Requests()
    first = requests.ask("make a", always="make *")
    other = requests.ask("make b", session="ses_2", root="ses_2", always="make *")
    request, second = await requests.published(2)
    requests.service.reply(request.id, ALWAYS)
    await first
    assert requests.service.pending() == (second,)
    requests.service.reply(second.id, REJECT)
    with pytest.raises(PermissionRejected):
        await other


async def test_always_leaves_a_request_that_needs_more_than_it_covers() -> None:
    requests = Requests()
    first = requests.ask("make a", always="make *")
    needs = (PermissionNeed("bash", "make b", always="make *"), PermissionNeed("edit", "out.txt"))
    second = asyncio.ensure_future(requests.service.ask(CONTEXT, needs, "Run this command?"))
    request, other = await requests.published(2)
    requests.service.reply(request.id, ALWAYS)
    await first
    assert requests.service.pending() == (other,)
    requests.service.reply(other.id, ONCE)
    assert await second == ONCE


async def test_a_deny_found_in_a_later_evaluation_denies_the_request() -> None:
    requests = Requests()
    first = requests.ask("make a", always="make *")
    second = requests.ask("make evil", always="make *")
    request, other = await requests.published(2)
    requests.rules = (*requests.rules, Rule("bash", "make evil", "deny", "user"))
    requests.service.reply(request.id, ALWAYS)
    await first
    with pytest.raises(PermissionRejected) as caught:
        await second
    assert caught.value.by_rule
    reply = requests.replies()[other.id]
    assert reply is not None
    assert reply.answer == "reject"


async def test_always_applies_to_the_next_request_before_it_is_stored() -> None:
    """The rule applies at once: the waiting task need not have run again."""
    requests = Requests()
    first = requests.ask("make a", always="make *")
    (request,) = await requests.published(1)
    requests.service.reply(request.id, ALWAYS)
    assert [rule.pattern for rule in requests.service.always_rules("ses_1")] == ["make *"]
    assert await requests.ask("make b") is None
    await first


async def test_cancelling_one_task_leaves_the_others_and_notifies_its_context() -> None:
    requests = Requests()
    told: list[str | None] = []
    context = replace(CONTEXT, on_request=told.append)
    needs = (PermissionNeed("bash", "one"),)
    asking = asyncio.ensure_future(requests.service.ask(context, needs, "Run this command?"))
    other = requests.ask("two")
    request, second = await requests.published(2)
    assert told == [request.id]
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert told == [request.id, None]
    assert requests.service.pending() == (second,)
    assert not requests.service.reply(request.id, ALWAYS)
    requests.service.reply(second.id, ONCE)
    assert await other == ONCE


async def test_auto_covers_children_and_stores_nothing() -> None:
    requests = Requests(mode="auto")
    assert await requests.ask("make", session="ses_child", always="make *") == ONCE
    assert requests.service.pending() == ()
    assert requests.stored.rules == {}
    assert requests.events.drain() == []


async def test_under_auto_a_deny_of_one_part_denies_the_call() -> None:
    requests = Requests(Rule("edit", ".env", "deny", "user"), mode="auto")
    needs = (PermissionNeed("bash", "ls"), PermissionNeed("edit", ".env"))
    with pytest.raises(PermissionRejected) as caught:
        await requests.service.ask(CONTEXT, needs, "Run this command?")
    assert caught.value.by_rule


async def test_auto_can_be_switched_on_and_off_between_requests() -> None:
    requests = Requests()
    requests.service.mode = "auto"
    assert await requests.ask("a") == ONCE
    requests.service.mode = "ask"
    asking = requests.ask("b")
    (request,) = await requests.published(1)
    requests.service.reply(request.id, ONCE)
    assert await asking == ONCE


@pytest.mark.parametrize("trusted", [False, True])
async def test_the_project_loosens_only_for_a_service_that_trusts_it(trusted: bool) -> None:
    requests = Requests(
        Rule("bash", "*", "ask", "user"),
        Rule("bash", "make *", "allow", PROJECT),
        trusted=trusted,
    )
    asking = requests.ask("make x")
    if not trusted:
        (request,) = await requests.published(1)
        requests.service.reply(request.id, REJECT)
        with pytest.raises(PermissionRejected):
            await asking
    else:
        assert await asking is None


async def test_deny_wins_denies_before_a_later_allow() -> None:
    requests = Requests(
        Rule("bash", "rm *", "deny", "user"), Rule("bash", "*", "allow", "user"), deny_wins=True
    )
    with pytest.raises(PermissionRejected):
        await requests.ask("rm x")
    assert await requests.ask("ls x") is None


async def test_guarded_and_unknown_parts_have_no_pattern_for_always() -> None:
    requests = Requests()
    needs = (
        PermissionNeed("edit", ".git/config", always=".git/*", strict="guarded"),
        PermissionNeed("bash", "$X", always="$X", strict="unknown"),
        PermissionNeed("bash", "make", always="make *"),
        PermissionNeed("bash", "make", always="make *", shown="again"),
    )
    asking = asyncio.ensure_future(requests.service.ask(CONTEXT, needs, "Run this command?"))
    (request,) = await requests.published(1)
    assert request.always == (("bash", "make *"),)
    assert [one.need for one in request.needs] == list(needs)
    requests.service.reply(request.id, ONCE)
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
    requests = Requests(
        Rule("edit", "*", "ask", "user"),
        Rule("edit", "*.sql", "ask", "user"),
        Rule("edit", "keep.txt", "deny", "user"),
        mode="accept edits",
    )
    needs = (PermissionNeed("edit", path, strict=strict),)
    asking = asyncio.ensure_future(requests.service.ask(CONTEXT, needs, "Make this edit?"))
    if action == "deny":
        with pytest.raises(PermissionRejected):
            await asking
        return
    if action == "ask":
        (request,) = await requests.published(1)
        requests.service.reply(request.id, ONCE)
    assert await asking == (None if action == "allow" else ONCE)


async def test_accepting_edits_does_not_allow_commands_or_other_folders() -> None:
    requests = Requests(mode="accept edits")
    needs = (
        PermissionNeed("edit", "/etc/x"),
        PermissionNeed("external_directory", "/etc/*"),
        PermissionNeed("bash", "make"),
    )
    asking = asyncio.ensure_future(requests.service.ask(CONTEXT, needs, "Make this edit?"))
    (request,) = await requests.published(1)
    assert [one.action for one in request.needs] == ["allow", "ask", "ask"]
    requests.service.reply(request.id, ONCE)
    await asking
