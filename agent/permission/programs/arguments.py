"""The options and operands of a command, read as getopt reads them from its record.

Letters can be joined (``-xzf``), a value can be joined to its option, a long option can be
shortened, and ``--`` ends the options. Every check of a command reads its arguments here.
"""

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from posixpath import dirname
from typing import NamedTuple

from agent.permission.programs.record import (
    SIDE_EFFECTS,
    Command,
    Effect,
    Operands,
    Option,
    Program,
)
from agent.permission.syntax.words import Word, is_one_word, literal_word

_NUMBER = re.compile(r"-\d+")
_NUMERIC = Option("-1")
"""The option of ``head -20``."""
_ENDS = re.compile(r"[=:]")


class Given(NamedTuple):
    """One option as it is given."""

    name: str
    """The recorded name, or the option as it is written."""

    option: Option | None
    """None if it is not recorded."""

    values: tuple[Word, ...]
    """Its value, joined to it or in the next words."""

    word: Word
    """The word that it is in."""

    end: int
    """The number of words up to its end."""

    def has_effect(self) -> bool:
        """Return whether the option writes, runs, sends or reads something with this value."""
        if self.option is None or self.option.effect not in SIDE_EFFECTS:
            return False
        harmless = self.option.harmless.split()
        return not (harmless and self.values and self.values[-1].text in harmless)


@dataclass(slots=True)
class Arguments:
    """The arguments of a command."""

    options: list[Given] = field(default_factory=list[Given])

    operands: list[Word] = field(default_factory=list[Word])

    split: list[Word] = field(default_factory=list[Word])
    """The words of options and their values that can become several words, such as ``{a,b}``."""

    unsure: Word | None = None
    """A word that can turn out to be an option at run time."""

    length: int = 0
    """The number of words in front of the first operand."""

    permuted: bool = False
    """True if an option follows an operand."""

    def given(self, *names: str) -> list[Given]:
        """Return the options with one of these recorded names."""
        return [each for each in self.options if each.name in names]


def parse(command: Command, words: Sequence[Word], *, leading: bool = False) -> Arguments:
    """Return the options and operands among *words*; only options in front of the first
    operand if they are *leading*, as those of a wrapper are."""
    words = tuple(words)
    leading = leading or command.ordered
    for known, given, led, found in _recent if words else ():
        if known is command and led == leading and given[-1] is words[-1] and given == words:
            return found
    found = _Parser(command, words, leading).run()
    if words:
        _recent.append((command, words, leading, found))
    return found


_recent: deque[tuple[Command, tuple[Word, ...], bool, Arguments]] = deque(maxlen=4)
"""The last results: several checks of one command ask for it. The words are the same objects then,
so comparing them calls nothing, unlike the hash that a cache would need."""


