"""One command of a line: what it is called, what it runs, reads and may do (spec 3, B2)."""

import os
import re
from collections.abc import Callable

from agent.permission.programs import wrappers
from agent.permission.programs.builtins import (
    HARMLESS,
    KEYWORDS,
    cd_target,
    destroys,
    evaluates_text,
    literal_code,
    runs_unknown_text,
    variable_reason,
)
from agent.permission.programs.embedded import embedded
from agent.permission.programs.lookup import base_name, program
from agent.permission.programs.read_only import Reading, find_reads
from agent.permission.programs.record import Program
from agent.permission.programs.wrappers import Inner, find_actions
from agent.permission.shell.always_pattern import (
    always_pattern,
    depends_on_context,
    name_reason,
    pattern_of,
    uncovered_reason,
)
from agent.permission.shell.call import Call, Ends, step_over_keywords
from agent.permission.shell.findings import READ_SPLITS, Findings
from agent.permission.shell.operands import by_look, by_words, meets_secrets, report
from agent.permission.shell.paths import Dirs, followed, paths_of
from agent.permission.shell.spellings import aliases, distinct, word_by_word, written
from agent.permission.syntax.source import DEPTH, NESTED, CannotAnalyseError
from agent.permission.syntax.words import Word, as_written
from agent.records.requests import Need

_HOME = re.compile(r"\"?\$(HOME|\{HOME\})/")
"""A program in the user's home, which is as good as a path."""


