"""The reasoning effort in the fields of each protocol and provider."""

from dataclasses import replace
from typing import Any

import pytest

from agent.provider.client import ModelInfo, ReasoningContent, TextContent, ToolTurn
from agent.provider.quirks.reasoning_effort import SUMMARY
from tests.support.provider_requests import CALL, RESULT, USER, assistant, body, model


def effort_body(of: ModelInfo | str, effort: str | None, **more: Any) -> Any:
    return body(of, effort=effort, max_output=8000, temperature=0.5, **more)


@pytest.mark.parametrize(
    ("efforts", "effort", "sent"),
    [
        (("low", "high"), "medium", "low"), (("low", "high", "max"), "xhigh", "high"),
        (("none", "high"), "minimal", "high"), (("none", "high"), "none", "none"),
        (("medium",), "none", "medium"), (("low", "medium", "high"), "max", "high"),
        ((), "xhigh", "xhigh"), (("low", "special"), "special", "special"),
    ],
)  # fmt: skip
def test_choose_supported_effort(efforts: tuple[str, ...], effort: str, sent: str) -> None:
    assert effort_body(model("acme/m", efforts=efforts), effort)["reasoning_effort"] == sent


@pytest.mark.parametrize("name", ["acme/m", "xai/grok-4.6", "together/openai/gpt-oss-120b"])
def test_send_effort_as_reasoning_effort(name: str) -> None:
    assert effort_body(name, "low")["reasoning_effort"] == "low"
    assert "reasoning_effort" not in effort_body(name, None)


@pytest.mark.parametrize("site", ["openrouter", "vercel-gateway"])
def test_send_effort_in_reasoning_object(site: str) -> None:
    made = effort_body(f"{site}/m", "high")
    assert made["reasoning"] == {"effort": "high"}
    assert "reasoning_effort" not in made
    assert "reasoning" not in effort_body(f"{site}/m", None)


@pytest.mark.parametrize("site", ["zai", "moonshot", "deepseek"])
def test_send_effort_as_thinking_switch(site: str) -> None:
    assert effort_body(f"{site}/m", "none")["thinking"] == {"type": "disabled"}
    assert effort_body(f"{site}/m", "high")["thinking"] == {"type": "enabled"}
    assert "reasoning_effort" not in effort_body(f"{site}/m", "high")
    graded = model(f"{site}/m", efforts=("none", "high", "max"))
    assert effort_body(graded, "max")["reasoning_effort"] == "max"
    assert "reasoning_effort" not in effort_body(graded, "none")
    assert "thinking" not in effort_body(f"{site}/m", None)


def test_send_effort_as_reasoning_switch() -> None:
    assert effort_body("together/zai-org/GLM-5.3", "none")["reasoning"] == {"enabled": False}
    assert effort_body("together/zai-org/GLM-5.3", "high")["reasoning"] == {"enabled": True}
    assert "reasoning" not in effort_body("together/zai-org/GLM-5.3", None)


def test_send_effort_as_enable_thinking() -> None:
    low = effort_body("alibaba/qwen3", "low")
    assert (low["enable_thinking"], low["thinking_budget"]) == (True, 4000)
    assert effort_body("alibaba/qwen3", "none")["enable_thinking"] is False
    assert "enable_thinking" not in effort_body("alibaba/qwen3", None)


def test_send_effort_as_none_or_default() -> None:
    assert effort_body("groq/qwen/qwen3-32b", "high")["reasoning_effort"] == "default"
    assert effort_body("groq/qwen/qwen3-32b", "none")["reasoning_effort"] == "none"
    assert effort_body("groq/openai/gpt-oss-120b", "high")["reasoning_effort"] == "high"
    assert "reasoning_effort" not in effort_body("groq/qwen/qwen3-32b", None)


@pytest.mark.parametrize("site", ["llama.cpp", "vllm", "lmstudio"])
def test_send_effort_in_chat_template(site: str) -> None:
    assert effort_body(f"{site}/m", "none")["chat_template_kwargs"] == {"enable_thinking": False}
    assert effort_body(f"{site}/m", "low")["chat_template_kwargs"] == {
        "enable_thinking": True,
        "reasoning_effort": "low",
    }
    assert "chat_template_kwargs" not in effort_body(f"{site}/m", None)


def test_send_effort_to_responses() -> None:
    made = effort_body("openai/gpt-5.4", "high")
    assert made["reasoning"] == {"effort": "high", "summary": "auto"}
    assert "temperature" not in made
    assert effort_body("openai/gpt-5.4", None)["reasoning"] == {"summary": "auto"}
    assert effort_body("openai/gpt-5.4", "none")["reasoning"] == {"effort": "none"}
    assert effort_body("openai/gpt-5.4", "low", refused=SUMMARY)["reasoning"] == {"effort": "low"}
    assert effort_body("openai/gpt-4.1", None)["temperature"] == 0.5


