"""The records that front ends exchange with the session service."""

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import Protocol

from agent.records.background import BackgroundTask
from agent.records.blocks import TodoItem
from agent.records.events import BackgroundTaskProgress
from agent.records.frozen import frozen
from agent.records.messages import Delivery, FilePart, MessageWithParts, Session, SessionStatus
from agent.records.requests import PermissionRequest, Question


@frozen
class Mention:
    """A file, folder or MCP resource that a prompt mentions."""

    path: str
    """The path, or the address of the MCP resource."""
    first: int | None = None
    """The first line to read, from 1; None for the whole file."""
    last: int | None = None
    """The last line to read, inclusive."""
    server: str = ""
    """The MCP server of a resource; "" for a file or folder."""


@frozen
class Subtask:
    """A task that a sub-agent does before the model is called."""

    agent: str
    """The name of the sub-agent."""
    description: str
    """The task in a few words."""
    prompt: str
    """The complete instructions of the sub-agent."""


@frozen(kw_only=True)
class PromptInput:
    """One prompt. Agent, model and effort default to those of the session, then of the config."""

    text: str
    agent: str | None = None
    model: str | None = None
    effort: str | None = None
    delivery: Delivery = "steer"
    """When a message sent during a turn is dequeued: ``steer`` at the next step boundary,
    ``follow_up`` when the turn would end."""
    files: tuple[FilePart, ...] = ()
    """Attached files; their ids are replaced when they are stored."""
    mentions: tuple[Mention, ...] = ()
    """Mentioned files and resources, read when the prompt is accepted."""
    agents: tuple[str, ...] = ()
    """The sub-agents that the prompt names."""
    display_text: str | None = None
    """The text that the user sees, if it differs from *text*."""
    subtask: Subtask | None = None
    one_off: bool = False
    """True if agent, model and effort apply to this prompt alone."""
    context: str = ""
    """Additional text for the model, sent with the prompt."""
    answered: bool = True
    """False for a message that starts no turn: the model reads it with the next prompt."""

    @property
    def visible_text(self) -> str:
        """The text that the user sees."""
        return self.text if self.display_text is None else self.display_text


class Sessions(Protocol):
    """The session service, as goals, loops, sub-agents and undo use it."""

    def status(self, session_id: str) -> SessionStatus: ...

    async def prompt(self, session_id: str, prompt: PromptInput) -> str: ...

    async def run_check(self, session_id: str, command: str, timeout: int) -> str:
        """Begin to run *command*; return the id of its message."""
        ...

    async def cancel(self, session_id: str) -> bool: ...

    async def wait(self, session_id: str) -> None: ...


@frozen
class BackgroundTaskStatus:
    """The state of a sub-agent in the background."""

    agent: str
    description: str
    task: BackgroundTask
    activity: str = ""
    """Its current call; "" if that is not known."""

    @property
    def running(self) -> bool:
        return self.task.state == "running"


@frozen
class BackgroundTaskList:
    """The background tasks of one session, by the session ids of the sub-agents."""

    tasks: Mapping[str, BackgroundTaskStatus] = field(
        default_factory=dict[str, BackgroundTaskStatus]
    )

    @classmethod
    def from_children(
        cls, children: Iterable[Session], activity: Mapping[str, str]
    ) -> "BackgroundTaskList":
        return cls(
            {
                child.id: _line(child, child.background_task, activity.get(child.id, ""))
                for child in children
                if child.background_task is not None
            }
        )

    @property
    def running(self) -> Mapping[str, BackgroundTaskStatus]:
        return {key: line for key, line in self.tasks.items() if line.running}

    def with_session(self, child: Session) -> "BackgroundTaskList":
        """Return the list with the current state of *child*."""
        before = self.tasks.get(child.id)
        if child.background_task is None or (
            before is not None and before.task == child.background_task
        ):
            return self
        return BackgroundTaskList({**self.tasks, child.id: _line(child, child.background_task, "")})

    def with_progress(self, event: BackgroundTaskProgress) -> "BackgroundTaskList":
        """Return the list with the current activity of a task."""
        line = self.tasks.get(event.child_id)
        if line is None or not line.running:
            return self
        return BackgroundTaskList(
            {**self.tasks, event.child_id: replace(line, activity=event.activity)}
        )


def _line(child: Session, task: BackgroundTask, activity: str) -> BackgroundTaskStatus:
    return BackgroundTaskStatus(child.agent, child.title, task, activity)


@frozen(kw_only=True)
class SessionSnapshot:
    """The state of a session when a front end attaches."""

    session: Session
    messages: tuple[MessageWithParts, ...]
    """Oldest first; of a long session only the last page."""
    status: SessionStatus
    queued: tuple[str, ...] = ()
    """The ids of queued user messages."""
    permissions: tuple[PermissionRequest, ...] = ()
    """Pending permission requests of the session's tree, oldest first."""
    questions: tuple[Question, ...] = ()
    """Pending questions of the session's tree, oldest first."""
    todos: tuple[TodoItem, ...] = ()
    older: int = 0
    """The number of messages before *messages*."""
    elsewhere: bool = False
    """True while another program runs a turn in the session: it can only be read here."""
    background_tasks: BackgroundTaskList = field(default_factory=BackgroundTaskList)
