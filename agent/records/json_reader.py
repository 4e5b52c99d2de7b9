"""Records made of JSON values that have exactly the types of their fields.

Nearly all values do, in settings and in the database. pydantic, which converts or reports the
others, takes 0.1 s to load and to prepare.
"""

from collections.abc import Callable, Iterable
from dataclasses import is_dataclass
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

T = TypeVar("T")

Read: TypeAlias = Callable[[Any], Any]


class InexactValue(Exception):
    """A value needs to be converted, or is wrong."""


class ExactReader:
    """Reads records of any type. Each type is taken apart once, when it is first read.

    *key_of* gives the key of a field of a class. With *ignores_unknown* other keys are left out,
    else they are inexact.
    """

    def __init__(self, key_of: Callable[[type, str], str], *, ignores_unknown: bool) -> None:
        self._key_of = key_of
        self._ignores_unknown = ignores_unknown
        self._reads: dict[Any, Read] = {Any: _same, float: _float}
        for plain in _PLAIN:
            self._reads.setdefault(plain, _plain(plain))

    def of(self, kind: type[T]) -> Callable[[Any], T]:
        """Return the function that reads a value as a *kind*, which can be any type hint. It raises
        ``InexactValue``."""
        return self._read(kind)

    def _read(self, kind: Any) -> Read:
        found = self._reads.get(kind)
        if found is None:
            found = self._reads[kind] = self._made(kind)
        return found

    def _made(self, kind: Any) -> Read:
        origin, parts = get_origin(kind), get_args(kind)
        if origin is Annotated:
            tags = [each.name for each in parts[1:] if isinstance(each, Tagged)]
            return self._tagged(get_args(parts[0]), tags[0]) if tags else self._read(parts[0])
        if origin is Literal:
            return _one_of(parts)
        if origin in {Union, UnionType}:
            return _first_of([self._read(each) for each in parts])
        if origin is tuple and parts[1:] == (...,):
            return _items(self._read(parts[0]))
        if origin is dict:
            return _entries(self._read(parts[0]), self._read(parts[1]))
        if isinstance(kind, type) and is_dataclass(kind):
            return self._record(kind)
        raise InexactValue(f"{kind} is left to pydantic")

    def _when_given(self, kind: Any) -> Read:
        """Return a function that takes *kind* apart for the first value, since most settings and
        many fields are never given."""
        made: list[Read] = []

        def read(value: Any) -> Any:
            if not made:
                made.append(self._read(kind))
            return made[0](value)

        return read

    def _tagged(self, kinds: Iterable[type], name: str) -> Read:
        by_tag: dict[str, type] = {}
        for kind in kinds:
            by_tag |= dict.fromkeys(get_args(get_type_hints(kind)[name]), kind)

        def read(value: Any) -> Any:
            if value.__class__ is not dict:
                raise InexactValue
            record: dict[str, Any] = value
            tag = record.get(name)
            if type(tag) is not str or tag not in by_tag:
                raise InexactValue
            return self._read(by_tag[tag])(record)

        return read

    def _record(self, kind: type) -> Read:
        hints = get_type_hints(kind, include_extras=True)
        fields: dict[str, tuple[str, frozenset[type], Read]] = {
            self._key_of(kind, name): (name, _as_they_are(hint), self._when_given(hint))
            for name, hint in hints.items()
            if get_origin(hint) is not ClassVar
        }
        forgiving = self._ignores_unknown

        def read(value: Any) -> Any:
            if value.__class__ is not dict:
                raise InexactValue
            found: dict[str, Any] = value
            given: dict[str, Any] = {}
            for key, item in found.items():
                if key in fields:
                    name, plain, inner = fields[key]
                    given[name] = item if type(item) in plain else inner(item)
                elif not forgiving:
                    raise InexactValue
            try:
                return kind(**given)
            except (TypeError, ValueError) as error:  # one is missing, or refused
                raise InexactValue from error

        return read


_PLAIN = frozenset({NoneType, bool, int, float, str})


def _as_they_are(hint: Any) -> frozenset[type]:
    """Return the types whose values need no look at a field of type *hint*."""
    choices = get_args(hint) if get_origin(hint) in {Union, UnionType} else (hint,)
    return _PLAIN.intersection(choices)


def _same(value: Any) -> Any:
    return value


def _plain(kind: type) -> Read:
    def read(value: Any) -> Any:
        if type(value) is not kind:
            raise InexactValue
        return value

    return read


def _float(value: Any) -> Any:
    if type(value) not in {float, int}:
        raise InexactValue
    return float(value)


def _one_of(choices: tuple[Any, ...]) -> Read:
    def read(value: Any) -> Any:
        for each in choices:
            if value == each and type(value) is type(each):
                return value
        raise InexactValue

    return read


def _first_of(reads: list[Read]) -> Read:
    def read(value: Any) -> Any:
        for each in reads:
            try:
                return each(value)
            except InexactValue:
                continue
        raise InexactValue

    return read


def _items(inner: Read) -> Read:
    def read(value: Any) -> Any:
        if value.__class__ is not list:
            raise InexactValue
        found: list[Any] = value
        return tuple([inner(each) for each in found])

    return read


def _entries(key: Read, inner: Read) -> Read:
    def read(value: Any) -> Any:
        if value.__class__ is not dict:
            raise InexactValue
        found: dict[Any, Any] = value
        return {key(name): inner(each) for name, each in found.items()}

    return read


# Unions of records that are told apart by a field.


class Tagged:
    """In ``Annotated[A | B, Tagged("kind")]``, the field whose value names the record.

    Pydantic then reads a record by its tag instead of trying one class after the other, which takes
    a tenth of the time. It is imported only when it asks.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic import Field  # kept off the start-up path

        return handler.generate_schema(Annotated[source, Field(discriminator=self.name)])
