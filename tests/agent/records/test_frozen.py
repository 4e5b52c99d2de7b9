"""Frozen records behave like frozen, slotted dataclasses, whenever their methods are generated."""

import copy
import pickle
from dataclasses import FrozenInstanceError, field, fields, is_dataclass, replace
from typing import Any

import pytest

from agent.records.frozen import frozen


@frozen
class Base:
    name: str
    count: int = 1
    tags: list[str] = field(default_factory=list[str], compare=False)


@frozen
class Child(Base):
    more: float = 0.5
    """Documented."""

    def __post_init__(self) -> None:
        if self.more < 0:
            raise ValueError("negative")


@frozen(kw_only=True)
class Keywords:
    first: int = 1
    second: int

    def __repr__(self) -> str:
        return "own"


@frozen
class Derived:
    name: str
    length: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", len(self.name))


@frozen
class ByIdentity:
    value: int

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return 7


def test_methods_are_those_of_a_dataclass() -> None:
    one, same, other = Base("a"), Base("a", tags=["x"]), Base("b", 2)
    assert repr(one) == "Base(name='a', count=1, tags=[])"
    assert (one == same, one == other, hash(one) == hash(same)) == (True, False, True)
    assert one != Child("a")
    assert one.tags is not Base("a").tags
    with pytest.raises(TypeError, match="name"):
        Base()  # pyright: ignore[reportCallIssue] - that is the test


def test_inheritance_and_post_init() -> None:
    assert repr(Child("a", more=2)) == "Child(name='a', count=1, tags=[], more=2)"
    assert not hasattr(Child("a"), "__dict__")
    assert [f.name for f in fields(Child)] == ["name", "count", "tags", "more"]
    with pytest.raises(ValueError, match="negative"):
        Child("a", more=-1)


@frozen
class Mixed(Base):
    count: int = 2
    unit: str = field(default="s", kw_only=True)


def test_an_overridden_field_keeps_its_place() -> None:
    assert Mixed("a", unit="m") == Mixed("a", 2, unit="m")
    assert Mixed("a", tags=["x"]).tags == ["x"]
    with pytest.raises(TypeError):
        Mixed("a", 2, [], "m")  # pyright: ignore[reportCallIssue] - that is the test


def test_fields_that_post_init_sets() -> None:
    assert repr(Derived("abc")) == "Derived(name='abc', length=3)"
    assert replace(Derived("abc"), name="d").length == 1
    with pytest.raises(TypeError):
        Derived("abc", 4)  # pyright: ignore[reportCallIssue] - that is the test


def test_keywords_and_own_methods_are_kept() -> None:
    assert repr(Keywords(second=2)) == "own"
    with pytest.raises(TypeError):
        Keywords(1, 2)  # pyright: ignore[reportCallIssue] - that is the test
    assert ByIdentity(1) != ByIdentity(1)
    assert hash(ByIdentity(1)) == 7


@pytest.mark.parametrize(
    "change", [lambda o: setattr(o, "name", "b"), lambda o: delattr(o, "name")]
)
def test_nothing_can_be_changed(change: Any) -> None:
    with pytest.raises(FrozenInstanceError):
        change(Base("a"))


def test_the_tools_for_dataclasses_work() -> None:
    assert is_dataclass(Base)
    assert replace(Base("a"), count=3) == Base("a", 3)
    assert copy.deepcopy(Child("a", 2)) == Child("a", 2)
    assert pickle.loads(pickle.dumps(Base("a"))) == Base("a")
    match Base("a", 4):
        case Base(name, count):
            assert (name, count) == ("a", 4)
