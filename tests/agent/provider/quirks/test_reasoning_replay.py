"""Replayed reasoning: only to the same model, and only in the form that it accepts."""

from typing import Any

import pytest

from agent.provider.client import Api, ReasoningContent, TextContent, ToolCallContent
from agent.provider.quirks.reasoning_replay import SKIP_SIGNATURE
from agent.provider.quirks.target import REASONING_REPLAY
from agent.records.json import JsonObject
from tests.support.provider_requests import (
    CALL,
    RESULT,
    USER,
    WIRE_APIS,
    assistant,
    body,
    model,
    text,
)

CLAUDE = "anthropic/claude-sonnet-4-5"
GPT = "openai/gpt-5.4"
GEMINI = "google/gemini-3-pro"
SIGNED = ReasoningContent("Hm", "reasoning", {"signature": "s"})
SIGNATURE: JsonObject = {"thoughtSignature": "c2ln"}


def sealed(name: str = "rs_1", **more: Any) -> ReasoningContent:
    opaque: JsonObject = {"id": name, "encrypted_content": "x", "summary": []}
    return ReasoningContent("Hm", opaque={**opaque, **more})


@pytest.mark.parametrize("api", WIRE_APIS)
def test_drop_foreign_reasoning(api: Api) -> None:
    of = model("acme/m", api)
    own = {"signature": "s", "id": "rs_1", "encrypted_content": "x"} | SIGNATURE
    thought = ReasoningContent("Hm", "reasoning", own)
    call = ToolCallContent("c1", "read", {}, own)
    content = (thought, TextContent("a", own), call)
    bare = (text("a"), ToolCallContent("c1", "read", {}))
    foreign = body(of, USER, assistant(*content, by="other/m"), RESULT)
    assert foreign == body(of, USER, assistant(*bare, by="other/m"), RESULT)
    assert foreign != body(of, USER, assistant(*content, by="acme/m"), RESULT) or api == "cohere"


def test_drop_refused_reasoning() -> None:
    turns = (USER, assistant(SIGNED, CALL, by=CLAUDE), RESULT)
    assert "Hm" in str(body(CLAUDE, *turns))
    assert "Hm" not in str(body(CLAUDE, *turns, refused=REASONING_REPLAY))


def test_drop_unsigned_thinking() -> None:
    cut = ReasoningContent("cut off")
    hidden = ReasoningContent("", opaque={"signature": "s"})
    redacted = ReasoningContent("", opaque={"redacted": "xyz"})
    made = body(CLAUDE, USER, assistant(cut, hidden, redacted, text("a"), by=CLAUDE), USER)
    assert [block["type"] for block in made["messages"][1]["content"]] == [
        "thinking", "redacted_thinking", "text",
    ]  # fmt: skip
    shown = model("acme/m")
    open_one = ReasoningContent("Hm", "reasoning_content")
    assert "Hm" in str(body(shown, USER, assistant(open_one, text("a"), by="acme/m"), USER))


def test_put_thinking_first() -> None:
    blocks = body(CLAUDE, USER, assistant(text("a"), SIGNED, by=CLAUDE), USER)["messages"][1][
        "content"
    ]
    assert [block["type"] for block in blocks] == ["thinking", "text"]


def test_drop_unpaired_reasoning_items() -> None:
    shown = sealed("rs_2", encrypted_content=None, content=[{"type": "reasoning_text"}])
    lost = sealed("rs_3", encrypted_content=None)
    first = assistant(sealed(), sealed(), shown, lost, CALL, by=GPT)
    last = assistant(sealed(), text("a"), sealed("rs_4"), by=GPT)
    items = body(GPT, USER, first, RESULT, last, USER)["input"]
    assert [item.get("id") for item in items if item["type"] == "reasoning"] == ["rs_1", "rs_2"]


def test_drop_gemini_thoughts() -> None:
    thought = ReasoningContent("Hm", opaque=SIGNATURE)
    made = body(GEMINI, USER, assistant(thought, TextContent("a", SIGNATURE), by=GEMINI), USER)
    assert made["contents"][1]["parts"] == [{"text": "a", **SIGNATURE}]


@pytest.mark.parametrize("name", [GEMINI, "google/gemini-pro-latest"])
def test_fill_call_signatures(name: str) -> None:
    calls = (ToolCallContent("c1", "read", {}), ToolCallContent("c2", "read", {}))
    parts = body(name, USER, assistant(*calls, by=GPT))["contents"][1]["parts"]
    assert [part.get("thoughtSignature") for part in parts] == [SKIP_SIGNATURE, None]
    own = ToolCallContent("c1", "read", {}, SIGNATURE)
    parts = body(name, USER, assistant(own, calls[1], by=name))["contents"][1]["parts"]
    assert [part.get("thoughtSignature") for part in parts] == ["c2ln", None]
    older = body("google/gemini-2.5-pro", USER, assistant(*calls))["contents"][1]["parts"]
    assert "thoughtSignature" not in str(older)
