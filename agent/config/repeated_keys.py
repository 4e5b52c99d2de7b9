"""Keys that a config file sets twice. The last value counts, as in JSON; of permission rules the
stricter one does, wherever it is."""

from collections import Counter
from collections.abc import Iterator
from typing import cast

from agent.config import jsonc
from agent.config.jsonc import KeyPath
from agent.config.validation import dotted_key
from agent.records.json import Json, JsonObject

_ORDER: dict[object, int] = {True: 0, "allow": 0, "ask": 1, False: 2, "deny": 2}
"""Rank of the values of rules: the stricter, the higher. Any other value asks."""


class _Repeated(dict[str, Json]):
    """The values of one key, in the order of the file."""

    def __init__(self, values: list[Json]) -> None:
        super().__init__()
        self.values_given = values


def parse_strictly(text: str) -> JsonObject:
    """Parse a config file. Raises ``JsoncError``."""
    return _resolved_object(jsonc.parse(text, _collect), ())


def notices(text: str, name: str) -> Iterator[str]:
    """Yield a sentence for each key that the file *name* sets again."""
    first: dict[KeyPath, int] = {}
    for path, line in jsonc.keys(text):
        if path not in first:
            first[path] = line
            continue
        counts = "stricter" if _is_rule(path) else "last"
        yield (
            f"{name}:{line}: {dotted_key(path)} is set again (first on line {first[path]}); "
            f"the {counts} value is used."
        )


def _collect(pairs: jsonc.Pairs) -> JsonObject:
    counts = Counter(key for key, _ in pairs)
    found: JsonObject = {}
    for key, value in pairs:
        # A key that is set again moves to the end: the order of rules matters.
        before = found.pop(key, None)
        if isinstance(before, _Repeated):
            before.values_given.append(value)
            found[key] = before
        else:
            found[key] = _Repeated([value]) if counts[key] > 1 else value
    return found


def _is_rule(path: KeyPath) -> bool:
    """Return whether *path* leads to permission rules or into them."""
    inner = path[2:] if path[:1] in (("agent",), ("mode",)) else path
    return inner[:1] in (("permission",), ("tools",))


def _resolved_object(values: JsonObject, path: KeyPath) -> JsonObject:
    return {key: _resolved(value, (*path, key)) for key, value in values.items()}


def _resolved(value: Json, path: KeyPath) -> Json:
    if isinstance(value, _Repeated):
        given = [_resolved(each, path) for each in value.values_given]
        if _is_rule(path):
            return _stricter(given)
        objects = [each for each in given if isinstance(each, dict)]
        if path[0] in ("agent", "mode") and len(path) <= 2 and len(objects) == len(given):
            return _joined(objects, path)
        return given[-1]
    if isinstance(value, dict):
        return _resolved_object(value, path)
    return [_resolved(each, path) for each in value] if isinstance(value, list) else value


def _joined(objects: list[JsonObject], path: KeyPath) -> JsonObject:
    """Return agents that are set again with the later values, and the stricter rules of both."""
    keys = dict.fromkeys(key for each in objects for key in each)
    return {
        key: _resolved(_Repeated([each[key] for each in objects if key in each]), (*path, key))
        for key in keys
    }


def _stricter(given: list[Json]) -> Json:
    objects = [each for each in given if isinstance(each, dict)]
    if not objects:
        return max(given, key=_rank)
    tables = [each if isinstance(each, dict) else cast("JsonObject", {"*": each}) for each in given]
    keys = dict.fromkeys(key for table in tables for key in table)
    found = {key: _stricter([table[key] for table in tables if key in table]) for key in keys}
    # The last rule that matches decides, so that the wide and the mild ones come first.
    ordered = sorted(found.items(), key=lambda item: ("*" not in item[0], _rank(item[1])))
    if any(not isinstance(value, dict) for value in found.values()):
        ordered.sort(key=lambda item: _rank(item[1]))
    return dict(ordered)


def _rank(value: Json) -> int:
    return 0 if isinstance(value, dict | list) else _ORDER.get(value, 1)
