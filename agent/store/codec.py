"""Records to JSON and back.

Records that other versions wrote, or a hand, can have other values than the fields of today: these
are left to pydantic. Lone surrogates (half of a character, which a model or a file name can
contain) become U+FFFD, as they cannot be written as UTF-8.
"""

import dataclasses
import functools
import json
import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeGuard, TypeVar

from agent.records.blocks import Hunk, ShellBlock
from agent.records.decisions import Decision
from agent.records.json import encodable
from agent.records.json_reader import ExactReader, InexactValue
from agent.records.messages import (
    FilePart,
    Message,
    Part,
    RetryPart,
    Running,
    Session,
    SideUsage,
    StepFinishPart,
    ToolPart,
)

if TYPE_CHECKING:
    from pydantic_core import SchemaValidator

log = logging.getLogger(__name__)

T = TypeVar("T")

STORED_KEYS: dict[type, dict[str, str]] = {
    Session: {
        "background_task": "errand",
        "subagent_usage": "below",
        "subagent_cost": "below_cost",
        "side_usage": "beside",
    },
    ToolPart: {"decisions": "consents"},
    Decision: {"question": "asked"},
}
"""JSON keys of the fields that were renamed since they were first stored.

Databases and export files keep the old keys, so every version of the program reads them, also
one that still runs while a newer one is started.
"""


RARE_FIELDS: dict[type, frozenset[str]] = {
    Hunk: frozenset({"missing_newline"}),
    Decision: frozenset({"refused", "verdict"}),
    FilePart: frozenset({"omitted"}),
    RetryPart: frozenset({"change"}),
    Running: frozenset({"judging"}),
    ShellBlock: frozenset({"description"}),
    SideUsage: frozenset({"purpose"}),
    StepFinishPart: frozenset({"cache_miss"}),
}
"""Fields that are not stored while they are empty."""


WORTH_PYDANTIC = 10_000
"""Records of a kind after which pydantic reads them: it needs 0.1 s to load, then a third of the
time."""


class _Codec(Generic[T]):
    """The codec of one kind of record. *hint* is its type as pydantic reads it."""

    def __init__(self, hint: Any) -> None:
        self._hint = hint
        self._left = WORTH_PYDANTIC

    def decode(self, data: str) -> T:
        if not self._left:
            return self._converted(data)
        self._left -= 1
        try:
            return self._exact(json.loads(data))
        except InexactValue:
            return self._converted(data)

    def _converted(self, data: str) -> T:
        try:
            return self._validator.validate_json(data)
        except ValueError:
            return self._validator.validate_python(json.loads(data))

    @functools.cached_property
    def _exact(self) -> Callable[[Any], T]:
        return _EXACT.of(self._hint)

    @functools.cached_property
    def _validator(self) -> "SchemaValidator":
        from pydantic import TypeAdapter  # only for what other versions or hands have written
        from pydantic_core import SchemaValidator  # as above

        return SchemaValidator(stored_schema(TypeAdapter[T](self._hint).core_schema))


def _key_of(kind: type, name: str) -> str:
    return STORED_KEYS.get(kind, {}).get(name, name)


_EXACT = ExactReader(_key_of, ignores_unknown=True)


def _encode(record: Any) -> str:
    try:
        text = _ENCODER.encode(record)
    except ValueError:  # a number that JSON does not have: null, as pydantic writes it
        numbers = json.dumps(record, default=_object)
        text = _ENCODER.encode(json.loads(numbers, parse_constant=lambda _: None))
    return encodable(text)


@functools.cache
def _layout(kind: type[Any]) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    """Return the names and keys of the fields of a class, and the keys of its rare fields."""
    names = [each.name for each in dataclasses.fields(kind)]
    rare = RARE_FIELDS.get(kind, ())
    keys = tuple(_key_of(kind, name) for name in names if name in rare)
    return tuple((name, _key_of(kind, name)) for name in names), keys


def _object(record: object) -> dict[str, Any]:
    """Return *record* as an object under its stored keys."""
    fields, rare = _layout(record.__class__)
    made = {key: getattr(record, name) for name, key in fields}
    for key in rare:
        if not made[key]:
            del made[key]
    return made


_ENCODER = json.JSONEncoder(
    ensure_ascii=False,
    allow_nan=False,
    check_circular=False,
    separators=(",", ":"),
    default=_object,
)


_SESSIONS = _Codec[Session](Session)
_MESSAGES = _Codec[Message](Message)
_PARTS = _Codec[Part](Part)


def encode_session(session: Session) -> str:
    return _encode(session)


def encode_message(message: Message) -> str:
    return _encode(message)


def encode_part(part: Part) -> str:
    return _encode(part)


def decode_session(data: str) -> Session:
    """Decode a session. Raises ``ValueError`` for other data."""
    return _SESSIONS.decode(data)


def decode_message(data: str) -> Message:
    """Decode a message. Raises ``ValueError`` for other data."""
    return _MESSAGES.decode(data)


def decode_part(data: str) -> Part:
    """Decode a part. Raises ``ValueError`` for other data."""
    return _PARTS.decode(data)


def decode_all(decode: Callable[[str], T], rows: Iterable[str]) -> list[T]:
    """Decode every row that can be read. An unreadable one (written by a later version, or by hand)
    is skipped and logged, so that the rest of its session stays readable."""
    records: list[T] = []
    for data in rows:
        try:
            records.append(decode(data))
        except (ValueError, RecursionError):
            log.warning("a stored record cannot be read and is left out: %.200s", data)
    return records


Schema: TypeAlias = Any
"""A pydantic core schema: nested dictionaries and lists. Unknown content is kept as it is."""


def stored_schema(schema: Schema) -> Schema:
    """Return a copy of *schema* with the keys of ``STORED_KEYS``."""
    if _is_list(schema):
        return [stored_schema(value) for value in schema]
    if not _is_node(schema):
        return schema
    copy = {
        key: value if key == "metadata" else stored_schema(value) for key, value in schema.items()
    }
    if copy.get("type") == "dataclass":
        for field in copy["schema"]["fields"]:
            key = STORED_KEYS.get(copy["cls"], {}).get(field["name"])
            if key is not None:
                field["validation_alias"] = key
    return copy


def _is_node(schema: Schema) -> TypeGuard[dict[str, Any]]:
    return isinstance(schema, dict)


def _is_list(schema: Schema) -> TypeGuard[list[Any]]:
    return isinstance(schema, list)
