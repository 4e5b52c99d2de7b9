"""The words that a rule from "always" has to name before it covers a command.

The user answered "always" to one use of a program. Another use is covered only if it is as
harmless: an option that forces, deletes, skips a check or chooses another machine, an address, and
the operands of a command that installs, publishes or deploys have to be in the rule.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence

from agent.permission.programs.lookup import program
from agent.permission.programs.record import SIDE_EFFECTS, UNKNOWN, Command, Option, Program
from agent.permission.syntax.source import word_set
from agent.permission.syntax.words import Word, as_written, literal_word, plain

_TELLING = word_set("""
force delete destroy remove prune purge wipe erase hard mirror amend admin privileged approve
approved yes verify unsafe insecure dangerously bypass override overwrite clobber apply
exec execute command cmd eval require preload inject plugin plugins sandbox trust trusted
registry url remote host server endpoint proxy token password credentials upload publish push
deploy mount volume config kubeconfig context cluster rcfile shell editor pager hook hooks
out output outdir outfile
""")
"""Words in the names of options that change what a command does: ``--no-verify``."""

_ACTS = word_set("""
publish push deploy undeploy release upload apply destroy delete del remove rm rmi uninstall purge
prune wipe erase drop truncate flush kill stop terminate restart start reload install i add update
upgrade merge approve transfer import restore rollback revert scale drain cordon taint patch
replace unset login logout enable disable mask edit exec attach ssh cp mv sync send invoke revoke
grant rotate promote migrate api download fetch clone submit
""")
"""Words in the names of commands that act on what their operands name."""

_FORCING = frozenset("fy")
"""Letters that force, or answer every question with yes, unless the record says otherwise."""

_MIN_ABBREVIATION = 3
"""Characters of a word from which on it is taken for a shortened one."""

_PARTS = re.compile(r"[-:._]")
_LONG = re.compile(r"--|-[A-Za-z]\w*-")
_ADDRESS = re.compile(r"[\w+.-]+://\S+|[\w.-]+@[\w.-]+:\S*")
_VARIABLE = re.compile(r"\.?[A-Za-z_][\w.]*[:+?!]?=")
_MESSAGE = re.compile(r"-[a-zA-Z]*m|--message|--title|--body|--notes")


def acts_on_operands(known: Program, prefix: Sequence[Word]) -> bool:
    """Return whether the command that the words *prefix* name installs, publishes, changes or
    removes what its operands name."""
    command: Command | None = known
    for word in prefix[1:]:
        command = command.subcommand.get(word.text) if command is not None else None
        if command is not None and (command.exact or command.effect == "network"):
            return True
    if known.syntax == "git":
        return any(word.text == "clone" for word in prefix[1:2])
    return any(part in _ACTS for word in prefix[1:] for part in _PARTS.split(word.text))


def named_options(known: Program, words: Sequence[Word]) -> tuple[str, ...]:
    """Return the words of a command that a rule has to name; *words* begin with the program."""
    # A list, not a generator: most lines end here, and each call counts.
    telling = [word for word in words if not word.plain or word.text[:1] == "-" or "@" in word.text]
    if not telling and known.syntax != "make" and not [w for w in words if "://" in w.text]:
        return ()
    command, options = _recorded(known, words)
    # What does more than to read is covered by no rule.
    if command.effect == "read" and command.operands != "none":
        return ()
    return tuple(dict.fromkeys(_named(known, options, words)))


def _recorded(known: Program, words: Sequence[Word]) -> tuple[Command, dict[str, Option]]:
    """Return the subcommand that *words* name, and the recorded options that it has."""
    found = dict(known.option)
    for option in known.shared_options:
        found |= dict.fromkeys(option.names.split(), option)
    command: Command = known
    for word in words[1:]:
        inner = command.subcommand.get(word.text)
        if inner is not None:
            command = inner
            found |= command.option
    return command, found


def _named(known: Program, options: Mapping[str, Option], words: Sequence[Word]) -> Iterator[str]:
    operands = 0
    ended = False
    for at, word in enumerate(words[1:], 1):
        before = words[at - 1].text
        if word.text == "--" and not ended:
            ended = True
            continue
        if _MESSAGE.fullmatch(before) and not ended:
            continue
        values = word.values
        if values is None:
            if word.may_be_option and not (ended and known.syntax == "git"):
                yield word.text
            continue
        texts = [plain(value) for value in values]
        if any(text.startswith("-") and len(text) > 1 for text in texts):
            passed = ended and known.syntax != "git"
            if passed or any(_matters(known, options, text) for text in texts if not ended):
                yield word.text
        elif any(map(_ADDRESS.fullmatch, texts)):
            yield word.text
        elif known.syntax == "make":
            operands += 1
            if operands > 1 or _VARIABLE.match(word.text):
                yield word.text


def _matters(known: Program, options: Mapping[str, Option], text: str) -> bool:
    """Return whether the option *text* changes what the command does."""
    name, _, value = text.partition("=")
    if _ADDRESS.fullmatch(value):
        return True
    option = options.get(name)
    if option is not None:
        return _is_recorded(option) or (option.effect == "unknown" and _tells(name, known))
    if _LONG.match(text) or not (known.clusters or len(text) == 2):
        return _tells(name, known)
    for letter in text[1:]:
        option = options.get(f"-{letter}")
        if option is None and letter in _FORCING:
            return True
        if option is not None and _is_recorded(option):
            return True
        if option is not None and option.takes_value:
            return False
    return False


def _is_recorded(option: Option) -> bool:
    return option.explicit or option.destructive or option.effect in SIDE_EFFECTS


def _tells(name: str, known: Program) -> bool:
    """Return whether the name of an option says that it matters, perhaps shortened."""
    *others, last = _PARTS.split(name.strip("-").lower())
    if not _TELLING.isdisjoint((*others, last)):
        return True
    shortened = known.abbreviates and len(last) >= _MIN_ABBREVIATION
    return shortened and any(word.startswith(last) for word in _TELLING)


# The names of a command without the options inside them: ``npm --prefix web publish`` is ``npm
# publish``.
#
# Only deny rules look at these names: what is allowed, and what "always" stores, is matched as it
# is written. An option that is not recorded is read both with and without a value, so that neither
# reading hides what runs.

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
