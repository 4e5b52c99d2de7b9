"""Deep merge of layers, later wins, with the source of every value (spec 10, K1 and K6)."""

from agent.config.jsonc import KeyPath
from agent.records.json import Json, JsonObject

JOINED = ("instructions",)
"""The list that is joined, not replaced, as those of hooks are by event. (Permission rules are
joined as rules.)"""


def merge_values(
    base: JsonObject, later: JsonObject, source: str, sources: dict[KeyPath, str], at: KeyPath = ()
) -> None:
    """Lay *later* over *base*, in place, and note *source* for each value it sets.

    A key that is set again moves to the end, since patterns count in order.
    """
    for key, value in later.items():
        path = (*at, key)
        before = base.pop(key, None)
        if isinstance(value, dict):
            branch = before if isinstance(before, dict) else {}
            base[key] = branch
            merge_values(branch, value, source, sources, path)
            continue
        joined = path == JOINED or (len(path) == 2 and path[0] == "hooks")
        base[key] = _joined(before, value) if joined else value
        sources[path] = source


def _joined(before: Json, value: Json) -> Json:
    """Both lists, each entry once, in the first place it stood."""
    if not isinstance(before, list) or not isinstance(value, list):
        return value
    return [*before, *(item for item in value if item not in before)]
