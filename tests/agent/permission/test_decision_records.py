"""Rules, callers, hooks and policies combined in one verdict."""

import asyncio
from dataclasses import replace

import pytest

from agent.permission.rules import Rule, accept_edit, allow_by_hook, evaluate, strictest
from agent.permission.service import PermissionContext, PermissionService
from agent.records.errors import PermissionRejected
from agent.records.requests import Action, EvaluatedNeed, PermissionNeed, PermissionReply
from tests.agent.permission.request_queue import ALWAYS, RequestQueue

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
def test_the_strictest_of_several_verdicts_counts(
    actions: tuple[Action, ...], expected: Action
) -> None:
    assert strictest(*actions) == expected


async def consulted(
    queue: RequestQueue, word: Action | None, need: PermissionNeed = MAKE
) -> PermissionReply | None:
    """Return the reply for *need* if a hook returns *word*."""

    async def consult() -> tuple[Action | None, str]:
        return word, "the hook says so"

    async with asyncio.timeout(30):
        return await queue.service.ask(replace(CONTEXT, ask_hooks=consult), (need,), "Run it?")


async def test_a_hook_allows_calls_that_no_rule_covers() -> None:
    assert await consulted(RequestQueue(), "allow") is None
    queue = RequestQueue(mode="auto")
    assert await consulted(queue, None) == PermissionReply("once"), "it has no say"


async def test_a_hook_overrides_neither_an_ask_rule_nor_an_unknown_need() -> None:
    queue = RequestQueue(user("make *", "ask"), mode="auto")
    assert await consulted(queue, "allow") == PermissionReply("once")
    queue = RequestQueue(mode="auto")
    unknown = replace(MAKE, strict="unknown")
    assert await consulted(queue, "allow", unknown) == PermissionReply("once")


async def test_a_deny_of_a_hook_has_a_reason_and_counts_as_one_of_a_rule() -> None:
    with pytest.raises(PermissionRejected) as raised:
        await consulted(RequestQueue(), "deny")
    assert raised.value.by_rule
    assert "the hook says so" in raised.value.message


async def test_a_permission_hook_runs_only_where_the_user_would_be_asked() -> None:
    assert await consulted(RequestQueue(user("make *", "allow")), "deny") is None
    with pytest.raises(PermissionRejected):
        await consulted(RequestQueue(user("make *", "deny")), "allow")


async def test_a_refusal_ends_the_request_with_its_reason() -> None:
    queue = RequestQueue()
    asking = queue.ask("make")
    (request,) = await queue.published(1)
    assert queue.service.refuse(request.id, "Nobody is here.")
    assert not queue.service.refuse(request.id, "Nobody is here."), "it was answered"
    with pytest.raises(PermissionRejected) as raised:
        await asking
    assert (raised.value.message, raised.value.by_rule) == ("Nobody is here.", True)
    assert queue.replies() == {request.id: PermissionReply("reject", "Nobody is here.")}
    assert queue.service.pending() == ()


async def test_approval_does_not_override_a_deny() -> None:
    queue = RequestQueue(user("make *", "deny"))
    with pytest.raises(PermissionRejected):
        await queue.service.raise_if_denied(CONTEXT, (PermissionNeed("bash", "ls"), MAKE))
    await queue.service.raise_if_denied(CONTEXT, (PermissionNeed("bash", "ls"),))


async def test_a_request_names_its_call() -> None:
    queue = RequestQueue()
    asking = queue.ask("make all")
    (request,) = await queue.published(1)
    assert (request.call_id, request.message_id) == ("call make all", "msg")
    assert (request.agent, request.tool, request.folder) == ("build", "bash", "/w")
    queue.service.reply(request.id, PermissionReply("once"))
    await asking


async def test_always_ignores_a_request_of_another_tree() -> None:
    queue = RequestQueue()
    foreign = queue.ask("make a", session="ses_9", root="ses_9", always="make *")
    first = queue.ask("make b", always="make *")
    second = queue.ask("make c", always="make *")
    requests = await queue.published(3)
    queue.service.reply(requests[1].id, ALWAYS)
    async with asyncio.timeout(30):
        await first
        await second
    assert [r.id for r in queue.service.pending()] == [requests[0].id]
    queue.service.reply(requests[0].id, PermissionReply("once"))
    await foreign


@pytest.mark.parametrize("strict", ["caller", "own"])
async def test_the_strictest_verdict_of_an_agent_and_its_callers_counts(strict: str) -> None:
    def rules_for(agent: str, *, child: bool) -> tuple[Rule, ...]:
        assert child == (agent == "own"), "who was called is a child"
        return (user("*", "allow"), *((user("make *", "deny"),) if agent == strict else ()))

    queue = RequestQueue()
    service = PermissionService(queue.bus, queue.stored, rules_for)
    context = replace(CONTEXT, agent="own", callers=("caller",))
    with pytest.raises(PermissionRejected):
        await service.ask(context, (MAKE,), "Run it?")
    assert await service.ask(context, (PermissionNeed("bash", "other"),), "Run it?") is None


async def test_a_later_allow_wins_unless_that_mode_is_on() -> None:
    rules = (user("make *", "deny"), user("make all", "allow"))
    assert await RequestQueue(*rules).service.ask(CONTEXT, (MAKE,), "Run it?") is None
    with pytest.raises(PermissionRejected):
        await RequestQueue(*rules, deny_wins=True).service.ask(CONTEXT, (MAKE,), "Run it?")


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
def test_a_deny_rule_applies_to_commands_that_a_command_runs(runs: str, expected: Action) -> None:
    rules = (user("*", "allow"), user("rm *", "deny"))
    assert evaluate(PermissionNeed("bash", "env", runs=f" {runs}"), rules).action == expected


def test_a_rule_that_denies_everything_does_not_apply_to_inner_commands() -> None:
    """It denies the command itself, or was lifted for it."""
    rules = (user("*", "deny"), user("env *", "allow"))
    assert evaluate(PermissionNeed("bash", "env x", runs=" x"), rules).action == "allow"


def test_accepting_edits_and_hooks_change_only_verdicts_that_ask() -> None:
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
