"""A model that rejects reasoning, in any words: the turn continues without it, as /status says."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.harness import open_harness
from tests.support.script import Answer, Failure, Text, answer

FIELDS = ("reasoning_effort", "reasoning", "thinking", "output_config", "thinkingConfig")

CASES = [
    ("openai-chat", "model-1", "Unsupported parameter: 'reasoning_effort' is not supported."),
    ("openai-chat", "model-1", "reasoning_effort: Extra inputs are not permitted"),
    ("openai-chat", "model-1", "This model does not support reasoning."),
    ("openai-chat", "model-1", "\"model-1\" does not support thinking"),
    ("openai-responses", "model-1", "Reasoning is not supported with this model"),
    ("openai-responses", "model-1",
     "Unsupported value: 'high' is not supported with the 'model-1' model."),
    ("gemini", "model-1", "Thinking is not supported for this model"),
    ("anthropic-messages", "claude-sonnet-4-5", "'claude' does not support thinking."),
    ("anthropic-messages", "claude-sonnet-4-5", "thinking: Extra inputs are not permitted"),
    ("anthropic-messages", "claude-opus-4-7", "This model does not support the effort parameter."),
    ("litellm", "model-1", "Unsupported parameter: 'reasoning_effort' is not supported."),
    ("litellm", "model-1", "This model does not support reasoning."),
]  # fmt: skip


def refuses(words: str) -> Callable[[dict], Answer]:
    def script(body: dict) -> Answer:
        asked = {**body, **body.get("generationConfig", {})}.keys()
        if asked.isdisjoint(FIELDS):
            return answer(Text("ok"))
        return Failure(400, json.dumps({"error": {"message": words}}))

    return script


@pytest.mark.parametrize(
    ("api", "model", "words"),
    [
        pytest.param(*case, marks=pytest.mark.litellm if case[0] == "litellm" else ())
        for case in CASES
    ],
)
async def test_a_model_that_rejects_reasoning_fails_no_turn(
    tmp_path: Path, api: str, model: str, words: str
) -> None:
    limit = {"context": 200_000, "output": 64_000}
    entry = {"api": api, "models": {model: {"reasoning": True, "limit": limit}}}
    if api == "litellm":
        entry |= {"api": "openai-chat", "transport": "litellm"}

    def providers(url: str) -> dict[str, object]:
        return {"acme": {**entry, "options": {"baseURL": url, "apiKey": "x"}}}

    async with open_harness(
        tmp_path, provider=providers, model=f"acme/{model}", effort="high"
    ) as harness:
        harness.server.always(refuses(words))
        session = await harness.session()
        known = harness.runtime.catalog.model(f"acme/{model}")
        assert not harness.runtime.clients.refuses_effort(known)
        assert (await harness.turn(session, "go")).outcome == "completed"
        assert harness.runtime.clients.refuses_effort(known)
        asked = len(harness.server.requests)
        assert (await harness.turn(session, "again")).outcome == "completed"
        assert len(harness.server.requests) == asked + 1, "the refusal is remembered"


@pytest.mark.parametrize("effort", ["ultra", "", "HIGH", "max"])
async def test_an_unknown_effort_fails_no_turn(tmp_path: Path, effort: str) -> None:
    abilities = {"reasoning": True}
    async with open_harness(tmp_path, abilities=abilities, effort=effort) as harness:
        harness.server.always(answer(Text("ok")))
        session = await harness.session()
        assert (await harness.turn(session, "go")).outcome == "completed"
