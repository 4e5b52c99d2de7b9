"""Messages to the user about responses without an answer: the cause and the next step."""

from agent.records.messages import (
    AssistantMessage,
    ErrorInfo,
    MessageWithParts,
    ReasoningPart,
    TextPart,
    ToolPart,
    Usage,
)

EMPTY = "empty"
"""The kind of these errors."""

NO_ROOM_AFTER_REASONING = (
    "The model used its whole output limit{limit} for reasoning and gave no answer. Lower the "
    "effort (/effort, or --effort), ask for less at once, or choose a model with a larger limit."
)
NO_ROOM = (
    "The model reached its output limit{limit} before it gave an answer. Ask for less at once, or "
    "choose a model with a larger limit."
)
FILTERED = (
    "The provider's content filter stopped the response. Rephrase the request, or choose another "
    "model (/model, or --model)."
)
REASONING_ONLY = (
    "The model stopped after its reasoning and gave no answer. Send “continue”, or choose another "
    "effort (/effort, or --effort) or model."
)
NOTHING_AFTER_CALLS = (
    "The model stopped after its tool calls and gave no answer. Send “continue” to get one."
)
NOTHING = (
    "The model returned an empty response. Send “continue” to try again, or choose another model "
    "(/model, or --model)."
)


def is_empty(item: MessageWithParts) -> bool:
    """Return whether a response has neither text nor calls."""
    return not any(
        isinstance(part, ToolPart) or (isinstance(part, TextPart) and part.text.strip())
        for part in item.parts
    )


def empty_response_error(
    item: MessageWithParts, usage: Usage | None, limit: int | None, *, after_calls: bool
) -> ErrorInfo:
    """Return the error for an empty response, by its cause.

    *limit* is the output limit of its request in tokens, None if unknown; *after_calls* is true if
    the turn has made tool calls before.
    """
    message = item.message
    finish = message.finish if isinstance(message, AssistantMessage) else None
    reasoned = any(isinstance(part, ReasoningPart) for part in item.parts) or bool(
        usage is not None and usage.reasoning
    )
    if finish == "content-filter":
        return ErrorInfo(EMPTY, FILTERED)
    if finish == "length":
        text = NO_ROOM_AFTER_REASONING if reasoned else NO_ROOM
        return ErrorInfo(EMPTY, text.format(limit=f" of {limit:,} tokens" if limit else ""))
    if reasoned:
        return ErrorInfo(EMPTY, REASONING_ONLY)
    return ErrorInfo(EMPTY, NOTHING_AFTER_CALLS if after_calls else NOTHING)
