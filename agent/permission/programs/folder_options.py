"""Options with which a program works in another folder, as after ``cd``: ``git -C web status``."""

from collections.abc import Sequence
from posixpath import dirname

from agent.permission.programs.record import Program
from agent.permission.syntax.words import Word, literal_word

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
