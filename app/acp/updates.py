"""Session updates made of message parts: live ones, and those of past messages."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias, assert_never

from acp import schema
from acp.helpers import (
    ToolCallContentVariant,
    start_tool_call,
    text_block,
    tool_terminal_ref,
    update_agent_message_text,
    update_agent_thought_text,
    update_plan,
    update_tool_call,
)

from agent.records.blocks import TodoItem
from agent.records.decisions import explain_verdict
from agent.records.events import PartDelta
from agent.records.labels import label_of
from agent.records.messages import (
    Completed,
    Failed,
    FilePart,
    MessageWithParts,
    Part,
    Pending,
    ReasoningPart,
    ReportPart,
    Running,
    TextPart,
    ToolPart,
    UserMessage,
)
from agent.records.tool_facts import kind_of
from app.acp.tool_content import content_of, locations_of, output_content, text_content
from app.text.sanitize import sanitize, sanitize_line

Update: TypeAlias = (
    schema.UserMessageChunk
    | schema.AgentMessageChunk
    | schema.AgentThoughtChunk
    | schema.ToolCallStart
    | schema.ToolCallProgress
    | schema.AgentPlanUpdate
)


_STATES: dict[str, schema.ToolCallStatus] = {
    "pending": "pending",
    "running": "in_progress",
    "completed": "completed",
    "failed": "failed",
}


@dataclass(slots=True)
class UpdateBuilder:
    """Builds updates, and remembers what was sent to the client.

    *root* is the folder that paths are relative to.
    """

    root: str
    _sent: dict[str, int] = field(default_factory=dict[str, int])
    _thoughts: set[str] = field(default_factory=set[str])
    _calls: dict[str, ToolPart] = field(default_factory=dict[str, ToolPart])
    _reports: set[ReportPart] = field(default_factory=set[ReportPart])
    _skipped: set[str] = field(default_factory=set[str])
    _terminals: dict[str, str] = field(default_factory=dict[str, str])
    _last: dict[str, Update] = field(default_factory=dict[str, Update])

    def skip_message(self, message_id: str) -> None:
        """Send nothing of the message of that id, such as the user's own."""
        self._skipped.add(message_id)

    def part(self, part: Part) -> Iterator[Update]:
        """Return what is new in *part*, which replaces what was sent of it."""
        match part:
            case TextPart() | ReasoningPart():
                hidden = isinstance(part, TextPart) and part.synthetic
                if part.message_id in self._skipped or hidden:
                    return
                if isinstance(part, ReasoningPart):
                    self._thoughts.add(part.id)
                self._sent.setdefault(part.id, 0)
                yield from self._text(part.id, part.message_id, 0, part.text)
            case ToolPart():
                yield from self._call(part)
            case ReportPart() if part.identity not in self._reports:
                self._reports.add(part.identity)
                yield report_update(part)
            case _:
                pass

    def delta(self, event: PartDelta) -> Iterator[Update]:
        """Return what a delta adds to text that was sent in part."""
        if event.field == "text" and event.part_id in self._sent:
            yield from self._text(event.part_id, event.message_id, event.offset, event.delta)

    def call_of(self, message_id: str, call_id: str) -> ToolPart | None:
        """Return the call that a request is about."""
        for part in self._calls.values():
            if part.call_id == call_id and part.message_id == message_id:
                return part
        return None

    def note(self, sentence: str) -> Update:
        """Return a notice of the program, shown among the model's thoughts."""
        return update_agent_thought_text(sanitize(sentence) + "\n")

    def history(self, item: MessageWithParts) -> Iterator[Update]:
        if not isinstance(item.message, UserMessage):
            for part in item.parts:
                yield from self.part(part)
            return
        self.skip_message(item.message.id)
        if item.message.synthetic:
            for part in item.parts:
                yield from self.part(part)
            return
        for part in item.parts:
            text = _user_text(part)
            if text:
                yield schema.UserMessageChunk(
                    session_update="user_message_chunk",
                    content=text_block(sanitize(text)),
                    message_id=item.message.id,
                )

    def _text(self, part_id: str, message_id: str, offset: int, text: str) -> Iterator[Update]:
        known = self._sent[part_id]
        new = text[max(0, known - offset) :]
        if not new or offset > known:
            return  # the complete part fills the gap
        self._sent[part_id] = offset + len(text)
        made = update_agent_thought_text if part_id in self._thoughts else update_agent_message_text
        update = made(sanitize(new))
        update.message_id = message_id
        yield update

    def _call(self, part: ToolPart) -> Iterator[Update]:
        before = self._calls.get(part.id)
        if isinstance(part.state, Running) and part.state.terminal:
            self._terminals[part.id] = part.state.terminal
            # The client shows the output of its terminal itself.
            part = replace(part, state=replace(part.state, output=""))
        if before is not None and before.state == part.state:
            return
        if isinstance(part.state, Pending) and before is not None:
            return  # its input still grows and is sent once it is complete
        self._calls[part.id] = part
        terminal = self._terminals.get(part.id, "")
        update = tool_call(part, self.root, known=before is not None, terminal=terminal)
        if update != self._last.get(part.id):  # a state can differ in what is not sent
            self._last[part.id] = update
            yield update


