"""Message parts that carry context to the model: reminders, compaction markers, background task
reports."""

from dataclasses import field, replace
from typing import Literal

from agent.records.background import SILENT_STATES, BackgroundTaskState
from agent.records.frozen import frozen
from agent.records.usage import Usage


@frozen(kw_only=True)
class ContextPart:
    """Context that the model gets in addition to the user's words. It is never displayed."""

    id: str
    session_id: str
    message_id: str
    block: str | None = None
    """The session block of the system prompt from this message on; None keeps the previous one."""
    reminder: str = ""
    """Text that is sent with the message; "" for none."""
    facts: dict[str, str] = field(default_factory=dict[str, str])
    """The facts that the model knows from this message on, by topic."""
    type: Literal["context"] = "context"


@frozen(kw_only=True)
class CompactionPart:
    """A compaction marker. From here on the conversation consists of *pins*, *summary* and the
    messages from *tail_start_id* on."""

    id: str
    session_id: str
    message_id: str
    summary: str
    auto: bool
    """True if the compaction started by itself."""
    tail_start_id: str | None = None
    """The first message that is kept as it is; None for the marker's own message."""
    pins: str = ""
    """Text that is kept word for word."""
    tools: tuple[str, ...] = ()
    """The deferred tools that had been found or called before."""
    before: int | None = None
    """Estimated tokens in use before the compaction."""
    after: int | None = None
    """Estimated tokens in use after the compaction."""
    model: str = ""
    usage: Usage | None = None
    """Tokens that the summary used of *model*; None where unknown."""
    cost: float | None = None
    """US dollars; None where unknown."""
    type: Literal["compaction"] = "compaction"

    @property
    def first_kept_id(self) -> str:
        """The id of the first message that is needed in addition to the summary."""
        return self.tail_start_id or self.message_id


_STATE_VERBS: dict[BackgroundTaskState, str] = {
    "running": "is working",
    "completed": "reports",
    "cancelled": "was stopped",
    "rejected": "was stopped",
    "limit_reached": "was cut short",
    "failed": "failed",
    "interrupted": "was interrupted",
}

_COMMAND_VERBS: dict[BackgroundTaskState, str] = {
    **_STATE_VERBS,
    "running": "printed",
    "completed": "ended",
}


_GOAL_VERBS: dict[BackgroundTaskState, str] = {
    **_STATE_VERBS,
    "completed": "reached",
    "limit_reached": "not reached",
    "interrupted": "paused",
}

GOAL_REPORT = "goal"
"""The *child_id* of the report on a goal."""


@frozen(kw_only=True)
class ReportPart:
    """The report of a background task, as users see it; the model reads a separate text part."""

    id: str
    session_id: str
    message_id: str
    child_id: str
    """The session of the sub-agent, the id of a command in the background, or ``GOAL_REPORT``."""
    agent: str
    description: str
    """The task in a few words, or the command."""
    outcome: BackgroundTaskState
    text: str = ""
    """The sub-agent's last response (markdown)."""
    error: str = ""
    """The reason for a missing or incomplete report; "" for none."""
    facts: tuple[str, ...] = ()
    """Short phrases about what the task used, for users."""
    usage: Usage = field(default_factory=Usage)
    """Tokens that the task used."""
    cost: float | None = None
    type: Literal["report"] = "report"

    @property
    def identity(self) -> "ReportPart":
        """The report without its place. One that is queued while a step starts comes again in a
        later message, so equal identities are one report."""
        return replace(self, id="", message_id="")

    @property
    def linked_session(self) -> str | None:
        """The session of the sub-agent, None for a command or a goal."""
        if self.child_id.startswith("shell_") or self.child_id == GOAL_REPORT:
            return None
        return self.child_id

    @property
    def starts_turn(self) -> bool:
        """True if it can start a turn: not the report of work that the user stopped."""
        return self.outcome not in SILENT_STATES

    @property
    def headline(self) -> str:
        """The outcome in one line, for users."""
        verbs = _COMMAND_VERBS if self.linked_session is None else _STATE_VERBS
        verbs = _GOAL_VERBS if self.child_id == GOAL_REPORT else verbs
        return " · ".join(
            (f"{self.agent.capitalize()} {verbs[self.outcome]}: {self.description}", *self.facts)
        )

    @property
    def body(self) -> str:
        """The error and the text (markdown); "" without either."""
        text = self.text
        if text and self.linked_session is None:
            text = f"~~~~~\n{text}\n~~~~~"
        return "\n\n".join(one for one in (self.error, text) if one)
