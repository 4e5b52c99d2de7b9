"""Finds hooks in the settings and in Claude Code's settings files.

The user's own always count, a project's once it is trusted. Notices name what cannot be used.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from agent.config import env_variables, jsonc
from agent.config.discovery import folder_chain, read_text
from agent.config.loading import LoadedConfig
from agent.config.paths import display_path, home_folder
from agent.hooks.records import EVENTS, TIMEOUT, Hook, HookEvent
from agent.records.json import Json, JsonObject

CLAUDE_FILES = (".claude/settings.json", ".claude/settings.local.json")
"""Settings files of Claude Code, below the home folder or a project's."""


@dataclass(frozen=True, slots=True)
class FoundHooks:
    """The hooks in the order in which they were found."""

    hooks: tuple[Hook, ...] = ()
    notes: tuple[str, ...] = ()
    """Sentences on what has no effect."""


def find_hooks(
    loaded: LoadedConfig, directory: Path, project: Path, env: Mapping[str, str], *, trusted: bool
) -> FoundHooks:
    """Return all hooks for the opened *directory*. Reads files."""
    hooks: list[Hook] = []
    notes: list[str] = []
    for name, groups in loaded.config.hooks.items():
        source = loaded.sources.get(f"hooks.{name}", "your settings")
        event = _event(name)
        if event is None:
            notes.append(f"{source}: hooks.{name}: there is no such event; {_KNOWN}.")
            continue
        hooks += [
            Hook(
                event=event,
                source=source,
                command=each.command,
                matcher=group.matcher,
                timeout=each.timeout if each.timeout is not None else TIMEOUT,
                sandbox=each.sandbox,
            )
            for group in groups
            for each in group.hooks
        ]
    if env_variables.is_on(env, "DISABLE_CLAUDE_CODE"):
        return FoundHooks(_restricted(hooks, loaded), tuple(notes))
    home = home_folder(env)
    trusted = trusted and not env_variables.is_on(env, "DISABLE_PROJECT_CONFIG")
    places = [home, *(f for f in folder_chain(directory, project) if trusted and f != home)]
    for path in (place / name for place in places for name in CLAUDE_FILES):
        _read_claude_file(path, display_path(path, env), hooks, notes)
    return FoundHooks(_restricted(hooks, loaded), tuple(notes))


def _restricted(hooks: list[Hook], loaded: LoadedConfig) -> tuple[Hook, ...]:
    """Return each of *hooks* once. Where commands run in nothing but a sandbox, so do hooks."""
    if loaded.config.bash.sandbox == "required":
        hooks = [
            replace(hook, sandbox="workspace-write") if hook.sandbox == "off" else hook
            for hook in hooks
        ]
    return tuple(dict.fromkeys(hooks))


_KNOWN = f"known are {', '.join(EVENTS)}"


def _event(name: str) -> HookEvent | None:
    return next((event for event in EVENTS if event == name), None)


def _read_claude_file(path: Path, source: str, hooks: list[Hook], notes: list[str]) -> None:
    """Add the hooks of one of Claude Code's files, of which nothing else is read."""
    try:
        values = jsonc.parse(read_text(path))
    except FileNotFoundError:
        return
    except (OSError, ValueError, jsonc.JsoncError) as error:
        if path.exists():
            reason = error.expected if isinstance(error, jsonc.JsoncError) else str(error)
            notes.append(f"{source}: its hooks are left out, for it cannot be read: {reason}.")
        return
    table = values.get("hooks")
    if not isinstance(table, dict) or values.get("disableAllHooks") is True:
        return
    for name, groups in table.items():
        event = _event(name)
        if event is None:
            notes.append(f"{source}: hooks for {name[:60]} have no effect here; {_KNOWN}.")
            continue
        for matcher, each in _entries(groups):
            command = each.get("command")
            if each.get("type", "command") != "command" or not isinstance(command, str):
                notes.append(f"{source}: a hook for {name} has no effect: only commands are run.")
                continue
            hooks.append(
                Hook(
                    event=event,
                    source=source,
                    command=command,
                    matcher=matcher,
                    timeout=_seconds(each.get("timeout")),
                    uses_claude_names=True,
                )
            )


def _seconds(value: Json) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
        return float(value)
    return TIMEOUT


def _entries(groups: Json) -> Iterator[tuple[str, JsonObject]]:
    """Yield each hook in *groups* with its matcher."""
    for group in groups if isinstance(groups, list) else []:
        if not isinstance(group, dict):
            continue
        matcher = group.get("matcher")
        entries = group.get("hooks")
        for each in entries if isinstance(entries, list) else []:
            if isinstance(each, dict):
                yield (matcher if isinstance(matcher, str) else ""), each
