"""Parts of user messages that say what the model was told beside the user's words, and what of
it is still owed: the report of a sub-agent that works in the background."""

from dataclasses import dataclass, field, replace
from typing import Literal

from agent.records.background import BackgroundTaskState
from agent.records.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextPart:
    """What the model is told beside the user's words. It is never drawn.

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
    """Where what came before was summed up. The conversation goes on behind it with
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
    def first_kept_id(self) -> str:
        """The id of the first message that is needed with this summary."""
        return min(self.tail_start_id or self.message_id, self.message_id)


_STATE_VERBS: dict[BackgroundTaskState, str] = {
    "running": "works",
    "completed": "reports",
    "cancelled": "was stopped",
    "rejected": "was stopped",
    "limit_reached": "was cut short",
    "failed": "failed",
    "interrupted": "was interrupted",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportPart:
    """What came of work in the background, as it is drawn; the model reads the text beside it.

    *child_id* is the session of the sub-agent *agent*, *description* its work in a few words.
    *text* is its report (markdown), *error* says why there is none. *usage* and *cost* are what
    it took; *facts* are short words about that.
    """

    id: str
    session_id: str
    message_id: str
    child_id: str
    agent: str
    description: str
    outcome: BackgroundTaskState
    text: str = ""
    error: str = ""
    facts: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    type: Literal["report"] = "report"

    @property
    def identity(self) -> "ReportPart":
        """The report wherever it stands: one that waited while a step began comes again in a
        later message."""
        return replace(self, id="", message_id="")

    @property
    def headline(self) -> str:
        """What came of it on one line, for people."""
        return " · ".join(
            (
                f"{self.agent.capitalize()} {_STATE_VERBS[self.outcome]}: {self.description}",
                *self.facts,
            )
        )

    @property
    def body(self) -> str:
        """What there is to read of it (markdown), "" where there is nothing."""
        return "\n\n".join(one for one in (self.error, self.text) if one)
