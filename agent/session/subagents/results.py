"""The result of a sub-agent's turn, as reported to its parent's model."""

from collections.abc import Sequence

from agent.records.background import BackgroundTaskState
from agent.records.events import SessionIdle
from agent.records.messages import (
    AssistantMessage,
    Completed,
    Failed,
    MessageWithParts,
    Part,
    TextPart,
    ToolPart,
    Usage,
)
from agent.tools.core.subagents import SpawnResult


def last_response(messages: Sequence[MessageWithParts]) -> str:
    """Return the newest response with text: the last step may have been a call, or empty.

    A step that the output limit cut off, or that the provider paused, is continued by the next one,
    so their texts are one response.
    """
    pieces: list[str] = []
    for item in reversed(messages):
        if not isinstance(item.message, AssistantMessage):
            continue
        if pieces and not _is_continued(item.message, item.parts):
            break
        texts = [
            part.text for part in item.parts if isinstance(part, TextPart) and not part.ignored
        ]
        if any(text.strip() for text in texts):
            pieces.append("".join(texts))
    return "".join(reversed(pieces)).strip()


def _is_continued(message: AssistantMessage, parts: tuple[Part, ...]) -> bool:
    """Return whether the next step continues the text of *message*. One with calls is followed by a
    response to their results."""
    called = any(isinstance(part, ToolPart) for part in parts)
    return message.finish in {"length", "paused"} and not called


END_REASONS: dict[BackgroundTaskState, str] = {
    "running": "",
    "completed": "",
    "cancelled": "The sub-agent was stopped by the user before it was done.",
    "rejected": "The sub-agent stopped: the user rejected one of its calls.",
    "limit_reached": "The sub-agent was cut short by a limit.",
    "failed": "The sub-agent failed.",
    "interrupted": "The program ended before the sub-agent was done.",
}


def end_reason(end: SessionIdle | None) -> str:
    """Return the reason why a child did not complete, as a sentence for the model; "" if it did."""
    if end is None:
        return ""
    has_error = end.outcome in {"limit_reached", "failed"} and end.error is not None
    reason = f" {end.error.message}" if has_error and end.error is not None else ""
    return END_REASONS[end.outcome] + reason


def subagent_result(
    messages: Sequence[MessageWithParts], asked: str, outcome: BackgroundTaskState, error: str
) -> SpawnResult:
    """Return the result of the prompt *asked* (the id of its message)."""
    ids = [item.message.id for item in messages]
    mine = messages[ids.index(asked) :] if asked in ids else messages
    answers = [m.message for m in mine if isinstance(m.message, AssistantMessage)]
    usage = Usage()
    for answer in answers:
        usage += answer.usage or Usage()
    costs = [answer.cost for answer in answers if answer.cost is not None]
    return SpawnResult(
        outcome=outcome,
        text=last_response(mine),
        error=error,
        calls=sum(
            isinstance(part, ToolPart) and isinstance(part.state, Completed | Failed)
            for item in mine
            for part in item.parts
        ),
        usage=usage,
        cost=sum(costs) if costs else None,
    )
