"""The reasons why a rule for a command does not cover it, and the pattern that "always" stores."""

import re
from collections.abc import Sequence

from agent.permission.patterns import quoted
from agent.permission.programs import git_arguments, inner_commands
from agent.permission.programs.builtin_effects import builtin_reason, destroys, variable_reason
from agent.permission.programs.inner_commands import Inner
from agent.permission.programs.lookup import base_name, program
from agent.permission.programs.options_to_name import acts_on_operands, named_options
from agent.permission.programs.record import UNKNOWN, Program
from agent.permission.programs.side_effects import has_side_effects, side_effect_reason
from agent.permission.shell.simple_command import SimpleCommand
from agent.permission.syntax.words import Word, as_written

_ODD_NAME = re.compile(r"^-|[\s\\]")
_VARIES = re.compile(r"[*?\n]|^[~$]")
_SUBCOMMAND = re.compile(r"[a-z][a-z0-9]*([-:.][a-z0-9]+)*")
_UNKNOWN_LENGTH = 2
"""Words of the pattern for a program that is not recorded."""


def name_reason(name: str) -> str:
    """Return the reason why a program of this *name* is not what it looks like, "" if it is."""
    if not name or not name.isascii() or _ODD_NAME.search(name):
        return "the program's name contains unusual characters"
    base = base_name(name)
    lower = base.lower()
    if base != lower and program(base) is None and program(lower) is not None:
        return f"{base} is {lower} on file systems that ignore case"
    return ""


def depends_on_context(call: SimpleCommand) -> bool:
    """Return whether more than the words of the command decides what happens: nothing is stored
    then."""
    return bool(call.wrapped or call.sets or call.adds_paths or call.adds_arguments)


def uncovered_reason(
    base: str, known: Program, call: SimpleCommand, inner: Inner | None, actions: list[Inner]
) -> str:
    """Return the reason why the pattern does not describe the effect, "" if it does."""
    # ``read`` splits what it reads at the characters in IFS, which is its own then.
    names = [name for name, _ in call.sets if base != "read" or name != "IFS"]
    reason = name_reason(call.words[0].text) or variable_reason(names)
    arguments = call.words[1:]
    if call.adds_arguments and (
        has_side_effects(known) or inner is not None or (known.always or 1) > 1
    ):
        reason = reason or f"{base} gets arguments that are not known in advance"
    if inner is not None:
        return reason or inner.reason or variable_reason([name for name, _ in inner.sets])
    if known.syntax == "git":
        return reason or git_arguments.parse(arguments).reason
    reason = reason or next((each.reason for each in actions if each.reason), "")
    return (
        reason
        or builtin_reason(base, known, arguments)
        or side_effect_reason(base, known, arguments)
    )


def always_pattern(
    base: str, known: Program, call: SimpleCommand, inner: Inner | None, actions: list[Inner]
) -> str | None:
    """Return the pattern for "always"; a wrapper has one only if it names what it runs.

    What a wrapper runs has none: "always" to ``sudo git push`` does not allow ``git push``.
    """
    if depends_on_context(call) or base in ("eval", "trap", "exec"):
        return None
    if inner is None:
        code = known.interpreter and known.always is None
        exact = code or destroys(known, call.words[1:])
        return None if actions else pattern_of(call.words, exact_only=exact)
    if not inner.words or inner.codes or not inner_commands.is_named_with_program(base, call.words):
        return None
    run = base_name(inner.words[0].text)
    running = program(run) or UNKNOWN
    if inner_commands.unwrap(run, inner.words) is not None:
        return None
    if side_effect_reason(run, running, inner.words[1:]):
        return None
    if _runs_code(base, call.words) or running.exact or running.interpreter:
        return pattern_of(call.words, exact_only=True)
    inner_length = running.prefix_length([word.text for word in inner.words]) or 1
    length = len(call.words) - len(inner.words) + inner_length
    head = call.words[:length]
    if named_words(known, call.words) or acts_on_operands(running, inner.words[:inner_length]):
        return pattern_of(call.words, exact_only=True)
    named = all(word.literal and re.fullmatch(r"\w[\w.:-]*", word.text) for word in head)
    return f"{as_written(head)} *" if named and len(head) == length else None


def pattern_of(words: Sequence[Word], *, exact_only: bool = False) -> str | None:
    """Return the pattern for the command *words* by itself, None where none can be stored.

    It is a literal prefix that ends before the first option, with `` *``; else the exact line: for
    a use with an option that a rule has to name, and for one that acts on what its operands name,
    such as ``git push``.
    """
    texts = [word.text for word in words]
    known = program(texts[0]) or UNKNOWN
    exact_only = exact_only or "/" in texts[0] or known.exact or _runs_code(texts[0], words)
    if not exact_only:
        listed = known.always is not None
        length = (known.prefix_length(texts) or 1) if listed else _UNKNOWN_LENGTH
        if listed and len(texts) < length:
            # A bare group such as ``git stash``: a prefix would cover all that is below it.
            return " ".join(texts) if all(word.literal for word in words) else None
        prefix = words[:length]
        usable = (listed or len(words) > _UNKNOWN_LENGTH) and all(
            word.literal and (at == 0 or _SUBCOMMAND.fullmatch(word.text))
            for at, word in enumerate(prefix)
        )
        named = usable and named_words(known, words)
        if usable and not named and not acts_on_operands(known, prefix):
            return " ".join(texts[:length]) + " *"
        if not usable and (known.always or 1) > 1:
            return None
    exact = quoted(texts)
    # A variable holds something else in the next line.
    fixed = not _VARIES.search(" ".join(texts)) and all(
        word.literal and not word.parts for word in words
    )
    return exact if fixed else None


def pattern_in(folder: str | None, pattern: str | None) -> str | None:
    """Return *pattern* for a command that runs in *folder*, None where that is not known."""
    if pattern is None or folder is None:
        return None
    return f"cd {folder} && {pattern}" if folder else pattern


def named_words(known: Program, words: Sequence[Word]) -> tuple[str, ...]:
    """Return the words of a command that a rule from "always" has to name; all of it, if it can
    destroy work."""
    if destroys(known, words[1:]):
        return (as_written(words),)
    return named_options(known, words)


def _runs_code(name: str, words: Sequence[Word]) -> bool:
    """Return whether the command can run any code or program."""
    known = program(name) or UNKNOWN
    command = known.subcommand.get(words[1].text) if len(words) > 1 else None
    return known.runs_code or (command is not None and command.runs_code)
