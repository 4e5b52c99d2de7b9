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
