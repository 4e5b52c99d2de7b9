"""Hooks, the calls that they receive and their answers."""

import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import field
from typing import Literal, TypeAlias, get_args

from agent.permission.rules import Rule
from agent.records.frozen import frozen
from agent.records.json import Json, JsonObject
from agent.records.requests import PermissionNeed
from agent.records.sandbox import ProgramSandbox
from agent.records.tool_facts import claude_name_of, permission_of

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


# The matcher of a hook and the rule of its ``if``: which calls it is for.

_NAMES = re.compile(r"[\w\- ,|]*")
_PATHS = ("file_path", "notebook_path", "path")


def concerns(hook: Hook, call: HookCall) -> bool:
    """Return whether *hook* is for *call*."""
    if not is_for(hook, call.event, call.about, call.former):
        return False
    return hook.condition is None or _meets(hook.condition, call)


def is_for(hook: Hook, event: HookEvent, about: str, former: str) -> bool:
    """Return whether *hook* is for an event about a name, or the *former* one of a tool."""
    names = (about, former) if former else (about,)
    return hook.event == event and any(covers(hook, name) for name in names)


def covers(hook: Hook, about: str) -> bool:
    """Return whether the matcher of *hook* covers *about*."""
    return matches(hook.matcher, about, anywhere=hook.uses_claude_names)


def matches(matcher: str, about: str, *, anywhere: bool = False) -> bool:
    """Return whether *matcher* covers *about*, by its name here or in Claude Code.

    It is a list of names, or a regular expression for the whole name, or with *anywhere*, as in
    Claude Code, for a part of it. One that is neither is read as a name.
    """
    if matcher in {"", "*"}:
        return True
    if _NAMES.fullmatch(matcher):
        wanted = {name.strip().lower() for name in re.split(r"[|,]", matcher)}
        return any(name.lower() in wanted for name in _names(about))
    try:
        pattern = re.compile(matcher, re.IGNORECASE)
    except re.error:
        return matcher.lower() in {name.lower() for name in _names(about)}
    found = pattern.search if anywhere else pattern.fullmatch
    return any(found(name) for name in _names(about))


def _names(about: str) -> Iterator[str]:
    yield about
    if name := claude_name_of(about):
        yield name
        return
    # An MCP tool is server_tool here and mcp__server__tool in Claude Code.
    for at, char in enumerate(about):
        if char == "_":
            yield f"mcp__{about[:at]}__{about[at + 1 :]}"


def _meets(condition: tuple[tuple[str, str], ...], call: HookCall) -> bool:
    """Return whether a tool call is one of *condition*. A command that cannot be analyzed is."""
    arguments = call.details.get("tool_input")
    if call.event not in TOOL_EVENTS or not isinstance(arguments, dict):
        return False
    permission = permission_of(call.about)
    rules = [Rule(name, pattern, "ask", "a hook") for name, pattern in condition]
    rules = [rule for rule in rules if rule.concerns(permission)]
    if any(rule.pattern == "*" for rule in rules):
        return True
    needs = _needs(permission, arguments, call.directory) if rules else ()
    return needs is None or any(rule.covers(need) for rule in rules for need in needs)


def _needs(
    permission: str, arguments: JsonObject, directory: str
) -> tuple[PermissionNeed, ...] | None:
    """Return what rules are compared with for a call, None if that is not known."""
    if permission == "bash":
        from agent.permission.shell.analysis import analyze  # loaded with the first command

        found = analyze(str(arguments.get("command")), directory=directory, project=directory)
        return None if found.problem else found.needs
    if permission == "webfetch":
        from urllib.parse import urlsplit

        return (PermissionNeed(permission, urlsplit(str(arguments.get("url"))).hostname or ""),)
    path = next((value for key in _PATHS if isinstance(value := arguments.get(key), str)), None)
    if path is None:
        return None
    return (PermissionNeed(permission, path.removeprefix(f"{directory}/"), root=directory),)