class Commands:
    """Analyzes calls into *found*; *analyse* is called for literal shell code, *peek* for text that
    may be some: it gives the commands in it, for deny rules. *lookup* finds the record of a
    program."""

    def __init__(
        self,
        found: Findings,
        analyse: Callable[[str, Dirs, int], None],
        peek: Callable[[str], tuple[str, ...]],
        lookup: Callable[[str], Program | None] = program,
    ) -> None:
        self.found = found
        self.analyse = analyse
        self.peek = peek
        self.lookup = lookup
        self._nested = 0

    def judge(self, call: Call) -> Ends:
        """Add what *call* needs. Raises ``CannotAnalyseError`` if its program is not known."""
        if call.level > DEPTH:
            raise CannotAnalyseError(f"it is nested more than {DEPTH} levels deep")
        call = step_over_keywords(call)
        if not call.words:
            return call.dirs, call.dirs
        first = call.words[0]
        if not first.literal or (first.parts and not _HOME.match(first.source)):
            raise CannotAnalyseError(f"the program {first.source} is known at run time only")
        if first.source in KEYWORDS:
            raise CannotAnalyseError(f"{first.source} stands where a program should")
        base = base_name(first.text)
        arguments = call.words[1:]
        self.found.names.append(base)
        self.found.code.update([(word.text, None) for word in call.words if word.code])
        known = self.lookup(base)
        if known is None:
            self._unlisted(base, call)
            return call.dirs, call.dirs
        self.found.evaluating = self.found.evaluating or evaluates_text(base, known, arguments)
        inner = wrappers.unwrap(base, call.words)
        if inner is not None and inner.inert and inner.words and not inner.reason:
            return self._inert(call, inner, base)
        self._note(base, known, call, inner)
        actions = find_actions(base, arguments) if known.syntax in ("find", "fd") else []
        self._need(base, known, call, inner, actions)
        for each in (inner, *actions):
            if each is not None:
                self._inner(call, each)
        code = literal_code(base, arguments)
        if code is not None:
            self._code(code, call.dirs, call.level)
        return self._ends(base, call)

    def _unlisted(self, base: str, call: Call) -> None:
        """The need of a program that no table knows: its words are all that tells of it."""
        self.found.obeys = self.found.obeys or runs_unknown_text(base, call.words[1:], call.sets)
        by_words(self.found, call.words[1:], call.dirs)
        reason = name_reason(call.words[0].text) or variable_reason([name for name, _ in call.sets])
        text = as_written(call.words)
        self.found.add(
            Need(
                "bash",
                text,
                always=None if reason or depends_on_context(call) else pattern_of(call.words),
                shown=call.source,
                reason=reason,
                strict="unknown" if reason else "",
                aliases=distinct(text, [*written(base, call), *self._embedded(call, None, reason)]),
                runs=word_by_word(call) if reason else "",
                mentions=() if reason else self._mentions(call),
            )
        )

    def _note(self, base: str, known: Program, call: Call, inner: Inner | None) -> None:
        """Text that the command writes out, and whether it runs text that it is given."""
        arguments = call.words[1:]
        if base in ("echo", "printf"):
            said = " ".join(word.text for word in arguments if not word.text.startswith("-"))
            self.found.data[said.replace("\\n", "\n")] = None
        if (inner is not None and inner.runs_text) or runs_unknown_text(base, arguments, call.sets):
            self.found.obeys = True
        if known.runs_input == "language" and all(word.text.startswith("-") for word in arguments):
            self.found.programs = True
            self.found.obeys = self.found.obeys or "make" in base

    def _inert(self, call: Call, inner: Inner, base: str) -> Ends:
        """A wrapper that needs no rule of its own: what it runs is judged in its place."""
        aliases = (*call.aliases, as_written(call.words))
        ends = self.judge(call._replace(words=inner.words, aliases=aliases, level=call.level + 1))
        return ends if base == "command" else (call.dirs, call.dirs)

    def _inner(self, call: Call, inner: Inner) -> None:
        dirs = frozenset[str]() if inner.chdir else call.dirs
        for code in inner.codes:
            self._code(code, dirs, call.level)
        if inner.words and not inner.reason:
            source = " ".join(word.source for word in inner.words)
            self._count(source)
            self.judge(
                Call(
                    inner.words,
                    source,
                    dirs,
                    inner.sets,
                    adds_paths=inner.adds_paths,
                    adds_arguments=inner.adds_arguments,
                    wrapped=True,
                    level=call.level + 1,
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

    def _need(
        self, base: str, known: Program, call: Call, inner: Inner | None, actions: list[Inner]
    ) -> None:
        """The need of the command itself, with those of its paths before it."""
        arguments = call.words[1:]
        reading = find_reads(base, known, arguments) if inner is None else None
        reason = uncovered_reason(base, known, call, inner, actions) or self._split(base, arguments)
        if inner is not None:
            outer = len(arguments) - len(inner.words)
            by_look(self.found, arguments[:outer] if inner.words else arguments, call.dirs)
        else:
            unknown = report(
                self.found, base, known, arguments, reading, call.dirs, uncovered=bool(reason)
            )
            reason = reason or ("" if call.adds_paths or call.adds_arguments else unknown)
        followed = inner is not None and not inner.reason
        proven = not reason and reading is not None and self._proven(call, reading)
        why = reason
        if proven and reading is not None and meets_secrets(self.found, reading, call.dirs):
            proven, why = False, "reads a folder that holds files with secrets"
        text = as_written(call.words)
        lost = destroys(known, arguments)
        if lost and not why:
            why = f"{base} can destroy work"
        self.found.add(
            Need(
                "bash",
                text,
                always=None if reason else always_pattern(base, known, call, inner, actions),
                shown=call.source,
                reason=why,
                floor="allow" if proven else "ask",
                destructive=lost,
                strict="unknown" if reason else "",
                aliases=(*aliases(base, known, call, text), *self._embedded(call, inner, reason)),
                runs=word_by_word(call) if reason and not followed else "",
                mentions=() if reason or known.familiar else self._mentions(call),
            )
        )

    def _split(self, base: str, arguments: tuple[Word, ...]) -> str:
        """Why operands of ``test`` may become operators, empty where they can't."""
        bare = (part.source for word in arguments for part in word.parts if not part.quoted)
        return READ_SPLITS if base in ("test", "[") and any(map(self.found.brings, bare)) else ""

    def _embedded(self, call: Call, inner: Inner | None, reason: str) -> tuple[str, ...]:
        """What arguments and variables would run if they are commands, for deny rules."""
        texts = [value for name, value in call.sets if not HARMLESS.fullmatch(name)]
        if reason and (inner is None or inner.reason):
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
            return (word_by_word(call),)
        peeked = [alias for text in embedded(quoted) for alias in self.peek(text)]
        return (word_by_word(call), *dict.fromkeys(peeked))

    def _proven(self, call: Call, reading: Reading) -> bool:
        inside = bool(call.dirs) and all(map(self.found.place.inside, call.dirs))
        bare = "/" not in call.words[0].text
        return reading.proven and inside and bare and not (call.adds_paths or call.adds_arguments)

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
