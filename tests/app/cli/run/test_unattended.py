"""Nothing in ``opencode-py run`` waits for a user: each request gets a refusal with a reason."""

import json
import sys
from contextlib import aclosing
from pathlib import Path

import pytest

from agent.bus import QUEUE_LIMIT
from agent.records.events import Notice
from agent.runtime.headless import HeadlessRun
from agent.runtime.runtime import open_runtime
from agent.session.api import PromptInput
from tests.agent.mcp.mcp_harness import SERVERS
from tests.app.cli.run.process import more_settings, run
from tests.support.harness import environment, open_harness
from tests.support.installed import InstalledProgram, ServerThread
from tests.support.script import Call, Text, answer
from tests.support.subagents import Script, task

TOUCH = Call("bash", {"command": "touch made"})
EARLY = Path(__file__).with_name("early_server.py")


def use_server(installed: InstalledProgram, name: str, *command: str) -> None:
    server = {"type": "local", "command": [sys.executable, *command]}
    more_settings(installed, mcp={name: server}, permission={f"{name}_*": "allow"})


def results(scripted: ServerThread) -> list[str]:
    """Return the results of the last request's calls."""
    messages = scripted.server.requests[-1].body["messages"]
    return [str(m["content"]) for m in messages if m["role"] == "tool"]


@pytest.mark.parametrize(
    ("fault", "reply"),
    [("asks", '{"action": "decline"}'), ("samples", "refused the request to the model")],
)
def test_a_server_that_asks_during_a_call_is_refused(
    installed: InstalledProgram, scripted: ServerThread, fault: str, reply: str
) -> None:
    use_server(installed, fault, str(SERVERS / "raw.py"), fault)
    scripted.server.script(answer(Call(f"{fault}_good", {})), answer(Text("done")))
    done = run(installed, "go")
    assert done.stdout == b"done\n", done.stderr
    assert reply in results(scripted)[-1]


@pytest.mark.parametrize("method", ["elicitation/create", "sampling/createMessage"])
def test_a_server_that_asks_while_it_connects_is_refused(
    installed: InstalledProgram, scripted: ServerThread, method: str
) -> None:
    use_server(installed, "early", str(EARLY), method)
    scripted.server.script(answer(Call("early_heard", {})), answer(Text("done")))
    done = run(installed, "go")
    assert done.stdout == b"done\n", done.stderr
    said = results(scripted)[-1]
    assert "decline" in said if method.startswith("elic") else "only during a call" in said


def test_a_plan_is_not_carried_out(installed: InstalledProgram, scripted: ServerThread) -> None:
    scripted.server.script(answer(Call("plan_exit", {})), answer(Text("the plan")))
    done = run(installed, "plan it", "--agent", "plan")
    assert (done.returncode, done.stdout) == (0, b"the plan\n")
    assert "No one is available" in results(scripted)[-1]


def test_a_hook_that_asks_is_refused(installed: InstalledProgram, scripted: ServerThread) -> None:
    decision = {"permissionDecision": "ask", "permissionDecisionReason": "look first"}
    output = {"hookSpecificOutput": {"hookEventName": "PreToolUse", **decision}}
    hook = {"type": "command", "command": f"echo '{json.dumps(output)}'"}
    more_settings(installed, hooks={"PreToolUse": [{"matcher": "read", "hooks": [hook]}]})
    scripted.server.script(answer(Call("read", {"file_path": "calc.py"})), answer(Text("left out")))
    done = run(installed, "go")
    assert (done.returncode, done.stdout) == (3, b"left out\n")
    assert "No one is available" in results(scripted)[-1]


