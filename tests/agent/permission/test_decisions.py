"""How rules, callers, hooks and policies meet in one verdict (spec 4, M1, M5, M11; spec 3, T3)."""

import asyncio
from dataclasses import replace

import pytest

from agent.permission.rules import Rule, accept_edit, allow_by_hook, evaluate, strictest
from agent.permission.service import PermissionContext, PermissionService
from agent.records.errors import PermissionRejected
from agent.records.requests import Action, EvaluatedNeed, PermissionNeed, PermissionReply
from tests.agent.permission.test_service import ALWAYS, Desk

CONTEXT = PermissionContext("ses_1", "ses_1", "msg", "call", "build", "bash", "/w")
MAKE = PermissionNeed("bash", "make all", always="make *")


def user(pattern: str, action: Action, permission: str = "bash") -> Rule:
    return Rule(permission, pattern, action, "user")


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        (("allow",), "allow"),
        (("allow", "ask"), "ask"),
        (("ask", "allow", "allow"), "ask"),
        (("deny", "ask", "allow"), "deny"),
        (("ask", "deny"), "deny"),
    ],
)
def test_m1_of_several_verdicts_the_strictest_holds(
    actions: tuple[Action, ...], expected: Action
) -> None:
    assert strictest(*actions) == expected


async def consulted(
    desk: Desk, word: Action | None, need: PermissionNeed = MAKE
) -> PermissionReply | None:
    """The outcome of asking for *need* where a hook says *word*."""

    async def consult() -> tuple[Action | None, str]:
        return word, "the hook says so"

    async with asyncio.timeout(30):
        return await desk.service.ask(replace(CONTEXT, ask_hooks=consult), (need,), "Run it?")


async def test_t3_a_hook_allows_what_no_rule_speaks_of() -> None:
    assert await consulted(Desk(), "allow") is None
    desk = Desk(mode="auto")
    assert await consulted(desk, None) == PermissionReply("once"), "it has no say"


async def test_t3_a_hook_never_beats_a_rule_that_asks_nor_what_cannot_be_known() -> None:
    desk = Desk(user("make *", "ask"), mode="auto")
    assert await consulted(desk, "allow") == PermissionReply("once")
    desk = Desk(mode="auto")
    unknown = replace(MAKE, strict="unknown")
    assert await consulted(desk, "allow", unknown) == PermissionReply("once")


async def test_t3_a_hooks_deny_says_why_and_is_a_rules() -> None:
    with pytest.raises(PermissionRejected) as told:
        await consulted(Desk(), "deny")
    assert told.value.by_rule
    assert "the hook says so" in told.value.message


async def test_t3_a_hook_is_asked_only_where_the_user_would_be() -> None:
    assert await consulted(Desk(user("make *", "allow")), "deny") is None
    with pytest.raises(PermissionRejected):
        await consulted(Desk(user("make *", "deny")), "allow")


async def test_m11_a_refusal_ends_the_question_with_its_sentence() -> None:
    desk = Desk()
    asking = desk.ask("make")
    (request,) = await desk.asked(1)
    assert desk.service.refuse(request.id, "Nobody is here.")
    assert not desk.service.refuse(request.id, "Nobody is here."), "it was answered"
    with pytest.raises(PermissionRejected) as told:
        await asking
    assert (told.value.message, told.value.by_rule) == ("Nobody is here.", True)
    assert desk.replies() == {request.id: PermissionReply("reject", "Nobody is here.")}
    assert desk.service.pending() == ()


async def test_m5_consent_does_not_go_beyond_a_deny() -> None:
    desk = Desk(user("make *", "deny"))
    with pytest.raises(PermissionRejected):
        await desk.service.raise_if_denied(CONTEXT, (PermissionNeed("bash", "ls"), MAKE))
    await desk.service.raise_if_denied(CONTEXT, (PermissionNeed("bash", "ls"),))


async def test_a_question_tells_which_call_it_is_about() -> None:
    desk = Desk()
    asking = desk.ask("make all")
    (request,) = await desk.asked(1)
    assert (request.call_id, request.message_id) == ("call make all", "msg")
    assert (request.agent, request.tool, request.folder) == ("build", "bash", "/w")
    desk.service.reply(request.id, PermissionReply("once"))
    await asking


async def test_m5_always_looks_past_a_question_of_another_tree() -> None:
    desk = Desk()
    foreign = desk.ask("make a", session="ses_9", root="ses_9", always="make *")
    first = desk.ask("make b", always="make *")
    second = desk.ask("make c", always="make *")
    requests = await desk.asked(3)
    desk.service.reply(requests[1].id, ALWAYS)
    async with asyncio.timeout(30):
        await first
        await second
    assert [r.id for r in desk.service.pending()] == [requests[0].id]
    desk.service.reply(requests[0].id, PermissionReply("once"))
    await foreign


@pytest.mark.parametrize("strict", ["caller", "own"])
async def test_s2_the_strictest_of_an_agent_and_its_callers_holds(strict: str) -> None:
    def rules_for(agent: str, *, child: bool) -> tuple[Rule, ...]:
        assert child == (agent == "own"), "who was called is a child"
        return (user("*", "allow"), *((user("make *", "deny"),) if agent == strict else ()))

    desk = Desk()
    service = PermissionService(desk.bus, desk.kept, rules_for)
    context = replace(CONTEXT, agent="own", callers=("caller",))
    with pytest.raises(PermissionRejected):
        await service.ask(context, (MAKE,), "Run it?")
    assert await service.ask(context, (PermissionNeed("bash", "other"),), "Run it?") is None


async def test_m3_a_later_allow_wins_unless_that_mode_is_on() -> None:
    rules = (user("make *", "deny"), user("make all", "allow"))
    assert await Desk(*rules).service.ask(CONTEXT, (MAKE,), "Run it?") is None
    with pytest.raises(PermissionRejected):
        await Desk(*rules, deny_wins=True).service.ask(CONTEXT, (MAKE,), "Run it?")


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ("env rm a", "deny"),
        ("env /usr/bin/rm a", "deny"),
        ("env /usr/bin/rmdir a", "allow"),
        ("env farm a", "allow"),
        ("env a rm", "deny"),
    ],
)
def test_b3_a_deny_finds_what_a_command_runs(runs: str, expected: Action) -> None:
    rules = (user("*", "allow"), user("rm *", "deny"))
    assert evaluate(PermissionNeed("bash", "env", runs=f" {runs}"), rules).action == expected


def test_b3_a_deny_of_everything_is_no_word_on_what_is_run() -> None:
    """It denies the command itself, or was taken back for it."""
    rules = (user("*", "deny"), user("env *", "allow"))
    assert evaluate(PermissionNeed("bash", "env x", runs=" x"), rules).action == "allow"


def test_m15_accepting_and_vouching_touch_nothing_but_what_asks() -> None:
    edit = PermissionNeed("edit", "a.txt")
    for action in ("allow", "deny"):
        one = EvaluatedNeed(edit, action, "because")
        assert accept_edit(one, ()) is one
        assert allow_by_hook(one, ()) is one
    asks = EvaluatedNeed(edit, "ask", "because")
    assert (accept_edit(asks, ()).action, allow_by_hook(asks, ()).action) == ("allow", "allow")
    ruled = (user("a.*", "ask", "edit"),)
    assert accept_edit(asks, ruled) is asks
    assert allow_by_hook(asks, ruled) is asks
    command = EvaluatedNeed(MAKE, "ask", "because")
    assert accept_edit(command, ()) is command