@pytest.mark.parametrize(
    ("name", "effort", "thinking", "level"),
    [
        ("claude-opus-4-7", "xhigh", "adaptive", "xhigh"),
        ("claude-opus-4-6", "minimal", "adaptive", "low"),
        ("claude-sonnet-4-5", "high", "enabled", None),
        ("claude-sonnet-4-5", "none", None, None), ("claude-opus-4-7", "none", None, None),
        ("claude-haiku-5-5", "none", "disabled", None), ("claude-haiku-5-5", None, None, None),
    ],
)  # fmt: skip
def test_send_effort_to_anthropic(
    name: str, effort: str | None, thinking: str | None, level: str | None
) -> None:
    made = effort_body(f"anthropic/{name}", effort)
    assert made.get("thinking", {}).get("type") == thinking
    assert made.get("output_config", {}).get("effort") == level
    assert ("temperature" in made) == (thinking is None and name == "claude-sonnet-4-5")
    if thinking == "enabled":
        assert made["thinking"]["budget_tokens"] == 16_000
        foreign = body(f"anthropic/{name}", USER, assistant(CALL), RESULT, effort=effort)
        assert "thinking" not in foreign, "it did not begin with thinking"
        first = assistant(ReasoningContent("Hm", None, {"signature": "s"}), CALL)
        later = assistant(replace(CALL, call_id="c2"))
        results = ToolTurn((replace(RESULT.content[0], call_id="c2"),))
        turns = (USER, first, RESULT, later, results)
        made = body(f"anthropic/{name}", *turns, effort=effort)
        assert made["thinking"]["type"] == "enabled", "its later steps need not think again"
        ended = (*turns, assistant(TextContent("done")), USER, later, results)
        again = body(f"anthropic/{name}", *ended, effort=effort)
        assert "thinking" not in again, "that was a response before the user's message"
    assert effort_body(f"anthropic/{name}", effort, refused="thinking").get("thinking") is None


@pytest.mark.parametrize(
    ("name", "effort", "thinking"),
    [
        ("gemini-3.1-pro", "high", {"thinkingLevel": "high"}),
        ("gemini-3.1-pro", "max", {"thinkingLevel": "high"}),
        ("gemini-3.8-flash", "none", {"thinkingLevel": "minimal"}),
        ("gemini-pro-latest", "low", {"thinkingLevel": "low"}),
        ("gemini-2.5-flash", "max", {"thinkingBudget": 24_576}),
        ("gemini-2.5-pro", "low", {"thinkingBudget": 4_000}),
        ("gemini-2.5-flash", "none", {"thinkingBudget": 0}),
    ],
)
def test_send_effort_to_gemini(name: str, effort: str, thinking: dict[str, Any]) -> None:
    config = effort_body(f"google/{name}", effort)["generationConfig"]["thinkingConfig"]
    assert config == {"includeThoughts": effort != "none", **thinking}
    assert "thinkingConfig" not in effort_body(f"google/{name}", None)["generationConfig"]
    thinker = model(f"google/{name}", reasoning=True)
    shown = effort_body(thinker, None)["generationConfig"]["thinkingConfig"]
    assert shown == {"includeThoughts": True}


def test_send_effort_to_cohere() -> None:
    thinker = model("cohere/command-a-reasoning", reasoning=True)
    assert effort_body(thinker, "high")["thinking"] == {"type": "enabled"}
    assert effort_body(thinker, "none")["thinking"] == {"type": "disabled"}
    for made in (effort_body(thinker, None), effort_body("cohere/command-r", "high")):
        assert "thinking" not in made


def test_send_effort_to_ollama() -> None:
    def think(name: str, effort: str | None, **more: Any) -> Any:
        return effort_body(model(f"ollama/{name}", "ollama", **more), effort).get("think")

    assert think("qwen3", "high") is True
    assert think("qwen3", "none") is False
    assert think("qwen3", None) is None
    assert think("qwen3", None, reasoning=True) is True
    assert think("gpt-oss:20b", "max") == "high"


def test_send_effort_to_bedrock() -> None:
    def more(name: str, effort: str | None) -> Any:
        return effort_body(f"bedrock/{name}", effort).get("additionalModelRequestFields")

    assert more("us.anthropic.claude-opus-4-6-v1", "max") == {
        "thinking": {"type": "adaptive", "display": "summarized"},
        "output_config": {"effort": "max"},
    }
    budget = more("anthropic.claude-sonnet-4-5-20250929-v1:0", "low")
    assert budget == {"thinking": {"type": "enabled", "budget_tokens": 4000}}
    claude = effort_body("bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0", "low")
    assert claude["inferenceConfig"] == {"maxTokens": 12_000}
    assert more("amazon.nova-2-lite-v1:0", "max") == {
        "reasoningConfig": {"type": "enabled", "maxReasoningEffort": "high"}
    }
    assert more("openai.gpt-oss-120b-1:0", "low") == {"reasoning_effort": "low"}
    for nothing in (more("meta.llama4", "high"), more("amazon.nova-2-lite-v1:0", None)):
        assert nothing is None
