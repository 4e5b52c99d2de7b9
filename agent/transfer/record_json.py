"""Whole records as JSON, for clients that are this program."""

import functools
from typing import TYPE_CHECKING, Any, TypeVar, cast

from agent.records.json import Json

if TYPE_CHECKING:
    from pydantic import TypeAdapter

RecordT = TypeVar("RecordT")


@functools.cache
def _adapter(kind: Any) -> "TypeAdapter[Any]":
    from pydantic import TypeAdapter  # kept off the start-up path

    return TypeAdapter(kind)


def record_json(kind: type[RecordT], record: RecordT) -> Json:
    """Return *record*, of the type *kind*, as JSON."""
    return cast("Json", _adapter(kind).dump_python(record, mode="json"))


def record_of(kind: type[RecordT], raw: Json) -> RecordT:
    """Return the record in *raw*. Raises ``ValueError`` if it is none of *kind*."""
    return cast("RecordT", _adapter(kind).validate_python(raw))
