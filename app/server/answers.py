"""The answers of endpoints, as the OpenAPI description gives them.

The shapes themselves are made in ``agent.transfer.opencode_shapes``; tests compare every answer
with its record here, key by key.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field


def wire_name(name: str) -> str:
    """Return a field's name as opencode spells it, such as ``sessionID``."""
    first, *rest = name.split("_")
    return first + "".join("ID" if word == "id" else word.capitalize() for word in rest)


class Answer(BaseModel):
    model_config = ConfigDict(alias_generator=wire_name, extra="forbid")


class Times(Answer):
    created: int
    """Milliseconds, as all times."""
    updated: int | None = None
    completed: int | None = None
    archived: int | None = None


class Span(Answer):
    start: int
    end: int | None = None
    compacted: int | None = None


class CacheTokens(Answer):
    read: int
    write: int


class Tokens(Answer):
    total: int
    input: int
    output: int
    reasoning: int
    cache: CacheTokens


class SessionModel(Answer):
    id: str
    provider_id: str
    variant: str


class Revert(Answer):
    message_id: str


class SessionAnswer(Answer):
    id: str
    slug: str
    version: str
    project_id: str
    directory: str
    path: str
    title: str
    agent: str
    cost: float
    tokens: Tokens
    time: Times
    parent_id: str | None = None
    model: SessionModel | None = None
    revert: Revert | None = None
    pinned: bool = False


class StatusAnswer(Answer):
    type: Literal["idle", "busy", "retry"]
    attempt: int | None = None
    message: str | None = None
    next: int | None = None


class ModelChoice(Answer):
    provider_id: str
    model_id: str


class Failure(Answer):
    name: str
    data: dict[str, Any]


class FileDiffAnswer(Answer):
    file: str
    patch: str
    additions: int
    deletions: int
    status: Literal["added", "deleted", "modified"]


class TurnSummary(Answer):
    diffs: list[FileDiffAnswer]
    """The files that tools edited in the turn."""


class UserInfo(Answer):
    id: str
    session_id: str
    role: Literal["user"]
    time: Times
    agent: str
    model: ModelChoice
    summary: TurnSummary | None = None
    pinned: bool = False
    queued: Literal["steer", "follow_up"] | None = None
    """Only while the message waits: for the next step, or for the end of the turn."""


class Folders(Answer):
    cwd: str
    root: str


class AssistantInfo(Answer):
    id: str
    session_id: str
    role: Literal["assistant"]
    time: Times
    agent: str
    parent_id: str
    mode: str
    path: Folders
    cost: float
    tokens: Tokens
    provider_id: str
    model_id: str
    finish: str | None = None
    error: Failure | None = None
    pinned: bool = False


class PartAnswer(Answer):
    id: str
    session_id: str
    message_id: str


class TextAnswer(PartAnswer):
    type: Literal["text"]
    text: str
    time: Span | None = None
    synthetic: bool = False
    ignored: bool = False


class ReasoningAnswer(PartAnswer):
    type: Literal["reasoning"]
    text: str
    time: Span


class ToolState(Answer):
    status: Literal["pending", "running", "completed", "error"]
    input: dict[str, Any]
    raw: str | None = None
    title: str | None = None
    output: str | None = None
    error: str | None = None
    metadata: dict[str, Any] = Field(default_factory=dict[str, Any])
    time: Span | None = None


class ToolAnswer(PartAnswer):
    type: Literal["tool"]
    call_id: str
    tool: str
    state: ToolState


class FileAnswer(PartAnswer):
    type: Literal["file"]
    mime: str
    url: str
    filename: str | None = None


class StepStartAnswer(PartAnswer):
    type: Literal["step-start"]
    snapshot: str


class StepFinishAnswer(PartAnswer):
    type: Literal["step-finish"]
    reason: str
    snapshot: str
    cost: float
    tokens: Tokens


class PatchAnswer(PartAnswer):
    type: Literal["patch"]
    hash: str
    files: list[str]


class CompactionAnswer(PartAnswer):
    type: Literal["compaction"]
    auto: bool
    summary: str


class SubtaskAnswer(PartAnswer):
    type: Literal["subtask"]
    agent: str
    description: str
    prompt: str


class RetryAnswer(PartAnswer):
    type: Literal["retry"]
    attempt: int
    error: Failure
    time: Times


class AgentMention(PartAnswer):
    type: Literal["agent"]
    name: str


AnyPart = Annotated[
    TextAnswer
    | ReasoningAnswer
    | ToolAnswer
    | FileAnswer
    | StepStartAnswer
    | StepFinishAnswer
    | PatchAnswer
    | CompactionAnswer
    | SubtaskAnswer
    | RetryAnswer
    | AgentMention,
    Field(discriminator="type"),
]


class MessageAnswer(Answer):
    info: Annotated[UserInfo | AssistantInfo, Field(discriminator="role")]
    parts: list[AnyPart]


class TodoAnswer(Answer):
    id: str
    content: str
    status: str
    priority: str


class ToolCall(Answer):
    message_id: str
    call_id: str


class PermissionAnswer(Answer):
    id: str
    session_id: str
    permission: str
    patterns: list[str]
    metadata: dict[str, Any]
    always: list[str]
    tool: ToolCall


class QuestionOptionAnswer(Answer):
    label: str
    description: str


class OneQuestion(Answer):
    question: str
    header: str
    options: list[QuestionOptionAnswer]
    multiple: bool
    custom: bool


class QuestionAnswer(Answer):
    id: str
    session_id: str
    questions: list[OneQuestion]
    tool: ToolCall | None = None


class PathAnswer(Answer):
    home: str
    state: str
    config: str
    worktree: str
    directory: str


class ProjectAnswer(Answer):
    id: str
    worktree: str
    time: Times
    sandboxes: list[str]
    vcs: str | None = None


class FileNode(Answer):
    name: str
    path: str
    absolute: str
    type: Literal["file", "directory"]
    ignored: bool


class FileContent(Answer):
    type: Literal["text", "binary"]
    content: str
    encoding: str | None = None
    mime_type: str | None = None


class ChangedFile(Answer):
    path: str
    status: Literal["added", "deleted", "modified"]
    added: int
    removed: int


class Branch(Answer):
    branch: str | None = None
    default_branch: str | None = Field(default=None, alias="default_branch")


class DirectoryAnswer(Answer):
    directory: str


class FileStatusAnswer(Answer):
    file: str
    additions: int
    deletions: int
    status: Literal["added", "deleted", "modified"]


class SkillAnswer(Answer):
    name: str
    description: str
    location: str


class LspAnswer(Answer):
    id: str
    name: str
    root: str
    status: Literal["connected", "error"]


class FormatterAnswer(Answer):
    name: str
    extensions: list[str]
    enabled: bool


class McpAnswer(Answer):
    status: str
    error: str | None = None
