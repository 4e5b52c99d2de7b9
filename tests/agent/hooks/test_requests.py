"""Hooks that change or refuse model requests: parameters, headers, sections of a summary."""

import json

from agent.records.events import Notice
from tests.agent.hooks.conftest import hook_inputs
from tests.support.harness import open_harness
from tests.support.script import Text, answer


def saying(**word: object) -> str:
    return f"echo '{json.dumps(word)}'"


async def test_parameters_and_headers_of_a_request_are_changed_before_it_is_sent(tmp_path, script):
    given = {"temperature": 0.25, "max_output": 321, "headers": {"X-Team": "blue"}}
    hooks = {"PreRequest": [script(saying(input=given), matcher="scripted/.*")]}
    async with open_harness(tmp_path, hooks=hooks) as harness:
        harness.server.script(answer(Text("Hello.")))
        session = await harness.session()
        assert (await harness.turn(session, "Hi")).outcome == "completed"
        (sent,) = harness.server.requests
        assert sent.body["temperature"] == 0.25
        assert 321 in {sent.body.get("max_tokens"), sent.body.get("max_completion_tokens")}
        assert sent.headers["x-team"] == "blue"
        (heard,) = hook_inputs(tmp_path)
        assert heard["model"] == "model-1"
        assert heard["session_id"] == session.id
        assert set(heard["params"]) == {"temperature", "effort", "max_output", "headers"}
        assert not [e for e in harness.events if isinstance(e, Notice)]


async def test_values_without_effect_are_reported_and_the_rest_counts(tmp_path, script):
    given = {
        "top_p": 1,
        "temperature": "hot",
        "effort": "no such level",
        "headers": {"x-a": "a\nb", "x-b": "c"},
    }
    hooks = {"PreRequest": [script(f"cat <<'END'\n{json.dumps({'input': given})}\nEND")]}
    async with open_harness(tmp_path, hooks=hooks) as harness:
        harness.server.script(answer(Text("Hello.")))
        assert (await harness.turn(await harness.session(), "Hi")).outcome == "completed"
        sent = harness.server.requests[0]
        assert "x-a" not in sent.headers
        assert sent.headers["x-b"] == "c"
        (notice,) = [e.message for e in harness.events if isinstance(e, Notice)]
        assert "top_p, temperature, effort, the header x-a, which has no effect" in notice


async def test_a_refused_request_is_not_sent_and_ends_the_turn(tmp_path, script):
    hooks = {"PreRequest": [script("echo 'the budget of today is spent' >&2; exit 2")]}
    async with open_harness(tmp_path, hooks=hooks) as harness:
        end = await harness.turn(await harness.session(), "Hi")
        assert end.outcome == "failed"
        assert end.error is not None
        assert "refused the request to the model: the budget of today" in end.error.message
        assert not harness.server.requests


async def test_a_late_or_broken_hook_does_not_stop_requests(tmp_path, script):
    hooks = {"PreRequest": [script("exit 1")]}
    async with open_harness(tmp_path, hooks=hooks) as harness:
        harness.server.script(answer(Text("Hello.")))
        assert (await harness.turn(await harness.session(), "Hi")).outcome == "completed"
        assert any("exit code 1" in e.message for e in harness.events if isinstance(e, Notice))


async def test_a_plugins_hook_changes_the_sections_of_a_summary(tmp_path):
    plugin = tmp_path / "home/config/plugins/own.py"
    plugin.parent.mkdir(parents=True)
    plugin.write_text(
        "def register(plugin):\n"
        "    @plugin.hook('PreCompact')\n"
        "    def sections(call):\n"
        "        text = call.details['template'] + '\\n# Tickets\\n'\n"
        "        return plugin.answer(input={'template': text})\n"
        "    @plugin.hook('PreRequest')\n"
        "    def team(call):\n"
        "        return plugin.answer(input={'headers': {'x-team': 'blue'}})\n"
    )
    async with open_harness(tmp_path) as harness:
        harness.server.script(answer(Text("Hello.")), answer(Text("# Summary")))
        session = await harness.session()
        await harness.turn(session, "Hi")
        before = len(harness.events)
        await harness.runtime.sessions.compaction.start(session.id)
        assert (await harness.idle(session, after=before)).outcome == "completed"
        asked = harness.server.requests[1]
        system = json.dumps(asked.body["messages"][0])
        assert "# Tickets" in system
        assert len(system) > 200  # the original template is there too
        assert asked.headers["x-team"] == "blue"  # every request passes, not only a turn's
