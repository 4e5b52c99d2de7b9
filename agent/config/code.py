"""The settings of language servers and formatters, in opencode's form (spec 10, X6 and X7)."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from agent.config.keys import CHECKED
from agent.records.json import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class LspServerConfig:
    """A language server: changes to a known one, or one of the user's own, which needs its
    *command* and *extensions*."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    command: tuple[str, ...] = ()
    """The program and its arguments."""
    extensions: tuple[str, ...] = ()
    """Ends of the names of its files, with the dot."""
    env: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """Further environment variables."""
    initialization: JsonObject = field(default_factory=dict)
    """Its initialization options, which it also gets as its settings."""
    disabled: bool = False
    """Whether it is switched off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatterConfig:
    """A formatter: changes to a known one, or one of the user's own, which needs its *command*
    and *extensions*."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    command: tuple[str, ...] = ()
    """The program and its arguments; ``$FILE`` stands for the file, which it changes in place."""
    extensions: tuple[str, ...] = ()
    """Ends of the names of its files, with the dot."""
    environment: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """Further environment variables."""
    disabled: bool = False
    """Whether it is switched off."""
