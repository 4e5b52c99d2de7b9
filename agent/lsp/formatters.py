"""Formatters that run after a write, where the settings switch them on.

Commands are those of the formatters' own documentation. A formatter that follows a project's
settings runs only where the project has some, so that no file is changed to another style.
"""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from pathlib import Path

from agent.config.settings_schema import FormatterConfig
from agent.records.frozen import frozen

FILE = "$FILE"

_JS = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts")
_WEB = (*_JS, ".json", ".css", ".scss", ".html", ".vue", ".md", ".yaml", ".yml", ".graphql")
_PY = (".py", ".pyi")


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


KNOWN_FORMATTERS: tuple[Formatter, ...] = (
    Formatter(id="gofmt", command=("gofmt", "-w", FILE), extensions=(".go",)),
    Formatter(id="rustfmt", command=("rustfmt", "--edition", "2021", FILE), extensions=(".rs",)),
    Formatter(
        id="ruff",
        command=("ruff", "format", FILE),
        extensions=_PY,
        markers=(("ruff.toml", ""), (".ruff.toml", ""), ("pyproject.toml", "[tool.ruff")),
    ),
    Formatter(
        id="black",
        command=("black", "-q", FILE),
        extensions=_PY,
        markers=(("pyproject.toml", "[tool.black]"),),
    ),
    Formatter(
        id="biome",
        command=("biome", "format", "--write", FILE),
        extensions=(*_JS, ".json", ".jsonc", ".css"),
        markers=(("biome.json", ""), ("biome.jsonc", "")),
    ),
    Formatter(
        id="prettier",
        command=("prettier", "--write", FILE),
        extensions=_WEB,
        markers=(
            (".prettierrc", ""),
            (".prettierrc.json", ""),
            (".prettierrc.yaml", ""),
            (".prettierrc.yml", ""),
            (".prettierrc.js", ""),
            ("prettier.config.js", ""),
            ("prettier.config.mjs", ""),
            ("package.json", '"prettier"'),
        ),
    ),
    Formatter(
        id="clang-format",
        command=("clang-format", "-i", FILE),
        extensions=(".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".hh", ".m", ".mm"),
        markers=((".clang-format", ""),),
    ),
    Formatter(id="shfmt", command=("shfmt", "-w", FILE), extensions=(".sh", ".bash")),
    Formatter(id="zig", command=("zig", "fmt", FILE), extensions=(".zig", ".zon")),
    Formatter(id="mix", command=("mix", "format", FILE), extensions=(".ex", ".exs", ".heex")),
    Formatter(id="terraform", command=("terraform", "fmt", FILE), extensions=(".tf", ".tfvars")),
    Formatter(id="dart", command=("dart", "format", FILE), extensions=(".dart",)),
    Formatter(id="gleam", command=("gleam", "format", FILE), extensions=(".gleam",)),
    Formatter(id="nixfmt", command=("nixfmt", FILE), extensions=(".nix",)),
    Formatter(id="ktlint", command=("ktlint", "-F", FILE), extensions=(".kt", ".kts")),
    Formatter(
        id="rubocop",
        command=("rubocop", "--autocorrect", FILE),
        extensions=(".rb", ".rake"),
        markers=((".rubocop.yml", ""),),
    ),
    Formatter(
        id="ocamlformat",
        command=("ocamlformat", "-i", FILE),
        extensions=(".ml", ".mli"),
        markers=((".ocamlformat", ""),),
    ),
    Formatter(
        id="pint",
        command=("pint", FILE),
        extensions=(".php",),
        markers=(("composer.json", '"laravel/pint"'),),
    ),
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
