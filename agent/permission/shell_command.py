"""One command of a line: what it is called, what it runs, reads and may do (spec 3, B2)."""

import itertools
import os
import re
from collections.abc import Callable
from typing import NamedTuple

from agent.permission import arity, git_commands, wrappers
from agent.permission.carriers import carried, is_carrier
from agent.permission.embedded import embedded
from agent.permission.familiar import familiar, listed
from agent.permission.findings import Findings
from agent.permission.interpreters import is_interpreter
from agent.permission.lexicon import names
from agent.permission.naming import called
from agent.permission.readonly import Reading, read
from agent.permission.shell_builtins import (
    FINDERS,
    HARMLESS,
    KEYWORDS,
    PROGRAM_READERS,
    STARTERS,
    builtin_reason,
    cd_target,
    destroys,
    evaluates_text,
    literal_code,
    obeys,
    odd_variable,
)
from agent.permission.shell_operands import by_look, by_words, meets_secrets, report
from agent.permission.shell_paths import Dirs, followed, paths_of
from agent.permission.shell_text import DEPTH, NESTED, CannotAnalyseError
from agent.permission.shell_words import MOST_VALUES, Word, as_written, literal_word, plain
from agent.permission.wrappers import Inner, find_actions
from agent.questions import Need

_HOME = re.compile(r"\"?\$(HOME|\{HOME\})/")
"""A program in the user's home, which is as good as a path."""

Ends = tuple[Dirs, Dirs]
"""The folders after a command that succeeded and after one that failed."""


class Call(NamedTuple):
    """*words* hold the name first. *sets* are variables given in front with their values, *more*
    and *fed* tell that paths or any arguments are added at run time, *level* counts what it is
    nested in."""

    words: tuple[Word, ...]
    source: str
    dirs: Dirs
    sets: tuple[tuple[str, str], ...] = ()
    more: bool = False
    fed: bool = False
    wrapped: bool = False
    aliases: tuple[str, ...] = ()
    level: int = 0


_BLANK = re.compile(r"\s")
ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\[[^]]*\])?\+?=")


