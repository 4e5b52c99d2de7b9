"""Convert stored messages to the turns that a model is sent.

The result is valid for every provider: each call is followed by its result, no turn is empty, and
no text follows a call in one assistant turn. The conversion depends on stored records alone, so a
message reads the same in every later request and a cached prefix stays valid.
"""

from collections.abc import Sequence

from agent.provider.client import (
    AssistantTurn,
    MediaContent,
    ReasoningContent,
    TextContent,
    ToolCallContent,
    ToolResultContent,
    ToolTurn,
    Turn,
    UserTurn,
)
from agent.records.context_parts import ContextPart
from agent.records.errors import InvalidArguments
from agent.records.json import JsonObject
from agent.records.messages import (
    AssistantMessage,
    Completed,
    Failed,
    FilePart,
    MessageWithParts,
    Part,
    ReasoningPart,
    TextPart,
    ToolPart,
    ToolState,
    UserMessage,
)
from agent.records.reminders import escape_after_reminder, escape_reminders, reminder
from agent.records.tool_facts import current_call
from agent.tools.core.arguments import parse_arguments

ABORTED = "Tool execution aborted: canceled by the user"
"""Sent for a call that never got its result."""

STEERED = (
    "The user sent this message while you were working:\n{text}\n"
    "Address it, then continue the task."
)
USER_SHELL_COMMAND = reminder(
    "The user ran this command in the session. This is for your information; no response is needed."
)
INTERRUPTED = reminder("The user interrupted your previous response before it was finished.")

_AssistantContent = TextContent | ReasoningContent | ToolCallContent


def request_turns(messages: Sequence[MessageWithParts]) -> tuple[Turn, ...]:
    """Return the turns of *messages* (oldest first), without queued messages."""
    return TurnConverter().convert(messages)


