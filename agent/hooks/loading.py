"""Finds hooks in the settings and in Claude Code's settings files.

The user's own always count, a project's once it is trusted. Notices name what cannot be used.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from agent.config import env_variables, jsonc
from agent.config.claude_code import permission_rules
from agent.config.discovery import folder_chain, read_text
from agent.config.loading import LoadedConfig
from agent.config.paths import display_path, home_folder
from agent.hooks.records import CLAUDE_TIMEOUT, EVENTS, TIMEOUT, Hook, HookEvent
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
    except (OSError, ValueError, jsonc.JsoncError):
        return  # reported with its permissions
    table = values.get("hooks")
    if not isinstance(table, dict) or values.get("disableAllHooks") is True:
        return
    unknown = ", ".join(name[:60] for name in table if _event(name) is None)
    if unknown:
        notes.append(f"{source}: hooks for {unknown} have no effect here; {_KNOWN}.")
    other: dict[str, None] = {}
    for name, groups in table.items():
        event = _event(name)
        for matcher, each in _entries(groups) if event is not None else ():
            kind = str(each.get("type", "command"))
            target = each.get({"command": "command", "http": "url"}.get(kind, ""))
            if event is None or not isinstance(target, str) or each.get("shell") == "powershell":
                other[f"{name} ({'powershell' if 'shell' in each else kind})"] = None
                continue
            folder = str(path.parent.parent) if from_project else ""
            hooks.append(_hook(event, source, target, each, matcher, folder))
    if other:
        notes.append(
            f"{source}: hooks for {', '.join(other)} have no effect: only commands are run, and"
            " addresses called."
        )


def _hook(
    event: HookEvent, source: str, target: str, given: JsonObject, matcher: str, folder: str
) -> Hook:
    """Return a hook of Claude Code's: a command, or an address; *folder* is that of a project."""
    headers, condition = given.get("headers"), given.get("if")
    arguments, allowed = given.get("args"), given.get("allowedEnvVars")
    timeout, is_address = given.get("timeout"), given.get("type") == "http"
    return Hook(
        event=event,
        source=source,
        command="" if is_address else target,
        arguments=tuple(map(str, arguments)) if isinstance(arguments, list) else None,
        condition=tuple(permission_rules(condition)) if isinstance(condition, str) else None,
        in_background=given.get("async") is True or given.get("asyncRewake") is True,
        folder=folder,
        url=target if is_address else "",
        headers=tuple((name, str(text)) for name, text in headers.items())
        if isinstance(headers, dict)
        else (),
        variables=tuple(map(str, allowed)) if isinstance(allowed, list) else (),
        from_project=bool(folder),
        matcher=matcher,
        timeout=timeout
        if isinstance(timeout, int | float) and not isinstance(timeout, bool) and timeout > 0
        else CLAUDE_TIMEOUT,
        uses_claude_names=True,
    )


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
