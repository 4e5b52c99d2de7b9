"""Servers that have a model answer a prompt during a call."""

import json
import sys
from pathlib import Path

import pytest

from agent.records.blocks import TextBlock
from agent.records.events import PermissionReplied
from agent.records.messages import Completed
from agent.runtime.headless import HeadlessRun
from agent.session.api import PromptInput
from agent.session.subagents.completions import Completions
from tests.agent.mcp.mcp_harness import SERVERS, connected
from tests.support.harness import MODEL, Harness, open_harness
from tests.support.script import Call, Text, Tokens, answer

PRICE = {"input": 1.0, "output": 2.0}
SERVER = {"type": "local", "command": [sys.executable, str(SERVERS / "raw.py"), "samples"]}
SETTINGS = {"mcp": {"inn": SERVER}, "abilities": {"cost": PRICE}}
ALLOWED = {"inn_*": "allow"}


def call(**arguments: object) -> tuple:
    return answer(Call("inn_good", arguments), Tokens(0, 0))


async def reply_to_server(harness: Harness, session) -> dict:
    """Return the reply that the server got, which it gave as the result of its call."""
    (part,) = await harness.tools(session)
    assert isinstance(part.state, Completed), part.state
    return json.loads(part.state.output)


async def test_a_prompt_is_shown_allowed_answered_and_paid(tmp_path: Path) -> None:
    async with open_harness(tmp_path, permission=ALLOWED, **SETTINGS) as harness:
        await connected(harness, "inn")
        harness.server.script(
            call(),
            answer(Text("Softer."), Tokens(1_000_000, 500_000)),
            answer(Text("done"), Tokens(0, 0)),
        )
        session = await harness.session()
        await harness.send(session, "go")
        request = await harness.permission_request()
        assert request.heading == "Let the MCP server inn ask the model?"
        (judged,) = request.needs
        assert (judged.need.permission, judged.need.pattern) == ("mcp_sampling", "inn")
        assert request.always == (("mcp_sampling", "inn"),)
        (block,) = request.blocks
        assert isinstance(block, TextBlock)
        assert block.text == (
            f"To {MODEL}, for 300 tokens at most.\n\nsystem: You are terse.\n\n"
            "user: What is oak?\n\nassistant: A tree.\n\nuser: And pine?"
        )
        harness.answer(request, "once")
        await harness.idle(session)
        body = harness.server.requests[1].body
        roles = [(one["role"], one["content"]) for one in body["messages"]]
        assert roles == [
            ("system", "You are terse."),
            ("user", "What is oak?"),
            ("assistant", "A tree."),
            ("user", "And pine?"),
        ]
        assert body["max_tokens"] == 300
        assert not body.get("tools")
        said = await reply_to_server(harness, session)
        assert (said["content"]["text"], said["model"]) == ("Softer.", MODEL)
        spent = await harness.runtime.sessions.repository.get(session.id)
        assert spent.cost == pytest.approx(2.0)


@pytest.mark.parametrize("way", ["user", "rule"])
async def test_a_prompt_that_is_not_allowed_is_not_sent(tmp_path: Path, way: str) -> None:
    """The call itself continues: the server gets an error for its prompt."""
    rules = {**ALLOWED, **({"mcp_sampling": "deny"} if way == "rule" else {})}
    async with open_harness(tmp_path, permission=rules, **SETTINGS) as harness:
        await connected(harness, "inn")
        harness.server.script(call(), answer(Text("done")))
        session = await harness.session()
        await harness.send(session, "go")
        if way == "user":
            harness.answer(await harness.permission_request(), "reject")
        assert (await harness.idle(session)).outcome == "completed"
        said = await reply_to_server(harness, session)
        assert said == {"code": -1, "message": "The user refused the request to the model."}
        assert len(harness.server.requests) == 2


async def test_always_covers_the_server_and_prompts_of_a_call_are_limited(
    tmp_path: Path,
) -> None:
    async with open_harness(tmp_path, permission=ALLOWED, **SETTINGS) as harness:
        await connected(harness, "inn")
        answers = [answer(Text("Softer."), Tokens(1, 1))] * 20
        harness.server.script(call(times=21), *answers, answer(Text("done")))
        session = await harness.session()
        await harness.send(session, "go")
        harness.answer(await harness.permission_request(), "always")
        await harness.idle(session)
        said = await reply_to_server(harness, session)
        assert said["message"] == "One call can ask a model only 20 times."


