"""The names of a command without the options inside them: ``npm --prefix web publish`` is
``npm publish``.

Only deny rules look at these names: what is allowed, and what "always" stores, is matched as it is
written. An option that is not recorded is read both with and without a value, so that neither
reading hides what runs.
"""

import posixpath
import re
from collections.abc import Sequence

from agent.permission.programs.lookup import program
from agent.permission.programs.record import UNKNOWN, Program
from agent.permission.syntax.source import word_set
from agent.permission.syntax.words import Word, as_written, literal_word

COMMON_FLAGS = word_set("""
-v -vv -vvv -V --verbose -q --quiet -s --silent --debug -d --json --yes -y --no-color --color
--help -h --version -D -r --recursive -g --global --offline --locked --frozen -i --ignore-case
--no-input -n --dry-run --force -f --user --system --no-interaction --no-progress --stack-trace
""")
"""Options that take no value, for a program whose record does not say otherwise."""

_MAX_WORDS = 3
_MAX_NAMES = 24
_MAX_STEPS = 5_000
"""Positions that are looked at in one command; no two readings meet in one of them twice."""


def names_without_options(base: str, words: Sequence[Word]) -> tuple[str, ...]:
    """Return further names of the command *base* with the arguments *words*.

    Each is the name, of up to three words, without the options inside, and all that follows.
    ``python -m pip`` is ``pip``, and ``corepack pnpm`` is ``pnpm``.
    """
    if base == "corepack":
        return _named_by(words)
    known = program(base) or UNKNOWN
    if re.fullmatch(r"(python|pypy)[\d.]*", base):
        valued = [name[1] for name in known.named(effect="none", value="text")]
        takes_next = False
        for at, word in enumerate(words):
            if not takes_next and re.fullmatch(r"-[BEIOPsSuq]*m", word.text):
                return _named_by(words[at + 1 :])
            if not takes_next and not word.text.startswith("-"):
                return ()
            takes_next = not takes_next and word.text[-1] in valued
    return _without_options(base, known, words) if known.named_by_words else ()


def _named_by(words: Sequence[Word]) -> tuple[str, ...]:
    """Return the names of a command whose program is the first of *words*."""
    if not words:
        return ()
    base = posixpath.basename(words[0].text)
    rest = _without_options(base, program(base) or UNKNOWN, words[1:])
    return (as_written((literal_word(base), *words[1:])), *rest)


def _without_options(base: str, known: Program, words: Sequence[Word]) -> tuple[str, ...]:
    texts = [word.text for word in words]
    found: dict[str, None] = {}
    open_readings: list[tuple[int, tuple[str, ...]]] = [(0, (base,))]
    seen: set[tuple[int, tuple[str, ...]]] = set()
    while open_readings and len(found) < _MAX_NAMES and len(seen) < _MAX_STEPS:
        at, name = here = open_readings.pop()
        if here in seen:
            continue
        seen.add(here)
        if at >= len(texts) or texts[at] == "--":
            rest = texts[at + 1 :]
            found[" ".join([*name, *rest])] = None
            continue
        text = texts[at]
        if text.startswith("-") and len(text) > 1:
            open_readings += [(at + step, name) for step in option_lengths(known, text)]
        elif text.startswith("+") and base in ("cargo", "rustup"):
            open_readings.append((at + 1, name))
        else:
            found[" ".join([*name, *texts[at:]])] = None
            if len(name) < _MAX_WORDS:
                open_readings.append((at + 1, (*name, text)))
    written = " ".join([base, *texts])
    return tuple(one for one in found if one != written)


def option_lengths(known: Program, text: str) -> tuple[int, ...]:
    """Return how many words the option *text* picks up, in each of its readings."""
    # The options of a wrapper are read both ways: what follows them is a program.
    valued = known.valued if known.wrapper is None else frozenset[str]()
    name, joined, _ = text.partition("=")
    if joined:
        return (1,)
    if name in valued:
        return (2,)
    short = name[:2]
    if not name.startswith("--") and len(name) > 2 and short in valued:
        return (1,)  # joined to its letter: -nprod, -C/there
    if name in COMMON_FLAGS or re.fullmatch(r"--no-[\w-]+", name):
        return (1,)
    return (1, 2)
