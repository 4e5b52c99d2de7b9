"""Commands of git, which reads its configuration as programs to run.

What is harmless is recorded in the catalog; options before the subcommand such as ``-c`` and
``-C`` are never ignored, because they choose the repository and the programs that git runs.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from agent.permission.programs import arguments
from agent.permission.programs.arguments import Arguments, only_reads
from agent.permission.programs.lookup import program
from agent.permission.programs.record import UNKNOWN, Command, Program
from agent.permission.programs.side_effects import effect_reason
from agent.permission.syntax.words import Word, as_written, literal_word
from agent.records.frozen import frozen

_OVER_FILES = frozenset({"--worktree", "--no-staged", "-W"})
"""Options with which ``git restore`` overwrites files."""


@frozen
class GitCall:
    """The parts of a git command."""

    subcommand: str
    """Empty if there is none."""

    rest: tuple[Word, ...]
    """The words after the subcommand."""

    globals: tuple[Word, ...]
    """The options before it."""

    command: Command
    """The record of the subcommand, or of the one below it: ``list`` for ``git stash list``."""

    arguments: Arguments
    """The options and operands of *command*."""

    reason: str = ""
    """The reason why a rule for the command does not cover it; empty if it does."""

    @property
    def normal(self) -> str:
        """The command without options before the subcommand, as deny rules name it."""
        words = (literal_word(self.subcommand), *self.rest) if self.subcommand else self.globals
        return as_written((literal_word("git"), *words))


def parse(words: Sequence[Word]) -> GitCall:
    """Split the arguments of git."""
    return _parse(tuple(words))


def _git() -> Program:
    return program("git") or UNKNOWN


@lru_cache(maxsize=256)
def _with_shared(name: str, inner: str = "") -> Command | None:
    """Return the record of a subcommand, or of *inner* below it, with the options that every
    subcommand can have; its own are more exact."""
    git = _git()
    command = git.subcommand.get(name, Command(name))
    if inner:
        below = command.subcommand.get(inner)
        if below is None:
            return None
        command = below
    return replace(command, options=(*git.shared_options, *command.options))


@lru_cache(maxsize=4)  # several checks of one command ask for it
def _parse(words: tuple[Word, ...]) -> GitCall:
    git = _git()
    before = arguments.parse(git, words, leading=True)
    reason = ""
    for each in before.options:
        effect = "unknown" if each.option is None else each.option.effect
        if effect != "none" and each.name not in ("--version", "-v"):
            reason = reason or f"{each.word.text} can make git run other programs"
    if before.unsure is not None:
        reason = reason or f"{before.unsure.source} can turn into an option of git"
    at = before.length
    if at >= len(words):
        return GitCall("", (), words, git, before, reason)
    if not words[at].literal:
        reason = reason or f"the git command ({words[at].source}) is not known in advance"
    name, rest = words[at].text, words[at + 1 :]
    command = _with_shared(name) or UNKNOWN
    given = arguments.parse(command, rest)
    if command.subcommands:
        skipped = arguments.parse(command, rest, leading=True).length
        inner = _with_shared(name, rest[skipped].text) if skipped < len(rest) else None
        if inner is not None:
            command, given = inner, arguments.parse(inner, rest[skipped + 1 :])
    reason = reason or _side_effect(name, command, given, rest)
    return GitCall(name, rest, words[:at], command, given, reason)


def _side_effect(name: str, command: Command, given: Arguments, rest: Sequence[Word]) -> str:
    """Return the reason why options or the subcommand start other programs, "" if not."""
    if command.wrapper is not None or command.effect == "execute":
        return f"git {name} runs other programs"
    if name == "config" and not _only_reads(command, given):
        return "can change which programs git runs"
    if any(word.text.startswith("ext::") for word in rest):
        return "the address makes git run a program"
    return effect_reason(given)


def reads_only(call: GitCall) -> bool:
    """Return whether the command only shows what the repository holds, without a helper program."""
    if call.reason or not all(word.known for word in call.rest):
        return False
    return _only_reads(call.command, call.arguments) and not _shows_settings(call)


_NAMES_ONLY = frozenset(
    {
        "branch", "check-attr", "check-ignore", "config", "count-objects", "describe",
        "for-each-ref", "help", "log", "ls-files", "ls-tree", "merge-base", "name-rev", "reflog",
        "remote", "rev-list", "rev-parse", "shortlog", "show-branch", "show-ref", "stash", "status",
        "symbolic-ref", "tag", "var", "version", "whatchanged", "worktree",
    }
)  # fmt: skip
"""Subcommands that show names and messages, and contents of files only as patches."""
_PATCHES = frozenset(
    {
        "-p", "-u", "--patch", "-U", "--unified", "-L", "-c", "--cc", "-m", "--dd", "-W",
        "--diff-merges", "--remerge-diff", "--patch-with-raw", "--patch-with-stat", "--binary",
        "--word-diff", "--word-diff-regex", "--color-words", "--function-context", "--check",
    }
)  # fmt: skip
_SUMMARIES = frozenset(
    {
        "--stat", "--name-only", "--name-status", "--numstat", "--shortstat", "--dirstat",
        "--summary", "--no-patch", "-s", "--quiet", "--raw", "--compact-summary",
    }
)  # fmt: skip
"""Options with which a diff shows names and numbers only."""


def shows_contents(call: GitCall) -> bool:
    """Return whether a command that only reads can show the contents of files."""
    if not call.subcommand:
        return False
    given = {each.name for each in call.arguments.options}
    if given & _PATCHES or (call.subcommand == "status" and given & {"-v", "--verbose"}):
        return True
    if call.subcommand.startswith("diff"):
        return not given & _SUMMARIES
    if call.subcommand == "stash":
        return "show" in call.command.names and not given & _SUMMARIES
    return call.subcommand not in _NAMES_ONLY


_SETTING_WITH_SECRET = re.compile("header|token|password|secret|credential|cookie", re.IGNORECASE)


def _shows_settings(call: GitCall) -> bool:
    """Return whether it shows settings that can hold a password or token."""
    if call.subcommand != "config":
        return False
    every = "list" in call.command.names or bool(
        call.arguments.given("-l", "--list", "--get-regexp")
    )
    return every or any(_SETTING_WITH_SECRET.search(word.text) for word in call.arguments.operands)


def _only_reads(command: Command, given: Arguments) -> bool:
    """Return whether the subcommand only reads with these arguments."""
    # Formats can verify signatures, for which git runs a program.
    if any("%G" in value.text for each in given.options for value in each.values):
        return False
    return only_reads(command, given)


def destructive(call: GitCall) -> bool:
    """Return whether work or history can be lost."""
    texts = [word.text for word in call.rest]
    names = {each.name for each in call.arguments.options}
    match call.subcommand:
        case "push":
            return any(
                text.startswith(("--force", "--delete", "--mirror", "--prune", "+", ":"))
                or re.fullmatch(r"-[a-zA-Z]*[fd][a-zA-Z]*", text)
                for text in texts
            )
        case "reset":
            return "--hard" in names
        case "restore":
            return not {"--staged", "-S"} & names or bool(_OVER_FILES & names)
        case "checkout" | "switch":
            return any(text in ("--", ".", "-f", "--force", "--discard-changes") for text in texts)
        case "branch":
            return bool({"-d", "-D", "--delete"} & names)
        case "stash":
            return texts[:1] in (["drop"], ["clear"])
        case _:
            return call.command.destructive
