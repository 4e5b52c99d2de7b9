"""A session with everything that belongs to it, and its form as JSON."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from agent.records.blocks import DiffBlock, Hunk, ShellBlock, TodoItem
from agent.records.frozen import frozen
from agent.records.json import Json, JsonObject
from agent.records.messages import (
    CompactionPart,
    Completed,
    MessageWithParts,
    ReasoningPart,
    ReportPart,
    Session,
    SyntheticPart,
    TextPart,
    ToolPart,
    messages_before,
)
from agent.redact import redacted
from agent.session.review.timeline import TimelineTurn, result_text
from agent.store.codec import (
    decode_message,
    decode_part,
    decode_session,
    encode_message,
    encode_part,
    encode_session,
)
from agent.store.store import Store
from agent.tools.files.diffs import NO_NEWLINE

FORMAT = "opencode-py/session"
VERSION = 1

MAX_DEPTH = 8
"""Levels of sub-agents that are exported."""


@frozen
class Bundle:
    """One session."""

    session: Session
    messages: tuple[MessageWithParts, ...]
    todos: tuple[TodoItem, ...] = ()
    children: tuple["Bundle", ...] = ()
    """The sessions of its sub-agents."""


async def collect_bundle(store: Store, session_id: str, max_depth: int = MAX_DEPTH) -> Bundle:
    """Return a session as it is now. Raises ``SessionNotFound``."""
    session = await store.session(session_id)
    messages = tuple(await store.messages(session_id))
    children = await store.children(session_id) if max_depth else []
    return Bundle(
        session=session,
        messages=tuple(messages_before(messages, session.undone_at)),
        todos=await store.todos(session_id),
        children=tuple(
            [await collect_bundle(store, child.id, max_depth - 1) for child in children]
        ),
    )


def to_json(bundle: Bundle) -> JsonObject:
    """Return *bundle* as JSON values, which ``from_json`` reads."""
    return {"format": FORMAT, "version": VERSION, **_body(bundle)}


def _body(bundle: Bundle) -> JsonObject:
    return {
        "session": json.loads(encode_session(bundle.session)),
        "messages": [
            {
                "message": json.loads(encode_message(item.message)),
                "parts": [json.loads(encode_part(part)) for part in item.parts],
            }
            for item in bundle.messages
        ],
        "todos": [
            {"content": todo.content, "status": todo.status, "priority": todo.priority}
            for todo in bundle.todos
        ],
        "children": [_body(child) for child in bundle.children],
    }


def from_json(data: Mapping[str, Json]) -> Bundle:
    """Return the bundle in *data*. Raises ``ValueError`` or ``KeyError`` if it is none."""
    session = decode_session(json.dumps(data["session"]))
    return Bundle(
        session=session,
        messages=tuple(_message(item) for item in _objects(data["messages"])),
        todos=tuple(_todo(item) for item in _objects(data.get("todos", []))),
        children=tuple(from_json(child) for child in _objects(data.get("children", []))),
    )


def _message(item: JsonObject) -> MessageWithParts:
    message = decode_message(json.dumps(item["message"]))
    parts = tuple(decode_part(json.dumps(part)) for part in _objects(item["parts"]))
    return MessageWithParts(message, parts)


def _todo(item: JsonObject) -> TodoItem:
    status, priority = item["status"], item["priority"]
    match status:
        case "pending" | "in_progress" | "completed" | "cancelled":
            pass
        case _:
            raise ValueError("a to-do has an unknown status")
    match priority:
        case "high" | "medium" | "low":
            pass
        case _:
            raise ValueError("a to-do has an unknown priority")
    return TodoItem(str(item["content"]), status, priority)


def _objects(value: Json) -> Sequence[JsonObject]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ValueError("a list of objects is missing")
    return [item for item in value if isinstance(item, dict)]


def without_secrets(bundle: Bundle, secrets: Sequence[str] = ()) -> Bundle:
    """Return *bundle* with *secrets* and what looks like a key replaced in every text."""
    return from_json(_map_texts(_body(bundle), lambda text: redacted(text, secrets)))


def with_ids(bundle: Bundle, ids: Mapping[str, str]) -> Bundle:
    """Return *bundle* with the ids in *ids* replaced, wherever they occur."""
    return from_json(_map_texts(_body(bundle), lambda text: ids.get(text, text)))


def _map_texts(data: JsonObject, change: Callable[[str], str]) -> JsonObject:
    return {key: _map_value(value, change) for key, value in data.items()}


def _map_value(value: Json, change: Callable[[str], str]) -> Json:
    match value:
        case str():
            return change(value)
        case list():
            return [_map_value(item, change) for item in value]
        case dict():
            return _map_texts(value, change)
        case _:
            return value


# The elements of a turn that exported documents show, in order, and texts that all forms share.


@frozen
class UserEntry:
    """A message of the user's."""

    message: MessageWithParts
    first: bool
    """True if it began the turn; others were sent while the turn was running."""


