"""Commands of git, which reads its configuration as programs to run.

What is harmless is recorded in the catalog; options before the subcommand such as ``-c`` and
``-C`` are never ignored, because they choose the repository and the programs that git runs.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from agent.permission.programs.lookup import program
from agent.permission.programs.record import SIDE_EFFECTS, UNKNOWN, Command, Program
from agent.permission.syntax.words import Word, is_one_word

_BRANCH_FLAGS = re.compile(
    r"-[arv]+|-vv|--(list|all|remotes|show-current|verbose|color|no-color|ignore-case|no-column)"
    r"|--(sort|format|merged|no-merged|contains|no-contains|points-at|color|column|abbrev)=.*"
)
_OVER_FILES = re.compile(r"--(worktree|no-staged)|-(?!-)[^s]*W")
"""Options with which ``git restore`` overwrites files."""
_ENTERS_SUBMODULES = re.compile(r"--ignore-s\w*[\w-]*=(?!all$|dirty$)")
"""Options with which git runs in submodules, with their configuration."""
_MIN_ABBREVIATION = 5
"""Characters of a long option from which on it is taken for a shortened one."""


@dataclass(frozen=True, slots=True)
class GitCall:
    """The parts of a git command."""

    subcommand: str
    """Empty if there is none."""

    rest: tuple[Word, ...]
    """The words after the subcommand."""

    globals: tuple[Word, ...]
    """The options before it."""

    reason: str = ""
    """The reason why a rule for the command does not cover it; empty if it does."""

    @property
    def normal(self) -> str:
        """The command without options before the subcommand, as deny rules name it."""
        return " ".join(["git", self.subcommand, *(word.text for word in self.rest)]).strip()


def parse(words: Sequence[Word]) -> GitCall:
    """Split the arguments of git."""
    return _parse(tuple(words))


def _git() -> Program:
    return program("git") or UNKNOWN


def _command(call: GitCall) -> Command:
    return _git().subcommand.get(call.subcommand, UNKNOWN)


@lru_cache(maxsize=4)  # several checks of one command ask for it
def _parse(words: tuple[Word, ...]) -> GitCall:
    options = _git().option
    reason = ""
    at = 0
    while at < len(words) and words[at].text.startswith("-"):
        text = words[at].text
        if text in ("--version", "-v"):
            break
        option = options.get(text)
        if option is None or option.effect != "none":
            reason = reason or f"{text} changes which repository or programs git uses"
        at += 2 if option is not None and option.takes_value else 1
    if at >= len(words):
        return GitCall("", (), words, reason)
    if not words[at].literal:
        reason = reason or "the subcommand of git is known at run time only"
    call = GitCall(words[at].text, words[at + 1 :], words[:at])
    return GitCall(call.subcommand, call.rest, call.globals, reason or _side_effect(call))


def _side_effect(call: GitCall) -> str:
    """Return the reason why options or the subcommand start other programs, "" if not."""
    texts = [word.text for word in call.rest]
    if call.subcommand == "bisect" and texts[:1] == ["run"]:
        return "git bisect run starts a program"
    if call.subcommand == "submodule" and "foreach" in texts:
        return "git submodule foreach starts a program"
    if _command(call).effect == "execute":
        return f"git {call.subcommand} starts other programs"
    if call.subcommand == "config" and not _config_reads(texts):
        return "git config can change what git runs"
    for at, word in enumerate(call.rest):
        if word.text == "--":
            return ""
        if at and _is_message(call, at):
            continue
        if not word.known and word.may_be_option:
            return f"the argument {word.source} may be a flag that runs or writes something"
        for text in word.values or (word.text,):
            if _has_side_effect(_command(call), text):
                return f"{text} may run another program or write a file"
    return ""


def _is_message(call: GitCall, at: int) -> bool:
    """Return whether the word at *at* is the text after ``-m``: one word whatever it expands to."""
    if call.subcommand not in ("commit", "tag", "merge", "stash", "notes"):
        return False
    flag = re.fullmatch(r"-[a-z]*m|--message", call.rest[at - 1].text)
    return flag is not None and is_one_word(call.rest[at])


def _config_reads(texts: list[str]) -> bool:
    reading = re.compile(r"--(get|get-all|get-regexp|list)|-l|get|list")
    if len(texts) == 1 and not texts[0].startswith("-"):
        return True
    return bool(texts) and reading.fullmatch(texts[0]) is not None


@lru_cache(maxsize=1)
def _shared() -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Return the options of every subcommand: with a side effect, with none, and those that are
    only known to be no proof of reading."""
    harmful: set[str] = set()
    harmless: set[str] = set()
    unproven: set[str] = set()
    for option in _git().shared_options:
        kind = unproven if option.effect == "unknown" else harmless
        kind = harmful if option.effect in SIDE_EFFECTS else kind
        kind.update(option.names.split())
    return frozenset(harmful), frozenset(harmless), frozenset(unproven)


