"""The analysis of one command of a line: its program, what it runs, reads and changes."""

import itertools
import os
import re
from collections.abc import Callable

from agent.permission.programs import git, wrappers
from agent.permission.programs.builtins import (
    HARMLESS,
    KEYWORDS,
    cd_target,
    destroys,
    evaluates_text,
    literal_code,
    runs_unknown_text,
    uses_network,
    variable_reason,
)
from agent.permission.programs.embedded import embedded_texts
from agent.permission.programs.lookup import base_name, program
from agent.permission.programs.read_only import Reading, find_reads
from agent.permission.programs.record import Program
from agent.permission.programs.subcommand_names import names_without_options
from agent.permission.programs.wrappers import Inner, find_actions
from agent.permission.shell.always_pattern import (
    always_pattern,
    depends_on_context,
    name_reason,
    pattern_of,
    uncovered_reason,
)
from agent.permission.shell.call import Call, FoldersAfter, step_over_keywords
from agent.permission.shell.findings import READ_SPLITS, Findings, GitUse
from agent.permission.shell.operands import (
    add_all_paths,
    add_outside_paths,
    add_paths,
    reads_secrets,
)
from agent.permission.shell.paths import Dirs, limited, paths_of
from agent.permission.syntax.source import MAX_DEPTH, MAX_NESTED, CannotAnalyzeError
from agent.permission.syntax.words import MAX_VALUES, Word, as_written, literal_word, plain
from agent.records.requests import PermissionNeed

_BLANK = re.compile(r"\s")

NETWORK = "uses the network"
"""Reason for asking about a command that is known to use it."""


def all_aliases(base: str, known: Program, call: Call, text: str) -> tuple[str, ...]:
    """Return other spellings of a command for deny rules: ``git push`` for ``git -C x push``."""
    found = name_aliases(base, call)
    if known.syntax == "git":
        found.append(git.parse(call.words[1:]).normal)
    if known.syntax in ("find", "fd") and any(word.text == "-delete" for word in call.words[1:]):
        found.append(as_written([literal_word("rm"), *call.words[1:]]))
    for name in names_without_options(base, call.words[1:]):
        found += [name, *_runner_aliases(name, base)]
    return distinct_aliases(text, found)


def _runner_aliases(name: str, base: str) -> list[str]:
    """Return what runs in the end if *name* is another program than *base*."""
    words = tuple(map(literal_word, name.split(" ")))
    inner = wrappers.unwrap(words[0].text, words) if words[0].text != base else None
    return [as_written(inner.words)] if inner is not None and inner.words else []


def name_aliases(base: str, call: Call) -> list[str]:
    """Return the texts of *call* with the bare name of its program and its variables expanded."""
    found = [*call.aliases, *_expanded_variables(call.words)]
    if base != call.words[0].text:
        found.append(as_written((literal_word(base), *call.words[1:])))
    return found


def distinct_aliases(text: str, spellings: list[str]) -> tuple[str, ...]:
    if not spellings:
        return ()
    return tuple(dict.fromkeys(alias for alias in spellings if alias != text))


def _expanded_variables(words: tuple[Word, ...]) -> list[str]:
    """Return the texts with variables expanded: ``git $y`` where y is ``push``."""
    if not any(word.parts and word.known for word in words):
        return []
    choices = [word.values or (word.text,) if word.parts else (word.text,) for word in words]
    combined = itertools.islice(itertools.product(*choices), MAX_VALUES)
    return [" ".join(map(plain, each)) for each in combined]


def word_by_word(call: Call) -> str:
    """Return the command with one blank between words and none in them."""
    return " ".join([_BLANK.sub("\u00a0", word.text) for word in call.words])


_HOME = re.compile(r"\"?\$(HOME|\{HOME\})/")
"""A program in the user's home: the same as a path."""


