"""Records to JSON and back, by pydantic over the frozen dataclasses of ``agent.model``.

The schemas are built when the first record is read or written, not on import: that is
some 60 ms which the first frame need not wait for. Lone surrogates (half of a character
that a model or a file name may carry) become U+FFFD, as they can't be written as UTF-8.
"""

import dataclasses
import functools
import json
import logging
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Generic, TypeVar

from agent.records.messages import Message, Part, Session
from agent.store.tagged import tag_unions

log = logging.getLogger(__name__)

T = TypeVar("T")


def clean(text: str) -> str:
    """*text* as it can be stored: surrogate pairs joined, lone surrogates replaced."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


class _Codec(Generic[T]):
    """Reads and writes one kind of record. *hint* is its type as pydantic reads it."""

    def __init__(self, hint: Any) -> None:
        from pydantic import TypeAdapter  # kept off the start-up path
        from pydantic_core import SchemaValidator  # as above

        adapter: TypeAdapter[T] = TypeAdapter(hint)
        self._dump = adapter.dump_json
        self._validator = SchemaValidator(tag_unions(adapter.core_schema))

    def encode(self, record: T) -> str:
        try:
            return self._dump(record).decode()
        except ValueError:
            # Lone surrogates, or tool input nested deeper than the fast serialiser goes.
            fields = dataclasses.asdict(record)  # pyright: ignore[reportArgumentType] - T is a dataclass
            return clean(json.dumps(fields, ensure_ascii=False))

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
    from pydantic import Field  # kept off the start-up path

    return _Codec(Annotated[Message, Field(discriminator="role")])


@functools.cache
def _parts() -> _Codec[Part]:
    from pydantic import Field  # kept off the start-up path

    return _Codec(Annotated[Part, Field(discriminator="type")])


def encode_session(session: Session) -> str:
    return _sessions().encode(session)


def encode_message(message: Message) -> str:
    return _messages().encode(message)


def encode_part(part: Part) -> str:
    return _parts().encode(part)


def decode_session(data: str) -> Session:
    """The session in *data*. Raises ``ValueError`` for what is none."""
    return _sessions().decode(data)


def decode_message(data: str) -> Message:
    """The message in *data*. Raises ``ValueError`` for what is none."""
    return _messages().decode(data)


def decode_part(data: str) -> Part:
    """The part in *data*. Raises ``ValueError`` for what is none."""
    return _parts().decode(data)


def decode_all(decode: Callable[[str], T], rows: Iterable[str]) -> list[T]:
    """Every row that can be read. One that can't (written by a later version, or by hand)
    is left out and logged, so that it does not make its whole session unreadable."""
    records: list[T] = []
    for data in rows:
        try:
            records.append(decode(data))
        except (ValueError, RecursionError):
            log.warning("a stored record cannot be read and is left out: %.200s", data)
    return records
