"""The request that a past step sent, reconstructed from the stored messages."""

import json
from collections.abc import Iterator, Sequence

from agent.provider.client import (
    AssistantTurn,
    MediaContent,
    ReasoningContent,
    TextContent,
    ToolCallContent,
    ToolResultContent,
    Turn,
)
from agent.records.messages import MessageWithParts, StepFinishPart, messages_before
from agent.redact import redacted
from agent.session.context.compaction_markers import visible_messages
from agent.session.context.conversation import context_parts
from agent.session.context.request_turns import request_turns
from agent.session.prompt.system_prompt import session_block

Section = tuple[str, str]
"""A heading and the text below it."""


def past_request(
    messages: Sequence[MessageWithParts], message_id: str, secrets: Sequence[str] = ()
) -> tuple[Section, ...]:
    """Return the session block of the system prompt, then the turns, that the step *message_id* was
    requested with; secrets are replaced. The head of the system prompt and the tools, the same in
    every session, are not stored."""
    history = visible_messages(messages_before(messages, message_id))
    block = session_block([part for item in history for part in context_parts(item)])
    found = [*_cache_section(messages, message_id), *([("system", block)] if block else [])]
    found += [section for turn in request_turns(history) for section in _sections(turn)]
    return tuple((heading, redacted(text, secrets)) for heading, text in found)


def _cache_section(messages: Sequence[MessageWithParts], message_id: str) -> Iterator[Section]:
    """Yield why the request missed the provider's cache, if it did."""
    parts = (part for item in messages if item.message.id == message_id for part in item.parts)
    for part in parts:
        if isinstance(part, StepFinishPart) and (miss := part.cache_miss) is not None:
            lines = [miss.sentence]
            if miss.at is not None:
                lines += [f"First difference: byte {miss.at:,}"]
                lines += [f"before: {miss.was}", f"now: {miss.now}"]
            yield "cache missed", "\n".join(lines)


def _sections(turn: Turn) -> Iterator[Section]:
    role = "assistant" if isinstance(turn, AssistantTurn) else turn.role
    for content in turn.content:
        match content:
            case TextContent(text=text):
                yield role, text
            case ReasoningContent(text=text):
                yield f"{role}, reasoning", text
            case ToolCallContent(name=name, input=given):
                yield f"{role} calls {name}", json.dumps(given, indent=1, ensure_ascii=False)
            case ToolResultContent(name=name, output=output, is_error=is_error):
                yield f"{name} {'failed' if is_error else 'gave'}", output
            case MediaContent(mime=mime):
                yield role, f"[{mime}]"