class Commands:
    """Analyzes calls into *found*.

    *analyze_code* is called for literal shell code. *commands_in* returns the commands in text that
    can be code, for deny rules. *lookup* finds the record of a program.
    """

    def __init__(
        self,
        found: Findings,
        analyze_code: Callable[[str, Dirs, int], None],
        commands_in: Callable[[str], tuple[str, ...]],
        lookup: Callable[[str], Program | None] = program,
    ) -> None:
        self.found = found
        self.analyze_code = analyze_code
        self.commands_in = commands_in
        self.lookup = lookup
        self._nested = 0

    def analyze(self, call: Call) -> FoldersAfter:
        """Add what *call* needs. Raises ``CannotAnalyzeError`` if its program is not known."""
        if call.level > MAX_DEPTH:
            raise CannotAnalyzeError(f"it is nested more than {MAX_DEPTH} levels deep")
        call = step_over_keywords(call)
        if not call.words:
            return call.dirs, call.dirs
        first = call.words[0]
        if not first.literal or (first.parts and not _HOME.match(first.source)):
            raise CannotAnalyzeError(f"the program {first.source} is known at run time only")
        if first.source in KEYWORDS:
            raise CannotAnalyzeError(f"{first.source} stands where a program should")
        base = base_name(first.text)
        arguments = call.words[1:]
        self.found.names.append(base)
        self.found.code.update([(word.text, None) for word in call.words if word.code])
        known = self.lookup(base)
        if known is None:
            self._add_unknown_program(base, call)
            return call.dirs, call.dirs
        self.found.evaluates = self.found.evaluates or evaluates_text(base, known, arguments)
        inner = wrappers.unwrap(base, call.words)
        if inner is not None and inner.inert and inner.words and not inner.reason:
            return self._analyze_inert(call, inner, base)
        self._note_text(base, known, call, inner)
        actions = find_actions(base, arguments) if known.syntax in ("find", "fd") else []
        self._add_need(base, known, call, inner, actions)
        for each in (inner, *actions):
            if each is not None:
                self._analyze_inner(call, each)
        code = literal_code(base, arguments)
        if code is not None:
            self._analyze_nested(code, call.dirs, call.level)
        return self._folders_after(base, call)

    def _add_unknown_program(self, base: str, call: Call) -> None:
        """Add the need of a program that is not in the catalog: only its words are known."""
        self.found.runs_text = self.found.runs_text or runs_unknown_text(
            base, call.words[1:], call.sets
        )
        add_all_paths(self.found, call.words[1:], call.dirs)
        reason = name_reason(call.words[0].text) or variable_reason([name for name, _ in call.sets])
        text = as_written(call.words)
        self.found.add(
            PermissionNeed(
                "bash",
                text,
                always=None if reason or depends_on_context(call) else pattern_of(call.words),
                shown=call.source,
                reason=reason,
                strict="unknown" if reason else "",
                aliases=distinct_aliases(
                    text, [*name_aliases(base, call), *self._embedded_commands(call, None, reason)]
                ),
                runs=word_by_word(call) if reason else "",
                mentions=() if reason else self._mentions(call),
            )
        )

    def _note_text(self, base: str, known: Program, call: Call, inner: Inner | None) -> None:
        """Note the text that the command writes out, and whether it runs text that it is given."""
        arguments = call.words[1:]
        if base in ("echo", "printf"):
            said = " ".join(word.text for word in arguments if not word.text.startswith("-"))
            self.found.texts[said.replace("\\n", "\n")] = None
        if (inner is not None and inner.runs_text) or runs_unknown_text(base, arguments, call.sets):
            self.found.runs_text = True
        if known.runs_input == "language" and all(word.text.startswith("-") for word in arguments):
            self.found.runs_code = True
            self.found.runs_text = self.found.runs_text or "make" in base

    def _analyze_inert(self, call: Call, inner: Inner, base: str) -> FoldersAfter:
        """Analyze what a wrapper runs that needs no rule of its own, in its place."""
        aliases = (*call.aliases, as_written(call.words))
        options = call.words[1 : len(call.words) - len(inner.words)]
        default_path = base == "command" and any("p" in word.text for word in options)
        ends = self.analyze(
            call._replace(
                words=inner.words,
                aliases=aliases,
                default_path=call.default_path or default_path,
                level=call.level + 1,
            )
        )
        return ends if base == "command" else (call.dirs, call.dirs)

    def _analyze_inner(self, call: Call, inner: Inner) -> None:
        dirs = frozenset[str]() if inner.chdir else call.dirs
        for code in inner.codes:
            self._analyze_nested(code, dirs, call.level)
        if inner.words and not inner.reason:
            source = " ".join(word.source for word in inner.words)
            self._count_nested(source)
            self.analyze(
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

    def _count_nested(self, inner: str) -> None:
        """Count the code that a command runs. Raises ``CannotAnalyzeError`` when it is too much."""
        self._nested += len(inner)
        if self._nested > MAX_NESTED:
            raise CannotAnalyzeError(f"it holds more than {MAX_NESTED:,} characters of nested code")

    def _analyze_nested(self, text: str, dirs: Dirs, level: int) -> None:
        """Analyze code that a program runs. "Always" to ``bash -c 'git push'`` does not allow
        ``git push``, so nothing in it has a pattern."""
        self._count_nested(text)
        before = len(self.found.needs)
        self.analyze_code(text, dirs, level)
        self.found.withhold_always(before)

    def _add_need(
        self, base: str, known: Program, call: Call, inner: Inner | None, actions: list[Inner]
    ) -> None:
        """Add the need of the command itself, after those of its paths."""
        arguments = call.words[1:]
        reading = find_reads(base, known, arguments) if inner is None else None
        reason = uncovered_reason(base, known, call, inner, actions) or self._operator_reason(
            base, arguments
        )
        if inner is not None:
            outer = len(arguments) - len(inner.words)
            add_outside_paths(
                self.found, arguments[:outer] if inner.words else arguments, call.dirs
            )
        else:
            unknown = add_paths(
                self.found, base, known, arguments, reading, call.dirs, uncovered=bool(reason)
            )
            reason = reason or ("" if call.adds_paths or call.adds_arguments else unknown)
        followed = inner is not None and not inner.reason
        proven = not reason and reading is not None and self._is_proven(call, reading)
        why = reason
        if proven and reading is not None and reads_secrets(self.found, reading, call.dirs):
            proven, why = False, "reads a folder that holds files with secrets"
        if known.syntax == "git":
            # Another git than the one that reads no configuration of the repository.
            proven = proven and not call.default_path
            subcommand = git.parse(arguments).subcommand
            self.found.git.append(GitUse(subcommand, call.dirs, proven))
        text = as_written(call.words)
        destructive = destroys(known, arguments)
        if destructive and not why:
            why = f"{base} can destroy work"
        network = not proven and uses_network(known, arguments)
        if network:
            why = f"{why}; {NETWORK}" if why else NETWORK
        self.found.add(
            PermissionNeed(
                "bash",
                text,
                always=None if reason else always_pattern(base, known, call, inner, actions),
                shown=call.source,
                reason=why,
                floor="allow" if proven else "ask",
                destructive=destructive,
                network=network,
                strict="unknown" if reason else "",
                aliases=(
                    *all_aliases(base, known, call, text),
                    *self._embedded_commands(call, inner, reason),
                ),
                runs=word_by_word(call) if reason and not followed else "",
                mentions=() if reason or known.familiar else self._mentions(call),
            )
        )

    def _operator_reason(self, base: str, arguments: tuple[Word, ...]) -> str:
        """Return the reason why operands of ``test`` can become operators, "" if they can't."""
        bare = (part.source for word in arguments for part in word.parts if not part.quoted)
        return (
            READ_SPLITS
            if base in ("test", "[") and any(map(self.found.may_be_read_text, bare))
            else ""
        )

    def _embedded_commands(self, call: Call, inner: Inner | None, reason: str) -> tuple[str, ...]:
        """Return the commands in arguments and variables, for deny rules."""
        texts = [value for name, value in call.sets if not HARMLESS.fullmatch(name)]
        if reason and (inner is None or inner.reason):
            texts += embedded_texts(call.words[1:])
        if not texts:
            return ()
        return tuple(
            dict.fromkeys(
                alias for text in dict.fromkeys(texts) for alias in self.commands_in(text)
            )
        )

    def _mentions(self, call: Call) -> tuple[str, ...]:
        """Return texts that an unknown program can run as commands."""
        quoted = [word for word in call.words[1:] if " " in word.text]
        if not quoted:
            return (word_by_word(call),)
        embedded = [alias for text in embedded_texts(quoted) for alias in self.commands_in(text)]
        return (word_by_word(call), *dict.fromkeys(embedded))

    def _is_proven(self, call: Call, reading: Reading) -> bool:
        inside = bool(call.dirs) and all(map(self.found.workspace.is_inside, call.dirs))
        bare = "/" not in call.words[0].text
        return reading.proven and inside and bare and not (call.adds_paths or call.adds_arguments)

    def _folders_after(self, base: str, call: Call) -> FoldersAfter:
        if base == "popd" or (base in ("cd", "pushd") and call.wrapped):
            return frozenset(), call.dirs
        if base in ("eval", "source", "."):
            return frozenset(), frozenset()
        if base not in ("cd", "pushd"):
            return call.dirs, call.dirs
        target = cd_target(call.words[1:])
        if target is None:
            return frozenset({self.found.workspace.home}), call.dirs
        paths = None if target.text == "-" else paths_of(target, call.dirs, self.found.workspace)
        if paths is None:
            return frozenset(), call.dirs
        both = {os.path.normpath(path) for path in paths}
        return limited(frozenset(both | set(map(self.found.workspace.resolve, paths)))), call.dirs
