"""Histories of any content are valid requests in every strict protocol."""

from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agent.provider.client import Api, ModelInfo, ModelRequest, ToolSchema, Turn
from agent.records.blocks import ToolLabel
from agent.records.messages import (
    AssistantMessage,
    Completed,
    Failed,
    MessageWithParts,
    Part,
    Pending,
    ReasoningPart,
    Running,
    TextPart,
    ToolPart,
    UserMessage,
)
from agent.session.context.request_turns import request_turns
from tests.support import strict_anthropic, strict_chat, strict_gemini, strict_responses
from tests.support.provider_requests import request, sent_body
from tests.support.wire import seal

MODELS = ("acme/one", "acme/two")
IDS = {"session_id": "ses", "message_id": "msg"}
LABEL = ToolLabel("Bash", "x")
TEXTS = st.sampled_from(["", " ", "hello", "a\nb ", "\ud83d", "[/x]"])
CALL_IDS = st.sampled_from(["call_0", "call_1", "toolu:9/x", "é", "x" * 90])


def thought(text: str, kind: str) -> ReasoningPart:
    opaque: dict[str, object] | None = None
    if kind == "signed":
        opaque = {"signature": seal(text)}
    elif kind == "redacted":
        opaque = {"redacted": "data"}
    elif kind == "sealed":
        name = f"rs_{abs(hash(text)) % 1000}"
        summary = [{"type": "summary_text", "text": text}] if text else []
        opaque = {"id": name, "encrypted_content": seal(name + text), "summary": summary}
    return ReasoningPart(id="p", text=text, ended=1, opaque=opaque, **IDS)


def call(call_id: str, state: str, tool: str = "bash") -> ToolPart:
    states = {
        "done": Completed(input={"a": 1}, label=LABEL, started=0, ended=1, output="out"),
        "empty": Completed(input={}, label=LABEL, started=0, ended=1, output=""),
        "pruned": Completed(
            input={}, label=LABEL, started=0, ended=1, output="x\n" * 99, compacted=1.0
        ),
        "failed": Failed(error="no", kind="error", started=0, ended=1, input={}),
        "invalid": Failed(error="bad", kind="invalid", started=0, ended=1, raw='{"a'),
        "aborted": Failed(error="cut", kind="aborted", started=0, ended=1, input={}, output="h"),
        "pending": Pending(raw='{"a": '),
        "running": Running(input={}, label=LABEL, started=0),
    }
    return ToolPart(id="p", call_id=call_id, tool=tool, state=states[state], **IDS)


PARTS: st.SearchStrategy[Part] = st.one_of(
    st.builds(lambda t: TextPart(id="p", text=t, ended=1, **IDS), TEXTS),
    st.builds(
        thought,
        st.sampled_from(["", "hm", "yes"]),
        st.sampled_from(["plain", "signed", "redacted", "sealed"]),
    ),
    st.builds(
        call,
        CALL_IDS,
        st.sampled_from(
            ["done", "empty", "pruned", "failed", "invalid", "aborted", "pending", "running"]
        ),
        st.sampled_from(["bash", "bash", "bash ", "", "files.read"]),
    ),
)
USERS = st.builds(
    lambda text, steered, waits: MessageWithParts(
        UserMessage(
            id="m", session_id="ses", created=0, agent="build", model=MODELS[0],
            turn_id=None if waits else "trn", steered=steered,
        ),
        (TextPart(id="p", text=text, ended=0, **IDS),),
    ),
    TEXTS, st.booleans(), st.sampled_from([False, False, False, True]),
)  # fmt: skip
ASSISTANTS = st.builds(
    lambda parts, model, interrupted: MessageWithParts(
        AssistantMessage(
            id="m", session_id="ses", created=0, parent_id="m", turn_id="trn", step=1,
            agent="build", model=model, interrupted=interrupted,
        ),
        tuple(parts),
    ),
    st.lists(PARTS, max_size=6), st.sampled_from(MODELS), st.booleans(),
)  # fmt: skip
FIRST = MessageWithParts(
    UserMessage(id="m", session_id="ses", created=0, agent="build", model=MODELS[0], turn_id="trn"),
    (TextPart(id="p", text="do it", ended=0, **IDS),),
)
HISTORIES = st.lists(st.one_of(USERS, ASSISTANTS), max_size=8).map(lambda m: [FIRST, *m, FIRST])
CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
INFO = ModelInfo(provider="acme", id="one", name="One", api="openai-chat")
TOOL = ToolSchema("bash", "Run a command", {"type": "object", "properties": {}})


def history_request(turns: tuple[Turn, ...], **fields: Any) -> ModelRequest:
    defaults = {"system": ("Be brief.", "Rest."), "tools": (TOOL,)}
    return request(fields.pop("model", INFO), *turns, **{**defaults, **fields})


def body(turns: tuple[Turn, ...], api: Api, **more: Any) -> Any:
    """Return the body for *turns* in the protocol *api*."""
    return sent_body(history_request(turns, model=replace(INFO, api=api), **more))


