"""The keymap: from the registry's default keys and the user's config to bindings.

A key is written as Textual writes it (``ctrl+p``, ``f1``), with ``<leader>`` before one that
follows the leader. The config assigns keys by action id, several with commas, ``none`` for none.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field

from agent.records.frozen import frozen
from app.action_registry.registry import Action

LEADER = "ctrl+x"
LEADER_SECONDS = 2.0
"""The time that the leader key waits for its second key, as in opencode."""

MAX_UNKNOWN_SHOWN = 4
"""Unknown actions that one sentence names."""

FIXED: Mapping[str, str] = {
    "ctrl+c": "cancel, close or clear",
    "escape": "close, or interrupt the turn",
    "enter": "send",
}
"""Keys that no action can use, and what they do."""

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
"""opencode's names of actions, which users have in their configs."""


@frozen
class Keymap:
    """The keys in force."""

    leader: str = LEADER
    direct: Mapping[str, str] = field(default_factory=dict[str, str])
    """The action id of each key."""
    after_leader: Mapping[str, str] = field(default_factory=dict[str, str])
    """The action id of each key after the leader."""
    conflicts: tuple[str, ...] = ()
    """Sentences about keys that could not be assigned."""

    def keys_of(self, action_id: str) -> tuple[str, ...]:
        """Return the keys of an action as they are shown: ``ctrl+x n``."""
        direct = [key for key, owner in self.direct.items() if owner == action_id]
        led = [
            f"{self.leader} {key}" for key, owner in self.after_leader.items() if owner == action_id
        ]
        return tuple(display_key(key) for key in (*led, *direct))


SHOWN_KEYS = {
    "escape": "esc",
    "pageup": "page up",
    "pagedown": "page down",
    "left_square_bracket": "[",
}
"""Names of keys, and how they are shown."""


def display_key(key: str) -> str:
    """Return a key as it is shown."""
    for name, shown in SHOWN_KEYS.items():
        key = key.replace(name, shown)
    return key


def build(actions: Iterable[Action], overrides: Mapping[str, str] | None = None) -> Keymap:
    """Return the keys in force.

    A key that two actions want goes to the one that the config names, else to the first in the
    registry; ``conflicts`` reports it. Unknown names in *overrides* are reported too.
    """
    wanted = {ALIASES.get(name, name): keys for name, keys in (overrides or {}).items()}
    leader = wanted.pop("leader", LEADER).strip() or LEADER
    direct: dict[str, str] = {}
    led: dict[str, str] = {}
    conflicts: list[str] = []
    listed = list(actions)
    for known in sorted(listed, key=lambda one: one.id not in wanted):
        keys = _split(wanted.pop(known.id)) if known.id in wanted else known.keys
        for key in keys:
            keys_taken, rest = (
                (led, key[len("<leader>") :]) if key.startswith("<leader>") else (direct, key)
            )
            if keys_taken is direct and (rest in FIXED or rest == leader):
                conflicts.append(
                    f"{display_key(rest)} is reserved and cannot be bound to {known.title}."
                )
            elif rest in keys_taken:
                other = next(one.title for one in listed if one.id == keys_taken[rest])
                conflicts.append(
                    f"{display_key(key)} is already used for “{other}”, so it cannot be used for "
                    f"“{known.title}”."
                )
            else:
                keys_taken[rest] = known.id
    conflicts += _unknown(list(wanted))
    return Keymap(leader, direct, led, tuple(conflicts))


def _unknown(names: list[str]) -> list[str]:
    """Return one sentence on all *names* that are no action."""
    if not names:
        return []
    some, more = names[:MAX_UNKNOWN_SHOWN], len(names) - MAX_UNKNOWN_SHOWN
    rest = f" and {more} more" if more > 0 else ""
    return [f"keybinds: there is no action {', '.join(some)}{rest}."]


def _split(keys: str) -> tuple[str, ...]:
    found = [key.strip().lower() for key in keys.split(",")]
    return tuple(key for key in found if key and key not in {"none", "false"})


class LeaderKey:
    """The state of the leader key: whether it was pressed and waits for its second key."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, seconds: float = LEADER_SECONDS
    ) -> None:
        self._clock = clock
        self._seconds = seconds
        self._until = 0.0

    def press(self) -> None:
        self._until = self._clock() + self._seconds

    def consume(self) -> bool:
        """Return whether the next key follows the leader; the leader waits for one key only."""
        waits = self._clock() < self._until
        self._until = 0.0
        return waits
