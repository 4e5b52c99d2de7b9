"""Settings of the full screen."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from agent.config.keys import CHECKED


@dataclass(frozen=True, slots=True, kw_only=True)
class UiConfig:
    """How the full screen looks and behaves (spec 8)."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    diffs: Literal["auto", "unified", "split"] = "auto"
    """Old and new side by side where there is room, never (``unified``), or wherever it is just
    possible (``split``)."""
    sidebar: Literal["auto", "show", "hide"] = "auto"
    """Whether todo, changed files and context stand at the right: on wide screens, always where
    there is room, or never."""
    notifications: Literal["auto", "bell", "osc9", "osc777", "off"] = "auto"
    """How you are told that a turn ended or a question waits while the terminal has no focus:
    the bell, a desktop notification by OSC 9 or OSC 777, both bell and OSC 9 (``auto``), or not."""
    mouse: bool = True
    """Whether the program takes the mouse; without it, it selects text as in a shell."""
    animations: bool = True
    """Whether spinners turn."""
    title: bool = True
    """Whether the terminal's title tells the session and whether it works or waits."""
    scroll_speed: float | None = None
    """Lines that one turn of the mouse wheel scrolls; 2 if not set."""
    leader_timeout: int = 2_000
    """Milliseconds that the leader key waits for the key behind it."""
    vim: bool = False
    """Whether the prompt has Vim's keys."""