class _Parser:
    def __init__(self, command: Command, words: Sequence[Word], leading: bool) -> None:
        self.command = command
        self.words = words
        self.leading = leading
        self.at = 0
        self.found = Arguments()

    def run(self) -> Arguments:
        command, words, found, count = self.command, self.words, self.found, len(self.words)
        while self.at < count:
            word = words[self.at]
            text = word.text
            if text == "--" and command.expression:
                self.at += 1
                continue
            if text == "--":
                self.at += 1
                found.length = self.at if not found.operands else found.length
                found.operands += words[self.at :]
                return found
            self.at += 1
            if not word.plain:
                self._varying(word)
            if text[:1] == "-" and text != "-":
                found.permuted = found.permuted or bool(found.operands)
                self._option(word, text)
                if not found.operands:
                    found.length = self.at
            elif self.leading:
                found.operands += words[self.at - 1 :]
                return found
            else:
                found.operands.append(word)
        return found

    def _varying(self, word: Word) -> None:
        """Note a word that represents other words, some of which can be options."""
        if word.literal:
            return
        splits = any(part.values is None and not part.quoted for part in word.parts)
        if splits or (word.may_be_option and word.raw[:1] != "-"):
            self._note_unsure(word)
        for value in word.values or ():
            if value[:1] == "-" and value != word.raw:
                self._option(Word(value, word.source), value, known=False)

    def _note_unsure(self, word: Word) -> None:
        self.found.unsure = self.found.unsure or word

    def _option(self, word: Word, text: str, *, known: bool = True) -> None:
        if known and not (word.plain or is_one_word(word)):
            self.found.split.append(word)
        if text.startswith("--"):
            self._long(word, text, known=known)
        elif not self.command.clusters:
            self._single(word, text, known=known)
        else:
            self._cluster(word, text, known=known)

    def _add(self, name: str, option: Option | None, word: Word, values: tuple[Word, ...]) -> None:
        self.found.options.append(Given(name, option, values, word, self.at))

    def _values(
        self, option: Option, *, known: bool, first: Word | None = None
    ) -> tuple[Word, ...]:
        """Take the values of *option*, of which *first* is joined to it."""
        joined = () if first is None else (first,)
        if option.value == "command":
            end = self._end_of_command()
        elif option.takes_value:
            end = self.at + option.length - len(joined)
        else:
            end = self.at
        taken = tuple(self.words[self.at : end]) if known else ()
        self.at = min(end, len(self.words)) if known else self.at
        for word in taken:
            if not (word.plain or is_one_word(word)):
                self.found.split.append(word)
                if word.may_be_option:
                    self._note_unsure(word)
        return (*joined, *taken)

    def _end_of_command(self) -> int:
        """Return the index after the words of a command, which end with ``;``, or ``{} +``."""
        for at in range(self.at, len(self.words)):
            text = self.words[at].text
            ends = self.command.clusters is False and at > self.at and text == "+"
            if text == ";" or (ends and self.words[at - 1].text == "{}"):
                return at + 1
        return len(self.words)

    def _long(self, word: Word, text: str, *, known: bool) -> None:
        name, joined, _ = text.partition("=")
        first = tail(word, len(name) + 1) if joined else None
        options = self.command.options_named(name)
        if not word.literal and not joined:
            self._note_unsure(word)
        if not options:
            self._add(name, None, word, () if first is None else (first,))
            return
        (exact, option), *others = options
        self._add(exact, option, word, self._values(option, known=known, first=first))
        for other, option in others:  # which of them is meant depends on the version
            self._add(other, option, word, () if first is None else (first,))

    def _single(self, word: Word, text: str, *, known: bool) -> None:
        """Take an option of a program that has no joined letters: ``-name``, ``-javaagent:x``."""
        option = self.command.option.get(text)
        if option is not None:
            self._add(text, option, word, self._values(option, known=known))
            return
        ends = _ENDS.search(text)
        names = [text[: ends.start()]] if ends else []
        for name in (*names, text[:2]):
            option = self.command.option.get(name)
            if option is not None and (option.value != "none" or name in names):
                start = len(name) + (1 if name in names else 0)
                self._add(name, option, word, (tail(word, start),))
                return
        self._add(text, None, word, ())

    def _cluster(self, word: Word, text: str, *, known: bool) -> None:
        whole = self.command.option.get(text) if len(text) > 2 else None
        if whole is not None:
            self._add(text, whole, word, self._values(whole, known=known))
            return
        if self.command.takes_number and _NUMBER.fullmatch(text):
            self._add(text, _NUMERIC, word, ())
            return
        for index, letter in enumerate(text[1:], 1):
            name = f"-{letter}"
            option = self.command.option.get(name)
            rest = text[index + 1 :]
            if option is None or not (option.takes_value or option.value == "joined"):
                self._add(name, option, word, ())
                continue
            first = tail(word, index + 1) if rest else None
            self._add(name, option, word, self._values(option, known=known, first=first))
            return
        if not word.literal:
            self._note_unsure(word)


