"""The sandbox of a call, by how it was allowed."""

import asyncio
from dataclasses import replace

import pytest

from agent.permission.rules import Rule
from agent.permission.sandbox_policy.command_policy import requested_needs
from agent.permission.service import PermissionContext
from agent.permission.shell.analysis import command_needs
from agent.records.decisions import Decision, explain_decision
from agent.records.errors import PermissionRejected
from agent.records.requests import PermissionNeed, PermissionReply
from agent.records.sandbox import READ_ONLY, UNSANDBOXED, SandboxGrant
from tests.agent.permission.request_queue import ALWAYS, ONCE, RequestQueue

CONTEXT = PermissionContext("ses_1", "ses_1", "msg", "call", "build", "bash", "/srv/shop")
WITHOUT = PermissionReply("once", unsandboxed=True)
WRITES = SandboxGrant("workspace-write", writes_outside=True)
ONLINE = replace(WRITES, network=True)


def allow(permission: str, pattern: str = "*", source: str = "config.json") -> Rule:
    return Rule(permission, pattern, "allow", source)


def needs_of(line: str, **asked: str) -> tuple[PermissionNeed, ...]:
    """Return the needs of a command that asks for ``network`` or ``unsandboxed``."""
    needs = command_needs(line, directory="/srv/shop", project="/srv/shop", home="/home/ann")
    more = (requested_needs(key, line, needs, reason) for key, reason in asked.items())
    return (*needs, *(need for each in more for need in each))


class Calls:
    """A queue with what it reported about one call."""

    def __init__(self, *rules: Rule, **how: object) -> None:
        self.queue = RequestQueue(*rules, **how)
        self.sandboxes: list[SandboxGrant] = []
        self.decisions: list[Decision] = []
        self.context = replace(
            CONTEXT, on_sandbox=self.sandboxes.append, on_decision=self.decisions.append
        )

    async def run(
        self, needs: tuple[PermissionNeed, ...], reply: PermissionReply | None = None
    ) -> SandboxGrant:
        asking = asyncio.ensure_future(self.queue.service.ask(self.context, needs, "Run it?"))
        if reply is not None:
            (request,) = await self.queue.published(1)
            assert self.queue.service.reply(request.id, reply)
        await asyncio.wait_for(asking, 30)
        (sandbox,) = self.sandboxes
        return sandbox


async def test_a_command_that_is_proven_to_read_writes_nothing() -> None:
    assert await Calls().run(needs_of("ls -l; git status")) == READ_ONLY
    # A rule that would allow it was not needed.
    assert await Calls(allow("bash")).run(needs_of("ls")) == READ_ONLY


@pytest.mark.parametrize("reply", [ONCE, ALWAYS])
async def test_what_the_user_allows_writes_in_the_project(reply: PermissionReply) -> None:
    calls = Calls()
    assert await calls.run(needs_of("make"), reply) == WRITES
    (decision,) = calls.decisions
    assert decision.sandbox == "workspace-write"
    assert explain_decision(decision).endswith(", workspace-write")


async def test_a_proven_command_that_a_rule_asks_about_gets_what_the_user_allowed() -> None:
    rule = Rule("bash", "ls *", "ask", "config.json")
    assert await Calls(rule).run(needs_of("ls -l"), ONCE) == SandboxGrant("workspace-write")


@pytest.mark.parametrize("how", ["rule", "mode", "hook"])
async def test_so_does_what_a_rule_a_mode_or_a_hook_allows(how: str) -> None:
    calls = Calls(allow("bash"), allow("edit")) if how == "rule" else Calls()
    calls.queue.service.mode = "auto" if how == "mode" else "ask"
    calls.context = replace(calls.context, allowed_by_hook=how == "hook")
    assert await calls.run(needs_of("make > log.txt")) == WRITES


async def test_the_network_comes_with_a_command_that_is_known_to_use_it() -> None:
    assert await Calls().run(needs_of("npm install"), ONCE) == ONLINE
    assert await Calls(allow("bash", "npm install *")).run(needs_of("npm install")) == ONLINE


async def test_another_command_asks_for_the_network() -> None:
    needs = needs_of("npm test", network="downloads a browser")
    calls = Calls(allow("bash", "npm test *"))
    assert await calls.run(needs, ONCE) == ONLINE
    (request,) = await calls.queue.published(1)
    assert [(n.need.permission, n.action) for n in request.needs] == [
        ("bash", "allow"),
        ("network", "ask"),
    ]
    assert request.always == (("network", "npm test *"),)
    assert request.needs[1].reason == "downloads a browser"


