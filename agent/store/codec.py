"""Records to JSON and back, by pydantic over the frozen dataclasses of ``agent.records``.

The schemas are built when the first record is read or written, not on import: they take some 60 ms,
which the first frame need not wait for. Lone surrogates (half of a character, which a model or a
file name can contain) become U+FFFD, as they cannot be written as UTF-8.
"""

import dataclasses
import functools
import json
import logging
import operator
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeGuard, TypeVar

from agent.records.blocks import ShellBlock
from agent.records.decisions import Decision
from agent.records.json import encodable
from agent.records.messages import (
    FilePart,
    Message,
    Part,
    RetryPart,
    Session,
    StepFinishPart,
    ToolPart,
)

if TYPE_CHECKING:
    from pydantic_core import SchemaSerializer, SchemaValidator

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
    Decision: frozenset({"refused"}),
    FilePart: frozenset({"omitted"}),
    RetryPart: frozenset({"change"}),
    ShellBlock: frozenset({"description"}),
    StepFinishPart: frozenset({"cache_miss"}),
}
"""Fields that are not stored while they are empty."""


class _Codec(Generic[T]):
    """The codec of one kind of record. *hint* is its type as pydantic reads it."""

    def __init__(self, hint: Any) -> None:
        from pydantic import TypeAdapter  # kept off the start-up path

        self._schema = stored_schema(TypeAdapter[T](hint).core_schema)

    @functools.cached_property
    def _serializer(self) -> "SchemaSerializer":
        from pydantic_core import SchemaSerializer  # kept off the start-up path

        return SchemaSerializer(self._schema)

    @functools.cached_property
    def _validator(self) -> "SchemaValidator":
        from pydantic_core import SchemaValidator  # kept off the start-up path

        return SchemaValidator(self._schema)

    def encode(self, record: T) -> str:
        try:
            return self._serializer.to_json(record, by_alias=True).decode()
        except ValueError:
            # Lone surrogates, or tool input nested deeper than the fast serializer goes.
            return encodable(json.dumps(_stored_value(record), ensure_ascii=False))

    def decode(self, data: str) -> T:
        try:
            return self._validator.validate_json(data)
        except ValueError:
            return self._validator.validate_python(json.loads(data))


@functools.cache
def _sessions() -> _Codec[Session]:
    return _Codec(Session)


@functools.cache
def _messages() -> _Codec[Message]:
    return _Codec(Message)


@functools.cache
def _parts() -> _Codec[Part]:
    return _Codec(Part)


def encode_session(session: Session) -> str:
    return _sessions().encode(session)


def encode_message(message: Message) -> str:
    return _messages().encode(message)


def encode_part(part: Part) -> str:
    return _parts().encode(part)


def decode_session(data: str) -> Session:
    """Decode a session. Raises ``ValueError`` for other data."""
    return _sessions().decode(data)


def decode_message(data: str) -> Message:
    """Decode a message. Raises ``ValueError`` for other data."""
    return _messages().decode(data)


def decode_part(data: str) -> Part:
    """Decode a part. Raises ``ValueError`` for other data."""
    return _parts().decode(data)


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


def _stored_value(value: Any) -> Any:
    """*value* as plain JSON data, records as objects under their stored keys."""
    if dataclasses.is_dataclass(value):
        keys = STORED_KEYS.get(type(value), {})
        return {
            keys.get(field.name, field.name): _stored_value(getattr(value, field.name))
            for field in dataclasses.fields(value)
        }
    if _is_node(value):
        return {key: _stored_value(item) for key, item in value.items()}
    if _is_list(value) or _is_tuple(value):
        return [_stored_value(item) for item in value]
    return value


Schema: TypeAlias = Any
"""A pydantic core schema: nested dictionaries and lists. Unknown content is kept as it is."""


def stored_schema(schema: Schema) -> Schema:
    """Return a copy of *schema* with the keys of ``STORED_KEYS`` and without empty
    ``RARE_FIELDS``."""
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
                field.update(validation_alias=key, serialization_alias=key)
            if field["name"] in RARE_FIELDS.get(copy["cls"], ()):
                field["serialization_exclude_if"] = operator.not_
    return copy


def _is_node(schema: Schema) -> TypeGuard[dict[str, Any]]:
    return isinstance(schema, dict)


def _is_list(schema: Schema) -> TypeGuard[list[Any]]:
    return isinstance(schema, list)


def _is_tuple(value: Any) -> TypeGuard[tuple[Any, ...]]:
    return isinstance(value, tuple)
