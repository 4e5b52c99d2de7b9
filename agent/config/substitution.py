"""``{env:NAME}`` and ``{file:path}`` in the values of settings, and ``{env:NAME:-default}``.

Values are filled in after the file was parsed, so that the content of a variable or a file can
never be read as settings. In a project's files only what the user listed is filled in: they could
read secrets into a request.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agent.config.discovery import read_text
from agent.config.jsonc import KeyPath
from agent.config.paths import expand_home
from agent.process.child_environment import is_harmless
from agent.records.frozen import frozen
from agent.records.json import Json, JsonObject

_OPEN_KEYS = frozenset(
    {
        *("prompt", "prompts", "template", "instructions", "description", "name", "command", "cwd"),
        *("model", "small_model", "default_agent", "baseURL", "base_url", "url", "proxy", "ca"),
    }
)
"""Keys whose values are shown anyway, and no secrets."""

_SLOT = re.compile(r"\{(env|file):([^{}]+)\}")


@dataclass(slots=True)
class Substituted:
    """A value with its placeholders filled in."""

    value: JsonObject = field(default_factory=dict[str, Json])
    notes: list[tuple[KeyPath, str]] = field(default_factory=list[tuple[KeyPath, str]])
    """Remarks by the path of the value."""
    unlisted: list[tuple[KeyPath, str, str]] = field(default_factory=list[tuple[KeyPath, str, str]])
    """The values that were dropped, since the user does not let a project read the variable or
    file: with ``variable`` or ``file``, and its name."""
    variables: set[str] = field(default_factory=set[str])
    """The variables that placeholders name."""
    secrets: set[str] = field(default_factory=set[str])
    """The values of those variables and the contents of files, as far as they can be secret."""

    def note_variable(
        self, name: str, env: Mapping[str, str], path: KeyPath, *, whole: bool
    ) -> None:
        """Note a variable that the value at *path* names; *whole* if it is all of the value."""
        if not is_harmless(name):
            self.variables.add(name)
            self.note_secret(env.get(name, ""), path, whole=whole)

    def note_secret(self, text: str, path: KeyPath, *, whole: bool) -> None:
        """Note *text* as for ``note_variable``, unless the value is one that everybody may see."""
        if not (_OPEN_KEYS & {*path[-1:], *path[:1]} and whole):
            self.secrets.add(text)


class _Missing(Exception):
    """A placeholder cannot be filled in."""


class _Unlisted(Exception):
    """A placeholder must not be filled in."""

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(name)
        self.kind, self.name = kind, name


@frozen
class AllowedReads:
    """The variables and files that a project's files can read."""

    entries: tuple[str, ...]
    """The variables and files of ``project_reads``, as the user wrote them."""
    root: Path
    """The project; prompts can be read from text files in it."""

    def allows_variable(self, name: str, at: KeyPath) -> bool:
        """Return whether the value *at* a path can have the variable: programs get harmless ones
        such as HOME anyway."""
        of_program = len(at) > 2 and at[0] in _PROGRAMS and at[2] in _PROGRAM_KEYS
        return name in self.entries or (of_program and is_harmless(name))

    def allows_file(self, path: Path, at: KeyPath, env: Mapping[str, str]) -> bool:
        real = path.resolve()
        if any(real == expand_home(entry, env).resolve() for entry in self.entries):
            return True
        prompt = len(at) == 3 and (at[0], at[2]) in _PROMPTS
        return prompt and real.suffix in _TEXTS and real.is_relative_to(self.root.resolve())


_PROMPTS = {("agent", "prompt"), ("command", "template")}
_TEXTS = {".md", ".txt"}
_PROGRAMS = {"mcp", "mcpServers", "lsp", "formatter"}
_PROGRAM_KEYS = {"command", "args", "cwd", "environment", "env"}


def substitute(
    raw: JsonObject, folder: Path, env: Mapping[str, str], allowed: AllowedReads | None = None
) -> Substituted:
    """Fill every placeholder in *raw*; relative files start at *folder*.

    A variable that is not set gives empty text and a note; a value whose file cannot be read is
    dropped with a note. *allowed* limits what can be read (None for no limit); a value with another
    placeholder is dropped with a note too.
    """
    filled = Substituted()

    def text(value: str, path: KeyPath) -> str:
        def replacement(match: re.Match[str]) -> str:
            kind, name = match[1], match[2].strip()
            if kind == "file":
                if allowed is not None and not allowed.allows_file(
                    folder / expand_home(name, env), path, env
                ):
                    raise _Unlisted("file", name)
                content = _content(name, folder, env)
                filled.note_secret(content, path, whole=match[0] == value)
                return content
            text, note = _variable(name, env, allowed, path)
            filled.note_variable(name.partition(":-")[0], env, path, whole=match[0] == value)
            if note:
                filled.notes.append((path, note))
            return text

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
            except _Unlisted as error:
                filled.unlisted.append(((*path, key), error.kind, error.name))
        return result

    filled.value = walk_object(raw, ())
    return filled


_INSTEAD = (
    "a project's settings cannot read the variable {name}, so its default is used; list"
    " it under project_reads in your own to allow it"
)


def _variable(
    name: str, env: Mapping[str, str], listed: AllowedReads | None, at: KeyPath
) -> tuple[str, str]:
    """Return the value of the variable *name* for the value *at* a path, and a remark, "" for none.

    *name* can end in ``:-`` and a default. Raises ``_Unlisted`` for a variable that must not be
    read.
    """
    name, sign, otherwise = name.partition(":-")
    if listed is not None and not listed.allows_variable(name, at):
        if not sign:
            raise _Unlisted("variable", name)
        return otherwise, _INSTEAD.format(name=name)
    if sign and not env.get(name):
        return otherwise, ""
    return env.get(name, ""), "" if name in env else f"the variable {name} is not set"


def _content(name: str, folder: Path, env: Mapping[str, str]) -> str:
    path = expand_home(name, env)
    try:
        return read_text(folder / path).strip()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise _Missing(f"the file {name} cannot be read ({reason}), so it is ignored") from error
    except ValueError as error:
        raise _Missing(f"the file {name} cannot be used: {error}") from error
