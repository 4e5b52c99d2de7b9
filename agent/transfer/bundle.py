"""A session with everything that belongs to it, and its form as JSON."""

import json
from collections.abc import Callable, Mapping, Sequence

from agent.records.blocks import TodoItem
from agent.records.frozen import frozen
from agent.records.json import Json, JsonObject
from agent.records.messages import MessageWithParts, Session, messages_before
from agent.redact import redacted
from agent.store.codec import (
    decode_message,
    decode_part,
    decode_session,
    encode_message,
    encode_part,
    encode_session,
)
from agent.store.store import Store

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
