"""Quirks of prompt caches: at most four marks, or a key."""

import json

import pytest

from agent.provider.quirks.target import CACHE_MARKS
from tests.support.provider_requests import CALL, RESULT, TOOL, USER, assistant, body, model, text

TURNS = (USER, assistant(text("a"), CALL), RESULT, assistant(text("b")), USER)
SYSTEM = ("Head.", "Rest.")
MARK = {"type": "ephemeral"}


@pytest.mark.parametrize("name", ["openai/gpt-5.4", "azure/gpt-5.4", "moonshot/kimi-k3", "xai/x"])
def test_add_cache_key(name: str) -> None:
    assert body(name, session_id="ses_1")["prompt_cache_key"] == "ses_1"
    assert "prompt_cache_key" not in body(name)
    assert "prompt_cache_key" not in body("acme/m", session_id="ses_1")


def test_add_anthropic_cache_marks() -> None:
    made = body("anthropic/claude-x", *TURNS, system=SYSTEM, tools=(TOOL,))
    assert [block.get("cache_control") for block in made["system"]] == [MARK, MARK]
    marked = [message["content"][-1].get("cache_control") for message in made["messages"]]
    assert marked == [None, None, MARK, None, MARK]
    assert json.dumps(made).count("cache_control") == 4
    many = body("anthropic/claude-x", *TURNS, system=("a", "b", "c"))
    assert json.dumps(many).count("cache_control") == 4


@pytest.mark.parametrize("name", ["openrouter/anthropic/claude-x", "acme/claude", "alibaba/qwen3"])
def test_add_chat_cache_marks(name: str) -> None:
    made = body(name, *TURNS, system=SYSTEM)
    head = [{"type": "text", "text": words, "cache_control": MARK} for words in SYSTEM]
    assert made["messages"][0]["content"] == head
    assert made["messages"][3]["cache_control"] == MARK
    assert made["messages"][-1]["content"] == [
        {"type": "text", "text": "hi", "cache_control": MARK}
    ]
    assert json.dumps(made).count("cache_control") == 4
    assert "cache_control" not in json.dumps(body(name, *TURNS, refused=CACHE_MARKS))
    assert "cache_control" not in json.dumps(body("acme/m", *TURNS))


def test_add_bedrock_cache_points() -> None:
    point = {"cachePoint": {"type": "default"}}
    claude = "bedrock/us.anthropic.claude-opus-4-7"
    made = body(claude, *TURNS, system=SYSTEM)
    assert made["system"] == [{"text": "Head."}, point, {"text": "Rest."}, point]
    ends = [message["content"][-1] == point for message in made["messages"]]
    assert ends == [False, False, True, False, True]
    assert json.dumps(made).count("cachePoint") == 4
    for other in (
        body(claude, *TURNS, refused=CACHE_MARKS),
        body(model("bedrock/meta.llama4"), *TURNS),
    ):
        assert "cachePoint" not in json.dumps(other)
