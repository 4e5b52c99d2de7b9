"""``{env:NAME}`` and ``{file:path}`` in the values of the user's own settings (K4).

Values are filled in after the file was read, so that what stands in a variable or a file can
never be taken for settings. A project's files are not filled in at all: they could read
secrets into a request.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agent.config.finding import read_text
from agent.config.jsonc import KeyPath
from agent.config.paths import expand
from agent.jsontypes import Json, JsonObject

_SLOT = re.compile(r"\{(env|file):([^{}]+)\}")


@dataclass(slots=True)
class Filled:
    """*value* with its slots filled. *notes* are remarks by the path of the value."""

    value: JsonObject = field(default_factory=dict[str, Json])
    notes: list[tuple[KeyPath, str]] = field(default_factory=list[tuple[KeyPath, str]])


class _Missing(Exception):
    """A file that a slot names can't be read."""


def fill(raw: JsonObject, folder: Path, env: Mapping[str, str]) -> Filled:
    """Fill every slot in *raw*; relative files start at *folder*.

    A variable that is not set gives empty text and a note; a value whose file can't be read
    is left out with a note.
    """
    filled = Filled()

    def text(value: str, path: KeyPath) -> str:
        def replacement(match: re.Match[str]) -> str:
            kind, name = match[1], match[2].strip()
            if kind == "file":
                return _content(name, folder, env)
            if name not in env:
                filled.notes.append((path, f"the variable {name} is not set"))
            return env.get(name, "")

        return _SLOT.sub(replacement, value)

    def walk(value: Json, path: KeyPath) -> Json:
        if isinstance(value, str):
            return text(value, path)
        if isinstance(value, list):
            return [walk(item, (*path, index)) for index, item in enumerate(value)]
        if isinstance(value, dict):
            return walk_object(value, path)
        return value

    def walk_object(value: JsonObject, path: KeyPath) -> JsonObject:
        result: JsonObject = {}
        for key, item in value.items():
            try:
                result[key] = walk(item, (*path, key))
            except _Missing as error:
                filled.notes.append(((*path, key), str(error)))
        return result

    filled.value = walk_object(raw, ())
    return filled


def _content(name: str, folder: Path, env: Mapping[str, str]) -> str:
    path = expand(name, env)
    try:
        return read_text(folder / path).strip()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise _Missing(f"the file {name} cannot be read ({reason}), so it is left out") from error
    except ValueError as error:
        raise _Missing(f"the file {name} cannot be used: {error}") from error