@settings(max_examples=300)
@given(
    HISTORIES,
    st.sampled_from([None, "none", "low", "max"]),
    st.sampled_from([(TOOL,), ()]),
    st.sampled_from([None, 500, 8_000]),
)
def test_every_history_is_valid_in_every_dialect(
    history: list[MessageWithParts],
    effort: str | None,
    tools: tuple[ToolSchema, ...],
    most: int | None,
) -> None:
    more = {"effort": effort, "tools": tools, "max_output": most, "session_id": "ses"}
    turns = request_turns(history)
    assert strict_chat.violations(body(turns, "openai-chat", **more)) == []
    made = body(turns, "anthropic-messages", **more)
    assert strict_anthropic.violations(made, {"anthropic-version": "x"}) == []
    assert strict_responses.violations(body(turns, "openai-responses", **more)) == []
    made = body(turns, "gemini", **more)
    assert strict_gemini.violations(made, {"x-goog-api-key": "k"}) == []


@settings(max_examples=150)
@given(HISTORIES, st.sampled_from([None, "none", "low", "max"]), st.sampled_from([(TOOL,), ()]))
def test_every_history_is_valid_at_bedrock_by_anthropics_rules(
    history: list[MessageWithParts], effort: str | None, tools: tuple[ToolSchema, ...]
) -> None:
    model = ModelInfo(provider="acme", id="one", name="One", api="bedrock", wire_id=CLAUDE)
    made = sent_body(
        history_request(
            request_turns(history), model=model, effort=effort, tools=tools, max_output=500
        )
    )
    assert str(made).count("cachePoint") <= 4
    assert strict_anthropic.violations(as_anthropic(made), {"anthropic-version": "x"}) == []


def as_anthropic(made: dict[str, Any]) -> dict[str, Any]:
    """Return the body of a Converse request in the form of Anthropic's Messages API."""
    body = {"model": "m", "max_tokens": made["inferenceConfig"]["maxTokens"]}
    body |= made.get("additionalModelRequestFields", {})
    messages = [
        {
            "role": message["role"],
            "content": [
                block_of(block) for block in message["content"] if "cachePoint" not in block
            ],
        }
        for message in made["messages"]
    ]
    tools = [tool["toolSpec"] for tool in made.get("toolConfig", {}).get("tools", [])]
    named = [{"name": t["name"], "input_schema": t["inputSchema"]["json"]} for t in tools]
    return {**body, "messages": messages, **({"tools": named} if named else {})}


def block_of(block: dict[str, Any]) -> dict[str, Any]:
    ((kind, inside),) = block.items()
    match kind:
        case "text":
            return {"type": "text", "text": inside}
        case "toolUse":
            return {"type": "tool_use", "id": inside["toolUseId"], "name": inside["name"],
                    "input": inside["input"]}  # fmt: skip
        case "toolResult":
            content = [block_of(one) for one in inside["content"]]
            return {"type": "tool_result", "tool_use_id": inside["toolUseId"], "content": content,
                    "is_error": inside["status"] == "error"}  # fmt: skip
        case "reasoningContent" if "redactedContent" in inside:
            return {"type": "redacted_thinking", "data": inside["redactedContent"]}
        case _:
            thought = inside["reasoningText"]
            signature = thought["signature"]
            return {"type": "thinking", "thinking": thought["text"], "signature": signature}


@settings(max_examples=150)
@given(HISTORIES)
def test_a_longer_history_only_appends_to_the_request(history: list[MessageWithParts]) -> None:
    """The cached start of a conversation stays the same when the conversation continues."""
    turns, longer = request_turns(history), request_turns([*history, replace(FIRST)])
    short, long = (body(t, "openai-responses")["input"] for t in (turns, longer))
    assert body(turns, "openai-responses")["input"] == short
    assert long[: len(short)] == short
    short, long = (body(t, "openai-chat")["messages"] for t in (turns, longer))
    assert long[: len(short)] == short
    short, long = (unmarked(body(t, "anthropic-messages")["messages"]) for t in (turns, longer))
    assert long[: len(short) - 1] == short[:-1]
    assert long[len(short) - 1]["content"][: len(short[-1]["content"])] == short[-1]["content"]


def unmarked(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for message in messages:
        for block in message["content"]:
            block.pop("cache_control", None)
    return messages


def test_unsigned_or_foreign_thinking_is_not_sent() -> None:
    def said(kind: str, model: str) -> str:
        parts = (thought("secret plan", kind), TextPart(id="p", text="yes", ended=1, **IDS))
        message = AssistantMessage(
            id="m", session_id="ses", created=0, parent_id="m", turn_id="trn", step=1,
            agent="build", model=model,
        )  # fmt: skip
        turns = request_turns([FIRST, MessageWithParts(message, parts), FIRST])
        return str(body(turns, "anthropic-messages"))

    assert "secret plan" in said("signed", MODELS[0])
    assert "secret plan" not in said("plain", MODELS[0])
    assert "secret plan" not in said("signed", MODELS[1])


def test_ids_that_repeat_in_each_step_become_unique() -> None:
    step = AssistantMessage(
        id="m", session_id="ses", created=0, parent_id="m", turn_id="trn", step=1,
        agent="build", model=MODELS[0],
    )  # fmt: skip
    history = [FIRST, *(MessageWithParts(step, (call("call_0", "done"),)) for _ in range(3)), FIRST]
    items = body(request_turns(history), "openai-responses")["input"]
    assert [i["call_id"] for i in items if "call_id" in i] == [
        *("call_0", "call_0", "call_0_2", "call_0_2", "call_0_3", "call_0_3")
    ]