class Commands:
    """Judges calls into *found*; *analyse* is called for literal shell code, *peek* for text that
    may be some: it gives the commands in it, for deny rules. *asked* tells whether a program is
    looked for in the tables."""

    def __init__(
        self,
        found: Findings,
        analyse: Callable[[str, Dirs, int], None],
        peek: Callable[[str], tuple[str, ...]],
        asked: Callable[[str], bool] = listed,
    ) -> None:
        self.found = found
        self.analyse = analyse
        self.peek = peek
        self.asked = asked
        self._nested = 0

    def judge(self, call: Call) -> Ends:
        """Add what *call* needs. Raises ``CannotAnalyseError`` if its program is not known."""
        if call.level > DEPTH:
            raise CannotAnalyseError(f"it is nested more than {DEPTH} levels deep")
        call = _step_over_keywords(call)
        if not call.words:
            return call.dirs, call.dirs
        first = call.words[0]
        if not first.literal or (first.parts and not _HOME.match(first.source)):
            raise CannotAnalyseError(f"the program {first.source} is known at run time only")
        if first.source in KEYWORDS:
            raise CannotAnalyseError(f"{first.source} stands where a program should")
        base = program(first.text)
        arguments = call.words[1:]
        self.found.names.append(base)
        self.found.code.update([(word.text, None) for word in call.words if word.code])
        if not self.asked(base):
            self._unlisted(base, call)
            return call.dirs, call.dirs
        self.found.evaluating = self.found.evaluating or evaluates_text(base, arguments)
        inner = wrappers.unwrap(base, call.words)
        if inner is not None and inner.inert and inner.words and not inner.strict:
            return self._inert(call, inner, base)
        self._note(base, call, inner)
        actions = find_actions(base, arguments) if base in FINDERS else []
        self._need(base, call, inner, actions)
        for each in (inner, *actions):
            if each is not None:
                self._inner(call, each)
        code = literal_code(base, arguments)
        if code is not None:
            self._code(code, call.dirs, call.level + 1)
        return self._ends(base, call)

    def _unlisted(self, base: str, call: Call) -> None:
        """The need of a program that no table knows: its words are all that tells of it."""
        if any(name in STARTERS for name, _ in call.sets):
            self.found.obeys = True
        by_words(self.found, call.words[1:], call.dirs)
        reason = _odd_name(call.words[0].text) or odd_variable([name for name, _ in call.sets])
        text = as_written(call.words)
        self.found.add(
            Need(
                "bash",
                text,
                always=None if reason or _in_another(call) else arity.offered(call.words),
                shown=call.source,
                reason=reason,
                strict="unknown" if reason else "",
                aliases=_distinct(
                    text, [*_written(base, call), *self._embedded(call, None, reason)]
                ),
                runs=_word_by_word(call) if reason else "",
                mentions=() if reason else self._mentions(call),
            )
        )

    def _note(self, base: str, call: Call, inner: Inner | None) -> None:
        """Text that the command writes out, and whether it runs text that it is given."""
        arguments = call.words[1:]
        if base in ("echo", "printf"):
            said = " ".join(word.text for word in arguments if not word.text.startswith("-"))
            self.found.data[said.replace("\\n", "\n")] = None
        if (inner is not None and inner.obeys) or obeys(base, arguments, call.sets):
            self.found.obeys = True
        if base in PROGRAM_READERS and all(word.text.startswith("-") for word in arguments):
            self.found.programs = True
            self.found.obeys = self.found.obeys or "make" in base

    def _inert(self, call: Call, inner: Inner, base: str) -> Ends:
        """A wrapper that needs no rule of its own: what it runs is judged in its place."""
        aliases = (*call.aliases, as_written(call.words))
        ends = self.judge(call._replace(words=inner.words, aliases=aliases, level=call.level + 1))
        return ends if base == "command" else (call.dirs, call.dirs)

    def _inner(self, call: Call, inner: Inner) -> None:
        level = call.level + 1
        for code in inner.codes:
            self._code(code, call.dirs, level)
        if inner.words and not inner.strict:
            source = " ".join(word.source for word in inner.words)
            self._count(source)
            self.judge(
                Call(
                    inner.words,
                    source,
                    call.dirs,
                    inner.sets,
                    more=inner.more,
                    fed=inner.fed,
                    wrapped=True,
                    level=level,
                )
            )

    def _count(self, inner: str) -> None:
        """Count what a command runs. Raises ``CannotAnalyseError`` when it is too much."""
        self._nested += len(inner)
        if self._nested > NESTED:
            raise CannotAnalyseError(f"it holds more than {NESTED:,} characters of nested code")

    def _code(self, text: str, dirs: Dirs, level: int) -> None:
        """Analyse code that a program runs. "Always" to ``bash -c 'git push'`` is no word on
        ``git push``, so nothing in it is offered."""
        self._count(text)
        before = len(self.found.needs)
        self.analyse(text, dirs, level)
        self.found.withhold(before)

    def _need(self, base: str, call: Call, inner: Inner | None, actions: list[Inner]) -> None:
        """The need of the command itself, with those of its paths before it."""
        arguments = call.words[1:]
        reading = read(base, arguments) if inner is None else None
        reason = _strict(base, call, inner, actions)
        if inner is not None:
            outer = len(arguments) - len(inner.words)
            by_look(self.found, arguments[:outer] if inner.words else arguments, call.dirs)
        else:
            unknown = report(self.found, base, arguments, reading, call.dirs, carries=bool(reason))
            reason = reason or ("" if call.more or call.fed else unknown)
        followed = inner is not None and not inner.strict
        proven = not reason and reading is not None and self._proven(call, reading)
        why = reason
        if proven and reading is not None and meets_secrets(self.found, reading, call.dirs):
            proven, why = False, "reads a folder that holds files with secrets"
        text = as_written(call.words)
        lost = destroys(base, arguments)
        if lost and not why:
            why = f"{base} can destroy work"
        self.found.add(
            Need(
                "bash",
                text,
                always=None if reason else _offer(base, call, inner, actions),
                shown=call.source,
                reason=why,
                floor="allow" if proven else "ask",
                destructive=lost,
                strict="unknown" if reason else "",
                aliases=(*_aliases(base, call, text), *self._embedded(call, inner, reason)),
                runs=_word_by_word(call) if reason and not followed else "",
                mentions=() if reason or familiar(base) else self._mentions(call),
            )
        )

    def _embedded(self, call: Call, inner: Inner | None, reason: str) -> tuple[str, ...]:
        """What arguments and variables would run if they are commands, for deny rules."""
        texts = [value for name, value in call.sets if not HARMLESS.fullmatch(name)]
        if reason and (inner is None or inner.strict):
            texts += embedded(call.words[1:])
        if not texts:
            return ()
        return tuple(
            dict.fromkeys(alias for text in dict.fromkeys(texts) for alias in self.peek(text))
        )

    def _mentions(self, call: Call) -> tuple[str, ...]:
        """Texts that an unknown program may take for commands."""
        quoted = [word for word in call.words[1:] if " " in word.text]
        if not quoted:
            return (_word_by_word(call),)
        peeked = [alias for text in embedded(quoted) for alias in self.peek(text)]
        return (_word_by_word(call), *dict.fromkeys(peeked))

    def _proven(self, call: Call, reading: Reading) -> bool:
        inside = bool(call.dirs) and all(map(self.found.place.inside, call.dirs))
        bare = "/" not in call.words[0].text
        return reading.proven and inside and bare and not (call.more or call.fed)

    def _ends(self, base: str, call: Call) -> Ends:
        if base == "popd" or (base in ("cd", "pushd") and call.wrapped):
            return frozenset(), call.dirs
        if base in ("eval", "source", "."):
            return frozenset(), frozenset()
        if base not in ("cd", "pushd"):
            return call.dirs, call.dirs
        target = cd_target(call.words[1:])
        if target is None:
            return frozenset({self.found.place.home}), call.dirs
        paths = None if target.text == "-" else paths_of(target, call.dirs, self.found.place)
        if paths is None:
            return frozenset(), call.dirs
        both = {os.path.normpath(path) for path in paths}
        return followed(frozenset(both | set(map(self.found.place.real, paths)))), call.dirs