async def test_a_rule_gives_the_network_to_a_command_that_did_not_ask_for_it() -> None:
    rules = (allow("bash", "npm test *"), allow("network", "npm test *"))
    assert await Calls(*rules).run(needs_of("npm test")) == ONLINE
    assert await Calls(*rules, allow("bash", "make")).run(needs_of("npm test && make")) == WRITES
    # Allowing everything allows the request, and gives it to no command that did not ask.
    assert await Calls(allow("*")).run(needs_of("npm test")) == WRITES
    assert await Calls(allow("*")).run(needs_of("npm test", network="why")) == ONLINE


async def test_a_rule_denies_the_network_to_a_command_that_is_known_to_use_it() -> None:
    rules = (allow("bash"), Rule("network", "*", "deny", "config.json"))
    with pytest.raises(PermissionRejected, match="network"):
        await Calls(*rules).run(needs_of("curl https://example.org"))
    assert await Calls(*rules).run(needs_of("make")) == WRITES


async def test_the_answer_without_the_sandbox() -> None:
    calls = Calls()
    assert await calls.run(needs_of("make"), WITHOUT) == UNSANDBOXED
    (decision,) = calls.decisions
    assert explain_decision(decision) == "allowed once, no sandbox"


async def test_a_rule_can_forbid_that_answer() -> None:
    calls = Calls(Rule("unsandboxed", "*", "deny", "config.json"))
    assert await calls.run(needs_of("make"), WITHOUT) == WRITES
    (request,) = await calls.queue.published(1)
    assert not request.can_leave_sandbox


@pytest.mark.parametrize("mode", ["auto", "ask", "accept edits"])
async def test_a_request_without_the_sandbox_asks_whatever_allows_everything(mode: str) -> None:
    needs = needs_of("docker ps", unsandboxed="talks to the daemon")
    calls = Calls(allow("*"), allow("un*"))
    calls.queue.service.mode = mode
    calls.context = replace(calls.context, allowed_by_hook=True)
    assert await calls.run(needs, ONCE) == UNSANDBOXED
    (request,) = await calls.queue.published(1)
    assert request.sandbox == UNSANDBOXED


async def test_a_rule_that_names_it_allows_it() -> None:
    rules = (allow("bash", "docker *"), allow("unsandboxed", "docker *"))
    needs = needs_of("docker build .", unsandboxed="talks to the daemon")
    assert await Calls(*rules).run(needs) == UNSANDBOXED
    # It holds for a call that does not ask too, but for no other command of its line.
    assert await Calls(*rules).run(needs_of("docker build .")) == UNSANDBOXED
    assert await Calls(*rules, allow("bash")).run(needs_of("docker build .; make")) == WRITES


async def test_the_rule_for_a_program_covers_no_use_that_it_does_not_describe() -> None:
    rules = (allow("bash"), allow("unsandboxed", "git *"))
    assert await Calls(*rules).run(needs_of("git -c core.pager=x push")) == ONLINE


async def test_folders_that_were_allowed_can_be_written_and_those_to_read_cannot() -> None:
    calls = Calls(allow("external_directory"), allow("edit"))
    sandbox = await calls.run(needs_of("cp a ../other/b"), ONCE)
    assert (sandbox.folders, sandbox.writes_outside) == (("/srv/other",), True)
    reading = await Calls(allow("external_directory")).run(needs_of("cat ../other/b"))
    assert (reading.folders, reading.writes_outside) == (("/srv/other",), False)


async def test_a_guarded_file_can_be_written_if_the_user_allowed_just_that() -> None:
    sandbox = await Calls(allow("*")).run(needs_of("echo x > .git/hooks/pre-commit"), ONCE)
    assert sandbox.guarded == (".git/hooks/pre-commit",)


@pytest.mark.parametrize(
    ("line", "opened"),
    [
        ("git push -u origin main", True),
        ("git switch -t origin/x && git remote add up ../up", True),
        ("git config core.pager x", False),
        ("git -c core.pager=x push", False),
        ("git push; make", False),
        ("git ''", False),
    ],
)
async def test_git_can_note_branches_in_its_configuration(line: str, opened: bool) -> None:
    grant = await Calls().run(needs_of(line), ONCE)
    assert (".git/config" in grant.guarded) is opened


async def test_an_edited_command_is_judged_anew() -> None:
    calls = Calls()
    allow_edited = calls.queue.service.allow_edited
    await allow_edited(calls.context, needs_of("npm install"), ONCE)
    await allow_edited(calls.context, needs_of("make"), WITHOUT)
    assert calls.sandboxes == [ONLINE, UNSANDBOXED]


async def test_a_call_without_commands_has_no_sandbox() -> None:
    calls = Calls()
    calls.context = replace(calls.context, on_sandbox=None)
    asking = asyncio.ensure_future(
        calls.queue.service.ask(calls.context, (PermissionNeed("edit", "a"),), "Edit?")
    )
    (request,) = await calls.queue.published(1)
    assert request.sandbox is None
    assert calls.queue.service.reply(request.id, WITHOUT)
    await asking
    assert calls.decisions[0].sandbox is None
