"""Quirks of single fields in the body of a request."""

import pytest

from agent.provider.client import ReasoningContent
from tests.support.provider_requests import CALL, RESULT, USER, assistant, body, chat, model

OLD, NEW = "max_tokens", "max_completion_tokens"


@pytest.mark.parametrize(
    ("name", "cap"),
    [("openai/gpt-5.4", NEW), ("openai/o3-mini", NEW), ("openai/gpt-6.1-sol", NEW),
     ("azure/gpt-5.4", NEW), ("openai/gpt-4o", OLD), ("acme/gpt-5.4", OLD)],
)  # fmt: skip
def test_rename_max_tokens(name: str, cap: str) -> None:
    made = body(model(name, "openai-chat"), max_output=9)
    assert {key: value for key, value in made.items() if key.startswith("max_")} == {cap: 9}


def test_swap_refused_output_cap() -> None:
    assert body("acme/m", max_output=9, refused=OLD)[NEW] == 9
    openai = model("openai/gpt-5.4", "openai-chat")
    made = body(openai, max_output=9, refused=NEW)
    assert (made[OLD], NEW in made) == (9, False)


def test_drop_stream_options() -> None:
    assert "stream_options" not in body("mistral/m")
    assert body("acme/m")["stream_options"] == {"include_usage": True}


def test_request_usage() -> None:
    assert body("openrouter/m")["usage"] == {"include": True}
    at_its_host = model("mine/m", base_url="https://openrouter.ai/api/v1")
    assert body(at_its_host)["usage"] == {"include": True}
    assert "usage" not in body("acme/m")


def test_always_send_reasoning_content() -> None:
    turns = (USER, assistant(CALL, by="other/m"), RESULT)
    for name in ("moonshot/kimi-k3", "deepseek/deepseek-v4-pro"):
        assert chat(name, *turns)[1]["reasoning_content"] == ""
        own = assistant(ReasoningContent("Hm", "reasoning_content"), CALL, by=name)
        assert chat(name, USER, own, RESULT)[1]["reasoning_content"] == "Hm"
    assert "reasoning_content" not in chat("acme/m", *turns)[1]


def test_keep_thinking() -> None:
    kept = {"type": "enabled", "clear_thinking": False}
    thinker = model("zai/glm-5.3", reasoning=True)
    assert body(thinker)["thinking"] == kept
    assert body(thinker, effort="high")["thinking"] == kept
    assert body(thinker, effort="none")["thinking"] == {"type": "disabled"}
    assert "thinking" not in body("zai/glm-4")


def test_request_encrypted_reasoning() -> None:
    assert body("openai/gpt-5.4")["include"] == ["reasoning.encrypted_content"]
    assert "include" not in body("openai/gpt-4.1-mini")


@pytest.mark.parametrize("part", ["stream_options", "temperature", "reasoning_effort", "tools"])
def test_drop_refused_parts(part: str) -> None:
    more = {"temperature": 0.5, "effort": "low"}
    assert part not in body("acme/m", refused=part, **more)
    assert part == "tools" or part in body("acme/m", **more)
