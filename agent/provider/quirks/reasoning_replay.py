"""Quirks of reasoning that goes back: to its maker alone, and only as that one takes it."""

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
"""Gemini's name for what it wants back with a text or a call."""

SKIP_SIGNATURE = "skip_thought_signature_validator"
"""What Gemini 3 takes in place of the signature of a call that another model made."""

SIGNATURE_KEYS = ("signature", "redacted")
"""What decoders keep of a thinking block: its signature, or the data of a redacted one."""

Content = TextContent | ReasoningContent | ToolCallContent


def drop_foreign_reasoning(request: ModelRequest, target: Target) -> ModelRequest:
    """Anthropic: "Invalid signature in thinking block", OpenAI: "encrypted content could not be
    verified": what one model sealed no other can open."""
    _ = target
    own = ("", request.model.full_name)
    return _changed(request, lambda turn: turn if turn.model in own else _bare(turn))


def drop_refused_reasoning(request: ModelRequest, target: Target) -> ModelRequest:
    """A server that refused to read reasoning again (an unknown field ``reasoning_content``, a
    signature of another account) reads the session without any."""
    _ = target
    return _changed(request, _bare)


def _bare(turn: AssistantTurn) -> AssistantTurn:
    return replace(
        turn,
        content=tuple(
            replace(content, opaque=None)
            for content in turn.content
            if not isinstance(content, ReasoningContent)
        ),
    )


def drop_unsigned_thinking(request: ModelRequest, target: Target) -> ModelRequest:
    """Anthropic: "thinking.signature: Field required", for thoughts that were cut off before
    their signature came."""
    _ = target

    def signed(content: Content) -> bool:
        if not isinstance(content, ReasoningContent):
            return True
        return any((content.opaque or {}).get(name) for name in SIGNATURE_KEYS)

    return _kept(request, signed)


def put_thinking_first(request: ModelRequest, target: Target) -> ModelRequest:
    """Anthropic: "If an assistant message contains any thinking blocks, the first block must be
    thinking"."""
    _ = target

    def led(turn: AssistantTurn) -> AssistantTurn:
        order = sorted(turn.content, key=lambda c: not isinstance(c, ReasoningContent))
        return replace_content(turn, order)

    return _changed(request, led)


def drop_unpaired_reasoning_items(request: ModelRequest, target: Target) -> ModelRequest:
    """OpenAI: "Item 'rs_…' of type 'reasoning' was provided without its required following item",
    and "duplicate item"; what was neither sealed nor shown in full it cannot find again."""
    _ = target
    sent: set[str] = set()

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

    return _changed(request, followed)


def drop_gemini_thoughts(request: ModelRequest, target: Target) -> ModelRequest:
    """Gemini bills thoughts that are sent to it as words of its own answer; only the signatures
    of its texts and calls are read again."""
    _ = target
    return _kept(request, lambda content: not isinstance(content, ReasoningContent))


def fill_call_signatures(request: ModelRequest, target: Target) -> ModelRequest:
    """Gemini 3: "Function call is missing a thought_signature in functionCall parts", for calls
    that another model made. Only the first call of an answer carries one."""
    _ = target

    def filled(turn: AssistantTurn) -> AssistantTurn:
        first = next((c for c in turn.content if isinstance(c, ToolCallContent)), None)
        if first is None or (first.opaque or {}).get(THOUGHT_SIGNATURE):
            return turn
        opaque: JsonObject = {THOUGHT_SIGNATURE: SKIP_SIGNATURE}
        signed = replace(first, opaque=opaque)
        return replace(turn, content=tuple(signed if c is first else c for c in turn.content))

    return _changed(request, filled)


def _kept(request: ModelRequest, keep: Callable[[Content], bool]) -> ModelRequest:
    def without(turn: AssistantTurn) -> AssistantTurn:
        return replace_content(turn, [c for c in turn.content if keep(c)])

    return _changed(request, without)


def _changed(
    request: ModelRequest, change: Callable[[AssistantTurn], AssistantTurn]
) -> ModelRequest:
    turns = [change(turn) if isinstance(turn, AssistantTurn) else turn for turn in request.turns]
    return replace_turns(request, turns)
