"""Items: the parts of a session in the order they are drawn, each with its cached lines."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal, TypeAlias, assert_never

from agent.records.blocks import (
    Block,
    CodeBlock,
    DiffBlock,
    ImageBlock,
    ListingBlock,
    ShellBlock,
    SubtaskBlock,
    TableBlock,
    TextBlock,
    TodoBlock,
)
from agent.records.context_parts import BackgroundTaskState
from agent.records.frozen import frozen
from agent.records.messages import (
    AssistantMessage,
    CompactionPart,
    Completed,
    Failed,
    FailureKind,
    Part,
    Pending,
    ReasoningPart,
    ReportPart,
    RetryPart,
    Running,
    SubtaskPart,
    SyntheticPart,
    TextPart,
    ToolPart,
    UserMessage,
)
from agent.session.api import BackgroundTaskList, BackgroundTaskStatus
from app.session_state.session_facts import queued_label, report_label
from app.session_state.view import Entry, SessionView
from app.widgets.transcript.blocks import DIFF_LINES, SHELL_LINES, TABLE_ROWS, TEXT_LINES
from app.widgets.transcript.lines import Line, Page
from app.widgets.transcript.markdown import MarkdownView
from app.widgets.transcript.message_lines import user_text

_FAILURE_KINDS: dict[BackgroundTaskState, FailureKind] = {
    "cancelled": "aborted",
    "rejected": "denied",
    "limit_reached": "error",
    "failed": "error",
    "interrupted": "interrupted",
}
_FAILURE_TEXTS = {
    "limit_reached": "The sub-agent was stopped by a limit.",
    "failed": "The sub-agent failed.",
}


def session_of_call(part: ToolPart) -> str | None:
    """Return the session that a call leads to, or None."""
    block = _subtask_block(part)
    return block.session_id if block is not None else None


def with_background_state(part: ToolPart, background_tasks: BackgroundTaskList) -> ToolPart:
    """Return *part* with the current state of its background work. The call itself is already over
    for the model, but its row follows the sub-agent until that ends."""
    block = _subtask_block(part)
    if block is None or not block.background or not isinstance(part.state, Completed):
        return part
    line = background_tasks.tasks.get(block.session_id)
    if line is None or not line.task.was_started_by(part.message_id, part.call_id):
        return part
    return replace(part, state=_background_state(part.state, block, line))


def _background_state(
    state: Completed, block: SubtaskBlock, line: BackgroundTaskStatus
) -> Running | Completed | Failed:
    task = line.task
    if line.running:
        blocks: tuple[Block, ...] = (replace(block, activity=line.activity),)
        return Running(input=state.input, label=state.label, started=task.started, blocks=blocks)
    ended = task.ended or task.started
    if task.state == "completed":
        facts = (*state.facts, *task.facts)
        return replace(state, started=task.started, ended=ended, facts=facts)
    return Failed(
        error=_FAILURE_TEXTS.get(task.state, ""),
        kind=_FAILURE_KINDS[task.state],
        started=task.started,
        ended=ended,
        input=state.input,
        label=state.label,
        blocks=state.blocks,
    )


def _subtask_block(part: ToolPart) -> SubtaskBlock | None:
    blocks = () if isinstance(part.state, Pending) else part.state.blocks
    return next((block for block in blocks if isinstance(block, SubtaskBlock)), None)


Kind = Literal["user", "text", "reasoning", "tool", "note"]


@frozen
class UserRecord:
    """A message of the user with its parts, drawn as one."""

    message: UserMessage
    parts: tuple[Part, ...]
    queue_note: str
    """When a queued message is sent, "" if it is not queued."""


Record: TypeAlias = UserRecord | AssistantMessage | Part


@dataclass(slots=True, eq=False)
class Item:
    """One drawn thing."""

    key: str
    kind: Kind
    message_id: str
    record: Record
    final: bool = True
    """False while its text is still streamed."""
    lines: list[Line] | None = None
    """None until it is first visible."""
    height: int = 1
    """An estimate unless *exact*."""
    exact: bool = False
    changed: int = 0
    """The first line that differs from what was last painted."""
    foldable: bool = False
    body: bool = False
    """True if it has more than one line."""
    view: MarkdownView | None = field(default=None)
    """The state of growing Markdown."""
    behind: bool = False
    """True while only the beginning of its text is drawn."""
    depth: int = 0
    """The number of sessions between it and the shown one."""

    @property
    def running(self) -> bool:
        """Return whether its row shows a spinner or a clock."""
        record = self.record
        if isinstance(record, ToolPart):
            return isinstance(record.state, Running) and record.state.waiting is None
        return isinstance(record, ReasoningPart) and record.ended is None


def linked_session(item: Item) -> str | None:
    """Return the session of the sub-agent that *item* is about."""
    record = item.record
    if isinstance(record, ReportPart):
        return record.linked_session
    if isinstance(record, SubtaskPart):
        return record.child_id
    return session_of_call(record) if isinstance(record, ToolPart) else None


def items_of(view: SessionView, entry: Entry) -> Iterator[Item]:
    """Yield the items of one message; none for parts that only the agent needs."""
    requests = asking_sessions(view)
    for item in _items_of(entry, view):
        if isinstance(item.record, ToolPart):
            item.record = with_background_state(item.record, view.background_tasks)
        record = item.record
        if requests and isinstance(record, ToolPart) and isinstance(record.state, Running):
            # The call of a sub-agent with an open request waits for the user like a call with one.
            waiting = record.state.waiting or requests.get(session_of_call(record) or "")
            item.record = replace(record, state=replace(record.state, waiting=waiting))
        yield item


def messages_of_calls(items: Sequence[Item], sessions: AbstractSet[str]) -> set[str]:
    """Return the ids of the messages with the calls that *sessions* of sub-agents belong to."""
    if not sessions:
        return set()
    return {item.message_id for item in items if linked_session(item) in sessions}


def asking_sessions(view: SessionView | None) -> dict[str, str]:
    """Return the sessions below this one that have an open request, with its id."""
    if view is None:
        return {}
    found = (*view.permissions, *view.questions)
    return {one.session_id: one.id for one in found if one.session_id != view.session_id}


def _items_of(entry: Entry, view: SessionView) -> Iterator[Item]:
    message = entry.message
    if isinstance(message, UserMessage):
        if message.synthetic:
            for part in entry.parts:
                if isinstance(part, SyntheticPart):
                    yield _part_item(_with_send_time(part, view), entry)
            return
        queued = message.id in view.queued
        waits = queued_label(view.status, message.delivery) if queued else ""
        record = UserRecord(message, tuple(entry.parts), waits)
        if record.parts:
            yield Item(message.id, "user", message.id, record)
        return
    retries = [part for part in entry.parts if isinstance(part, RetryPart) and not part.change]
    for part in entry.parts:
        if _is_drawn(part) or (retries and part is retries[-1] and message.completed is None):
            yield _part_item(part, entry)
    cut = message.finish in {"length", "content-filter"}
    if message.error or message.interrupted or cut or message.pinned:
        yield Item(f"{message.id}/end", "note", message.id, message)


def _with_send_time(part: Part, view: SessionView) -> Part:
    """Return a report that was not sent to the model yet, with the time when it will be."""
    if not isinstance(part, ReportPart) or part.message_id not in view.queued:
        return part
    when = report_label(view.status)
    return replace(part, facts=(*part.facts, when)) if when else part


def _part_item(part: Part, entry: Entry) -> Item:
    completed = isinstance(entry.message, AssistantMessage) and entry.message.completed is not None
    final = completed or not isinstance(part, TextPart | ReasoningPart) or part.ended is not None
    match part:
        case TextPart():
            kind: Kind = "text"
        case ReasoningPart():
            kind = "reasoning"
        case ToolPart():
            kind = "tool"
        case _:
            kind = "note"
    return Item(part.id, kind, part.message_id, part, final)


def _is_drawn(part: Part) -> bool:
    match part:
        case TextPart():
            return not part.synthetic and bool(part.text) and not part.text.isspace()
        case ReasoningPart():
            # Some providers hide their reasoning; then only its duration is shown.
            return part.ended is None or not (part.text.isspace() or part.text == "")
        case ToolPart() | CompactionPart() | SubtaskPart():
            return True
        case RetryPart():
            return bool(part.change)
        case _:
            return False


def blank_rows_above(before: Item | None, item: Item) -> int:
    """Return the blank rows above *item*: one between things, none within a run of tool rows."""
    if item.height == 0:
        return 0
    if before is not None and before.kind == item.kind == "tool" and not before.body:
        return 0
    return 1


def estimate_height(item: Item, page: Page) -> int:
    """Estimate the number of lines of *item* without drawing it."""
    record = item.record
    match record:
        case UserRecord():
            return 2 + _text_height(user_text(record.parts), page)
        case TextPart():
            return _text_height(record.text, page)
        case ToolPart():
            state = record.state
            blocks = () if isinstance(state, Pending) else state.blocks
            return 1 + sum(_block_height(block, page) for block in blocks)
        case ReportPart():
            return 1 + min(TEXT_LINES + 1, _text_height(record.text, page))
        case _:
            return 1


def _text_height(text: str, page: Page) -> int:
    return 1 + text.count("\n") + len(text) // (page.prose(page.left) + 1)


def _block_height(block: Block, page: Page) -> int:
    match block:
        case DiffBlock():
            return min(DIFF_LINES + 1, sum(len(hunk.lines) for hunk in block.hunks))
        case ShellBlock():
            return min(SHELL_LINES + 1, block.output.count("\n") + bool(block.output))
        case CodeBlock() | ListingBlock():
            return 0
        case TodoBlock():
            return len(block.items)
        case TableBlock():
            return min(TABLE_ROWS + 1, len(block.rows)) + 2
        case ImageBlock():
            return 1
        case SubtaskBlock():
            return min(TEXT_LINES + 1, _text_height(block.text or block.activity, page))
        case TextBlock():
            return min(TEXT_LINES + 1, _text_height(block.text, page))
        case _:
            assert_never(block)


NestedSessions: TypeAlias = Mapping[str, SessionView]
"""Unfolded sessions of sub-agents by the key of the row that they are below."""

NO_NESTED: NestedSessions = MappingProxyType({})

MAX_DEPTH = 8
"""Levels of nested sessions."""


def nested_items(
    view: SessionView, entry: Entry, nested: NestedSessions, depth: int = 0
) -> Iterator[Item]:
    """Yield the items of one message, each followed by those that are unfolded below it."""
    for item in items_of(view, entry):
        item.depth = depth
        yield item
        child = nested.get(item.key) if depth < MAX_DEPTH else None
        if child is not None:
            for message_id in child.message_ids:
                if (child_entry := child.entry(message_id)) is not None:
                    yield from nested_items(child, child_entry, nested, depth + 1)
