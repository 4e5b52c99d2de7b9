"""A request that reuses what the last one sent is the same, byte by byte, as one from scratch."""

from dataclasses import replace
from random import Random

import pytest

from agent.provider.catalog.providers import KNOWN_PROVIDERS
from agent.provider.client import (
    Api,
    AssistantTurn,
    MediaContent,
    ModelInfo,
    ModelRequest,
    ReasoningContent,
    SentHistory,
    TextContent,
    ToolCallContent,
    ToolResultContent,
    ToolSchema,
    ToolTurn,
    Turn,
    UserTurn,
)
from agent.provider.client_pool import wire_client_class
from agent.provider.litellm.client import completion_arguments, encoded_arguments
from agent.provider.litellm.route import Route
from agent.provider.protocols.sent_history import STAND_IN
from agent.provider.quirks.target import (
    ALTERNATING_ROLES,
    CACHE_MARKS,
    IMAGES,
    REASONING_REPLAY,
    UNSIGNED_CALLS,
)
from agent.provider.transport.wire_json import encode_body
from tests.support.provider_requests import WIRE_APIS, model

MODELS = [
    *(model(f"acme/{name}", api) for api in WIRE_APIS for name in ("one", "claude-x", "gemini-3")),
    *(
        model(f"{provider}/{name}", vision=True, documents=True)
        for provider, known in KNOWN_PROVIDERS.items()
        if known.api in WIRE_APIS
        for name in ("one", "claude-sonnet-4-5", "devstral")
    ),
]
REFUSED = (ALTERNATING_ROLES, CACHE_MARKS, IMAGES, REASONING_REPLAY, UNSIGNED_CALLS)
TOOLS = (ToolSchema("read", "Read", {}), ToolSchema("mcp.x", "X", {"properties": {}}))

TEXTS = ("", " ", "hello ", "\ud83d", STAND_IN[0].text)
CALL_IDS = ("call_0", "call_1", "toolu:9/x", "", "x" * 38, "y" * 90)
CHANGES = (*["go on"] * 8, "replace", "undo", "model", "tools", "refused")


def content(rng: Random) -> TextContent | ReasoningContent | ToolCallContent:
    match rng.randrange(5):
        case 0:
            return TextContent(rng.choice(TEXTS))
        case 1:
            opaque = rng.choice(
                [None, {"signature": "s"}, {"id": "rs_1", "encrypted_content": "e"}]
            )
            return ReasoningContent(
                rng.choice(["", "hm"]), rng.choice([None, "reasoning_content"]), opaque
            )
        case _:
            return ToolCallContent(
                rng.choice(CALL_IDS),
                rng.choice(["read", "mcp.x", "gone"]),
                rng.choice([{}, {"a": float("nan")}]),
                rng.choice([None, {"thoughtSignature": "s"}]),
            )


def media(rng: Random) -> MediaContent:
    return MediaContent(rng.choice(["image/png", "application/pdf"]), "eA==")


def step(rng: Random) -> list[Turn]:
    """Return a response of any content, mostly with the results of its calls."""
    said = tuple(content(rng) for _ in range(rng.randint(1, 3)))
    turns: list[Turn] = [AssistantTurn(said, rng.choice(["", "acme/one"]))]
    results = [
        ToolResultContent(
            call.call_id,
            call.name,
            rng.choice(["", "text"]),
            rng.random() < 0.3,
            (media(rng),) if rng.random() < 0.2 else (),
        )
        for call in said
        if isinstance(call, ToolCallContent) and rng.random() < 0.9
    ]
    if results:
        turns.append(ToolTurn(tuple(results)))
    if rng.random() < 0.3:
        users = (TextContent(""), TextContent("go"), media(rng))
        turns.append(UserTurn(tuple(rng.choices(users, k=rng.randint(0, 2)))))
    return turns


@pytest.mark.parametrize("seed", range(5))
def test_a_request_is_the_same_from_scratch(seed: int) -> None:
    rng, reused = Random(seed), 0
    for first in MODELS:
        history, refused = SentHistory(), frozenset[str]()
        sent = first_request(first, history)
        for kind in rng.choices(CHANGES, k=12):
            at, turns = rng.randrange(len(sent.turns)), step(rng)
            match kind:
                case "go on":
                    sent = replace(sent, turns=(*sent.turns, *turns))
                case "replace":
                    sent = replace(sent, turns=(*sent.turns[:at], *turns, *sent.turns[at + 1 :]))
                case "undo":
                    sent = replace(sent, turns=sent.turns[: at + 1])
                case "model":
                    sent = replace(sent, model=first if sent.model != first else rng.choice(MODELS))
                case "tools":
                    sent = replace(sent, tools=() if sent.tools else TOOLS)
                case _:
                    refused ^= {rng.choice(REFUSED)}
            sent = replace(sent, max_output=900 - len(sent.turns))
            known = len(history.turns)
            client = wire_client_class(sent.model.api)
            whole = encode_body(client.request_body(replace(sent, history=None), refused))
            assert client.encoded_request(sent, refused)[1] == whole
            reused += 0 < known <= len(history.turns)
    assert reused > len(MODELS)


def test_arguments_of_litellm_are_the_same_from_scratch() -> None:
    rng, reused = Random(7), 0
    route = Route(provider="acme", prefix="openai", key="sk-test-0001")
    for name in ("one", "claude-x", "gemini-3"):
        history = SentHistory()
        sent = first_request(model(f"acme/{name}"), history)
        for _ in range(40):
            sent = replace(sent, turns=(*sent.turns, *step(rng)))
            known = len(history.turns)
            whole = encode_body(completion_arguments(replace(sent, history=None), route))
            assert encoded_arguments(sent, route) == whole
            reused += 0 < known <= len(history.turns)
    assert reused > 60


def first_request(to: ModelInfo, history: SentHistory) -> ModelRequest:
    return ModelRequest(
        model=to, system=("Be brief.", "Here."), turns=(UserTurn((TextContent("do it"),)),),
        tools=TOOLS, max_output=900, session_id="ses", history=history,
    )  # fmt: skip


@pytest.mark.parametrize("api", WIRE_APIS)
def test_a_step_encodes_only_its_newest_turns(api: Api) -> None:
    """The body that is made for a step has the same number of messages at any step."""
    to, history = model("acme/one", api), SentHistory()
    client, sent = wire_client_class(to.api), first_request(to, history)
    made: list[int] = []
    for number in range(40):
        call = ToolCallContent("call_0", "read", {"n": number})
        result = ToolResultContent("call_0", "read", f"text {number}")
        sent = replace(
            sent, turns=(*sent.turns, AssistantTurn((call,), "acme/one"), ToolTurn((result,)))
        )
        body, text = client.encoded_request(sent)
        assert text == encode_body(client.request_body(replace(sent, history=None)))
        messages = body[client.messages_field]
        assert isinstance(messages, list)
        made.append(len(messages))
    assert len(set(made[3:])) == 1
    assert len(history.turns) == len(sent.turns) - 4
