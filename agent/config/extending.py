"""The settings of what people add: agents, commands, skills, hooks (spec 10, K7, K8, H1)."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

from agent.config.keys import CHECKED
from agent.records.requests import Action

PermissionSetting: TypeAlias = Action | dict[str, Action | dict[str, Action]]
"""One action for everything, or for each permission an action or patterns in order (M1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentConfig:
    """An agent: changes to a built-in one, or one of the user's own."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    description: str | None = None
    """When to use this agent, in a sentence."""
    prompt: str | None = None
    """Its instructions."""
    model: str | None = None
    """Its model, as ``provider/model``."""
    permission: PermissionSetting | None = None
    """Its permission rules, which come after the general ones."""
    steps: int | None = None
    """Model calls that it may make in one turn."""
    mode: Literal["primary", "subagent", "all"] | None = None
    """Whether the user talks to it, other agents call it, or both."""
    temperature: float | None = None
    """Sampling temperature, where the model accepts one."""
    effort: str | None = None
    """How much its model reasons: one of the model's levels."""
    color: str | None = None
    """Its colour: a hex value such as ``"#7aa2f7"``, or a role of the theme (primary, secondary,
    accent, success, warning, error, info)."""
    hidden: bool = False
    """Whether it is left out of lists."""
    disable: bool = False
    """Whether it is switched off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandConfig:
    """A slash command: a prompt to send, with places to fill in."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    template: str | None = None
    """What is sent. ``$ARGUMENTS`` is all that is typed behind the command, ``$1`` … its words;
    ``@path`` attaches a file, and an exclamation mark with a command in backticks is replaced by
    what the command prints."""
    description: str | None = None
    """What it does, in a sentence."""
    argument_hint: str | None = None
    """What may be typed behind it, for the list of commands."""
    agent: str | None = None
    """The agent that gets it; not set, the one that is chosen."""
    model: str | None = None
    """The model that answers it, as ``provider/model``."""
    effort: str | None = None
    """How much that model reasons: one of its levels."""
    subtask: bool | None = None
    """Whether a sub-agent does it. Not set: when its agent is one that works for others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillsConfig:
    """Where skills are found, beside the usual places."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    paths: tuple[str, ...] = ()
    """Further folders that hold skills, each in a folder with a ``SKILL.md``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookCommand:
    """One program that a hook runs. It gets JSON on its standard input."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    type: Literal["command"] = "command"
    """Only programs are run here."""
    command: str
    """The shell command."""
    timeout: float | None = None
    """Seconds that it may take; 60 if not set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookGroup:
    """Programs that run together, for some of the calls of an event."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    matcher: str = ""
    """Which tools it is for: a regular expression that the whole name fits, such as
    ``Edit|Write`` or ``bash``. Empty for all."""
    hooks: tuple[HookCommand, ...] = ()
    """What is run, side by side."""
