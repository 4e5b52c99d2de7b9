"""The conversation as the demo model sees it: the user's messages, its calls and their results."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from agent.provider.client import (
    AssistantTurn,
    ModelRequest,
    TextContent,
    ToolCallContent,
    ToolResultContent,
    ToolSchema,
    ToolTurn,
    Turn,
    UserTurn,
)
from agent.records.json import Json, JsonObject

STEERING_INTRODUCTION = "The user sent this message"
"""The introduction of a message that was sent during a turn."""

_REMINDER = re.compile(r"<system-reminder>\n(.*?)</system-reminder>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Call:
    """A call to make."""

    tool: str
    input: JsonObject


@dataclass(frozen=True, slots=True)
class Reply:
    """One step of the demo model: reasoning, text, then calls."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class CompletedCall:
    """A call with its result."""

    tool: str
    input: JsonObject
    output: str
    failed: bool

    def argument(self, name: str) -> str:
        """Return an argument as text, "" where it was not given."""
        value = self.input.get(name)
        return value if isinstance(value, str) else ""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A user's message and the steps that followed it, each with its calls."""

    text: str
    steps: tuple[tuple[CompletedCall, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    """The whole conversation of a session."""

    exchanges: tuple[Exchange, ...]
    tools: Mapping[str, ToolSchema] = field(default_factory=dict[str, ToolSchema])
    is_first: bool = True

    @property
    def text(self) -> str:
        return self.exchanges[-1].text if self.exchanges else ""

    @property
    def steps(self) -> tuple[tuple[CompletedCall, ...], ...]:
        return self.exchanges[-1].steps if self.exchanges else ()

    @property
    def completed_calls(self) -> tuple[CompletedCall, ...]:
        """The calls since the newest message, in order."""
        return tuple(call for step in self.steps for call in step)

    def has_tools(self, *tools: str) -> bool:
        return all(tool in self.tools for tool in tools)

    def accepts_argument(self, tool: str, argument: str) -> bool:
        """Return whether *tool* is offered and knows *argument*."""
        schema = self.tools.get(tool)
        properties: Json = schema.parameters.get("properties") if schema else None
        return isinstance(properties, dict) and argument in properties


def read_conversation(request: ModelRequest) -> Conversation:
    """Return the conversation of *request*, without turns before the first user message."""
    exchanges: list[Exchange] = []
    has_response = False
    for index, turn in enumerate(request.turns):
        match turn:
            case UserTurn():
                exchanges.append(Exchange(_typed_text(turn)))
            case AssistantTurn():
                has_response = True
                following = request.turns[index + 1] if index + 1 < len(request.turns) else None
                step = _step(turn, following)
                if step and exchanges:
                    exchanges[-1] = Exchange(exchanges[-1].text, (*exchanges[-1].steps, step))
            case ToolTurn():
                pass  # read with the turn that called
    tools = {tool.name: tool for tool in request.tools}
    return Conversation(tuple(exchanges), tools, is_first=not has_response)


def _step(turn: AssistantTurn, following: Turn | None) -> tuple[CompletedCall, ...]:
    results: dict[str, ToolResultContent] = {}
    if isinstance(following, ToolTurn):
        results = {result.call_id: result for result in following.content}
    return tuple(
        _completed(content, results.get(content.call_id))
        for content in turn.content
        if isinstance(content, ToolCallContent)
    )


def _completed(call: ToolCallContent, result: ToolResultContent | None) -> CompletedCall:
    if result is None:
        return CompletedCall(call.name, call.input, "It has no result.", failed=True)
    return CompletedCall(call.name, call.input, result.output, result.is_error)


def _typed_text(turn: UserTurn) -> str:
    """Return the text that the user typed.

    Reminders are dropped, except for one that carries a message sent during a turn.
    """
    typed: list[str] = []
    steered: list[str] = []
    for content in turn.content:
        if not isinstance(content, TextContent) or content.text.startswith("<attached "):
            continue
        reminder = _REMINDER.fullmatch(content.text.strip())
        if reminder is None:
            typed.append(_REMINDER.sub("", content.text))
        elif reminder[1].startswith(
            STEERING_INTRODUCTION
        ):  # a heading line, the message, and a closing line
            steered.append(reminder[1].strip("\n").split("\n", 1)[1].rsplit("\n", 1)[0])
    return "\n".join(typed or steered).strip()
