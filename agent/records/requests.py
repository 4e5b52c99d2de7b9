"""Pending requests to the user: permissions and questions.

A request is a record with an id; the future that waits for the answer stays inside the service that
asks. The first reply wins and a later one is refused.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from agent.records.blocks import Block
from agent.records.decisions import DecisionSource, Verdict
from agent.records.frozen import frozen
from agent.records.json import Json, JsonObject
from agent.records.sandbox import SandboxGrant

Action = Literal["allow", "ask", "deny"]

PermissionMode = Literal["ask", "accept edits", "judge", "auto"]
"""The permission mode: the user answers every request; edits in the project are accepted
automatically; a small model judges requests first; everything is accepted automatically. Denied
calls stay denied in each."""

CLAUDE_MODES: Mapping[PermissionMode, str] = {
    "ask": "default",
    "accept edits": "acceptEdits",
    "judge": "auto",
    "auto": "bypassPermissions",
}
"""Claude Code's names of the modes; its plan mode is an agent here."""


@frozen
class PermissionNeed:
    """One permission that a tool call needs."""

    permission: str
    """A permission key: ``edit``, ``bash``, ``external_directory`` …"""
    pattern: str
    """The text that rules are matched against: a path, a command, a host."""
    always: str | None = None
    """The pattern offered for "always"; None where none can be offered."""
    shown: str = ""
    """The text for users; "" for the pattern itself."""
    reason: str = ""
    """The reason for asking ("writes build.log")."""
    possible: str = field(default="", compare=False)
    """The effect that the call could have ("could change files"): shown where there is no reason,
    and no rule decides."""
    default_action: Action = "ask"
    """The action if no explicit rule matches, which a default rule can tighten: ``allow`` for a
    command proven read-only, ``ask`` for everything else."""
    destructive: bool = False
    incidental: bool = False
    """True for a command that only serves the others of its line, such as ``cd src``: a rule that
    asks for everything does not ask for it."""
    network: bool = False
    """True if the command is known to use the network: whoever allows it allows that too."""
    strict: Literal["", "unknown", "guarded"] = ""
    """Limits the rules that can allow the need. ``unknown``: the pattern does not say what would
    happen, so only rules that allow everything and deny nothing apply. ``guarded``: no rule
    applies, as the files govern the agent or the repository."""
    aliases: tuple[str, ...] = ()
    """Other spellings of the pattern; only deny rules look at them."""
    runs: str = ""
    """Text in which a deny rule can match from any word on."""
    mentions: tuple[str, ...] = ()
    """Texts in which such a match makes the need ask."""
    same: tuple[str, ...] = ()
    """Texts of the same meaning, which every rule looks at too: ``git status`` for ``git -C web
    status``."""
    words: str = ""
    """The command with no-break spaces for the spaces inside its words; "" if no word has any."""
    folder: str | None = ""
    """The folder that a command runs in, as ``cd`` would name it; "" for the folder of the session,
    None if it is not known."""
    named: tuple[str, ...] = ()
    """Words of a command that a rule from "always" has to name: ``--force``."""
    root: str = ""
    """For a path: the folder that relative patterns start from."""
    matched: bool = field(default=False, compare=False)
    """True for a path that a pattern in a command matches, and no word names."""

    @property
    def proven(self) -> bool:
        """True if it is proven to change nothing, and no rule has to allow it."""
        return self.default_action == "allow" and not self.strict


@frozen
class EvaluatedNeed:
    """A need with the verdict of the rules: one row of the dialog."""

    need: PermissionNeed
    action: Action
    reason: str


@frozen
class PermissionRequest:
    """One permission dialog."""

    id: str
    session_id: str
    root_id: str
    """The root of the session tree, by which replies are routed."""
    message_id: str
    call_id: str
    agent: str
    tool: str
    heading: str
    """The question ("Run this command?")."""
    folder: str
    blocks: tuple[Block, ...]
    """The subject of the question: the whole command, the diff."""
    needs: tuple[EvaluatedNeed, ...]
    """Every need with its verdict."""
    always: tuple[tuple[str, str], ...]
    """The patterns that "always" would store, as ``(permission, pattern)``."""
    created: float
    callers: tuple[str, ...] = ()
    """The agents for which a sub-agent asks, nearest first."""
    sandbox: SandboxGrant | None = None
    """The sandbox that the call gets if it is allowed; None for a call that runs in none."""
    can_leave_sandbox: bool = False
    """True if the user can allow the call without the sandbox."""
    verdict: Verdict | None = None
    """The verdict of the judge, which did not allow it; None without one."""

    @property
    def always_labels(self) -> tuple[str, ...]:
        """The scope of "always" in words, not sanitized. A lone ``*`` covers every call of the
        asking tool, and is worded so."""
        return tuple(
            f"{permission}: {pattern}"
            if permission != self.tool
            else (f"every call of {permission}" if pattern == "*" else pattern)
            for permission, pattern in self.always
        )


@frozen
class PermissionReply:
    """The answer to a permission request."""

    answer: Literal["once", "always", "reject"]
    comment: str = ""
    """A comment for the model."""
    hunks: frozenset[int] | None = None
    """The indices of the accepted hunks, over all diffs of the request; None for all."""
    edited_command: str | None = None
    """A command that replaces the one that was shown."""
    unsandboxed: bool = False
    """True if the call runs without the sandbox."""
    by: DecisionSource = field(default="person", compare=False)
    """The source of the reply; replies from different sources compare equal."""


@frozen
class QuestionOption:
    label: str
    description: str = ""


@frozen
class FormField:
    """One field of a form."""

    name: str
    label: str
    schema: JsonObject
    """The JSON schema of its value."""
    note: str = ""
    """Its description."""
    choices: dict[str, Json] = field(default_factory=dict[str, Json])
    """The values to choose from by label; none for a field of text."""
    multiple: bool = False
    """True if several choices can be made."""
    required: bool = False
    default: tuple[str, ...] = ()
    """The labels or the text to begin with."""


@frozen
class Question:
    """A question of the ``question`` tool, or of an MCP server."""

    id: str
    session_id: str
    root_id: str
    header: str
    text: str
    options: tuple[QuestionOption, ...]
    """Suggested answers, perhaps none: the user can always answer in their own words."""
    multiple: bool = False
    agent: str = ""
    """The agent that asks."""
    number: int = 1
    """The position among the *total* questions of one call."""
    total: int = 1
    fields: tuple[FormField, ...] = ()
    """The fields of a form, which has no options of its own."""
    message_id: str = ""
    """The message and the call that ask, "" where no call does."""
    call_id: str = ""


@frozen
class QuestionReply:
    """Chosen labels and free text, or the *values* of a form by field.

    *dismissed* when the user closed the dialog, *declined* when they chose not to fill in a form.
    """

    labels: tuple[str, ...] = ()
    text: str = ""
    dismissed: bool = False
    values: JsonObject | None = None
    declined: bool = False
