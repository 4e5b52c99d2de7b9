"""Clean text: without lone surrogates, so that it can be stored and sent, and without
invisible marks.

Lone surrogates come from JSON escapes of a model (``\\ud83d`` alone) and from file names that
are not UTF-8. One of them in a session would make every later request fail.
"""

import dataclasses
import re
from typing import Any, TypeVar, cast

from agent.records.json import Json, encodable
from agent.redact import without_known_secrets

ValueT = TypeVar("ValueT")


def encodable_json(value: Json) -> Json:
    """Return *value* with every string in it made encodable."""
    match value:
        case str():
            return encodable(value)
        case list():
            return [encodable_json(item) for item in value]
        case dict():
            return {encodable(key): encodable_json(item) for key, item in value.items()}
        case _:
            return value


def encodable_record(value: ValueT) -> ValueT:
    """Return a frozen record (a block, a label) or a tuple of them with every string encodable and
    without secrets of the settings."""
    return cast("ValueT", _clean_value(value))


def _clean_value(value: Any) -> Any:
    if isinstance(value, str):
        return without_known_secrets(encodable(value))
    if isinstance(value, tuple):
        items = cast("tuple[Any, ...]", value)
        changed = tuple([_clean_value(item) for item in items])
        same = all(new is old for new, old in zip(changed, items, strict=True))
        return items if same else changed
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changes: dict[str, Any] = {}
        for field in dataclasses.fields(value):
            old = getattr(value, field.name)
            new = _clean_value(old)
            if new is not old:
                changes[field.name] = new
        return dataclasses.replace(value, **changes) if changes else value
    return value


_INVISIBLE = re.compile(
    "[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
)
"""Marks that no reader sees but a model reads; hidden instructions are written with them."""


def without_invisible(text: str) -> str:
    """Return *text* without invisible marks. Joiners stay: scripts and emoji need them."""
    return _INVISIBLE.sub("", text)
