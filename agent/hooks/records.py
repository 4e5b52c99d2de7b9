"""What a hook is, what it is told and what it may say (spec 10, H1)."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from agent.records.json import Json, JsonObject

HookEvent = Literal[
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
    "PostToolUseFailure",
    "PreRequest",
    "PreCompact",
    "Notification",
    "SubagentStop",
    "Stop",
]

EVENTS: tuple[HookEvent, ...] = get_args(HookEvent)

TIMEOUT = 60.0
"""Seconds that a hook may take when its settings name no time."""

Decision = Literal["allow", "ask", "deny"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HookCall:
    """What a hook is told. *about* is what matchers look at: a tool's name, or how a session began.
    *details* are those of the event, such as ``tool_input``."""

    event: HookEvent
    session_id: str
    directory: str
    about: str = ""
    details: JsonObject = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True, kw_only=True)
class HookAnswer:
    """What a hook says; by default nothing.

    *decision* with its *reason*: ``deny`` blocks what the event is about (of ``Stop``: the end),
    ``ask`` asks the user, ``allow`` saves a question that no rule asks. *input* takes the place of
    a tool's arguments, of what it names of a model request's, and of a summary's ``template``;
    *output* of a tool's result. *context* is told to the model, *message* to the
    user. *stop* ends the turn, for the reason it gives.
    """

    decision: Decision | None = None
    reason: str = ""
    input: JsonObject | None = None
    output: str | None = None
    context: str = ""
    message: str = ""
    stop: str | None = None


NO_ANSWER = HookAnswer()

HookFunction: TypeAlias = Callable[[HookCall], HookAnswer | Awaitable[HookAnswer | None] | None]
"""A hook in Python; what it raises is shown, and blocks a tool call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """One hook: a shell *command*, or a *function*. *matcher* is a regular expression that *about*
    fits as a whole, empty for all. *source* is where it stands; *foreign* ones know the tools by
    the names of another program. *timeout* is in seconds."""

    event: HookEvent
    source: str
    command: str = ""
    function: HookFunction | None = None
    matcher: str = ""
    timeout: float = TIMEOUT
    foreign: bool = False

    @property
    def shown(self) -> str:
        """What is run, as people read it."""
        return self.command or f"a function of {self.source}"


_STRICTEST: tuple[Decision, ...] = ("deny", "ask", "allow")


def merge_answers(answers: list[HookAnswer]) -> HookAnswer:
    """All *answers* as one: the strictest decision with its reasons, the last input and output,
    everything that is to be told."""
    said = {a.decision for a in answers}
    words: list[Decision] = [word for word in _STRICTEST if word in said]
    decision = words[0] if words else None
    reasons = [a.reason for a in answers if a.reason and a.decision == decision]
    stops = [a.stop for a in answers if a.stop is not None]
    return HookAnswer(
        decision=decision,
        reason="\n".join(dict.fromkeys(reasons)),
        input=next((a.input for a in reversed(answers) if a.input is not None), None),
        output=next((a.output for a in reversed(answers) if a.output is not None), None),
        context="\n".join(a.context for a in answers if a.context),
        message="\n".join(a.message for a in answers if a.message),
        stop="\n".join(stops) if stops else None,
    )