@pytest.mark.parametrize("allowed", [False, True])
async def test_without_a_user_a_rule_is_needed(tmp_path: Path, allowed: bool) -> None:
    rules = {**ALLOWED, **({"mcp_sampling": {"inn": "allow"}} if allowed else {})}
    async with open_harness(tmp_path, permission=rules, **SETTINGS) as harness:
        answers = (answer(Text("Softer."), Tokens(1, 1)),) if allowed else ()
        harness.server.script(call(), *answers, answer(Text("done")))
        headless = HeadlessRun(harness.runtime)
        session = await headless.session(resume=False, session_id=None, fork=False)
        await headless.wait_for_servers()
        async for _ in headless.run(session, PromptInput(text="go")):
            pass
        said = await reply_to_server(harness, session)
        assert ("content" in said) is allowed


async def test_a_prompt_without_an_answer_is_an_error_for_the_server(tmp_path: Path) -> None:
    rules = {**ALLOWED, "mcp_sampling": "allow"}
    async with open_harness(tmp_path, permission=rules, **SETTINGS) as harness:
        await connected(harness, "inn")
        harness.server.script(call(), answer(Text("  ")), answer(Text("done")))
        session = await harness.session()
        await harness.turn(session, "go")
        said = await reply_to_server(harness, session)
        assert said["message"].startswith("The model did not answer: ")


async def test_cancelling_a_call_withdraws_its_permission_request(tmp_path: Path) -> None:
    async with open_harness(tmp_path, permission=ALLOWED, **SETTINGS) as harness:
        await connected(harness, "inn")
        harness.server.script(call())
        session = await harness.session()
        await harness.send(session, "go")
        request = await harness.permission_request()
        await harness.runtime.sessions.cancel(session.id)
        await harness.until(
            lambda event: isinstance(event, PermissionReplied) and event.request_id == request.id
        )
        assert harness.runtime.permissions.pending() == ()
        assert len(harness.server.requests) == 1


@pytest.mark.parametrize(
    ("small", "name"),
    [(None, "openai/gpt-5.4-mini"), ("none", "openai/gpt-5.4-mini"), ("other/tiny", "other/tiny")],
)
async def test_the_small_model_answers(tmp_path: Path, small: str | None, name: str) -> None:
    async with open_harness(tmp_path) as harness:
        runtime = harness.runtime
        completions = Completions(
            runtime.catalog, runtime.clients, runtime.sessions.repository.update, small
        )
        assert completions.for_session("ses_1", "openai/gpt-5.4", lambda *_: None).model == name


async def test_a_server_can_hint_at_a_configured_model(tmp_path: Path) -> None:
    def provider(url: str) -> dict[str, object]:
        options = {"baseURL": url, "apiKey": "sk-scripted-0001"}
        return {"other": {"options": options, "models": {"clever-9": {}, "quick-1": {}}}}

    rules = {**ALLOWED, "mcp_sampling": "allow"}
    async with open_harness(tmp_path, permission=rules, provider=provider, **SETTINGS) as harness:
        await connected(harness, "inn")
        harness.server.script(call(), answer(Text("Softer.")), answer(Text("done")))
        session = await harness.session()
        await harness.turn(session, "go")
        assert (await reply_to_server(harness, session))["model"] == "other/clever-9"
        assert harness.server.requests[1].body["model"] == "clever-9"


@pytest.mark.parametrize(
    ("hints", "name"),
    [
        ((), "openai/gpt-5.4-mini"),
        (("opus", "clever"), "other/clever-9"),
        (("CLEVER-9-mini", "quick"), "openai/gpt-5.4-mini"),
        (("quick-1",), "other/quick-1"),
        (("other/quick-10",), "other/quick-10"),
        (("gpt-5.4",), "openai/gpt-5.4"),
        (("gpt",), "openai/gpt-5.4-mini"),
        (("o3", "clever"), "other/clever-9"),
    ],
)
async def test_a_hint_counts_if_it_fits_one_model(
    tmp_path: Path, hints: tuple[str, ...], name: str
) -> None:
    """A hint that fits several models is ignored, and only configured models are used."""
    models = {"clever-9": {}, "quick-1": {}, "quick-10": {}}
    other = {"options": {"baseURL": "http://127.0.0.1:1", "apiKey": "k"}, "models": models}
    async with open_harness(tmp_path, provider=lambda _: {"other": other}) as harness:
        runtime = harness.runtime
        completions = Completions(
            runtime.catalog, runtime.clients, runtime.sessions.repository.update
        )
        completer = completions.for_session("ses_1", "openai/gpt-5.4", lambda *_: None)
        assert completer.with_model_hints(hints).model == name
