"""Write the pages in ``docs/reference``, ``agent/tools/builtin_tools.json`` and
``agent/records/tool_facts.json`` from the program itself: ``python docs/generate.py``.

Tests compare them with the program.
"""

import ast
import dataclasses
import importlib
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

PAGES = Path(__file__).parent / "reference"
NOTE = "<!-- Written by docs/generate.py: change the program, not this page. -->"
_NUMBERS = re.compile(r" \((?:spec \d+, )?[A-Z]+\d+[a-z]?(?:(?:, | and )[A-Z]+\d+[a-z]?)*\)")
_PLACES = {
    "provider": "PROVIDER",
    "models": "MODEL",
    "agent": "AGENT",
    "command": "COMMAND",
    "mcp": "SERVER",
    "hooks": "EVENT",
}


def pages() -> dict[str, str]:
    """Return the text of each page by its file name."""
    return {
        "configuration.md": configuration(),
        "keys-and-commands.md": keys_and_commands(),
        "command-line.md": command_line(),
        "providers.md": providers(),
    }


def configuration() -> str:
    """Return the page of all settings, from their classes."""
    from agent.config.settings_schema import Config

    lines = [
        "# Settings",
        NOTE,
        "",
        (
            "All keys of a settings file. [Configuration](../configuration.md) explains where the "
            "files are and which one takes precedence. A key without a default is not set."
        ),
    ]
    for path, kind in _sections(Config, ()):
        title = ".".join(path) or "Top level"
        lines += ["", f"## {title}", "", _words(inspect.getdoc(kind) or ""), ""]
        lines += ["| key | value | default | what it does |", "| --- | --- | --- | --- |"]
        docs, hints = _documented(kind), get_type_hints(kind)
        for field in dataclasses.fields(kind):
            name = _key(field.name)
            about = _cell(_words(docs[field.name]))
            value = _cell(_type(hints[field.name]))
            lines.append(f"| `{name}` | {value} | {_cell(_default(field))} | {about} |")
    return "\n".join(lines) + "\n"


def keys_and_commands() -> str:
    """Return the page of all actions of the full screen, from the registry."""
    from app.action_registry.keymap import FIXED, LEADER, display_key
    from app.action_registry.registry import GROUPS, actions

    importlib.import_module("app.actions")
    lines = [
        "# Keys and commands",
        NOTE,
        "",
        (
            f"The leader is {LEADER}: press it, let go, then press the next key. To change the "
            "keys of an action, set its id under `keybinds` in the settings; `none` removes them."
        ),
        "",
        "These keys are reserved: "
        + ", ".join(f"{key} ({what})" for key, what in FIXED.items())
        + ".",
    ]
    for group in GROUPS:
        found = [each for each in actions() if each.group == group]
        if not found:
            continue
        lines += [
            "",
            f"## {group}",
            "",
            "| action | command | keys | id |",
            "| --- | --- | --- | --- |",
        ]
        for each in found:
            argument = f" {each.argument}" if each.argument else ""
            slash = ", ".join(f"`/{name}{argument}`" for name in each.slash)
            keys = ", ".join(
                display_key(key.replace("<leader>", f"{LEADER} ")) for key in each.keys
            )
            row = (each.title, slash, keys, f"`{each.id}`")
            lines.append("| " + " | ".join(_cell(cell) for cell in row) + " |")
    return "\n".join(lines) + "\n"


def command_line() -> str:
    """Return the page of all commands with their arguments, as in ``--help``."""
    from app.cli.main import COMMANDS
    from app.cli.main import parser as whole

    lines = ["# Command line", NOTE, "", "What `--help` says.", "", *_help(whole())]
    for _, (module, _what) in sorted(COMMANDS.items()):
        for parser in _parsers(importlib.import_module(module).parser()):
            lines += ["", *_help(parser)]
    return "\n".join(lines) + "\n"


