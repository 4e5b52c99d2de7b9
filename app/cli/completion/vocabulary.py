"""The words that may stand at each place of the command line, read from its parsers."""

import argparse
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import cast


@dataclass(frozen=True, slots=True)
class Word:
    """A command or a flag, with what it is for. *values* are those that may follow a flag."""

    text: str
    about: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """The words behind the commands *path*, such as ``("mcp", "add")``."""

    path: tuple[str, ...]
    words: tuple[Word, ...]


def places(
    root: argparse.ArgumentParser, commands: Mapping[str, argparse.ArgumentParser]
) -> list[Place]:
    """The places of the whole command line, the outermost first."""
    named = [Word(name, _about(parser)) for name, parser in commands.items()]
    found = [Place((), (*named, *_words(root)))]
    for name, parser in commands.items():
        found += _below((name,), parser)
    return found


def _below(path: tuple[str, ...], parser: argparse.ArgumentParser) -> Iterator[Place]:
    yield Place(path, tuple(_words(parser)))
    for name, below in _commands(parser):
        yield from _below((*path, name), below)


def _words(parser: argparse.ArgumentParser) -> Iterator[Word]:
    for name, below in _commands(parser):
        yield Word(name, _about(below))
    for action in _actions(parser):
        values = tuple(str(each) for each in action.choices or () if action.option_strings)
        for text in action.option_strings:
            yield Word(text, _line(action.help), values)
        if not action.option_strings and not isinstance(action.choices, dict | None):
            yield from (Word(str(each), _line(action.help)) for each in action.choices)


def _commands(
    parser: argparse.ArgumentParser,
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in _actions(parser):
        if isinstance(action.choices, dict):
            yield from cast("dict[str, argparse.ArgumentParser]", action.choices).items()


def _actions(parser: argparse.ArgumentParser) -> Iterable[argparse.Action]:
    # argparse has no other way to look at what was added to a parser.
    return parser._actions  # pyright: ignore[reportPrivateUsage] - see above


def _about(parser: argparse.ArgumentParser) -> str:
    return _line(parser.description)


def _line(text: str | None) -> str:
    """*text* as one short line."""
    return " ".join((text or "").split()).partition(". ")[0].rstrip(".")
