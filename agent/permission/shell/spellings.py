"""The spellings of a command that deny rules look at beside the one that is shown (B2)."""

import itertools
import re

from agent.permission.programs import git, wrappers
from agent.permission.programs.record import Program
from agent.permission.programs.subcommand_names import names_without_options
from agent.permission.shell.call import Call
from agent.permission.syntax.words import MAX_VALUES, Word, as_written, literal_word, plain

_BLANK = re.compile(r"\s")


def all_aliases(base: str, known: Program, call: Call, text: str) -> tuple[str, ...]:
    """Spellings beside *text* for deny rules: the bare name, no flags before the subcommand."""
    found = name_aliases(base, call)
    if known.syntax == "git":
        found.append(git.parse(call.words[1:]).normal)
    if known.syntax in ("find", "fd") and any(word.text == "-delete" for word in call.words[1:]):
        found.append(as_written([literal_word("rm"), *call.words[1:]]))
    for name in names_without_options(base, call.words[1:]):
        found += [name, *_runner_aliases(name, base)]
    return distinct_aliases(text, found)


def _runner_aliases(name: str, base: str) -> list[str]:
    """What runs in the end where *base* stands for another program, which only runs others."""
    words = tuple(map(literal_word, name.split(" ")))
    inner = wrappers.unwrap(words[0].text, words) if words[0].text != base else None
    return [as_written(inner.words)] if inner is not None and inner.words else []


def name_aliases(base: str, call: Call) -> list[str]:
    """*call* by the bare name of its program, and with what its variables hold."""
    found = [*call.aliases, *_expanded_variables(call.words)]
    if base != call.words[0].text:
        found.append(as_written((literal_word(base), *call.words[1:])))
    return found


def distinct_aliases(text: str, spellings: list[str]) -> tuple[str, ...]:
    if not spellings:
        return ()
    return tuple(dict.fromkeys(alias for alias in spellings if alias != text))


def _expanded_variables(words: tuple[Word, ...]) -> list[str]:
    """The command with what its variables hold: ``git $y`` where y is ``push``."""
    if not any(word.parts and word.known for word in words):
        return []
    choices = [word.values or (word.text,) if word.parts else (word.text,) for word in words]
    spelled = itertools.islice(itertools.product(*choices), MAX_VALUES)
    return [" ".join(map(plain, each)) for each in spelled]


def word_by_word(call: Call) -> str:
    """The command with one blank between words and none in them."""
    return " ".join([_BLANK.sub("\u00a0", word.text) for word in call.words])
