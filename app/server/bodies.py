"""The bodies of requests, as opencode's clients send them. Unknown keys are ignored."""

import json
from typing import Annotated, Literal, TypeVar, cast

from pydantic import BaseModel, Field, ValidationError
from starlette.requests import Request

from agent.records.json import Json
from agent.records.memory import MemoryOrigin
from agent.records.requests import PermissionMode, PermissionReply, PermissionRequest
from agent.runtime.folder_controls import McpChange
from app.server.access import BodyTooLargeError
from app.server.errors import RequestError


class ModelName(BaseModel):
    provider: str = Field(alias="providerID")
    model: str = Field(alias="modelID")

    @property
    def full_name(self) -> str:
        return f"{self.provider}/{self.model}"


class TextInput(BaseModel):
    type: Literal["text"]
    text: str


class FileInput(BaseModel):
    type: Literal["file"]
    mime: str = "text/plain"
    url: str
    filename: str = ""


class AgentInput(BaseModel):
    type: Literal["agent"]
    name: str


class SubtaskInput(BaseModel):
    type: Literal["subtask"]
    prompt: str
    description: str
    agent: str


PartInput = Annotated[
    TextInput | FileInput | AgentInput | SubtaskInput, Field(discriminator="type")
]


class PromptBody(BaseModel):
    parts: list[PartInput] = Field(min_length=1)
    model: ModelName | None = None
    agent: str | None = None
    variant: str | None = None
    system: str = ""
    no_reply: bool = Field(default=False, alias="noReply")
    delivery: Literal["steer", "follow_up"] = "steer"
    """When a running turn reads it: at its next step, or not before its end. opencode has none."""
    tools: dict[str, bool] = Field(default_factory=dict[str, bool])


class CommandBody(BaseModel):
    command: str
    arguments: str = ""
    agent: str | None = None
    model: str | None = None
    variant: str | None = None


class InitBody(BaseModel):
    provider_id: str = Field(default="", alias="providerID")
    model_id: str = Field(default="", alias="modelID")


class ShellBody(BaseModel):
    command: str
    agent: str | None = None


class NewSessionBody(BaseModel):
    parent_id: str | None = Field(default=None, alias="parentID")
    title: str = ""
    agent: str | None = None


class ChangedTimes(BaseModel):
    archived: float | None = None
    """Milliseconds; None to list the session again."""


class SessionChangeBody(BaseModel):
    title: str | None = None
    time: ChangedTimes | None = None
    pinned: bool | None = None
    """True to list the session first. opencode has none."""


class ForkBody(BaseModel):
    message_id: str | None = Field(default=None, alias="messageID")


class RevertBody(BaseModel):
    message_id: str = Field(alias="messageID")


class SummarizeBody(BaseModel):
    focus: str = ""
    """What to preserve. opencode has none."""


class PermissionReplyBody(BaseModel):
    reply: Literal["once", "always", "reject"]
    message: str = ""
    hunks: list[int] | None = None
    """The accepted parts of a change; all if it is missing. opencode has none of these three."""
    command: str | None = None
    """A command in place of the one that was asked about; it is checked again."""
    unsandboxed: bool = False
    """True to run the command without its sandbox."""


class PermissionResponseBody(BaseModel):
    """The older form of a reply, at the session's own path."""

    response: Literal["once", "always", "reject"]


class QuestionReplyBody(BaseModel):
    answers: list[list[str]]


class LogBody(BaseModel):
    service: str
    level: Literal["debug", "info", "error", "warn"]
    message: str


class TextBody(BaseModel):
    text: str


class TuiCommandBody(BaseModel):
    command: str


class ToastBody(BaseModel):
    message: str
    title: str = ""
    variant: Literal["info", "success", "warning", "error"] = "info"


class SelectSessionBody(BaseModel):
    session_id: str = Field(alias="sessionID")


class TuiEventBody(BaseModel):
    type: str
    properties: dict[str, object] = Field(default_factory=dict[str, object])


class ArgumentBody(BaseModel):
    """The argument of a slash command, and the model of a goal."""

    argument: str = ""
    model: str = ""


class LinesBody(BaseModel):
    lines: list[str] = Field(min_length=1)


class MemoryBody(BaseModel):
    request: PermissionRequest
    reply: PermissionReply
    origins: dict[str, MemoryOrigin] = Field(min_length=1)


class ModeBody(BaseModel):
    mode: PermissionMode


class ServerBody(BaseModel):
    change: McpChange


class PinBody(BaseModel):
    message_id: str = Field(alias="messageID")
    pinned: bool = True


class RuleBody(BaseModel):
    permission: str
    pattern: str


class NoBody(BaseModel):
    """A body that is not read."""


Body = TypeVar("Body", bound=BaseModel)


async def read_body(request: Request, kind: type[Body]) -> Body:
    """Return the body of a request. Raises ``RequestError`` for one that does not fit."""
    raw = await _read(request)
    try:
        return kind.model_validate_json(raw or b"{}")
    except ValidationError as error:
        raise RequestError(400, _sentence(error)) from error


async def read_json(request: Request) -> Json:
    """Return the JSON value of a body. Raises ``RequestError`` for anything else."""
    raw = await _read(request)
    try:
        return cast("Json", json.loads(raw))
    except (ValueError, RecursionError) as error:
        raise RequestError(400, "The body is not JSON.") from error


async def _read(request: Request) -> bytes:
    try:
        return await request.body()
    except BodyTooLargeError as error:
        raise RequestError(413, "The body is too long.") from error
    except TimeoutError as error:
        raise RequestError(408, "The body did not arrive in time.") from error


def _sentence(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    place = "".join(f"[{key!r}]" for key in first["loc"])
    return f"{first['msg']} at {place}." if place else f"{first['msg']}."