_GNU = names(
    "rm mv cp ln chmod chown tee dd sort split env timeout nice stdbuf xargs find sed tar install "
    "truncate touch mkdir rmdir shred head tail cat ls date time make"
)


def program(text: str) -> str:
    """The base name of a program; GNU's are called with a ``g`` in front on other systems."""
    base = text.rpartition("/")[2]
    return base[1:] if base[:1] == "g" and base[1:] in _GNU else base


_STEPPED_OVER = frozenset({"time", "!", "coproc"})


def _step_over_keywords(call: Call) -> Call:
    """``time``, ``!`` and ``coproc`` in the place of a name: bash runs what follows, which may
    begin with assignments of its own."""
    words, sets = call.words, list(call.sets)
    while words and words[0].source in _STEPPED_OVER:
        keyword = words[0].source
        words = words[1:]
        while keyword == "time" and words and words[0].source in ("-p", "--"):
            words = words[1:]
        while words and (assigned := ASSIGNMENT.match(words[0].source)):
            sets.append((assigned[1], words[0].text[assigned.end() :]))
            words = words[1:]
    return call if words is call.words else call._replace(words=words, sets=tuple(sets))


_ODD_NAME = re.compile(r"^-|[\s\\]")


def _odd_name(name: str) -> str:
    odd = not name or not name.isascii() or _ODD_NAME.search(name)
    return "the program's name holds unusual characters" if odd else ""


def _in_another(call: Call) -> bool:
    """Whether more than the words that are shown decides what happens: none is offered."""
    return bool(call.wrapped or call.sets or call.more or call.fed)


def _strict(base: str, call: Call, inner: Inner | None, actions: list[Inner]) -> str:
    """Why the pattern does not tell what would happen, empty when it does."""
    reason = _odd_name(call.words[0].text) or odd_variable([name for name, _ in call.sets])
    arguments = call.words[1:]
    if call.fed and (is_carrier(base) or inner is not None or arity.arity_of(base) > 1):
        reason = reason or f"{base} gets arguments that are known at run time only"
    if inner is not None:
        return reason or inner.strict or odd_variable([name for name, _ in inner.sets])
    if base == "git":
        return reason or git_commands.parse(arguments).strict
    reason = reason or next((each.strict for each in actions if each.strict), "")
    return reason or builtin_reason(base, arguments) or carried(base, arguments)


def _offer(base: str, call: Call, inner: Inner | None, actions: list[Inner]) -> str | None:
    """The pattern for "always"; wrappers get one only if it names what they run.

    What a wrapper runs gets none: "always" to ``sudo git push`` is no word on ``git push``.
    """
    if _in_another(call) or base in ("eval", "trap", "exec"):
        return None
    if inner is None:
        code = is_interpreter(base) and (base,) not in arity.ARITY
        exact = code or destroys(base, call.words[1:])
        return None if actions else arity.offered(call.words, exact_only=exact)
    if not inner.words or inner.codes or not wrappers.runner(call.words):
        return None
    run = program(inner.words[0].text)
    if wrappers.unwrap(run, inner.words) is not None or carried(run, inner.words[1:]):
        return None
    anything = arity.runs_anything([word.text for word in call.words])
    if anything or run in arity.EXACT or is_interpreter(run):
        return arity.offered(call.words, exact_only=True)
    length = len(call.words) - len(inner.words) + arity.arity([w.text for w in inner.words])
    head = call.words[:length]
    named = all(word.literal and re.fullmatch(r"\w[\w.:-]*", word.text) for word in head)
    return f"{as_written(head)} *" if named and len(head) == length else None


def _aliases(base: str, call: Call, text: str) -> tuple[str, ...]:
    """Spellings beside *text* for deny rules: the bare name, no flags before the subcommand."""
    found = _written(base, call)
    if base == "git":
        found.append(git_commands.parse(call.words[1:]).normal)
    if base in FINDERS:
        found += wrappers.delete_alias(call.words[1:])
    found += called(base, call.words[1:])
    return _distinct(text, found)


def _written(base: str, call: Call) -> list[str]:
    """*call* by the bare name of its program, and with what its variables hold."""
    found = [*call.aliases, *_spelled_out(call.words)]
    if base != call.words[0].text:
        found.append(as_written((literal_word(base), *call.words[1:])))
    return found


def _distinct(text: str, spellings: list[str]) -> tuple[str, ...]:
    if not spellings:
        return ()
    return tuple(dict.fromkeys(alias for alias in spellings if alias != text))


def _spelled_out(words: tuple[Word, ...]) -> list[str]:
    """The command with what its variables hold: ``git $y`` where y is ``push``."""
    if not any(word.parts for word in words):
        return []
    choices = [word.values or (word.text,) if word.parts else (word.text,) for word in words]
    spelled = itertools.islice(itertools.product(*choices), MOST_VALUES)
    return [" ".join(map(plain, each)) for each in spelled]


def _word_by_word(call: Call) -> str:
    """The command with one blank between words and none in them."""
    return " ".join([_BLANK.sub("\u00a0", word.text) for word in call.words])
