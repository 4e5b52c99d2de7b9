"""The permissions of Claude Code's settings files in the form of ours (spec 10, K3).

There a deny counts before an ask and an ask before an allow, wherever they stand; here the last
rule that matches does, so they are laid in that order.
"""

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from agent.config.jsonc import KeyPath
from agent.records.json import Json, JsonObject
from agent.records.requests import Action

CLAUDE_TOOLS: Mapping[str, str] = {
    "bash": "bash",
    "read": "read",
    "edit": "edit",
    "write": "edit",
    "multiedit": "edit",
    "notebookedit": "edit",
    "glob": "glob",
    "grep": "grep",
    "ls": "list",
    "webfetch": "webfetch",
    "websearch": "websearch",
    "task": "task",
    "agent": "task",
    "todowrite": "todowrite",
    "skill": "skill",
}
"""Tool there, in small letters → permission here."""

PATH_PERMISSIONS = frozenset({"read", "edit"})
"""Permissions whose patterns are paths, written there as in a ``.gitignore``."""

CLAUDE_AGENTS: Mapping[str, str] = {
    "Explore": "explore",
    "Plan": "plan",
    "general-purpose": "general",
}

ACTION_ORDER: tuple[Action, ...] = ("allow", "ask", "deny")

EVERY = "allows every command, which only settings of this program's own can (permission.bash)"

MODE = "the mode is chosen with shift+tab, or --auto"


def from_claude_settings(
    raw: JsonObject, base: str
) -> tuple[JsonObject, list[tuple[KeyPath, str]]]:
    """The rules under ``permissions`` of *raw* and the servers that it switches off, and what of
    the rules has no effect, with the reason.

    *base* is what its relative paths start from: a folder of the project, relative to its root
    ("" for the root), or an absolute one. Nothing else of the file is settings of ours.
    """
    off = raw.get("disabledMcpjsonServers")
    names = [name for name in off if isinstance(name, str)] if isinstance(off, list) else []
    made: JsonObject = {"mcp": {name: {"enabled": False} for name in names}} if names else {}
    given = raw.get("permissions")
    if not isinstance(given, dict):
        return made, []
    table: JsonObject = {}
    left: list[tuple[KeyPath, str]] = []
    for key in given:
        if key not in {*ACTION_ORDER, "additionalDirectories"} and (key, given[key]) != _USUAL:
            reason = MODE if key == "defaultMode" else "there is no such setting here"
            left.append((("permissions", key), reason))
    folders = given.get("additionalDirectories")
    for folder in folders if isinstance(folders, list) else []:
        if isinstance(folder, str) and folder.strip():
            _put(table, "external_directory", f"{folder.rstrip('/')}/*", "allow")
    for action in ACTION_ORDER:
        entries = given.get(action)
        for entry in entries if isinstance(entries, list) else []:
            rules = list(_rules(entry, base))
            shown = entry[:80] if isinstance(entry, str) else "an entry"
            if not rules:
                left.append((("permissions", action), f"{shown} names no tool that is here"))
            if action == "allow" and ("bash", "*") in rules:
                left.append((("permissions", action), f"{shown} {EVERY}"))
                continue
            for permission, pattern in rules:
                _put(table, permission, pattern, action)
    if table:
        made["permission"] = table
    return made, left


_USUAL = ("defaultMode", "default")


def _put(table: JsonObject, permission: str, pattern: str, action: Action) -> None:
    """Add a rule behind all others."""
    patterns = table.pop(permission, {})
    patterns = patterns if isinstance(patterns, dict) else {}
    patterns.pop(pattern, None)
    patterns[pattern] = action
    table[permission] = patterns


def _rules(entry: Json, base: str) -> Iterator[tuple[str, str]]:
    """The permissions and patterns that *entry*, such as ``Bash(npm test:*)``, stands for."""
    if not isinstance(entry, str):
        return
    name, bracket, rest = entry.strip().partition("(")
    if bracket and not rest.endswith(")"):
        return
    inner = rest[:-1].strip() if bracket else ""
    if name.startswith("mcp__"):
        server, _, tool = name.removeprefix("mcp__").partition("__")
        yield f"{server}_{tool or '*'}", "*"
        return
    permission = CLAUDE_TOOLS.get(name.lower())
    if permission is None:
        return
    for pattern in _patterns(permission, inner, base):
        yield permission, pattern


def _patterns(permission: str, inner: str, base: str) -> Iterator[str]:
    if inner in {"", "*", "**"}:
        yield "*"
    elif permission == "bash":
        yield f"{inner[:-2]} *" if inner.endswith(":*") else inner
    elif permission in PATH_PERMISSIONS:
        yield from _paths(inner, base)
    elif permission == "webfetch":
        yield inner.removeprefix("domain:")
    elif permission == "task":
        yield CLAUDE_AGENTS.get(inner, inner)
    else:
        yield inner


def _paths(inner: str, base: str) -> Iterator[str]:
    """The patterns for a path as in a ``.gitignore``, where a name covers what is below it."""
    if inner.startswith("//"):
        start, rest = "/", inner.lstrip("/")
    elif inner.startswith("~/"):
        start, rest = "~/", inner[2:]
    else:
        start = f"{base.rstrip('/')}/" if base else ""
        rest = inner.removeprefix("./").lstrip("/")
    anywhere = "/" not in inner.rstrip("/")
    rest = rest.rstrip("/")
    for each in _starred(rest):
        for front in (start, f"{start}*/") if anywhere else (start,):
            yield front + each
            if PurePosixPath(each).name.strip("*"):
                yield f"{front}{each}/*"


def _starred(path: str) -> Iterator[str]:
    """*path* with its double stars, which stand for any number of folders, also none."""
    head, double, tail = path.partition("**/")
    if not double:
        yield path.replace("**", "*")
        return
    for rest in _starred(tail):
        yield head + rest
        yield f"{head}*/{rest}"
