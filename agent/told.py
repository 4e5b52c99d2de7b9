"""The part of a user message that says what the model was told of the session's place."""

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextPart:
    """What the model is told beside the user's words (spec 2, C9). It is never drawn.

    *block* is the session part of the system prompt from here on, None where it stays as it
    was; *reminder* is sent with the message, "" for nothing; *facts* is what the model knows
    from here on, by topic.
    """

    id: str
    session_id: str
    message_id: str
    block: str | None = None
    reminder: str = ""
    facts: dict[str, str] = field(default_factory=dict[str, str])
    type: Literal["context"] = "context"
