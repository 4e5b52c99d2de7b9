"""Hooks, the calls that they receive and their answers."""

from collections.abc import Awaitable, Callable
from dataclasses import field
from typing import Literal, TypeAlias, get_args

from agent.records.frozen import frozen
from agent.records.json import Json, JsonObject
from agent.records.sandbox import ProgramSandbox

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
    "SubagentStart",
    "SubagentStop",
    "TaskCompleted",
    "Stop",
]

EVENTS: tuple[HookEvent, ...] = get_args(HookEvent)

TIMEOUT = 60.0
"""Seconds that a hook can take when its settings name no time."""

CLAUDE_TIMEOUT = 600.0
"""The same of hooks in Claude Code's files."""

TOOL_EVENTS: frozenset[HookEvent] = frozenset(
    {"PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure"}
)
"""The events of a tool call."""

Decision = Literal["allow", "ask", "deny"]


@frozen(kw_only=True)
class HookCall:
    """An event as a hook receives it."""

    event: HookEvent
    session_id: str
    directory: str
    about: str = ""
    """The name that matchers are compared with: of a tool, or of how a session began."""
    former: str = ""
    """The former tool whose work the tool's call does, whose name matchers can use too."""
    details: JsonObject = field(default_factory=dict[str, Json])
    """Values of the event, such as ``tool_input``."""


@frozen(kw_only=True)
class HookAnswer:
    """The answer of a hook, by default none."""

    decision: Decision | None = None
    """``deny`` blocks the event (of ``Stop``: the end of the turn), ``ask`` asks the user,
    ``allow`` saves a question that no rule asks."""
    reason: str = ""
    """The reason of the decision."""
    input: JsonObject | None = None
    """Replaces a tool's arguments, the named values of a model request, or the ``template`` of a
    summary."""
    output: str | None = None
    """Replaces a tool's result."""
    context: str = ""
    """Text added to the model's context."""
    message: str = ""
    """A message shown to the user."""
    stop: str | None = None
    """Ends the turn for this reason."""


NO_ANSWER = HookAnswer()

HookFunction: TypeAlias = Callable[[HookCall], HookAnswer | Awaitable[HookAnswer | None] | None]
"""A hook in Python; an exception in it is shown, and blocks a tool call."""


@frozen(kw_only=True)
class Hook:
    """A hook: a shell command or a function."""

    event: HookEvent
    source: str
    """The file or plugin that it comes from."""
    command: str = ""
    arguments: tuple[str, ...] | None = None
    """The arguments of *command*, which is then a program and no line for a shell."""
    condition: tuple[tuple[str, str], ...] | None = None
    """Permissions with patterns of the tool calls that it is for, None for all events."""
    in_background: bool = False
    """True if nothing waits for it, and its answer does not count."""
    folder: str = ""
    """The folder whose settings it is from, "" for the one of the session."""
    url: str = ""
    """The address that the input is posted to, in place of a command."""
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Further headers of the request; ``$NAME`` is a variable."""
    variables: tuple[str, ...] = ()
    """The environment variables that *headers* may name."""
    from_project: bool = False
    """True if a project defines it: variables with keys are not sent."""
    function: HookFunction | None = None
    matcher: str = ""
    """A regular expression for the whole of ``HookCall.about``, empty for all."""
    timeout: float = TIMEOUT
    """Seconds that it can take."""
    uses_claude_names: bool = False
    """True if it knows tools by Claude Code's names."""
    sandbox: ProgramSandbox = "off"
    """The sandbox that a command runs in."""

    @property
    def label(self) -> str:
        """The command, address or function, as shown to users."""
        words = (self.command, *(self.arguments or ()))
        return " ".join(words) if self.command else self.url or f"a function of {self.source}"


_STRICTEST: tuple[Decision, ...] = ("deny", "ask", "allow")


def merge_answers(answers: list[HookAnswer]) -> HookAnswer:
    """Merge *answers*: the strictest decision with its reasons, the last input and output, all
    other texts."""
    given = {a.decision for a in answers}
    decision: Decision | None = next((one for one in _STRICTEST if one in given), None)
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
