"""What the model answered last, put together where it came in the pieces of several steps."""

from collections.abc import Sequence

from agent.records.messages import AssistantMessage, MessageWithParts, Part, TextPart, ToolPart


def last_answer(messages: Sequence[MessageWithParts]) -> str:
    """The newest answer that has text: the last step may have been a call, or nothing at all.

    A step that the output limit cut off, or that the provider paused, is gone on with in the next
    one, so their texts are one answer."""
    pieces: list[str] = []
    for item in reversed(messages):
        if not isinstance(item.message, AssistantMessage):
            continue
        if pieces and not _goes_on(item.message, item.parts):
            break
        texts = [
            part.text for part in item.parts if isinstance(part, TextPart) and not part.ignored
        ]
        if any(text.strip() for text in texts):
            pieces.append("".join(texts))
    return "".join(reversed(pieces)).strip()


def _goes_on(message: AssistantMessage, parts: tuple[Part, ...]) -> bool:
    """Whether the next step continues the text of *message*. One with calls is followed by what
    the model says to their results."""
    called = any(isinstance(part, ToolPart) for part in parts)
    return message.finish in {"length", "paused"} and not called
