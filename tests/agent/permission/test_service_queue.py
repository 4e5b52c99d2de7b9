"""More of asking: late answers, children, stored rules, auto (spec 4, M1, M5, M6, M15)."""

import asyncio
from dataclasses import replace
from typing import Literal

import pytest

from agent.permission.rules import PROJECT, Rule
from agent.permission.service import PermissionContext
from agent.records.errors import PermissionRejected
from agent.records.requests import PermissionNeed, PermissionReply
from tests.agent.permission.test_service import ALWAYS, ONCE, REJECT, WITH_WORDS, Desk

CONTEXT = PermissionContext("ses_1", "ses_1", "msg", "call", "build", "bash", "/w")


async def test_m5_a_late_or_foreign_reply_is_refused_and_changes_nothing() -> None:
    desk = Desk()
    first, second = desk.ask("one", always="one *"), desk.ask("two")
    request, other = await desk.asked(2)
    assert not desk.service.reply("per_unknown", ALWAYS)
    assert desk.service.reply(request.id, ONCE)
    assert not desk.service.reply(request.id, ALWAYS)
    assert not desk.service.reply(request.id, REJECT)
    assert await first == ONCE
    assert desk.service.pending() == (other,)
    assert desk.kept.rules == {}
    desk.service.reply(other.id, ONCE)
    await second


async def test_m5_pending_tells_the_questions_of_one_tree() -> None:
    desk = Desk()
    asking = [
        desk.ask("a"),
        desk.ask("b", session="ses_child", root="ses_1"),
        desk.ask("c", session="ses_2", root="ses_2"),
    ]
    requests = await desk.asked(3)
    assert desk.service.pending("ses_1") == tuple(requests[:2])
    assert desk.service.pending("ses_2") == (requests[2],)
    assert desk.service.pending("ses_3") == ()
    for request in requests:
        desk.service.reply(request.id, ONCE)
    await asyncio.gather(*asking)


async def test_m5_a_cancelled_session_leaves_other_sessions_of_its_tree_waiting() -> None:
    desk = Desk()
    one, child = desk.ask("a"), desk.ask("b", session="ses_child")
    await desk.asked(2)
    desk.service.cancel_session("ses_child")
    with pytest.raises(PermissionRejected) as caught:
        await child
    assert caught.value.withdrawn
    assert caught.value.feedback is None
    (request,) = desk.service.pending()
    desk.service.reply(request.id, ONCE)
    assert await one == ONCE


async def test_m5_reject_leaves_the_questions_of_a_child_session() -> None:
    desk = Desk()
    one, child = desk.ask("a"), desk.ask("b", session="ses_child")
    request, other = await desk.asked(2)
    desk.service.reply(request.id, REJECT)
    with pytest.raises(PermissionRejected) as caught:
        await one
    assert not caught.value.by_rule
    assert not caught.value.withdrawn
    assert desk.service.pending() == (other,)
    desk.service.reply(other.id, ONCE)
    await child


async def test_m5_words_of_blanks_only_are_no_words() -> None:
    desk = Desk()
    first, second = desk.ask("one"), desk.ask("two")
    request, _ = await desk.asked(2)
    desk.service.reply(request.id, PermissionReply("reject", "  \n"))
    for asking in (first, second):
        with pytest.raises(PermissionRejected) as caught:
            await asking
        assert caught.value.feedback is None


async def test_m5_the_words_reach_the_model_and_every_reply_is_told_on_the_bus() -> None:
    desk = Desk()
    first, second = desk.ask("one"), desk.ask("two")
    request, other = await desk.asked(2)
    desk.service.reply(request.id, WITH_WORDS)
    with pytest.raises(PermissionRejected, match="use make"):
        await first
    desk.service.reply(other.id, REJECT)
    with pytest.raises(PermissionRejected):
        await second
    assert desk.replies() == {request.id: WITH_WORDS, other.id: REJECT}


async def test_m5_a_reject_tells_the_bus_of_each_question_it_ends() -> None:
    desk = Desk()
    asking = [desk.ask(name) for name in ("one", "two", "three")]
    requests = await desk.asked(3)
    desk.service.reply(requests[1].id, REJECT)
    await asyncio.gather(*asking, return_exceptions=True)
    assert desk.replies() == dict.fromkeys((r.id for r in requests), REJECT)
    assert not any(desk.service.reply(r.id, ONCE) for r in requests)