def tail(word: Word, start: int) -> Word:
    """Return the value that begins at *start* of an option."""
    raw = word.raw[start:]
    return Word(raw, raw if word.plain else word.source, word.parts)


def with_dash(words: Sequence[Word]) -> Sequence[Word]:
    """Return the arguments of tar in their newer form: ``-x -f a`` for ``xf a``."""
    first = words[0].text if words else ""
    if not first or first.startswith("-"):
        return words
    taken = iter(words[1:])
    found: list[Word] = []
    for letter in first:
        found.append(Word(f"-{letter}", words[0].source))
        if letter in "bCfFgHIKLNTVX":
            found += [word for word in (next(taken, None),) if word is not None]
    return [*found, *taken]


_RISKY: frozenset[Effect] = frozenset({"write", "execute", "network", "chdir"})


def proves(command: Command, arguments: Arguments) -> bool:
    """Return whether all options are recorded to have no effect."""
    unsure = arguments.unsure
    risky = not command.complete or not _RISKY.isdisjoint(o.effect for o in command.options)
    if unsure is not None and (risky or not unsure.known):
        return False
    if command.operands == "one" and arguments.permuted:
        return False  # where options end with the first operand, it is a file
    return all(
        each.option is not None
        and (each.option.effect == "none" or bool(each.option.harmless and not each.has_effect()))
        for each in arguments.options
    )


_MOST: dict[Operands, int] = {"none": 0, "one": 1}


def only_reads(command: Command, arguments: Arguments) -> bool:
    """Return whether it is proven that the command changes nothing with these arguments."""
    if not proves(command, arguments):
        return False
    if arguments.given(*command.reads_with.split()):
        return True
    most = _MOST.get(command.operands)
    if most is None:
        return command.effect == "read"
    return bool(command.effect == "read" or command.reads_with) and len(arguments.operands) <= most


# Options with which a program works in another folder, as after ``cd``: ``git -C web status``.

_ANYWHERE = frozenset({"make", "npm", "tar"})
"""Programs that take such options after operands too; others can pass them on there."""


def split_folders(known: Program, words: Sequence[Word]) -> tuple[tuple[Word, ...], list[Word]]:
    """Return the command *words* without such options, and the folders that they name in order."""
    names = known.named(effect="chdir")
    if not names or known.wrapper is not None:  # what a wrapper runs there is not followed
        return tuple(words), []
    anywhere = not _ANYWHERE.isdisjoint(known.names.split())
    kept, folders = [words[0]], list[Word]()
    at = 1
    while at < len(words):
        text = words[at].text
        if text == "--" or not (text.startswith("-") or anywhere):
            break
        folder, taken = _folder(known, names, words, at)
        if folder is not None:
            folders.append(folder)
        else:
            option = known.option.get(text)
            taken = 2 if option is not None and option.takes_value else 1
            kept += words[at : at + taken]
        at += taken
    return (*kept, *words[at:]), folders


def _folder(
    known: Program, names: Sequence[str], words: Sequence[Word], at: int
) -> tuple[Word | None, int]:
    """Return the folder of the option at *at*, None if it names none, and the words it takes."""
    word = words[at]
    name, joined, _ = word.text.partition("=")
    if word.text in names and at + 1 < len(words):
        return _folder_of(name, words[at + 1]), 2
    if joined and name in names:
        return _folder_of(name, _tail(word, len(name) + 1)), 1
    short = word.text[:2]
    if known.clusters and known.syntax != "git" and short in names and len(word.text) > 2:
        return _tail(word, 2), 1
    return None, 1


def _folder_of(name: str, value: Word) -> Word | None:
    """Return the folder that *value* means: a manifest's is the one that it lies in."""
    if "manifest" not in name:
        return value
    return literal_word(dirname(value.text) or ".") if value.literal else None


def _tail(word: Word, start: int) -> Word:
    return Word(word.raw[start:], word.source, word.parts)
