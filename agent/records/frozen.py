"""Frozen, slotted dataclasses whose methods are generated when they are first used.

``@frozen`` stands for ``@dataclass(frozen=True, slots=True)``, which compiles six methods for each
class, in about 0.4 ms. The program has 500 such classes, and a short run uses few of their methods.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import FrozenInstanceError, dataclass, field, fields, make_dataclass
from functools import partial
from typing import Any, TypeVar, dataclass_transform, overload

T = TypeVar("T")

_GENERATED = ("__init__", "__repr__", "__eq__", "__hash__")


@overload
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T], /) -> type[T]: ...
@overload
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(*, kw_only: bool = False) -> Callable[[type[T]], type[T]]: ...
def frozen(cls: type[Any] | None = None, /, *, kw_only: bool = False) -> Any:
    """Return *cls* as a frozen dataclass with slots; with *kw_only* all its fields are keywords."""
    if cls is None:
        return partial(_slotted, kw_only=kw_only)
    return _slotted(cls, kw_only=kw_only)


def _slotted(cls: type[Any], *, kw_only: bool) -> type[Any]:
    cls.__doc__ = cls.__doc__ or cls.__name__  # or the decorator inspects a signature
    own: dict[str, Any] = dict(cls.__dict__)
    heir = any(hasattr(base, _FIELDS) for base in cls.__bases__)  # of a frozen class, and so frozen
    plain = dataclass(init=False, repr=False, eq=False, kw_only=kw_only, frozen=heir)(cls)
    for name in ("init", "repr", "eq", "frozen"):
        setattr(plain.__dict__["__dataclass_params__"], name, True)
    inherited = {f.name for base in cls.__bases__ for f in getattr(base, _FIELDS, {}).values()}
    slots = tuple(f.name for f in fields(plain) if f.name not in inherited)
    for name in (*slots, "__dict__", "__weakref__"):
        own.pop(name, None)
    for name in (_FIELDS, "__dataclass_params__", "__match_args__"):
        own[name] = plain.__dict__[name]
    for name in _GENERATED:
        # A class with its own __eq__ has a __hash__ of None, unless it defines that too.
        if name not in own or (name == "__hash__" and "__eq__" not in cls.__dict__):
            own[name] = _Generated()
    own |= {"__slots__": slots, "__setattr__": _refuse, "__delattr__": _refuse}
    own |= {"__getstate__": _state, "__setstate__": _restore}
    metaclass: Any = type(cls)
    made: type[Any] = metaclass(cls.__name__, cls.__bases__, own)
    made.__qualname__ = cls.__qualname__
    return made


_FIELDS = "__dataclass_fields__"


class _Generated:
    """A method that replaces itself with the one of the standard decorator when it is read."""

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._owner, self._name = owner, name

    def __get__(self, instance: object | None, owner: type[Any]) -> Any:
        listed = [(f.name, f.type, copy(f)) for f in fields(self._owner)]
        space: dict[str, Any] = {"__doc__": self._owner.__doc__}  # as in ``_slotted``
        if hasattr(self._owner, "__post_init__"):
            space["__post_init__"] = None  # for the generated call; the method is the owner's
        made = make_dataclass(
            self._owner.__name__,
            listed,
            namespace=space,
            init=self._name == "__init__",
            repr=self._name == "__repr__",
            eq=self._name in {"__eq__", "__hash__"},
            frozen=True,
        )
        setattr(self._owner, self._name, made.__dict__[self._name])
        return getattr(owner if instance is None else instance, self._name)


def _refuse(self: object, name: str, value: object = None) -> None:
    del self, value
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, f.name) for f in fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for each, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)
