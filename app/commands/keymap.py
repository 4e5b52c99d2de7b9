"""Keys (spec 8, U15): from the registry's defaults and the user's config to bindings.

A key is written as Textual writes it (``ctrl+p``, ``f1``), with ``<leader>`` before one that
follows the leader. Config gives keys by action id, several with commas, ``none`` for none.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from app.commands.registry import Action

LEADER = "ctrl+x"
LEADER_SECONDS = 2.0
"""How long the leader waits for its second key (as in the reference)."""

MAX_UNKNOWN_SHOWN = 4
"""Names of actions that there are none of which one sentence tells."""

FIXED: Mapping[str, str] = {
    "ctrl+c": "cancel, close or clear",
    "escape": "close, or interrupt the turn",
    "enter": "send",
}
"""Keys that no action may take."""

ALIASES: Mapping[str, str] = {
    "app_exit": "app.exit",
    "terminal_suspend": "app.suspend",
    "command_list": "app.palette",
    "help_show": "app.help",
    "theme_list": "view.theme",
    "display_thinking": "view.thinking",
    "tool_details": "view.details",
    "session_new": "session.new",
    "session_list": "session.list",
    "session_fork": "session.fork",
    "session_rename": "session.rename",
    "session_delete": "session.delete",
    "model_list": "model.list",
    "variant_cycle": "model.effort_next",
    "variant_list": "model.effort",
    "agent_list": "agent.list",
    "agent_cycle": "agent.cycle",
    "messages_copy": "session.copy",
    "editor_open": "prompt.editor",
    "sidebar_toggle": "view.sidebar",
    "session_export": "session.export",
    "session_timeline": "session.review",
    "session_compact": "session.compact",
    "session_background": "shells.detach",
    "session_queued_prompts": "session.waiting",
    "messages_undo": "session.undo",
    "messages_redo": "session.redo",
    "status_view": "app.status",
    "mcp_list": "mcp.list",
    "provider_connect": "model.connect",
    "prompt_skills": "folder.instructions",
    "prompt_stash": "prompt.stash",
    "diff_open": "session.review",
    "session_child_first": "family.down",
    "session_child_cycle": "family.next",
    "session_child_cycle_reverse": "family.previous",
    "session_parent": "family.up",
}
"""Names that people have in their configs from the reference."""


@dataclass(frozen=True, slots=True)
class Keymap:
    """*direct* and *after_leader* map a key to an action id; *conflicts* are sentences."""

    leader: str = LEADER
    direct: Mapping[str, str] = field(default_factory=dict[str, str])
    after_leader: Mapping[str, str] = field(default_factory=dict[str, str])
    conflicts: tuple[str, ...] = ()

    def keys_of(self, action_id: str) -> tuple[str, ...]:
        """The keys of an action as people say them: ``ctrl+x n``."""
        direct = [key for key, held in self.direct.items() if held == action_id]
        led = [
            f"{self.leader} {key}" for key, held in self.after_leader.items() if held == action_id
        ]
        return tuple(display_key(key) for key in (*led, *direct))


def display_key(key: str) -> str:
    """A key as people write it."""
    return (
        key.replace("escape", "esc").replace("pageup", "page up").replace("pagedown", "page down")
    )


def build(actions: Iterable[Action], overrides: Mapping[str, str] | None = None) -> Keymap:
    """The keys in force. A key wanted twice stays with whoever config or the registry named
    first, and is told in ``conflicts``; unknown names in *overrides* are told too."""
    wanted = {ALIASES.get(name, name): keys for name, keys in (overrides or {}).items()}
    leader = wanted.pop("leader", LEADER).strip() or LEADER
    direct: dict[str, str] = {}
    led: dict[str, str] = {}
    conflicts: list[str] = []
    listed = list(actions)
    for known in sorted(listed, key=lambda one: one.id not in wanted):
        keys = _listed(wanted.pop(known.id)) if known.id in wanted else known.keys
        for key in keys:
            place, rest = (
                (led, key[len("<leader>") :]) if key.startswith("<leader>") else (direct, key)
            )
            if place is direct and (rest in FIXED or rest == leader):
                conflicts.append(
                    f"{display_key(rest)} can't be given to {known.title}: it has a fixed use."
                )
            elif rest in place:
                other = next(one.title for one in listed if one.id == place[rest])
                conflicts.append(
                    f"{display_key(key)} is used for {other}, so not for {known.title}."
                )
            else:
                place[rest] = known.id
    conflicts += _unknown(list(wanted))
    return Keymap(leader, direct, led, tuple(conflicts))


def _unknown(names: list[str]) -> list[str]:
    """One sentence on all *names* that no action has."""
    if not names:
        return []
    some, more = names[:MAX_UNKNOWN_SHOWN], len(names) - MAX_UNKNOWN_SHOWN
    rest = f" and {more} more" if more > 0 else ""
    return [f"keybinds: there is no action {', '.join(some)}{rest}."]


def _listed(keys: str) -> tuple[str, ...]:
    found = [key.strip().lower() for key in keys.split(",")]
    return tuple(key for key in found if key and key not in {"none", "false"})


class LeaderKey:
    """Whether the leader was pressed and waits for its second key."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, seconds: float = LEADER_SECONDS
    ) -> None:
        self._clock = clock
        self._seconds = seconds
        self._until = 0.0

    def press(self) -> None:
        self._until = self._clock() + self._seconds

    def consume(self) -> bool:
        """Whether the key that comes now belongs to the leader; it waits for one key only."""
        waits = self._clock() < self._until
        self._until = 0.0
        return waits