class TurnConverter:
    """Converts one history repeatedly. A list that only grew is not read again, and objects that
    were converted before are not converted again."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[MessageWithParts, bool, tuple[Turn, ...]]] = {}
        self._list: Sequence[MessageWithParts] = ()
        self._read = 0
        self._turns: list[Turn] = []
        self._interrupted = False

    def convert(self, messages: Sequence[MessageWithParts]) -> tuple[Turn, ...]:
        """Return the turns of *messages*; see ``request_turns``."""
        before: dict[str, tuple[MessageWithParts, bool, tuple[Turn, ...]]] = {}
        if messages is not self._list or len(messages) < self._read:
            before, self._known = self._known, {}
            self._list, self._read, self._turns, self._interrupted = messages, 0, [], False
        for item in messages[self._read :]:
            self._add(item, before.get(item.message.id))
        self._read = len(messages)
        return tuple(self._turns)

    def _add(
        self, item: MessageWithParts, known: tuple[MessageWithParts, bool, tuple[Turn, ...]] | None
    ) -> None:
        message, interrupted = item.message, self._interrupted
        if known is None or known[0] is not item or known[1] is not interrupted:
            known = (item, interrupted, _message_turns(item, after_interrupt=interrupted))
        self._known[message.id] = known
        self._turns += known[2]
        if isinstance(message, AssistantMessage):
            self._interrupted = message.interrupted
        elif message.turn_id is not None:
            self._interrupted = False


def _message_turns(item: MessageWithParts, *, after_interrupt: bool) -> tuple[Turn, ...]:
    match item.message:
        case UserMessage() as message:
            if message.turn_id is None:
                return ()
            return tuple(_user_turn(message, item.parts, after_interrupt=after_interrupt))
        case AssistantMessage() as message:
            return tuple(_assistant_turns(message, item.parts))


def _user_turn(
    message: UserMessage, parts: tuple[Part, ...], *, after_interrupt: bool
) -> list[UserTurn]:
    content: list[TextContent | MediaContent] = []
    for part in parts:
        match part:
            case TextPart() if part.text and not part.ignored:
                wrap = message.steered and not part.synthetic and not message.synthetic
                content.append(TextContent(_sent_text(part, steered=wrap)))
            case ContextPart() if part.reminder:
                content.append(TextContent(part.reminder))
            case FilePart(omitted=float()):
                content.append(TextContent(omitted_text(part)))
            case FilePart() if part.data is not None:
                content.append(MediaContent(part.mime, part.data, part.path or ""))
            case ToolPart(state=Completed() | Failed() as state):
                command = (state.input or {}).get("command", "")
                shown = escape_reminders(f"$ {command}\n{result_text(part)[0]}")
                content.append(TextContent(f"{USER_SHELL_COMMAND}\n{shown}"))
            case _:
                pass
    if content and after_interrupt:
        content.insert(0, TextContent(INTERRUPTED))
    return [UserTurn(tuple(content))] if content else []


def _sent_text(part: TextPart, *, steered: bool) -> str:
    if steered:
        return reminder(STEERED.format(text=part.text))
    return escape_after_reminder(part.text) if part.synthetic else escape_reminders(part.text)


def _assistant_turns(message: AssistantMessage, parts: tuple[Part, ...]) -> list[Turn]:
    turns: list[Turn] = []
    content: list[_AssistantContent] = []
    results: list[ToolResultContent] = []
    reminders: list[str] = []

    def close() -> None:
        # Reasoning alone is no response: several providers refuse a turn that holds nothing else.
        if any(not isinstance(c, ReasoningContent) for c in content):
            turns.append(AssistantTurn(tuple(content), message.model))
        if results:
            turns.append(ToolTurn(tuple(results)))
        if reminders:
            turns.append(UserTurn(tuple(TextContent(reminder(text)) for text in reminders)))
        content.clear()
        results.clear()
        reminders.clear()

    for part in parts:
        match part:
            case ToolPart():
                call, result = _call(part)
                content.append(call)
                results.append(result)
                reminders += _reminders(part.state)
            case TextPart() if part.text.strip() and not part.ignored:
                if results:
                    close()
                content.append(TextContent(part.text, part.opaque))
            case ReasoningPart() if part.text or part.opaque:
                if results:
                    close()
                content.append(ReasoningContent(part.text, part.field_name, part.opaque))
            case _:
                pass
    close()
    return turns


def _call(part: ToolPart) -> tuple[ToolCallContent, ToolResultContent]:
    name, given = current_call(part.tool, input_of(part.state) or {})
    call = ToolCallContent(part.call_id, name, given, part.opaque)
    output, failed = result_text(part)
    output = "\n\n".join((escape_reminders(output), *_omitted(part.state)))
    return call, ToolResultContent(part.call_id, name, output, failed, _media(part.state))


def _reminders(state: ToolState) -> tuple[str, ...]:
    """Return what the program tells the model with a result; it is gone once that is pruned."""
    if isinstance(state, Completed | Failed) and state.compacted is None:
        return state.reminders
    return ()


def _media(state: ToolState) -> tuple[MediaContent, ...]:
    """Return the files of a result; they are gone once its text is pruned."""
    if not isinstance(state, Completed) or state.compacted is not None:
        return ()
    return tuple(
        MediaContent(file.mime, file.data, file.path or "")
        for file in state.files
        if file.data is not None and file.omitted is None
    )


def _omitted(state: ToolState) -> tuple[str, ...]:
    """Return the lines in place of the files of a result that are no longer sent."""
    if not isinstance(state, Completed) or state.compacted is not None:
        return ()
    return tuple(omitted_text(file) for file in state.files if file.omitted is not None)


def omitted_text(file: FilePart) -> str:
    """Return the line that is sent in place of a file that the provider has no room for."""
    image = file.mime.startswith("image/")
    name = escape_reminders(f" ({file.path})") if file.path else ""
    again = " If you still need it, read a small copy of it." if file.path else ""
    return (
        f"[{'An image' if image else 'A document'} was attached here{name}. It is no longer sent, "
        f"because the provider limits the number and size of attached files.{again}]"
    )


def input_of(state: ToolState) -> JsonObject | None:
    """Return the parsed input of a call, None if it never parsed. A call that was refused for its
    name or arguments has that of the model: the error is about it."""
    match state:
        case Failed(input=None) if state.raw:
            return _parsed(state.raw)
        case Completed() | Failed():
            return state.input
        case _:
            return getattr(state, "input", None)


def _parsed(raw: str) -> JsonObject | None:
    try:
        return parse_arguments(raw)
    except InvalidArguments:
        return None


def result_text(part: ToolPart) -> tuple[str, bool]:
    """Return the text that the model reads for a call, and whether it is an error."""
    match part.state:
        case Completed() as state:
            return (state.output if state.compacted is None else shortened_output(part)), False
        case Failed() as state:
            if state.compacted is not None:
                return f"{_cut_line(state.error)}\n\n{shortened_output(part)}", True
            if state.output:
                return f"{state.error}\n\nOutput so far:\n{state.output}", True
            return state.error, True
        case _:
            return ABORTED, True


def shortened_output(part: ToolPart) -> str:
    """Return a pruned output: its ends, and where the whole is."""
    if not isinstance(part.state, Completed | Failed):
        return ""
    lines = part.state.output.splitlines()
    ends = (
        [*lines[:EDGE_LINES], "…", *lines[-EDGE_LINES:]] if len(lines) > 2 * EDGE_LINES else lines
    )
    spill = part.state.spill
    where = f"The full output is in {spill}." if spill else "Call the tool again if you need it."
    first = (
        f"[This output of {current_call(part.tool, {})[0]} was shortened to save space. {where}]"
    )
    return "\n".join([first, *map(_cut_line, ends)])


def _cut_line(line: str) -> str:
    return line if len(line) <= EDGE_WIDTH else f"{line[:EDGE_WIDTH]}…"


EDGE_LINES = 4
"""Lines kept at each end of a pruned output."""

EDGE_WIDTH = 160
"""Characters kept of each."""