def tool_call(
    part: ToolPart, root: str, *, known: bool, terminal: str = ""
) -> schema.ToolCallStart | schema.ToolCallProgress:
    """Return the present state of a call; *known* if it was sent before. *terminal* is the id of
    the client's terminal in which it runs or ran."""
    state = part.state
    blocks = () if isinstance(state, Pending) else state.blocks
    given = None if isinstance(state, Pending) else state.input
    made = update_tool_call if known else start_tool_call
    return made(
        part.id,
        title=call_title(part),
        kind=kind_of(part.tool),
        status=_STATES[state.status],
        content=_content(part, root, terminal) or None,
        locations=locations_of(blocks, given, root) or None,
        raw_input=given,
        raw_output=_output(part),
    )


def report_update(part: ReportPart) -> schema.ToolCallStart:
    """Return the result of a background sub-agent, as a row of its own where the model reads it."""
    return start_tool_call(
        part.id,
        title=sanitize_line(part.headline),
        kind="other",
        status="completed" if part.outcome == "completed" else "failed",
        content=[text_content(part.body)] if part.body else None,
    )


def call_title(part: ToolPart) -> str:
    label = label_of(part)
    title = f"{label.verb} {label.object} {label.note}"
    return sanitize_line(" ".join(title.split()))


def plan_update(items: tuple[TodoItem, ...]) -> schema.AgentPlanUpdate:
    """Return the to-do list. The protocol has no status for canceled items: they are omitted."""
    return update_plan(
        schema.PlanEntry(
            content=sanitize_line(item.content), priority=item.priority, status=item.status
        )
        for item in items
        if item.status != "cancelled"
    )


def _content(part: ToolPart, root: str, terminal: str) -> list[ToolCallContentVariant]:
    verdicts = [text_content(explain_verdict(verdict)) for verdict in part.verdicts]
    return [*_state_content(part, root, terminal), *verdicts]


def _state_content(part: ToolPart, root: str, terminal: str) -> list[ToolCallContentVariant]:
    state = part.state
    if terminal:
        shown: list[ToolCallContentVariant] = [tool_terminal_ref(terminal)]
        return [*shown, text_content(state.error)] if isinstance(state, Failed) else shown
    match state:
        case Pending():
            return []
        case Running():
            content = content_of(state.blocks, root)
            return [*content, output_content(state.output)] if state.output.strip() else content
        case Completed():
            content = content_of(state.blocks, root)
            if content or not state.output.strip():
                return content
            return [text_content(state.output)]
        case Failed():
            return [*content_of(state.blocks, root), text_content(state.error)]
        case _:
            assert_never(state)


def _output(part: ToolPart) -> dict[str, object] | None:
    match part.state:
        case Completed() as done:
            output: dict[str, object] = {"output": done.output}
            return output if done.exit_code is None else {**output, "exit_code": done.exit_code}
        case Failed() as failed:
            return {"error": failed.error, "kind": failed.kind}
        case _:
            return None


def _user_text(part: Part) -> str:
    """Return the text that shows a part of a user's message."""
    match part:
        case TextPart(synthetic=False):
            return part.text
        case FilePart():
            return f"[{part.path or part.mime}]"
        case _:
            return ""
