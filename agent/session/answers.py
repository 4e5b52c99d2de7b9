"""What the model answered last, put together where the output limit cut it into several steps."""

from collections.abc import Sequence

from agent.model import AssistantMessage, MessageWithParts, TextPart


def last_answer(messages: Sequence[MessageWithParts]) -> str:
    """The newest answer that has text: the last step may have been a call, or nothing at all.

    A step that the output limit cut off is gone on with in the next one, so their texts are one
    answer."""
    pieces: list[str] = []
    for item in reversed(messages):
        if not isinstance(item.message, AssistantMessage):
            continue
        if pieces and item.message.finish != "length":
            break
        texts = [
            part.text for part in item.parts if isinstance(part, TextPart) and not part.ignored
        ]
        if any(text.strip() for text in texts):
            pieces.append("".join(texts))
    return "".join(reversed(pieces)).strip()
