"""Formatters that run after a write, where the settings switch them on (spec 10, X7).

Commands are those of the formatters' own documentation. One that goes by a project's settings
runs only where the project has some: nobody wants a whole file in another's style.
"""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from agent.config.model import FormatterConfig

FILE = "$FILE"

_JS = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts")
_WEB = (*_JS, ".json", ".css", ".scss", ".html", ".vue", ".md", ".yaml", ".yml", ".graphql")
_PY = (".py", ".pyi")


@dataclass(frozen=True, slots=True, kw_only=True)
class Formatter:
    """*command* changes ``$FILE`` in place. *signs* are files of a project, each with a word
    that must stand in it ("" for none), of which one is needed; none needed if empty."""

    id: str
    command: tuple[str, ...]
    extensions: tuple[str, ...]
    signs: tuple[tuple[str, str], ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])

    def argv(self, path: str) -> tuple[str, ...]:
        return tuple(word.replace(FILE, path) for word in self.command)

    def wanted(self, path: str, project: Path) -> bool:
        """Whether the file is of its kind and the project asks for it. Reads the disk."""
        if not path.endswith(self.extensions):
            return False
        if not self.signs:
            return True
        folders = [Path(path).parent, *Path(path).parent.parents]
        inside = [folder for folder in folders if folder.is_relative_to(project)]
        return any(
            _stands(f / name, word) for f in inside or [project] for name, word in self.signs
        )


def _stands(file: Path, word: str) -> bool:
    try:
        return word in file.read_text(encoding="utf-8") if word else file.is_file()
    except (OSError, UnicodeDecodeError):
        return False


KNOWN_FORMATTERS: tuple[Formatter, ...] = (
    Formatter(id="gofmt", command=("gofmt", "-w", FILE), extensions=(".go",)),
    Formatter(id="rustfmt", command=("rustfmt", "--edition", "2021", FILE), extensions=(".rs",)),
    Formatter(
        id="ruff",
        command=("ruff", "format", FILE),
        extensions=_PY,
        signs=(("ruff.toml", ""), (".ruff.toml", ""), ("pyproject.toml", "[tool.ruff")),
    ),
    Formatter(
        id="black",
        command=("black", "-q", FILE),
        extensions=_PY,
        signs=(("pyproject.toml", "[tool.black]"),),
    ),
    Formatter(
        id="biome",
        command=("biome", "format", "--write", FILE),
        extensions=(*_JS, ".json", ".jsonc", ".css"),
        signs=(("biome.json", ""), ("biome.jsonc", "")),
    ),
    Formatter(
        id="prettier",
        command=("prettier", "--write", FILE),
        extensions=_WEB,
        signs=(
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
        signs=((".clang-format", ""),),
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
        signs=((".rubocop.yml", ""),),
    ),
    Formatter(
        id="ocamlformat",
        command=("ocamlformat", "-i", FILE),
        extensions=(".ml", ".mli"),
        signs=((".ocamlformat", ""),),
    ),
    Formatter(
        id="pint",
        command=("pint", FILE),
        extensions=(".php",),
        signs=(("composer.json", '"laravel/pint"'),),
    ),
)


def active_formatters(
    setting: bool | Mapping[str, FormatterConfig] | None,
    which: Callable[[str], str | None] = shutil.which,
) -> tuple[Formatter, ...]:
    """The formatters in force, with the path of each program. *setting* is the ``formatter``
    key: not set or false for none, true for all known ones that are found, or changes to them
    and others of the user's own, by id."""
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
        program = which(one.command[0])
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
        signs=() if own else one.signs,
    )
    return changed if changed.command and changed.extensions else None
