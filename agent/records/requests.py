"""Records of what the user is asked: permissions and questions.

A question is a record with an id; the future that waits for the answer stays inside the
service that asked. The first reply wins and a late one is refused.
"""

from dataclasses import dataclass, field
from typing import Literal

from agent.records.blocks import Block
from agent.records.decisions import DecisionSource

Action = Literal["allow", "ask", "deny"]

PermissionMode = Literal["ask", "accept edits", "auto"]
"""How questions are answered while it holds: by the user; edits in the project by
themselves; all by themselves. What is denied stays denied."""


@dataclass(frozen=True, slots=True)
class PermissionNeed:
    """One thing that a tool call needs consent for.

    *permission* is a key of spec 4, M4 (``edit``, ``bash``, ``external_directory`` …) and
    *pattern* the text that rules are matched against (path, command, host). *always* is the
    pattern offered for "always", None where none may be offered. *shown* is what a person
    reads (defaults to the pattern) and *reason* why it is asked ("writes build.log").
    *floor* is the mildest action that holds without a matching explicit rule: a read-only
    command proven safe has ``allow``, everything else ``ask``.
    *strict* limits what a rule may allow: ``unknown`` means that the pattern does not tell
    what would happen, so only rules that allow everything and deny nothing cover it;
    ``guarded`` means that no rule covers it (files that govern the agent or the repository).
    *aliases* are other spellings of the pattern; only deny rules look at them. In *runs* a deny
    rule may match from any word on; where one matches so in *mentions*, the need asks.
    """

    permission: str
    pattern: str
    always: str | None = None
    shown: str = ""
    reason: str = ""
    floor: Action = "ask"
    destructive: bool = False
    strict: Literal["", "unknown", "guarded"] = ""
    aliases: tuple[str, ...] = ()
    runs: str = ""
    mentions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EvaluatedNeed:
    """A need with the verdict of the rules: the dialog shows one row for each."""

    need: PermissionNeed
    action: Action
    reason: str


@dataclass(frozen=True, slots=True)
class PermissionRequest:
    """One dialog. *root_id* is the root of the session tree, by which replies are routed.

    *heading* is the question ("Run this command?"), *blocks* what it is about (the whole
    command, the diff), *needs* every part with its verdict, *always* the patterns that
    "always" would store, as ``(permission, pattern)``. *callers* are the agents for which a
    sub-agent asks, nearest first.
    """

    id: str
    session_id: str
    root_id: str
    message_id: str
    call_id: str
    agent: str
    tool: str
    heading: str
    folder: str
    blocks: tuple[Block, ...]
    needs: tuple[EvaluatedNeed, ...]
    always: tuple[tuple[str, str], ...]
    created: float
    callers: tuple[str, ...] = ()

    @property
    def always_labels(self) -> tuple[str, ...]:
        """What "always" would allow, in words, not cleaned. A lone ``*`` would read as everything
        there is: it is every call of the tool that asks."""
        return tuple(
            f"{permission}: {pattern}"
            if permission != self.tool
            else (f"every call of {permission}" if pattern == "*" else pattern)
            for permission, pattern in self.always
        )


@dataclass(frozen=True, slots=True)
class PermissionReply:
    """The answer. *comment* goes to the model. *hunks* are the indices of the hunks that were
    accepted, over all diffs of the question (None: all). *edited_command* replaces the command
    that was shown. *by* tells who answers; it makes no other answer of it."""

    answer: Literal["once", "always", "reject"]
    comment: str = ""
    hunks: frozenset[int] | None = None
    edited_command: str | None = None
    by: DecisionSource = field(default="person", compare=False)


@dataclass(frozen=True, slots=True)
class QuestionOption:
    label: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A question of the ``question`` tool. *options* may be empty: the user can always answer
    in their own words. It is *number* of *total* that one call asks, of agent *agent*."""

    id: str
    session_id: str
    root_id: str
    header: str
    text: str
    options: tuple[QuestionOption, ...]
    multiple: bool = False
    agent: str = ""
    number: int = 1
    total: int = 1


@dataclass(frozen=True, slots=True)
class QuestionReply:
    """Chosen labels and free text; *dismissed* when the user closed the dialog."""

    labels: tuple[str, ...] = ()
    text: str = ""
    dismissed: bool = False
