"""Names that mean something of their own: variables, shell builtins, destructive programs."""

import itertools
import re
from collections.abc import Sequence

from agent.permission.programs import git
from agent.permission.syntax.lexicon import names
from agent.permission.syntax.words import Word, as_written, one_word, plain

HARMLESS = re.compile(r"LANG|LC_\w+|TZ|NO_COLOR|FORCE_COLOR|CLICOLOR|TERM|COLUMNS|LINES|CI")
"""Environment variables that change no program's effect (security facts, 7.3)."""

LOCAL = re.compile(r"(?!.*_proxy$)[a-z_][a-z0-9_]*|[A-Z]")
"""Names of variables that only the line itself reads."""

ELEMENT = re.compile(r"\w+(\[(\d+|[@*])\])?")
"""A variable, or an element of it that no expression chooses."""

KEYWORDS = names("then do done fi esac elif else in { } ]] function select case for while until if")
FINDERS = frozenset({"find", "fd", "fdfind"})
WRITERS = names(
    "rm rmdir cp mv mkdir touch chmod chown chgrp ln tee dd install rsync truncate shred unzip "
    "patch tar mkfifo mknod"
)
"""Programs whose operands are files that they change, each by its own rule."""

_CHANGES_STATE = names(
    "alias unalias hash enable shopt bind complete compgen compopt mapfile readarray source . fc "
    "history getopts let export declare typeset readonly local unset dirs"
)
BUILTINS = _CHANGES_STATE | names(
    "cd pushd popd pwd echo printf test [ true false : break continue exit return shift read set "
    "trap eval exec command builtin type kill wait jobs fg bg disown umask ulimit times suspend "
    "logout caller"
)
_SETTING = frozenset({"printf", "read", "set", "eval", "trap", "test", "["})
_BINARY = names("= == != < > -eq -ne -lt -le -gt -ge -nt -ot -ef -a -o")
"""Operators of ``test`` with an operand on each side."""
_DESTRUCTIVE = names(
    "rm rmdir dd shred kill killall pkill shutdown reboot halt poweroff truncate fdisk parted "
    "wipefs mkswap"
)
_DELETERS = names("kubectl terraform tofu docker podman pulumi helm")
_DELETES = frozenset({"delete", "destroy", "rm", "prune", "down"})


def odd_variable(names: Sequence[str]) -> str:
    """Why setting *names* in front of a command is not covered by a rule for it."""
    odd = next((name for name in names if not HARMLESS.fullmatch(name)), None)
    if odd is None:
        return ""
    return f"sets {odd or 'an element of a list'}, which can change what runs"


def evaluates_text(base: str, words: Sequence[Word]) -> bool:
    """Whether a builtin evaluates its arguments as variable names with subscripts."""
    tests = base in ("test", "[")
    names = tests and any(word.text in ("-v", "-R") or not one_word(word) for word in words)
    return names or base in ("let", "read", "printf", "declare", "typeset", "unset", "wait")


def builtin_reason(base: str, words: Sequence[Word]) -> str:
    """Builtins that change what later commands mean; empty for all other programs."""
    if base not in _SETTING and base not in _CHANGES_STATE:
        return ""
    texts = [word.text for word in words]
    known = all(word.literal for word in words)
    if base in ("test", "["):
        named = [
            word
            for flag, word in itertools.pairwise(words)
            if _may_be(flag, ("-v", "-R")) and word.text not in _BINARY
        ]
        fixed = all(word.literal and ELEMENT.fullmatch(word.text) for word in named)
        return "" if fixed else f"{base} evaluates a name"
    if base == "printf" and any(_may_be(word, ("-v",)) for word in words[:1]):
        return "printf -v sets a variable"
    if base == "read":
        names = [text for text in texts if not text.startswith("-")]
        flags = [text for text in texts if text.startswith("-")]
        local = bool(names) and all(LOCAL.fullmatch(name) for name in names)
        if known and local and all(re.fullmatch(r"-[rs]+", flag) for flag in flags):
            return ""
        return "read may set a variable that changes what runs"
    if base == "set":
        harmless = all(re.fullmatch(r"[-+][euCf]*o?|pipefail|errexit|nounset", t) for t in texts)
        return "" if harmless and texts else "set changes how the shell runs commands"
    if base in ("eval", "trap") and not known:
        return f"{base} runs text that is known at run time only"
    return f"{base} changes what later commands mean" if base in _CHANGES_STATE else ""


def _may_be(word: Word, flags: tuple[str, ...]) -> bool:
    """Whether *word* is, or at run time may be, one of *flags*, with a value joined to it."""
    if word.values is None:
        return word.may_be_option
    return any(plain(value).startswith(flags) for value in word.values)


def literal_code(base: str, words: Sequence[Word]) -> str | None:
    """The code that ``eval`` and ``trap`` run, if it is written out."""
    if base not in ("eval", "trap") or not words or not all(word.literal for word in words):
        return None
    if words[0].text == "--":
        words = words[1:]
    if base == "eval":
        return as_written(words)
    first = words[0].text if words else "-"
    return None if first.startswith("-") else first


PROGRAM_READERS = names("python python3 node deno bun perl ruby php lua make gmake psql mysql")
"""Run a program of their own language from standard input when they are given no operand."""

LISTED = BUILTINS | FINDERS | WRITERS | PROGRAM_READERS | _DESTRUCTIVE | _DELETERS | {"git"}
"""Programs that this module has a word on."""


_STARTERS = frozenset({"BASH_ENV", "ENV", "PROMPT_COMMAND"})
"""Variables that hold text which a shell runs when it starts."""


def obeys(base: str, words: Sequence[Word], sets: Sequence[tuple[str, str]]) -> bool:
    """Whether the builtin runs text that is not written behind it."""
    if any(name in _STARTERS for name, _ in sets):
        return True
    if base in ("source", "."):
        return not (words and words[0].literal and not words[0].text.startswith("/dev/"))
    return base in ("eval", "trap") and not all(word.literal for word in words)


def cd_target(words: Sequence[Word]) -> Word | None:
    """The operand of ``cd`` among its arguments *words*."""
    rest = [word for word in words if not re.fullmatch(r"-[LPe@]+|--", word.text)]
    return rest[0] if rest else None


def destroys(base: str, words: Sequence[Word]) -> bool:
    """Whether the command can lose work or end processes; *words* are its arguments."""
    if base == "git":
        return git.destructive(git.parse(words))
    if base in ("chmod", "chown", "chgrp"):
        return any(re.match(r"-[a-zA-Z]*R|--recursive", word.text) for word in words)
    if base in FINDERS:
        return any(word.text == "-delete" for word in words)
    if base in _DELETERS:
        return any(word.text in _DELETES for word in words[:3])
    return base in _DESTRUCTIVE or base.startswith("mkfs")
