"""The records that front ends exchange with the session service."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from agent.records.background import BackgroundTask
from agent.records.blocks import TodoItem
from agent.records.events import BackgroundTaskProgress
from agent.records.messages import Delivery, FilePart, MessageWithParts, Session, SessionStatus
from agent.records.requests import PermissionRequest, Question


@dataclass(frozen=True, slots=True)
class Mention:
    """A file or folder that a prompt names, with the lines that count (1-based, both included);
    or, with *server*, a resource of an MCP server, whose address *path* is then."""

    path: str
    first: int | None = None
    last: int | None = None
    server: str = ""


@dataclass(frozen=True, slots=True)
class Subtask:
    """Work that a sub-agent gets before the model is asked: its name, the work in a few words,
    and all that it is told."""

    agent: str
    description: str
    prompt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptInput:
    """One prompt. What is None is taken from the session, then from config.

    *delivery* says when a message sent during a turn is taken up: ``steer`` at the next step
    boundary, ``follow_up`` when the turn would end. *files* carry ids that are
    replaced when they are stored; *mentions* are read when the prompt is taken, *agents* are the
    sub-agents that it names. *typed* is what the user sees of it, where that is not the *text*.
    *passing*: its agent, model and effort hold for this prompt alone. *context* is told to the
    model beside it.
    """

    text: str
    agent: str | None = None
    model: str | None = None
    effort: str | None = None
    delivery: Delivery = "steer"
    files: tuple[FilePart, ...] = ()
    mentions: tuple[Mention, ...] = ()
    agents: tuple[str, ...] = ()
    display_text: str | None = None
    subtask: Subtask | None = None
    one_off: bool = False
    context: str = ""

    @property
    def visible_text(self) -> str:
        """The text that the user sees."""
        return self.text if self.display_text is None else self.display_text


@dataclass(frozen=True, slots=True)
class BackgroundTaskStatus:
    """The state of a sub-agent in the background. *activity* is its current call,
    "" where that is not known."""

    agent: str
    description: str
    task: BackgroundTask
    activity: str = ""

    @property
    def running(self) -> bool:
        return self.task.state == "running"


@dataclass(frozen=True, slots=True)
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
        """With *child* as it is now."""
        before = self.tasks.get(child.id)
        if child.background_task is None or (
            before is not None and before.task == child.background_task
        ):
            return self
        return BackgroundTaskList({**self.tasks, child.id: _line(child, child.background_task, "")})

    def with_progress(self, event: BackgroundTaskProgress) -> "BackgroundTaskList":
        """With the current activity of a task."""
        line = self.tasks.get(event.child_id)
        if line is None or not line.running:
            return self
        return BackgroundTaskList(
            {**self.tasks, event.child_id: replace(line, activity=event.activity)}
        )


def _line(child: Session, task: BackgroundTask, activity: str) -> BackgroundTaskStatus:
    return BackgroundTaskStatus(child.agent, child.title, task, activity)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSnapshot:
    """A session as it stands when a front end attaches.

    *messages* are oldest first (the last page, if the session is long: *older* tells how many
    there are before them); *queued* are the ids of user messages that wait; *permissions* and
    *questions* are those of the session's tree that are open, oldest first; *background_tasks* what
    was left to the background.
    """

    session: Session
    messages: tuple[MessageWithParts, ...]
    status: SessionStatus
    queued: tuple[str, ...] = ()
    permissions: tuple[PermissionRequest, ...] = ()
    questions: tuple[Question, ...] = ()
    todos: tuple[TodoItem, ...] = ()
    older: int = 0
    background_tasks: BackgroundTaskList = field(default_factory=BackgroundTaskList)