def _has_side_effect(command: Command, text: str) -> bool:
    if text.startswith("ext::"):
        return True
    if text.startswith("--"):
        harmful, harmless, _ = _shared()
        name = text.split("=", 1)[0]
        return name in harmful or (name not in harmless and _abbreviates(name, harmful))
    return text.startswith("-") and any(
        option[1] in text[1:]
        for option, record in command.option.items()
        if record.effect in SIDE_EFFECTS
    )


def _abbreviates(name: str, options: frozenset[str]) -> bool:
    return len(name) >= _MIN_ABBREVIATION and any(option.startswith(name) for option in options)


def reads_only(call: GitCall) -> bool:
    """Return whether the command only shows what the repository holds, without a helper program."""
    if call.reason or not all(word.known for word in call.rest):
        return False
    if any(_effect_before(word.text) != "none" for word in call.globals):
        return False
    texts = [word.text for word in call.rest]
    if _command(call).effect == "read":
        return not any(map(_unproven, texts))
    listing = _LISTINGS.get(call.subcommand)
    return listing is not None and listing(texts)


def _effect_before(text: str) -> str:
    """Return the effect of an option before the subcommand."""
    option = _git().option.get(text)
    return "unknown" if option is None else option.effect


def _unproven(text: str) -> bool:
    if text.startswith("--"):
        unproven = _shared()[2]
        name = text.split("=", 1)[0]
        if name in unproven or _abbreviates(name, unproven):
            return True
        if _ENTERS_SUBMODULES.match(text):
            return True
    return "%G" in text or re.match(r"-[A-Za-z]*h$", text) is not None


def _branch(texts: list[str]) -> bool:
    listing = any(text in ("--list", "-l") for text in texts)
    for at, text in enumerate(texts):
        before = texts[at - 1] if at else ""
        taken = before in ("--contains", "--merged", "--no-merged", "--no-contains", "--sort")
        bare = text in ("--contains", "--merged", "--no-merged", "--no-contains", "--sort")
        shown = bare or _BRANCH_FLAGS.fullmatch(text) is not None
        if not shown and (text.startswith("-") or not (listing or taken)):
            return False
    return True


def _tag(texts: list[str]) -> bool:
    if not texts:
        return True
    listing = texts[0] in ("-l", "--list") or re.fullmatch(r"-n\d*", texts[0]) is not None
    return listing and all(
        not text.startswith("-") or re.match(r"(-l|-n\d*|--(list|sort|contains|merged))", text)
        for text in texts
    )


def _remote(texts: list[str]) -> bool:
    return texts in ([], ["-v"], ["--verbose"]) or (len(texts) == 2 and texts[0] == "get-url")


def _stash(texts: list[str]) -> bool:
    return texts[:1] in (["list"], ["show"])


def _reflog(texts: list[str]) -> bool:
    return not texts or texts[0] == "show" or texts[0].startswith("-")


def _worktree(texts: list[str]) -> bool:
    return texts[:1] == ["list"]


_LISTINGS = {
    "branch": _branch, "tag": _tag, "remote": _remote, "stash": _stash, "reflog": _reflog,
    "worktree": _worktree,
}  # fmt: skip
"""Subcommands that only list with some arguments."""


def destructive(call: GitCall) -> bool:
    """Return whether work or history can be lost."""
    texts = [word.text for word in call.rest]
    match call.subcommand:
        case "push":
            return any(
                text.startswith(("--force", "--delete", "--mirror", "--prune", "+", ":"))
                or re.fullmatch(r"-[a-zA-Z]*[fd][a-zA-Z]*", text)
                for text in texts
            )
        case "reset":
            return "--hard" in texts
        case "restore":
            staged = {"--staged", "-S"} & set(texts)
            return not staged or any(map(_OVER_FILES.match, texts))
        case "checkout" | "switch":
            return any(text in ("--", ".", "-f", "--force", "--discard-changes") for text in texts)
        case "branch":
            return any(re.fullmatch(r"-[a-zA-Z]*[dD][a-zA-Z]*|--delete", text) for text in texts)
        case "stash":
            return texts[:1] in (["drop"], ["clear"])
        case _:
            return _command(call).destructive
