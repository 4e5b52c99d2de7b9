"""JSON values with one value replaced: what other versions and hands write."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

OTHERS: tuple[Any, ...] = (None, True, 0, 1, 2.5, "5", "true", "\ud800", [], ["x"], {}, {"x": 1})


def changed(values: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield *values* with each value that it contains replaced by each of ``OTHERS``, and each
    object with another key."""
    for path in paths(values):
        for other in OTHERS:
            copy = deepcopy(values)
            parent: Any = copy
            for step in path[:-1]:
                parent = parent[step]
            parent[path[-1]] = other
            yield copy
            if isinstance(parent, dict):
                parent["unknown"] = parent.pop(path[-1])
                yield copy


def paths(value: Any, start: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    entries: Any = value.items() if isinstance(value, dict) else ()
    for key, each in enumerate(value) if isinstance(value, list) else entries:
        yield (*start, key)
        yield from paths(each, (*start, key))
