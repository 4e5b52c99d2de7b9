"""A simple command: one program with its words, as it stands in a line; the folders around it."""

import re
from functools import lru_cache
from typing import NamedTuple

from agent.permission.shell.names import Names
from agent.permission.shell.paths import Dirs, any_of
from agent.permission.syntax.words import Word, as_written

ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\[[^]]*\])?\+?=")
"""A word that sets a variable, or an element of one: its name first."""

_BLANK = re.compile(r"\s")


class FoldersAfter(NamedTuple):
    """The folders that the next command can run in."""

    success: Dirs
    failure: Dirs

    fails: bool = True
    """False if failure can be excluded: a change to a folder that exists."""

    @property
    def negated(self) -> "FoldersAfter":
        return FoldersAfter(self.failure, self.success)

    @property
    def either(self) -> Dirs:
        return any_of(self.success, self.failure) if self.fails else self.success


@lru_cache(maxsize=64)
def stay(dirs: Dirs) -> FoldersAfter:
    return FoldersAfter(dirs, dirs)


def after_and(first: FoldersAfter, second: FoldersAfter) -> FoldersAfter:
    """Return the folders after ``first && second``."""
    if not first.fails:
        return second
    return FoldersAfter(second.success, any_of(first.failure, second.failure))


def after_or(first: FoldersAfter, second: FoldersAfter) -> FoldersAfter:
    """Return the folders after ``first || second``."""
    if not first.fails:
        return first
    return FoldersAfter(any_of(first.success, second.success), second.failure, second.fails)


def either_of(first: FoldersAfter, second: FoldersAfter) -> FoldersAfter:
    return FoldersAfter(
        any_of(first.success, second.success),
        any_of(first.failure, second.failure),
        first.fails or second.fails,
    )


class SimpleCommand(NamedTuple):
    """One command as it is called in the line."""

    words: tuple[Word, ...]
    """The name and the arguments."""

    source: str
    """The text in the line."""

    dirs: Dirs
    """The folders it can run in."""

    sets: tuple[tuple[str, str], ...] = ()
    """The variables set in front of it, with their values."""

    adds_paths: bool = False
    """True if paths are added at run time."""

    adds_arguments: bool = False
    """True if any arguments are added at run time."""

    added: Names | None = None
    """The names that are added, None if they can be anything."""

    replaced: str = ""
    """The text in whose place they are put; empty if they follow the words."""

    wrapped: bool = False
    """True if another program runs it."""

    aliases: tuple[str, ...] = ()
    """Further texts by which deny rules find it."""

    default_path: bool = False
    """True if its program is looked up in the system's PATH, as by ``command -p``."""

    level: int = 0
    """The number of commands it is nested in."""

    written: tuple[Word, ...] = ()
    """The words as they are in the line, if *words* have the values of variables in them."""

    unmoved: tuple[Word, ...] = ()
    """The words with the options that change the folder, if *words* are without them."""

    asynchronous: bool = False
    """True if it runs in a subshell of its own (``coproc``)."""

    negated: bool = False
    """True if ``!`` stands in front: its failure is a success."""

    @property
    def shown_words(self) -> tuple[Word, ...]:
        return self.written or self.words

    @property
    def text(self) -> str:
        """The text that rules are matched against."""
        return as_written(self.written or self.unmoved or self.words)

    @property
    def same(self) -> tuple[str, ...]:
        """Further texts of the same meaning."""
        return (as_written(self.words),) if self.unmoved and not self.written else ()

    @property
    def word_by_word(self) -> str:
        """The command with one space between words and none in them."""
        return " ".join([_BLANK.sub("\u00a0", word.text) for word in self.words])

    def marked(self, text: str) -> str:
        """Return the command *text* with no-break spaces inside its words, "" if no word has a
        space."""
        spaced = text.count(" ") >= len(self.unmoved or self.words) or "\n" in text or "\t" in text
        return self.word_by_word if spaced else ""


_STEPPED_OVER = frozenset({"time", "!", "coproc"})


def step_over_keywords(call: SimpleCommand) -> SimpleCommand:
    """Drop ``time``, ``!`` and ``coproc`` in place of a name: bash runs what follows, which can
    begin with assignments of its own."""
    words, sets = call.words, list(call.sets)
    aside, negated = call.asynchronous, call.negated
    while words and words[0].source in _STEPPED_OVER:
        keyword = words[0].source
        aside = aside or keyword == "coproc"
        negated ^= keyword == "!"
        words = words[1:]
        while keyword == "time" and words and words[0].source in ("-p", "--"):
            words = words[1:]
        while words and (assigned := ASSIGNMENT.match(words[0].source)):
            sets.append((assigned[1], words[0].text[assigned.end() :]))
            words = words[1:]
    if words is call.words:
        return call
    return call._replace(words=words, sets=tuple(sets), asynchronous=aside, negated=negated)