@frozen
class FailedStep:
    """A step that failed or was interrupted."""

    error: str
    """The reason, "" for an interruption."""


Entry = UserEntry | TextPart | ReasoningPart | ToolPart | ReportPart | CompactionPart | FailedStep


def turn_entries(turn: TimelineTurn) -> Iterator[Entry]:
    """Yield the entries of *turn*; texts among them are never blank."""
    for item in turn.messages:
        message = item.message
        if message.role == "user":
            if message.synthetic:
                yield from (part for part in item.parts if isinstance(part, SyntheticPart))
            else:
                yield UserEntry(item, first=bool(turn.prompts) and item is turn.prompts[0])
            continue
        for part in item.parts:
            match part:
                case TextPart(synthetic=False) | ReasoningPart() if part.text.strip():
                    yield part
                case ToolPart():
                    yield part
                case _:
                    pass
        if message.interrupted:
            yield FailedStep("")
        elif message.error is not None:
            yield FailedStep(message.error.message)


MAX_SPILL = 4 * 1024 * 1024
"""Bytes of an output that are read from its file."""


def full_output(part: ToolPart) -> str:
    """Return the output of a call, from its file where the model read it truncated."""
    state = part.state
    if isinstance(state, Completed) and state.spill is not None:
        try:
            with Path(state.spill).open("rb") as file:
                text = file.read(MAX_SPILL).decode("utf-8", "replace")
                left = len(file.read(1)) > 0
        except OSError:
            return result_text(part)  # the file is deleted after some days
        return f"{text}\n… more than {MAX_SPILL // 1024**2} MB" if left else text
    return result_text(part)


def shell_text(block: ShellBlock, part: ToolPart) -> str:
    """Return *block* of a call as a terminal shows it, with the whole output if it is kept."""
    output = full_output(part) if block.earlier else block.output
    return f"$ {block.command}\n{output}".strip()


def diff_text(block: DiffBlock) -> Iterator[str]:
    """Yield *block* as lines of a unified diff without file headers, as ``patch`` reads it."""
    sign = {"context": " ", "add": "+", "remove": "-"}
    for hunk in block.hunks:
        old = next((line.old for line in hunk.lines if line.old is not None), 0)
        new = next((line.new for line in hunk.lines if line.new is not None), 0)
        removed = sum(line.kind != "add" for line in hunk.lines)
        added = sum(line.kind != "remove" for line in hunk.lines)
        yield f"@@ -{old},{removed} +{new},{added} @@"
        without_newline = set(_lines_without_newline(hunk))
        for number, line in enumerate(hunk.lines):
            yield sign[line.kind] + line.text.removesuffix(NO_NEWLINE)
            if number in without_newline or line.text.endswith(NO_NEWLINE):
                yield "\\ No newline at end of file"
    if block.omitted:
        yield f"… {block.omitted} more lines"


def _lines_without_newline(hunk: Hunk) -> Iterator[int]:
    """Yield the indexes of the lines that have no newline in their file."""
    for side, other in (("old", "add"), ("new", "remove")):
        lines = [number for number, line in enumerate(hunk.lines) if line.kind != other]
        if lines and hunk.missing_newline in {side, "both"}:
            yield lines[-1]


def date_time(when: float) -> str:
    """Return the local date and time."""
    return datetime.fromtimestamp(when, UTC).astimezone().strftime("%Y-%m-%d %H:%M")