async def test_m5_what_is_stored_for_the_root_holds_for_a_child_and_a_new_service() -> None:
    desk = Desk()
    desk.kept.rules = {"ses_1": [("bash", "make *")]}
    assert await desk.ask("make x", session="ses_child", root="ses_1") is None
    elsewhere = desk.ask("make x", session="ses_2", root="ses_2")
    (request,) = await desk.asked(1)
    assert request.root_id == "ses_2"
    desk.service.reply(request.id, ONCE)
    await elsewhere


async def test_m5_once_stores_nothing_and_the_next_call_asks_again() -> None:
    desk = Desk()
    first = desk.ask("make a", always="make *")
    (request,) = await desk.asked(1)
    desk.service.reply(request.id, ONCE)
    await first
    assert desk.kept.rules == {}
    again = desk.ask("make a", always="make *")
    _, second = await desk.asked(2)
    desk.service.reply(second.id, ONCE)
    assert await again == ONCE


async def test_m5_always_without_an_offer_counts_once() -> None:
    desk = Desk()
    first = desk.ask("eval x")
    (request,) = await desk.asked(1)
    assert request.always == ()
    desk.service.reply(request.id, ALWAYS)
    await first
    assert desk.kept.rules == {}
    assert desk.service.always_rules("ses_1") == ()


async def test_m5_always_resolves_nothing_of_another_root() -> None:
    desk = Desk()
    first = desk.ask("make a", always="make *")
    other = desk.ask("make b", session="ses_2", root="ses_2", always="make *")
    request, second = await desk.asked(2)
    desk.service.reply(request.id, ALWAYS)
    await first
    assert desk.service.pending() == (second,)
    desk.service.reply(second.id, REJECT)
    with pytest.raises(PermissionRejected):
        await other


async def test_m5_always_leaves_a_question_that_asks_for_more_than_it_covers() -> None:
    desk = Desk()
    first = desk.ask("make a", always="make *")
    needs = (PermissionNeed("bash", "make b", always="make *"), PermissionNeed("edit", "out.txt"))
    second = asyncio.ensure_future(desk.service.ask(CONTEXT, needs, "Run this command?"))
    request, other = await desk.asked(2)
    desk.service.reply(request.id, ALWAYS)
    await first
    assert desk.service.pending() == (other,)
    desk.service.reply(other.id, ONCE)
    assert await second == ONCE


async def test_m5_a_deny_found_while_judging_again_denies_the_question() -> None:
    desk = Desk()
    first = desk.ask("make a", always="make *")
    second = desk.ask("make evil", always="make *")
    request, other = await desk.asked(2)
    desk.rules = (*desk.rules, Rule("bash", "make evil", "deny", "user"))
    desk.service.reply(request.id, ALWAYS)
    await first
    with pytest.raises(PermissionRejected) as caught:
        await second
    assert caught.value.by_rule
    reply = desk.replies()[other.id]
    assert reply is not None
    assert reply.answer == "reject"


async def test_m5_always_reaches_the_next_question_before_the_store_has_it() -> None:
    """The rule holds at once: the asking task need not have run again."""
    desk = Desk()
    first = desk.ask("make a", always="make *")
    (request,) = await desk.asked(1)
    desk.service.reply(request.id, ALWAYS)
    assert [rule.pattern for rule in desk.service.always_rules("ses_1")] == ["make *"]
    assert await desk.ask("make b") is None
    await first


async def test_m5_cancelling_one_task_leaves_the_others_and_tells_who_asked() -> None:
    desk = Desk()
    told: list[str | None] = []
    context = replace(CONTEXT, on_request=told.append)
    needs = (PermissionNeed("bash", "one"),)
    asking = asyncio.ensure_future(desk.service.ask(context, needs, "Run this command?"))
    other = desk.ask("two")
    request, second = await desk.asked(2)
    assert told == [request.id]
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert told == [request.id, None]
    assert desk.service.pending() == (second,)
    assert not desk.service.reply(request.id, ALWAYS)
    desk.service.reply(second.id, ONCE)
    assert await other == ONCE


