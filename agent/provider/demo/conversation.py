"""The conversation as the demo model sees it: the user's messages, its calls and their results."""

import re
from collections.abc import Mapping
from dataclasses import field

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
from agent.records.frozen import frozen
from agent.records.json import Json, JsonObject
from agent.records.tool_facts import TOOL_FACTS

STEERING_INTRODUCTION = "The user sent this message"
"""The introduction of a message that was sent during a turn."""

_REMINDER = re.compile(r"<system-reminder>\n(.*?)</system-reminder>", re.DOTALL)


@frozen
class Call:
    """A call to make."""

    tool: str
    input: JsonObject


@frozen
class Reply:
    """One step of the demo model: reasoning, text, then calls."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    reasoning: str = ""


@frozen
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


@frozen
class Exchange:
    """A user's message and the steps that followed it, each with its calls."""

    text: str
    steps: tuple[tuple[CompletedCall, ...], ...] = ()


@frozen
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
        """Return whether *tools* are offered, or run in place of one that is."""
        return all({tool, TOOL_FACTS[tool].covered_by} & self.tools.keys() for tool in tools)

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
                text = _typed_text(turn)
                # Reminders after results belong to the step with the calls.
                if text or index == 0 or not isinstance(request.turns[index - 1], ToolTurn):
                    exchanges.append(Exchange(text))
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


_SAID = re.compile(r"\bsaid: (.+)", re.DOTALL)
_REFUSED = re.compile(r"\breject|\bis denied|the rule\b|not allowed", re.IGNORECASE)
_STOPPED = re.compile(r"abort|cancel|interrupt|stopped|not run", re.IGNORECASE)
_TOTAL = re.compile(r"\b(\d[\d,]*) (?:lines?|files?|match|matches) (?:match|found)", re.IGNORECASE)
_NUMBERED = re.compile(r"\s+\d+: ")
_NOTHING = re.compile(r"no |.+ has nothing ", re.IGNORECASE)
_QUOTED = 160


def failure_sentence(call: CompletedCall) -> str:
    """Return a sentence about a failed call, which quotes the user's comment if there is one."""
    said = _SAID.search(call.output)
    if said is not None:
        return (
            f"You refused that and said: “{_shorten(said[1])}” I did nothing. A real model "
            "would act on your comment now; as a script, I cannot."
        )
    if _REFUSED.search(_first_line(call.output)):
        return "That was refused, so nothing was done."
    if _STOPPED.search(_first_line(call.output)):
        return "That was stopped before it finished."
    reason = _shorten(_first_line(call.output))
    return f"That did not work: {reason}" + ("" if reason.endswith((".", "?", "!", "…")) else ".")


def count_matches(output: str) -> int:
    """Return the number of search results: from the note, else the numbered lines or paths."""
    if is_empty(output):
        return 0
    lines = _lines(output)
    for note in filter(_is_note, lines):
        if said := _TOTAL.search(note):
            return int(said[1].replace(",", ""))
    numbered = [line for line in lines if _NUMBERED.match(line)]
    return len(numbered or [line for line in lines if not _is_note(line)])


def count_entries(output: str) -> int:
    """Return the number of entries in the listing of a folder."""
    return 0 if is_empty(output) else sum(1 for line in _tree(output) if not _is_note(line))


def is_empty(output: str) -> bool:
    """Return whether a tool reports that it found nothing."""
    return not output.strip() or _NOTHING.match(output.lstrip(" (")) is not None


def count_phrase(number: int, one: str, many: str) -> str:
    """Return a number with its noun: ``1 file``, ``3 files``, ``no files``."""
    if number == 1:
        return f"1 {one}"
    return f"{number:,} {many}" if number else f"no {many}"


def file_paths(output: str) -> list[str]:
    """Return the plain files in a folder's listing (an indented tree), those near the top first."""
    files: list[tuple[int, str]] = []
    folders: list[tuple[int, str]] = []
    for line in _tree(output):
        name, indent = line.strip(), len(line) - len(line.lstrip())
        while folders and folders[-1][0] >= indent:
            folders.pop()
        if name.endswith("/"):
            folders.append((indent, name))
        elif _PATH.fullmatch(name) and not _PRIVATE.search(name):
            files.append((len(folders), "".join(folder for _, folder in folders) + name))
    return [name for _, name in sorted(files, key=lambda item: item[0])]


_PATH = re.compile(r"[\w@+-][\w@+./-]*\.[A-Za-z]{1,8}|README|LICENSE|Makefile|Dockerfile")
# Reading files that can contain secrets would ask for permission.
_PRIVATE = re.compile(r"(?i)\.(env|pem|key|p12|pfx)|secret|credential|token|(^|/)id_")


def _lines(output: str) -> list[str]:
    return [line for line in output.splitlines() if line.strip()]


def _tree(output: str) -> list[str]:
    """Return the lines of a listing without the folder's own name above them."""
    lines = _lines(output)
    headed = len(lines) > 1 and lines[0].endswith("/") and lines[1].startswith(" ")
    return lines[1:] if headed else lines


def _is_note(line: str) -> bool:
    return line.strip().startswith(("(", "[", "<"))


def _first_line(text: str) -> str:
    return text.strip().splitlines()[0] if text.strip() else "there was no answer"


def _shorten(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _QUOTED else flat[: _QUOTED - 1] + "…"