def test_a_background_sub_agent_is_refused_while_the_turn_waits_for_it(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    script = Script(
        answer(task("look", background=True)),
        answer(Text("it works on")),
        answer(Text("it could not")),
        look=[
            answer(Call("question", {"questions": [{"question": "Which?"}]}), TOUCH),
            answer(Text("refused")),
        ],
    )
    scripted.server.always(script)
    done = run(installed, "go")
    assert (done.returncode, done.stdout) == (3, b"it could not\n")
    assert not (installed.project / "made").exists()


def test_a_sub_agents_session_that_is_continued_is_refused_too(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    scripted.server.script(
        answer(task("look")),
        answer(Call("read", {"file_path": "calc.py"})),
        answer(Text("seen")),
        answer(Text("done")),
    )
    events = [
        json.loads(line) for line in run(installed, "go", "--format", "json").stdout.splitlines()
    ]
    child = next(e["session"] for e in events if e["session"] != events[0]["session"])
    scripted.server.script(answer(TOUCH), answer(Text("left out")))
    done = run(installed, "-s", child, "make it")
    assert (done.returncode, done.stdout) == (3, b"left out\n")
    assert "No one is available" in results(scripted)[-1]


async def test_the_end_of_a_turn_is_noticed_after_lost_events(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        harness.server.script(answer(Text("done")))
        headless = HeadlessRun(harness.runtime)
        session = await harness.session()
        async with aclosing(headless.run(session, PromptInput(text="go"))) as events:
            await anext(events)
            await harness.idle(session)
            for number in range(QUEUE_LIMIT + 1):
                harness.runtime.bus.publish(Notice(str(number)))
            async for _ in events:
                pass
        assert headless.result is not None
        assert (headless.result.outcome, headless.result.answer) == ("completed", "done")


def system(body: dict) -> str:
    return str([m["content"] for m in body["messages"] if m["role"] == "system"])


def test_the_model_is_told_that_nobody_is_here(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    scripted.server.always(answer(Text("ok")))
    for words in (("one",), ("-c", "two")):
        assert run(installed, *words).returncode == 0
    first, second = (r.body for r in scripted.server.requests if r.body.get("tools"))
    assert "User: No one is available to answer questions" in system(first)
    assert system(second) == system(first)
    assert "No one is available" not in str(second["messages"][-1]), "it is said once"


async def test_a_session_learns_that_its_user_came_and_went(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        harness.server.always(answer(Text("ok")))
        session = await harness.session()
        await harness.turn(session, "one")
        paths, directory = harness.home, harness.folder
        await harness.runtime.close()
        for answering, said in (
            ("none", "No one is available"),
            ("text", "The user is available again"),
        ):
            runtime = await open_runtime(directory, env=environment(paths), answering=answering)
            headless = HeadlessRun(runtime)
            async with aclosing(headless.run(session, PromptInput(text="on"))) as events:
                async for _ in events:
                    pass
            await runtime.close()
            body = next(r.body for r in reversed(harness.server.requests) if r.body.get("tools"))
            assert said in str(body["messages"][-1])
            assert "No one is available" not in system(body)


def test_each_ignored_file_is_named_once(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    settings = {"model": "x/y", "mcp": {"q": {"command": ["q"]}}}
    (installed.project / "opencode.json").write_text(json.dumps(settings))
    scripted.server.always(answer(Text("ok")))
    first, second = run(installed, "a").stderr.decode().splitlines()
    assert first.startswith("opencode.json: model, mcp ignored, because this folder is not trusted")
    assert second.endswith("is not trusted. Add --trust to use its files in this run.")
    (installed.project / "AGENTS.md").write_text("Say moin.\n")
    _, second = run(installed, "a").stderr.decode().splitlines()
    assert second.endswith("so this is ignored: AGENTS.md. Add --trust to use it in this run.")


def test_ignored_instructions_are_reported_and_trust_applies_to_one_run(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    (installed.project / "AGENTS.md").write_text("Say moin.\n")
    (installed.project / "opencode-py.json").write_text(json.dumps({"username": "Ann"}))
    scripted.server.always(answer(Text("ok")))
    told = [run(installed, *words).stderr.decode() for words in (("a",), ("--trust", "b"), ("c",))]
    assert "AGENTS.md" in told[0]
    assert "--trust" in told[0]
    assert told[1] == ""
    assert told[2] == told[0]
    bodies = [r.body for r in scripted.server.requests if r.body.get("tools")]
    assert ["Say moin." in system(body) for body in bodies] == [False, True, False]
    assert not (installed.home / "data/trust.json").exists()


def test_the_judge_allows_or_its_reason_is_given_to_the_model(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    more_settings(installed, judge_model="scripted/model-1")

    def verdict(word: str, reason: str):
        return answer(Text(json.dumps({"verdict": word, "reason": reason})))

    scripted.server.script(
        answer(TOUCH),
        verdict("allow", "it was asked for"),
        answer(Call("bash", {"command": "touch other"})),
        verdict("ask", "it was not"),
        answer(Text("done")),
    )
    done = run(installed, "--permission-mode", "judge", "go", "--format", "json")
    assert done.returncode == 3, done.stderr
    assert (installed.project / "made").exists()
    assert not (installed.project / "other").exists()
    assert "model-1 suggests asking: it was not" in results(scripted)[-1]
    events = [json.loads(line) for line in done.stdout.splitlines()]
    verdicts = [event["verdicts"] for event in events if "verdicts" in event]
    assert [one["answer"] for (one,) in verdicts[-2:]] == ["allow", "ask"]
    assert verdicts[-1][0]["reason"] == "it was not"
