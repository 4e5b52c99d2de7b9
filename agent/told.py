"""Parts of user messages that say what the model was told beside the user's words."""

from dataclasses import dataclass, field
from typing import Literal

from agent.usage import Usage


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


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionPart:
    """Where what came before was summed up (spec 2, C3). The conversation goes on behind it with
    *pins* (what is kept word for word), *summary* and the messages from *tail_start_id* on.

    *tools* are those, of the ones that are offered on demand, that had been found or called.
    *before* and *after* are tokens of context in use, as estimated; *usage* and *cost* are what
    the summary took of *model*, None where unknown.
    """

    id: str
    session_id: str
    message_id: str
    summary: str
    auto: bool
    tail_start_id: str | None = None
    pins: str = ""
    tools: tuple[str, ...] = ()
    before: int | None = None
    after: int | None = None
    model: str = ""
    usage: Usage | None = None
    cost: float | None = None
    type: Literal["compaction"] = "compaction"

    @property
    def goes_on_from(self) -> str:
        """The id of the first message that is needed with this summary."""
        return min(self.tail_start_id or self.message_id, self.message_id)
