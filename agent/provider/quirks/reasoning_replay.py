"""Quirks of replayed reasoning: each model gets only its own, in the form that it accepts."""

from collections.abc import Callable
from dataclasses import replace

from agent.provider.client import (
    AssistantTurn,
    ModelRequest,
    ReasoningContent,
    TextContent,
    ToolCallContent,
)
from agent.provider.quirks.structural_sharing import replace_content, replace_turns
from agent.provider.quirks.target import Target
from agent.records.json import JsonObject

THOUGHT_SIGNATURE = "thoughtSignature"
"""The field with Gemini's signature of a text or a call, which has to go back with it."""

SKIP_SIGNATURE = "skip_thought_signature_validator"
"""The value that Gemini 3 accepts instead of the signature of another model's call."""

SIGNATURE_KEYS = ("signature", "redacted")
"""The keys under which decoders keep a thinking block's signature or its redacted data."""

Content = TextContent | ReasoningContent | ToolCallContent


def drop_foreign_reasoning(request: ModelRequest, target: Target) -> ModelRequest:
    """No model can read the encrypted reasoning of another. Anthropic: "Invalid signature in
    thinking block"; OpenAI: "encrypted content could not be verified"."""
    own = ("", request.model.full_name)
    return _map_assistant_turns(
        request, lambda turn: turn if turn.model in own else _without_reasoning(turn)
    )


def drop_refused_reasoning(request: ModelRequest, target: Target) -> ModelRequest:
    """A server refused replayed reasoning (an unknown field ``reasoning_content``, a signature of
    another account): send none."""
    return _map_assistant_turns(request, _without_reasoning)


def _without_reasoning(turn: AssistantTurn) -> AssistantTurn:
    return replace(
        turn,
        content=tuple(
            replace(content, opaque=None)
            for content in turn.content
            if not isinstance(content, ReasoningContent)
        ),
    )


def drop_unsigned_thinking(request: ModelRequest, target: Target) -> ModelRequest:
    """Anthropic refuses thinking without its signature, which an interrupted response lacks:
    "thinking.signature: Field required"."""

    def signed(content: Content) -> bool:
        if not isinstance(content, ReasoningContent):
            return True
        return any((content.opaque or {}).get(name) for name in SIGNATURE_KEYS)

    return _filter_content(request, signed)


def put_thinking_first(request: ModelRequest, target: Target) -> ModelRequest:
    """Anthropic refuses thinking after text: "If an assistant message contains any thinking blocks,
    the first block must be thinking"."""

    def led(turn: AssistantTurn) -> AssistantTurn:
        order = sorted(turn.content, key=lambda c: not isinstance(c, ReasoningContent))
        return replace_content(turn, order)

    return _map_assistant_turns(request, led)


def drop_unpaired_reasoning_items(request: ModelRequest, target: Target) -> ModelRequest:
    """OpenAI refuses lone and repeated reasoning items: "Item 'rs_…' of type 'reasoning' was
    provided without its required following item", "duplicate item". It cannot find items that
    came neither encrypted nor in full."""
    sent = set(request.reasoning_ids)

    def followed(turn: AssistantTurn) -> AssistantTurn:
        content: list[Content] = []
        waiting: list[Content] = []
        for one in turn.content:
            if not isinstance(one, ReasoningContent):
                content += [*waiting, one]
                waiting = []
                continue
            opaque = one.opaque or {}
            name = opaque.get("id")
            whole = opaque.get("encrypted_content") or opaque.get("content")
            if isinstance(name, str) and whole and name not in sent:
                sent.add(name)
                waiting.append(one)
        return replace_content(turn, content)

    return replace(_map_assistant_turns(request, followed), reasoning_ids=frozenset(sent))


def drop_gemini_thoughts(request: ModelRequest, target: Target) -> ModelRequest:
    """Gemini reads and bills replayed thoughts as text of its own; it needs only the signatures of
    its texts and calls."""
    return _filter_content(request, lambda content: not isinstance(content, ReasoningContent))


def fill_call_signatures(request: ModelRequest, target: Target) -> ModelRequest:
    """Gemini 3 refuses calls of other models: "Function call is missing a thought_signature in
    functionCall parts". Only the first call of a response has a signature."""

    def filled(turn: AssistantTurn) -> AssistantTurn:
        first = next((c for c in turn.content if isinstance(c, ToolCallContent)), None)
        if first is None or (first.opaque or {}).get(THOUGHT_SIGNATURE):
            return turn
        opaque: JsonObject = {THOUGHT_SIGNATURE: SKIP_SIGNATURE}
        signed = replace(first, opaque=opaque)
        return replace(turn, content=tuple(signed if c is first else c for c in turn.content))

    return _map_assistant_turns(request, filled)


def _filter_content(request: ModelRequest, keep: Callable[[Content], bool]) -> ModelRequest:
    def without(turn: AssistantTurn) -> AssistantTurn:
        return replace_content(turn, [c for c in turn.content if keep(c)])

    return _map_assistant_turns(request, without)


def _map_assistant_turns(
    request: ModelRequest, change: Callable[[AssistantTurn], AssistantTurn]
) -> ModelRequest:
    turns = [change(turn) if isinstance(turn, AssistantTurn) else turn for turn in request.turns]
    return replace_turns(request, turns)