async def test_m15_auto_covers_children_and_stores_nothing() -> None:
    desk = Desk(mode="auto")
    assert await desk.ask("make", session="ses_child", always="make *") == ONCE
    assert desk.service.pending() == ()
    assert desk.kept.rules == {}
    assert desk.events.drain() == []


async def test_m15_under_auto_a_deny_of_one_part_denies_the_call() -> None:
    desk = Desk(Rule("edit", ".env", "deny", "user"), mode="auto")
    needs = (PermissionNeed("bash", "ls"), PermissionNeed("edit", ".env"))
    with pytest.raises(PermissionRejected) as caught:
        await desk.service.ask(CONTEXT, needs, "Run this command?")
    assert caught.value.by_rule


async def test_m15_auto_may_be_switched_on_and_off_between_questions() -> None:
    desk = Desk()
    desk.service.mode = "auto"
    assert await desk.ask("a") == ONCE
    desk.service.mode = "ask"
    asking = desk.ask("b")
    (request,) = await desk.asked(1)
    desk.service.reply(request.id, ONCE)
    assert await asking == ONCE


@pytest.mark.parametrize("trusted", [False, True])
async def test_m1_the_project_loosens_only_for_a_service_that_trusts_it(trusted: bool) -> None:
    desk = Desk(
        Rule("bash", "*", "ask", "user"),
        Rule("bash", "make *", "allow", PROJECT),
        trusted=trusted,
    )
    asking = desk.ask("make x")
    if not trusted:
        (request,) = await desk.asked(1)
        desk.service.reply(request.id, REJECT)
        with pytest.raises(PermissionRejected):
            await asking
    else:
        assert await asking is None


async def test_m3_deny_wins_denies_before_a_later_allow() -> None:
    desk = Desk(
        Rule("bash", "rm *", "deny", "user"), Rule("bash", "*", "allow", "user"), deny_wins=True
    )
    with pytest.raises(PermissionRejected):
        await desk.ask("rm x")
    assert await desk.ask("ls x") is None


async def test_m6_guarded_and_unknown_parts_are_never_offered() -> None:
    desk = Desk()
    needs = (
        PermissionNeed("edit", ".git/config", always=".git/*", strict="guarded"),
        PermissionNeed("bash", "$X", always="$X", strict="unknown"),
        PermissionNeed("bash", "make", always="make *"),
        PermissionNeed("bash", "make", always="make *", shown="again"),
    )
    asking = asyncio.ensure_future(desk.service.ask(CONTEXT, needs, "Run this command?"))
    (request,) = await desk.asked(1)
    assert request.always == (("bash", "make *"),)
    assert [one.need for one in request.needs] == list(needs)
    desk.service.reply(request.id, ONCE)
    await asking


EDITED = (
    ("src/a.py", "", "allow"),
    ("AGENTS.md", "guarded", "ask"),
    ("db/schema.sql", "", "ask"),
    ("keep.txt", "", "deny"),
)


@pytest.mark.parametrize(("path", "strict", "action"), EDITED)
async def test_m15_accepted_edits_are_those_that_no_rule_names(
    path: str, strict: Literal["", "guarded"], action: str
) -> None:
    desk = Desk(
        Rule("edit", "*", "ask", "user"),
        Rule("edit", "*.sql", "ask", "user"),
        Rule("edit", "keep.txt", "deny", "user"),
        mode="accept edits",
    )
    needs = (PermissionNeed("edit", path, strict=strict),)
    asking = asyncio.ensure_future(desk.service.ask(CONTEXT, needs, "Make this edit?"))
    if action == "deny":
        with pytest.raises(PermissionRejected):
            await asking
        return
    if action == "ask":
        (request,) = await desk.asked(1)
        desk.service.reply(request.id, ONCE)
    assert await asking == (None if action == "allow" else ONCE)


async def test_m15_accepting_edits_is_no_word_on_commands_or_other_folders() -> None:
    desk = Desk(mode="accept edits")
    needs = (
        PermissionNeed("edit", "/etc/x"),
        PermissionNeed("external_directory", "/etc/*"),
        PermissionNeed("bash", "make"),
    )
    asking = asyncio.ensure_future(desk.service.ask(CONTEXT, needs, "Make this edit?"))
    (request,) = await desk.asked(1)
    assert [one.action for one in request.needs] == ["allow", "ask", "ask"]
    desk.service.reply(request.id, ONCE)
    await asking
