"""The effects of builtins and variables on the rest of the line; lost work and the network."""

import itertools
import re
from collections.abc import Sequence

from agent.permission.programs import git_arguments
from agent.permission.programs.record import Program
from agent.permission.syntax.source import word_set
from agent.permission.syntax.words import Word, as_written, is_one_word, plain

HARMLESS = re.compile(r"LANG|LC_\w+|TZ|NO_COLOR|FORCE_COLOR|CLICOLOR|TERM|COLUMNS|LINES|CI")
"""Environment variables that change no program's effect."""

LOCAL = re.compile(r"(?!.*_proxy$)[a-z_][a-z0-9_]*|[A-Z]")
"""Names of variables that only the line itself reads."""

ELEMENT = re.compile(r"\w+(\[(\d+|[@*])\])?")
"""A variable, or an element of it that no expression chooses."""

KEYWORDS = word_set(
    "then do done fi esac elif else in { } ]] function select case for while until if"
)
_BINARY = word_set("= == != < > -eq -ne -lt -le -gt -ge -nt -ot -ef -a -o")
"""Operators of ``test`` with an operand on each side."""
SETS_VARIABLE = "sets a variable, which can change what later commands do"
"""Reason for asking about a variable that more than the line itself can read."""
_STARTERS = frozenset({"BASH_ENV", "ENV", "PROMPT_COMMAND"})
"""Variables that hold text which a shell runs when it starts."""


def variable_reason(names: Sequence[str]) -> str:
    """Return the reason why a rule for a command does not cover it with the variables *names* set
    in front of it, "" if it does."""
    odd = next((name for name in names if not HARMLESS.fullmatch(name)), None)
    if odd is None:
        return ""
    return f"sets {odd or 'an element of a list'}, which can change what the command does"


def evaluates_text(base: str, program: Program, words: Sequence[Word]) -> bool:
    """Return whether the builtin evaluates its arguments as variable names with subscripts."""
    tests = base in ("test", "[")
    names = tests and any(word.text in ("-v", "-R") or not is_one_word(word) for word in words)
    return names or program.evaluates_names


def builtin_reason(base: str, program: Program, words: Sequence[Word]) -> str:
    """Return the reason why a builtin changes the meaning of later commands; "" if it does not,
    and for other programs."""
    if not program.builtin:
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
        return "" if fixed else "can run code that is hidden in the name of a variable"
    if base == "printf" and any(_may_be(word, ("-v",)) for word in words[:1]):
        return SETS_VARIABLE
    if base == "read":
        names = [text for text in texts if not text.startswith("-")]
        flags = [text for text in texts if text.startswith("-")]
        local = bool(names) and all(LOCAL.fullmatch(name) for name in names)
        if known and local and all(re.fullmatch(r"-[rs]+", flag) for flag in flags):
            return ""
        return SETS_VARIABLE
    if base == "set":
        harmless = all(re.fullmatch(r"[-+][euCf]*o?|pipefail|errexit|nounset", t) for t in texts)
        return "" if harmless and texts else "changes how the shell runs the rest of the line"
    if base in ("eval", "trap") and not known:
        return "runs code that is not known in advance"
    return "can change what later commands do" if program.changes_shell else ""


def _may_be(word: Word, flags: tuple[str, ...]) -> bool:
    """Return whether *word* is, or at run time can be, one of *flags*, with a value joined to
    it."""
    if word.values is None:
        return word.may_be_option
    return any(plain(value).startswith(flags) for value in word.values)


def literal_code(base: str, words: Sequence[Word]) -> str | None:
    """Return the code that ``eval`` or ``trap`` runs, None if it is not fully known."""
    if base not in ("eval", "trap") or not words or not all(word.literal for word in words):
        return None
    if words[0].text == "--":
        words = words[1:]
    if base == "eval":
        return as_written(words)
    first = words[0].text if words else "-"
    return None if first.startswith("-") else first


def runs_unknown_text(base: str, words: Sequence[Word], sets: Sequence[tuple[str, str]]) -> bool:
    """Return whether the command runs text that is not among its arguments; *sets* are the
    variables in front of it."""
    if any(name in _STARTERS for name, _ in sets):
        return True
    if base in ("source", "."):
        return not (words and words[0].literal and not words[0].text.startswith("/dev/"))
    return base in ("eval", "trap") and not all(word.literal for word in words)


def cd_target(words: Sequence[Word]) -> Word | None:
    """Return the operand of ``cd`` among its arguments *words*, None if it has none."""
    rest = [word for word in words if not re.fullmatch(r"-[LPe@]+|--", word.text)]
    return rest[0] if rest else None


def destroys(program: Program, words: Sequence[Word]) -> bool:
    """Return whether the command can lose work or end processes; *words* are its arguments."""
    if program.syntax == "git":
        return git_arguments.destructive(git_arguments.parse(words))
    if program.syntax in ("find", "fd"):
        return "-delete" in [word.text for word in words]
    if program.destructive_words:
        lost = program.destructive_words.split()
        return any(word.text in lost for word in words[:3])
    if program.destructive:
        return True
    options = program.named(destructive=True)
    return any(_is_option(word.text, option) for option in options for word in words)


_ENDING = word_set("halt kill killall pkill poweroff reboot shutdown")
"""Programs that end others."""


def loss_reason(base: str) -> str:
    """Return the reason for asking about a command that ``destroys`` finds."""
    if base in _ENDING:
        return "ends running programs"
    return "can discard changes or history" if base == "git" else "can delete or overwrite data"


def uses_network(program: Program, words: Sequence[Word]) -> bool:
    """Return whether the command is known to use the network; *words* are its arguments."""
    if program.effect == "network" or program.network == "*":
        return True
    if program.syntax == "git":
        return git_arguments.parse(words).subcommand in program.network.split()
    named = program.network.split()
    return bool(named) and any(word.text in named for word in words[:3])


def _is_option(text: str, option: str) -> bool:
    """Return whether *text* is *option*, for a short one perhaps in a cluster of letters."""
    if option.startswith("--"):
        return text.startswith(option)
    return re.match(rf"-[a-zA-Z]*{option[1]}", text) is not None
