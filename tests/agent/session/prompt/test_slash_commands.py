"""Slash commands as prompts: their command lines and files follow the rules, agents and models."""

import asyncio

import pytest

from agent.records.errors import CommandError
from agent.records.messages import SubtaskPart, TextPart, ToolPart
from agent.session.api import PromptInput
from tests.support.harness import Harness, open_harness
from tests.support.script import Call, Text, answer

COMMANDS = {
    "fix": {"template": "Fix $1. Look at @README.md.", "agent": "plan"},
    "state": {"template": "The state is !`echo $1`."},
    "look": {"template": "Find $ARGUMENTS", "agent": "explore"},
    "apart": {"template": "Do $ARGUMENTS", "agent": "build", "subtask": True},
}


async def send(harness: Harness, name: str, argument: str):
    session = await harness.session()
    base = PromptInput(text=f"/{name} {argument}")
    prompt = await harness.runtime.commands.prompt(name, argument, session, base)
    before = len(harness.events)
    await harness.runtime.sessions.prompt(session.id, prompt)
    return session, await harness.idle(session, after=before)


def last_user(body: dict) -> str:
    content = [m["content"] for m in body["messages"] if m["role"] == "user"][-1]
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content)


async def test_a_command_is_sent_with_its_files_and_shown_as_typed(tmp_path):
    async with open_harness(tmp_path, command=COMMANDS) as harness:
        (harness.folder / "README.md").write_text("It sells things.\n")
        harness.server.script(answer(Text("Done.")))
        session, end = await send(harness, "fix", "12")
        assert end.outcome == "completed"
        sent = last_user(harness.server.requests[0].body)
        assert "Fix 12. Look at @README.md." in sent
        assert "It sells things." in sent
        texts = [p for p in await harness.parts(session) if isinstance(p, TextPart)]
        assert [p.text for p in texts if not p.synthetic] == ["/fix 12", "Done."]
        # Its agent is for this prompt alone.
        stored = await harness.runtime.store.session(session.id)
        assert (stored.agent, stored.title) == ("build", "/fix 12")
        assert (await harness.messages(session))[0].message.agent == "plan"


async def test_a_command_line_needs_permission_like_any_other(tmp_path):
    rules = {"bash": {"*": "ask"}}
    async with open_harness(tmp_path, command=COMMANDS, permission=rules) as harness:
        session = await harness.session()
        prompting = harness.runtime.commands.prompt(
            "state", "fine", session, PromptInput(text="/state fine")
        )
        task = asyncio.create_task(prompting)
        request = await harness.permission_request()
        assert request.needs[0].need.pattern == "echo fine"
        harness.answer(request, "once")
        assert "The state is fine" in (await task).text


async def test_a_denied_command_line_is_not_run_and_nothing_is_sent(tmp_path):
    rules = {"bash": {"echo *": "deny"}}
    async with open_harness(tmp_path, command=COMMANDS, permission=rules) as harness:
        session = await harness.session()
        with pytest.raises(CommandError, match="/state was not sent"):
            await harness.runtime.commands.prompt(
                "state", "x", session, PromptInput(text="/state x")
            )
        assert not harness.server.requests


async def test_a_sub_agent_runs_the_command_first_and_its_report_continues_the_turn(tmp_path):
    async with open_harness(tmp_path, command=COMMANDS) as harness:
        harness.server.script(answer(Text("Three files.")), answer(Text("There are three.")))
        session, end = await send(harness, "look", "the tests")
        assert end.outcome == "completed"
        child, parent = (r.body for r in harness.server.requests)
        assert "Find the tests" in last_user(child)
        assert "Three files." in str(parent["messages"][-1]["content"])
        parts = await harness.parts(session)
        assert any(isinstance(p, SubtaskPart) and p.agent == "explore" for p in parts)
        (call,) = [p for p in parts if isinstance(p, ToolPart)]
        assert call.tool == "task"


async def test_any_agent_can_run_a_command_as_a_subtask_without_being_offered_to_the_model(
    tmp_path,
):
    async with open_harness(tmp_path, command=COMMANDS) as harness:
        harness.server.script(answer(Text("Made.")), answer(Text("It is made.")))
        _, end = await send(harness, "apart", "it")
        assert end.outcome == "completed"
        tools = {t["function"]["name"]: t for t in harness.server.requests[1].body["tools"]}
        assert "`build`" not in tools["task"]["function"]["description"]