def providers() -> str:
    """Return the page of all built-in providers, from the catalog."""
    from agent.provider.catalog.providers import KNOWN_PROVIDERS

    lines = [
        "# Known providers",
        NOTE,
        "",
        (
            "Set a provider's key in its variable, or store it with `opencode-py auth login`. "
            "Models are named `id/model`. To add your own server, see "
            "[Providers](../providers.md)."
        ),
        "",
        "| id | name | key | first model |",
        "| --- | --- | --- | --- |",
    ]
    for spec in KNOWN_PROVIDERS.values():
        keys = ", ".join(f"`{name}`" for name in spec.key_variables) or (
            "none" if spec.local else "a login"
        )
        row = (f"`{spec.id}`", spec.name, keys, f"`{spec.flagship}`" if spec.flagship else "")
        lines.append("| " + " | ".join(map(_cell, row)) + " |")
    return "\n".join(lines) + "\n"


def _sections(kind: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Return the classes of settings with their paths, outermost first."""
    yield path, kind
    hints = get_type_hints(kind)
    for field in dataclasses.fields(kind):
        below = (*path, _key(field.name))
        for each, named in _classes(hints[field.name]):
            place = (_PLACES.get(field.name, "NAME"),) if named else ()
            yield from _sections(each, (*below, *place))


def _classes(hint: Any, *, named: bool = False) -> Iterator[tuple[Any, bool]]:
    """Return the classes in a type, each with whether it is keyed by names of the user's."""
    if dataclasses.is_dataclass(hint):
        yield hint, named
    for part in get_args(hint):
        yield from _classes(part, named=named or get_origin(hint) is dict)


def _documented(kind: Any) -> dict[str, str]:
    """Return the docstring below each field of a class."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(tree, ast.ClassDef)
    found: dict[str, str] = {}
    for before, node in zip(tree.body, tree.body[1:], strict=False):
        if isinstance(before, ast.AnnAssign) and isinstance(before.target, ast.Name):
            match node:
                case ast.Expr(value=ast.Constant(value=str() as text)):
                    found[before.target.id] = text
                case _:
                    pass
    return found


def _type(hint: Any) -> str:
    origin, parts = get_origin(hint), get_args(hint)
    if origin in {UnionType, Union}:
        return " or ".join(dict.fromkeys(_type(part) for part in parts if part is not NoneType))
    if origin is Literal:
        return ", ".join(f"`{_json(part)}`" for part in parts)
    if origin is tuple:
        return f"list: {_type(parts[0])}"
    if origin is dict:
        return f"by name: {_type(parts[1])}"
    if dataclasses.is_dataclass(hint):
        return "object, below"
    return {str: "text", int: "number", float: "number", bool: "true or false"}.get(hint, "any")


def _default(field: "dataclasses.Field[Any]") -> str:
    value = field.default
    if value is dataclasses.MISSING or value is None or value in ((), ""):
        return ""
    return f"`{_json(value)}`"


def _json(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


def _key(name: str) -> str:
    from agent.config.file_keys import file_key

    return file_key(name)


def _parsers(parser: Any) -> Iterator[Any]:
    yield parser
    for action in parser._actions:
        if isinstance(action.choices, dict):
            for below in action.choices.values():
                yield from _parsers(below)


def _help(parser: Any) -> list[str]:
    parser.formatter_class = _formatter(parser.formatter_class)
    return [f"## {parser.prog}", "", "```text", parser.format_help().strip(), "```"]


def _formatter(kind: Any) -> Any:
    """Return a help formatter of a fixed width, whatever the terminal is."""

    def made(prog: str, **more: Any) -> Any:
        return kind(prog, **{**more, "width": 90})

    return made


def _words(text: str) -> str:
    return _NUMBERS.sub("", " ".join(text.replace("``", "`").split()))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    PAGES.mkdir(exist_ok=True)
    from agent.records import tool_facts
    from agent.tools import builtin_tools

    builtin_tools.FILE.write_text(builtin_tools.fixed_parts(), "utf-8")
    tool_facts.FILE.write_text(builtin_tools.facts_of_tools(), "utf-8")
    for file, page in pages().items():
        (PAGES / file).write_text(page, "utf-8")
