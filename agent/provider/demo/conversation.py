"""What the demo model knows: what was asked, what it did since, and what came of it."""

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
"""How a message that was sent during a turn is introduced (spec 1, L3)."""

_REMINDER = re.compile(r"<system-reminder>\n(.*?)</system-reminder>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Call:
    """A call to make."""

    tool: str
    input: JsonObject


@dataclass(frozen=True, slots=True)
class Reply:
    """One step of the demo model: thoughts, words, then calls."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class CompletedCall:
    """A call that was made, and its result."""

    tool: str
    input: JsonObject
    output: str
    failed: bool

    def argument(self, name: str) -> str:
        """An argument as text, "" where it was not given."""
        value = self.input.get(name)
        return value if isinstance(value, str) else ""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A user's text and the steps that followed it, each with its calls."""

    text: str
    steps: tuple[tuple[CompletedCall, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    """*asked* are all texts of the session, oldest first; the last one is to be answered.

    *first* is true while nothing was answered in this session.
    """

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
        """The calls since the newest text, in order."""
        return tuple(call for step in self.steps for call in step)

    def has_tools(self, *tools: str) -> bool:
        return all(tool in self.tools for tool in tools)

    def accepts_argument(self, tool: str, argument: str) -> bool:
        """Whether *tool* is offered and knows *argument*."""
        schema = self.tools.get(tool)
        properties: Json = schema.parameters.get("properties") if schema else None
        return isinstance(properties, dict) and argument in properties


def read_conversation(request: ModelRequest) -> Conversation:
    """Read a request. Turns of before the first user text are left out."""
    asked: list[Exchange] = []
    answered = False
    for index, turn in enumerate(request.turns):
        match turn:
            case UserTurn():
                asked.append(Exchange(_words(turn)))
            case AssistantTurn():
                answered = True
                following = request.turns[index + 1] if index + 1 < len(request.turns) else None
                step = _step(turn, following)
                if step and asked:
                    asked[-1] = Exchange(asked[-1].text, (*asked[-1].steps, step))
            case ToolTurn():
                pass  # read with the turn that called
    tools = {tool.name: tool for tool in request.tools}
    return Conversation(tuple(asked), tools, is_first=not answered)


def _step(turn: AssistantTurn, following: Turn | None) -> tuple[CompletedCall, ...]:
    results: dict[str, ToolResultContent] = {}
    if isinstance(following, ToolTurn):
        results = {result.call_id: result for result in following.content}
    return tuple(
        _done(content, results.get(content.call_id))
        for content in turn.content
        if isinstance(content, ToolCallContent)
    )


def _done(call: ToolCallContent, result: ToolResultContent | None) -> CompletedCall:
    if result is None:
        return CompletedCall(call.name, call.input, "It has no result.", failed=True)
    return CompletedCall(call.name, call.input, result.output, result.is_error)


def _words(turn: UserTurn) -> str:
    """What the person typed: without reminders, or out of one when sent during a turn."""
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
        ):  # a heading line, the words, and a closing line
            steered.append(reminder[1].strip("\n").split("\n", 1)[1].rsplit("\n", 1)[0])
    return "\n".join(typed or steered).strip()