async def test_an_unknown_command_is_an_error_that_lists_the_known_ones(tmp_path):
    async with open_harness(tmp_path, command=COMMANDS) as harness:
        with pytest.raises(CommandError, match="The commands are: /apart, /fix"):
            await send(harness, "nosuch", "")


async def test_a_skill_is_a_command_unless_one_has_its_name(tmp_path):
    folder = tmp_path / "home/config/skills/clean"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: clean\ndescription: Cleans.\n---\nSweep $1 !`x`.")
    async with open_harness(tmp_path, command=COMMANDS) as harness:
        found = {each.name: each for each in await harness.runtime.commands.all()}
        assert (found["clean"].kind, found["clean"].description) == ("skill", "Cleans.")
        harness.server.script(answer(Text("Clean.")))
        await send(harness, "clean", "here")
        assert "Sweep here !`x`." in last_user(harness.server.requests[0].body)


async def test_a_skill_for_the_model_only_is_no_command(tmp_path):
    folder = tmp_path / "home/.claude/skills/rules"
    folder.mkdir(parents=True)
    head = "name: rules\ndescription: The rules.\nuser-invocable: false"
    (folder / "SKILL.md").write_text(f"---\n{head}\n---\nWATER THE PLANTS")
    async with open_harness(tmp_path) as harness:
        assert "rules" not in {each.name for each in await harness.runtime.commands.all()}
        with pytest.raises(CommandError, match="Ask the agent to use it"):
            await send(harness, "rules", "")
        harness.server.script(answer(Call("skill", {"name": "rules"})), answer(Text("ok")))
        await harness.turn(await harness.session(), "go")
        first, second = harness.server.requests
        assert "- rules: The rules." in str(first.body["messages"])
        assert "WATER THE PLANTS" in str(second.body["messages"])


async def test_an_agent_mentioned_with_at_gets_the_work(tmp_path):
    async with open_harness(tmp_path) as harness:
        harness.server.script(answer(Text("Yes.")))
        session = await harness.session()
        before = len(harness.events)
        await harness.send(session, "Find it, @explore", agents=("explore",))
        await harness.idle(session, after=before)
        sent = last_user(harness.server.requests[0].body)
        assert "mentioned the sub-agent explore" in sent


async def test_an_unattended_run_refuses_a_command_that_would_ask(tmp_path):
    from agent.runtime.headless import Approval, HeadlessRun

    rules = {"bash": {"*": "ask"}}
    async with open_harness(tmp_path, command=COMMANDS, permission=rules) as harness:
        session = await harness.session()
        base = PromptInput(text="")
        with pytest.raises(CommandError, match="/state was not sent"):
            await HeadlessRun(harness.runtime).command_prompt("state", "x", session, base)
        allowed = HeadlessRun(harness.runtime, (Approval.parse("bash:echo *"),))
        prompt = await allowed.command_prompt("state", "fine", session, base)
        assert "The state is fine" in prompt.text


async def test_skills_of_folders_that_the_settings_name(tmp_path):
    folder = tmp_path / "elsewhere/tidy"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: tidy\ndescription: Tidies.\n---\nTidy.")
    async with open_harness(tmp_path, skills={"paths": [str(tmp_path / "elsewhere")]}) as harness:
        found = await harness.runtime.guidance.find_skills()
        assert list(found.skills) == ["tidy"]


async def test_a_command_in_a_folder_has_the_names_that_claude_code_gives_it(tmp_path):
    folder = tmp_path / "home/.claude/commands"
    for name in ("front/component", "front/test", "back/test"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.md").write_text(f"Do {name}.")
    async with open_harness(tmp_path) as harness:
        session, base = await harness.session(), PromptInput(text="x")
        commands = harness.runtime.commands
        for typed in ("front/component", "front:component", "component"):
            assert (await commands.prompt(typed, "", session, base)).text == "Do front/component."
        with pytest.raises(CommandError, match="There is no command /test"):
            await commands.prompt("test", "", session, base)
