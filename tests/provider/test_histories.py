"""R4, L10: whatever a session holds, its history is valid in each of the four dialects."""

import json
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agent.display import ToolLabel
from agent.model import (
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
from agent.provider.client import ModelInfo, ModelRequest, ToolSchema, Turn
from agent.provider.protocols import openai_chat_request, responses_request
from agent.provider.protocols.anthropic import AnthropicWire
from agent.provider.protocols.anthropic_messages import messages_of as anthropic_messages
from agent.provider.protocols.gemini import GeminiWire
from agent.provider.protocols.openai_chat_messages import messages_of as chat_messages
from agent.provider.protocols.responses_input import items_of
from agent.provider.protocols.wire_json import encode
from agent.provider.providers import Quirks
from agent.session.history import turns_of
from tests.support import strict_anthropic, strict_chat, strict_gemini, strict_responses
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
INFO = ModelInfo(provider="acme", id="one", name="One", api="openai-chat")
TOOL = ToolSchema("bash", "Run a command", {"type": "object", "properties": {}})


def request(turns: tuple[Turn, ...], **more: Any) -> ModelRequest:
    return ModelRequest(
        **{"model": INFO, "system": ("Be brief.", "Rest."), "turns": turns, "tools": (TOOL,)} | more
    )


def chat(turns: tuple[Turn, ...]) -> list[object]:
    return chat_messages(request(turns), Quirks(), frozenset())


@settings(max_examples=300, deadline=None)
@given(
    HISTORIES,
    st.sampled_from([None, "none", "low", "max"]),
    st.sampled_from([(TOOL,), ()]),
    st.sampled_from([None, 500, 8_000]),
)
def test_r4_every_history_is_valid_in_every_dialect(
    history: list[MessageWithParts],
    effort: str | None,
    tools: tuple[ToolSchema, ...],
    most: int | None,
) -> None:
    asked = request(
        turns_of(history), effort=effort, tools=tools, max_output=most, session_id="ses"
    )
    chat_body = openai_chat_request.build_body(asked, Quirks())
    assert strict_chat.violations(json.loads(encode(chat_body))) == []
    wire = AnthropicWire("acme")
    body = wire.body(asked, frozenset())
    assert strict_anthropic.violations(json.loads(encode(body)), dict(wire.headers(body))) == []
    body = responses_request.build_body(asked)
    assert strict_responses.violations(json.loads(encode(body))) == []
    body = GeminiWire("acme").body(asked, frozenset())
    assert strict_gemini.violations(json.loads(encode(body)), {"x-goog-api-key": "k"}) == []


@settings(max_examples=150, deadline=None)
@given(HISTORIES)
def test_r4_the_transforms_are_pure_and_only_ever_add(history: list[MessageWithParts]) -> None:
    """What a provider has cached of a conversation stays as it was when it goes on."""
    turns, longer = turns_of(history), turns_of([*history, replace(FIRST)])
    assert items_of(turns, model=MODELS[0]) == items_of(turns, model=MODELS[0])
    short, long = items_of(turns, model=MODELS[0]), items_of(longer, model=MODELS[0])
    assert long[: len(short)] == short
    short, long = chat(turns), chat(longer)
    assert long[: len(short)] == short
    short = anthropic_messages(turns, model=MODELS[0])
    long = anthropic_messages(longer, model=MODELS[0])
    assert long[: len(short) - 1] == short[:-1]
    assert long[len(short) - 1]["content"][: len(short[-1]["content"])] == short[-1]["content"]


def test_m21_unsigned_thinking_and_that_of_another_model_is_not_sent() -> None:
    def body(kind: str, model: str) -> str:
        parts = (thought("secret plan", kind), TextPart(id="p", text="yes", ended=1, **IDS))
        message = AssistantMessage(
            id="m", session_id="ses", created=0, parent_id="m", turn_id="trn", step=1,
            agent="build", model=model,
        )  # fmt: skip
        turns = turns_of([FIRST, MessageWithParts(message, parts), FIRST])
        return str(anthropic_messages(turns, model=MODELS[0]))

    assert "secret plan" in body("signed", MODELS[0])
    assert "secret plan" not in body("plain", MODELS[0])
    assert "secret plan" not in body("signed", MODELS[1])


def test_m13_ids_that_repeat_from_step_to_step_are_told_apart() -> None:
    step = AssistantMessage(
        id="m", session_id="ses", created=0, parent_id="m", turn_id="trn", step=1,
        agent="build", model=MODELS[0],
    )  # fmt: skip
    history = [FIRST, *(MessageWithParts(step, (call("call_0", "done"),)) for _ in range(3)), FIRST]
    items = items_of(turns_of(history), model=MODELS[0])
    assert [i["call_id"] for i in items if "call_id" in i] == [
        *("call_0", "call_0", "call_0_2", "call_0_2", "call_0_3", "call_0_3")
    ]
