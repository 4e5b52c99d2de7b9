"""Finds hooks in the settings and in Claude Code's settings files.

The user's own always count, a project's once it is trusted. Notices name what cannot be used.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from agent.config import env_variables, jsonc
from agent.config.discovery import folder_chain, read_text
from agent.config.loading import LoadedConfig
from agent.config.paths import display_path, home_folder
from agent.hooks.records import EVENTS, TIMEOUT, Hook, HookEvent
from agent.records.frozen import frozen
from agent.records.json import Json, JsonObject

CLAUDE_FILES = (".claude/settings.json", ".claude/settings.local.json")
"""Settings files of Claude Code, below the home folder or a project's."""


@frozen
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
                url=each.url if each.type == "http" else "",
                headers=tuple(each.headers.items()),
                variables=each.allowed_env,
                from_project=source in loaded.project_files,
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
        inside = path.is_relative_to(project) and not path.is_relative_to(home / ".claude")
        shown = path.relative_to(project).as_posix() if inside else display_path(path, env)
        _read_claude_file(path, shown, hooks, notes, from_project=inside)
    return FoundHooks(_restricted(hooks, loaded), tuple(notes))


def _restricted(hooks: list[Hook], loaded: LoadedConfig) -> tuple[Hook, ...]:
    """Return each of *hooks* once. Where commands run in nothing but a sandbox, so do hooks."""
    if loaded.config.bash.sandbox == "required":
        hooks = [
            replace(hook, sandbox="workspace-write") if hook.sandbox == "off" else hook
            for hook in hooks
        ]
    return tuple(dict.fromkeys(hooks))


_KNOWN = f"the known ones are {', '.join(EVENTS)}"


def _event(name: str) -> HookEvent | None:
    return next((event for event in EVENTS if event == name), None)


def _read_claude_file(
    path: Path, source: str, hooks: list[Hook], notes: list[str], *, from_project: bool
) -> None:
    """Add the hooks of one of Claude Code's files, of which nothing else is read."""
    try:
        values = jsonc.parse(read_text(path))
    except FileNotFoundError:
        return
    except (OSError, ValueError, jsonc.JsoncError) as error:
        if path.exists():
            reason = error.expected if isinstance(error, jsonc.JsoncError) else str(error)
            notes.append(f"{source}: its hooks are ignored, because it cannot be read: {reason}.")
        return
    table = values.get("hooks")
    if not isinstance(table, dict) or values.get("disableAllHooks") is True:
        return
    unknown = ", ".join(name[:60] for name in table if _event(name) is None)
    if unknown:
        notes.append(f"{source}: hooks for {unknown} have no effect here; {_KNOWN}.")
    for name, groups in table.items():
        event = _event(name)
        for matcher, each in _entries(groups) if event is not None else ():
            kind = each.get("type", "command")
            target = each.get({"command": "command", "http": "url"}.get(str(kind), ""))
            if event is None or not isinstance(target, str):
                notes.append(
                    f"{source}: a hook for {name} has no effect: only commands are run, and"
                    " addresses called."
                )
                continue
            headers, allowed = each.get("headers"), each.get("allowedEnvVars")
            hooks.append(
                Hook(
                    event=event,
                    source=source,
                    command=target if kind == "command" else "",
                    url=target if kind == "http" else "",
                    headers=tuple((n, str(t)) for n, t in headers.items())
                    if isinstance(headers, dict)
                    else (),
                    variables=tuple(map(str, allowed)) if isinstance(allowed, list) else (),
                    from_project=from_project,
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
