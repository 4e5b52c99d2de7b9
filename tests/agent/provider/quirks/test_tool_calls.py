"""Quirks of call ids, tool names, and tools that must be declared."""

from agent.provider.client import ToolCallContent, ToolResultContent, ToolSchema, ToolTurn
from tests.support.provider_requests import CALL, RESULT, TOOL, USER, assistant, body, chat, model

CLAUDE = "anthropic/claude-sonnet-4-5"
KIMI = "functions.read:0"


def called(*ids: str) -> tuple[object, ToolTurn]:
    calls = assistant(*(ToolCallContent(i, "read", {}) for i in ids))
    return calls, ToolTurn(tuple(ToolResultContent(i, "read", f"of {i}") for i in ids))


def ids_in(messages: list[dict]) -> list[str]:
    """Return the ids of all calls; check that the tool messages name them in the same order."""
    ids = [call["id"] for m in messages for call in m.get("tool_calls", [])]
    assert [m["tool_call_id"] for m in messages if m["role"] == "tool"] == ids
    return ids


def test_sanitize_call_ids() -> None:
    for name in ("openrouter/anthropic/claude-sonnet-4-5", "acme/claude"):
        assert ids_in(chat(name, USER, *called(KIMI))) == ["functions_read_0"]
    blocks = body(CLAUDE, USER, *called(KIMI))["messages"]
    assert blocks[1]["content"][0]["id"] == blocks[2]["content"][0]["tool_use_id"]
    assert blocks[1]["content"][0]["id"] == "functions_read_0"
    assert ids_in(chat("moonshot/kimi-k3", USER, *called(KIMI))) == [KIMI], "its own form"


def test_make_call_ids_unique() -> None:
    again = (*called("call_0", "call_0"), USER, *called("call_0", ""))
    ids = ids_in(chat("acme/m", USER, *again))
    assert ids == ["call_0", "call_0_2", "call_0_3", "call"]
    assert ids_in(chat("acme/m", USER, *called("call_0", "call_0"), USER)) == ids[:2]
    long = ids_in(chat("acme/m", USER, *called("x" * 90, "x" * 90, "y" * 90)))
    assert len(set(long)) == 3
    assert all(len(i) <= 40 for i in long)


def test_shorten_call_ids() -> None:
    turns = (USER, *called("call_very-long", "abcdefghi", "call_very-long"))
    for name in ("mistral/anything", "vllm/Devstral-Small", "acme/mixtral-8x7b"):
        ids = ids_in(chat(name, *turns))
        assert all(len(i) == 9 and i.isascii() and i.isalnum() for i in ids)
        assert len(set(ids)) == 3
        assert ids[1] == "abcdefghi"
        assert ids == ids_in(chat(name, *turns))
    assert ids_in(chat("acme/m", *turns))[0] == "call_very-long"


def test_sanitize_tool_names() -> None:
    tools = tuple(ToolSchema(name, "", {}) for name in ("a.b", "a_b", "x" * 70))
    call = assistant(ToolCallContent("c1", "a_b", {}), ToolCallContent("c2", "made up", {}))
    made = body("acme/m", USER, call, tools=tools)
    names = [tool["function"]["name"] for tool in made["tools"]]
    assert names == ["a_b", "a_b_2", "x" * 64]
    calls = made["messages"][2]["tool_calls"]
    assert [call["function"]["name"] for call in calls] == ["a_b_2", "made_up"]


def test_declare_used_tools() -> None:
    turns = (USER, assistant(CALL), RESULT)
    made = body(CLAUDE, *turns)
    assert [tool["name"] for tool in made["tools"]] == ["read"]
    assert made["tool_choice"] == {"type": "none"}
    assert "tool_choice" not in body(CLAUDE, *turns, tools=(TOOL,))
    assert "tools" not in body(CLAUDE, USER)
    named = body("bedrock/amazon.nova-2-lite", *turns)["toolConfig"]["tools"]
    assert named[0]["toolSpec"]["name"] == "read"
    proxied = body("openrouter/anthropic/claude-x", *turns)
    assert (len(proxied["tools"]), proxied["tool_choice"]) == (1, "none")
    assert "tools" not in body(model("acme/m"), *turns)
