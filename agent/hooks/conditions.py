"""The matcher of a hook and the rule of its ``if``: which calls it is for."""

import re
from collections.abc import Iterator

from agent.hooks.records import TOOL_EVENTS, Hook, HookCall, HookEvent
from agent.permission.rules import Rule
from agent.records.json import JsonObject
from agent.records.requests import PermissionNeed
from agent.records.tool_facts import claude_name_of, permission_of

_NAMES = re.compile(r"[\w\- ,|]*")
_PATHS = ("file_path", "notebook_path", "path")


def concerns(hook: Hook, call: HookCall) -> bool:
    """Return whether *hook* is for *call*."""
    if not is_for(hook, call.event, call.about, call.former):
        return False
    return hook.condition is None or _meets(hook.condition, call)


def is_for(hook: Hook, event: HookEvent, about: str, former: str) -> bool:
    """Return whether *hook* is for an event about a name, or the *former* one of a tool."""
    names = (about, former) if former else (about,)
    return hook.event == event and any(covers(hook, name) for name in names)


def covers(hook: Hook, about: str) -> bool:
    """Return whether the matcher of *hook* covers *about*."""
    return matches(hook.matcher, about, anywhere=hook.uses_claude_names)


def matches(matcher: str, about: str, *, anywhere: bool = False) -> bool:
    """Return whether *matcher* covers *about*, by its name here or in Claude Code.

    It is a list of names, or a regular expression for the whole name, or with *anywhere*, as in
    Claude Code, for a part of it. One that is neither is read as a name.
    """
    if matcher in {"", "*"}:
        return True
    if _NAMES.fullmatch(matcher):
        wanted = {name.strip().lower() for name in re.split(r"[|,]", matcher)}
        return any(name.lower() in wanted for name in _names(about))
    try:
        pattern = re.compile(matcher, re.IGNORECASE)
    except re.error:
        return matcher.lower() in {name.lower() for name in _names(about)}
    found = pattern.search if anywhere else pattern.fullmatch
    return any(found(name) for name in _names(about))


def _names(about: str) -> Iterator[str]:
    yield about
    if name := claude_name_of(about):
        yield name
        return
    # An MCP tool is server_tool here and mcp__server__tool in Claude Code.
    for at, char in enumerate(about):
        if char == "_":
            yield f"mcp__{about[:at]}__{about[at + 1 :]}"


def _meets(condition: tuple[tuple[str, str], ...], call: HookCall) -> bool:
    """Return whether a tool call is one of *condition*. A command that cannot be analyzed is."""
    arguments = call.details.get("tool_input")
    if call.event not in TOOL_EVENTS or not isinstance(arguments, dict):
        return False
    permission = permission_of(call.about)
    rules = [Rule(name, pattern, "ask", "a hook") for name, pattern in condition]
    rules = [rule for rule in rules if rule.concerns(permission)]
    if any(rule.pattern == "*" for rule in rules):
        return True
    needs = _needs(permission, arguments, call.directory) if rules else ()
    return needs is None or any(rule.covers(need) for rule in rules for need in needs)


def _needs(
    permission: str, arguments: JsonObject, directory: str
) -> tuple[PermissionNeed, ...] | None:
    """Return what rules are compared with for a call, None if that is not known."""
    if permission == "bash":
        from agent.permission.shell.analysis import analyze  # loaded with the first command

        found = analyze(str(arguments.get("command")), directory=directory, project=directory)
        return None if found.problem else found.needs
    if permission == "webfetch":
        from urllib.parse import urlsplit

        return (PermissionNeed(permission, urlsplit(str(arguments.get("url"))).hostname or ""),)
    path = next((value for key in _PATHS if isinstance(value := arguments.get(key), str)), None)
    if path is None:
        return None
    return (PermissionNeed(permission, path.removeprefix(f"{directory}/"), root=directory),)
