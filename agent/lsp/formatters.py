"""Formatters that run after a write, where the settings switch them on.

Commands are those of the formatters' own documentation. A formatter that follows a project's
settings runs only where the project has some, so that no file is changed to another style.
"""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from pathlib import Path
from types import MappingProxyType

from agent.config.settings_schema import FormatterConfig
from agent.records.frozen import frozen

FILE = "$FILE"

_JS = ".js .jsx .mjs .cjs .ts .tsx .mts .cts"
_WEB = f"{_JS} .json .css .scss .html .vue .md .yaml .yml .graphql"
_PY = ".py .pyi"


@frozen(kw_only=True)
class Formatter:
    """A program that formats files."""

    id: str
    command: tuple[str, ...]
    """The program and its arguments; it changes ``$FILE`` in place."""
    extensions: tuple[str, ...]
    markers: tuple[tuple[str, str], ...] = ()
    """Files of a project with the text that they must contain ("" for none).

    The formatter runs where the project has one of them, or everywhere if there are no markers.
    """
    environment: Mapping[str, str] = field(default_factory=dict[str, str])

    def argv(self, path: str) -> tuple[str, ...]:
        return tuple(word.replace(FILE, path) for word in self.command)

    def applies_to(self, path: str, project: Path) -> bool:
        """Return whether to format the file: by its extension and the project's settings. Reads the
        disk."""
        if not path.endswith(self.extensions):
            return False
        if not self.markers:
            return True
        folders = [Path(path).parent, *Path(path).parent.parents]
        inside = [folder for folder in folders if folder.is_relative_to(project)]
        return any(
            _contains(f / name, word) for f in inside or [project] for name, word in self.markers
        )


def _contains(file: Path, text: str) -> bool:
    try:
        return text in file.read_text(encoding="utf-8") if text else file.is_file()
    except (OSError, UnicodeDecodeError):
        return False


def _formatter(
    name: str,
    command: str,
    extensions: str,
    markers: str = "",
    mentions: Mapping[str, str] = MappingProxyType({}),
) -> Formatter:
    """Return a formatter by texts whose words are those of its command, its extensions and the
    files that mark its projects; *mentions* are files that mark one by a text in them."""
    return Formatter(
        id=name,
        command=tuple(command.split()),
        extensions=tuple(extensions.split()),
        markers=(*((file, "") for file in markers.split()), *mentions.items()),
    )


KNOWN_FORMATTERS: tuple[Formatter, ...] = (
    _formatter("gofmt", "gofmt -w $FILE", ".go"),
    _formatter("rustfmt", "rustfmt --edition 2021 $FILE", ".rs"),
    _formatter(
        "ruff", "ruff format $FILE", _PY, "ruff.toml .ruff.toml", {"pyproject.toml": "[tool.ruff"}
    ),
    _formatter("black", "black -q $FILE", _PY, mentions={"pyproject.toml": "[tool.black]"}),
    _formatter(
        "biome", "biome format --write $FILE", f"{_JS} .json .jsonc .css", "biome.json biome.jsonc"
    ),
    _formatter(
        "prettier",
        "prettier --write $FILE",
        _WEB,
        ".prettierrc .prettierrc.json .prettierrc.yaml .prettierrc.yml .prettierrc.js "
        "prettier.config.js prettier.config.mjs",
        {"package.json": '"prettier"'},
    ),
    _formatter(
        "clang-format",
        "clang-format -i $FILE",
        ".c .h .cc .cpp .cxx .hpp .hh .m .mm",
        ".clang-format",
    ),
    _formatter("shfmt", "shfmt -w $FILE", ".sh .bash"),
    _formatter("zig", "zig fmt $FILE", ".zig .zon"),
    _formatter("mix", "mix format $FILE", ".ex .exs .heex"),
    _formatter("terraform", "terraform fmt $FILE", ".tf .tfvars"),
    _formatter("dart", "dart format $FILE", ".dart"),
    _formatter("gleam", "gleam format $FILE", ".gleam"),
    _formatter("nixfmt", "nixfmt $FILE", ".nix"),
    _formatter("ktlint", "ktlint -F $FILE", ".kt .kts"),
    _formatter("rubocop", "rubocop --autocorrect $FILE", ".rb .rake", ".rubocop.yml"),
    _formatter("ocamlformat", "ocamlformat -i $FILE", ".ml .mli", ".ocamlformat"),
    _formatter("pint", "pint $FILE", ".php", mentions={"composer.json": '"laravel/pint"'}),
)


def active_formatters(
    setting: bool | Mapping[str, FormatterConfig] | None,
    find_program: Callable[[str], str | None] = shutil.which,
) -> tuple[Formatter, ...]:
    """Return the active formatters, with the path of each program.

    *setting* is the ``formatter`` key: not set or false for none, true for all known ones that are
    found, or changes to them and further ones of the user's own, by id.
    """
    if setting is None or setting is False:
        return ()
    named: Mapping[str, FormatterConfig] = {} if setting is True else setting
    known = {one.id: one for one in KNOWN_FORMATTERS}
    wanted = [one for one in KNOWN_FORMATTERS if one.id not in named]
    wanted += [
        changed
        for name, given in named.items()
        if (changed := _changed(known.get(name), name, given)) is not None
    ]
    found: list[Formatter] = []
    for one in wanted:
        program = find_program(one.command[0])
        if program is not None:
            found.append(replace(one, command=(program, *one.command[1:])))
    return tuple(found)


def _changed(one: Formatter | None, name: str, given: FormatterConfig) -> Formatter | None:
    if given.disabled:
        return None
    one = one or Formatter(id=name, command=(), extensions=())
    own = bool(given.command)
    changed = replace(
        one,
        command=given.command or one.command,
        extensions=given.extensions or one.extensions,
        environment=given.environment,
        markers=() if own else one.markers,
    )
    return changed if changed.command and changed.extensions else None
