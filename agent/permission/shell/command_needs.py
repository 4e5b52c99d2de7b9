"""The analysis of one command of a line: its program, what it runs, reads and changes.

A command needs approval unless it is proven to only read (``default_action``): ``git push`` asks
because its record in ``programs.catalog.version_control`` says that it uses the network.
"""

import functools
import itertools
import math
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from agent.permission.programs import git_arguments, inner_commands
from agent.permission.programs.arguments import split_folders
from agent.permission.programs.builtin_effects import (
    HARMLESS,
    KEYWORDS,
    LOCAL,
    SETS_VARIABLE,
    cd_target,
    destroys,
    evaluates_text,
    literal_code,
    loss_reason,
    runs_unknown_text,
    uses_network,
    variable_reason,
)
from agent.permission.programs.inner_commands import Inner, find_actions
from agent.permission.programs.lookup import base_name, program
from agent.permission.programs.options_to_name import named_options
from agent.permission.programs.possible_effects import RUNS_ANOTHER, possible_effect
from agent.permission.programs.read_only import Reading, find_reads
from agent.permission.programs.record import UNKNOWN, Program
from agent.permission.programs.scripts import embedded_texts
from agent.permission.shell.aliases import all_aliases, distinct_aliases, name_aliases
from agent.permission.shell.always_pattern import (
    always_pattern,
    depends_on_context,
    name_reason,
    named_words,
    pattern_in,
    pattern_of,
    uncovered_reason,
)
from agent.permission.shell.findings import READ_SPLITS, Findings, GitUse
from agent.permission.shell.glob_arguments import literal_option, pattern_reason, takes_names
from agent.permission.shell.names import Names, names_of_either, printed_names
from agent.permission.shell.operands import (
    add_all_paths,
    add_outside_paths,
    add_paths,
    add_reach,
)
from agent.permission.shell.paths import Dirs, any_of, limited, paths_of
from agent.permission.shell.simple_command import (
    FoldersAfter,
    SimpleCommand,
    either_of,
    stay,
    step_over_keywords,
)
from agent.permission.shell.variable_values import set_variables
from agent.permission.syntax.source import MAX_DEPTH, MAX_NESTED, CannotAnalyzeError
from agent.permission.syntax.words import (
    MAX_VALUES,
    STREAM,
    Word,
    as_written,
    fill_in,
    without_values,
)
from agent.records.requests import PermissionNeed

_MAX_COMBINED = 1_000
"""Limit of the combinations of values in the commands of one line."""
_RUNNING = frozenset({"eval", "source", "."})
"""Builtins that run code in this shell, with the variables in front of them."""

NETWORK = "uses the network"
"""Reason for asking about a command that is known to use it."""


def _with_effects(reason: str, base: str, *, destructive: bool, network: bool) -> str:
    """Return *reason*, or the effect that the user should know of, and that the network is used."""
    reason = reason or (loss_reason(base) if destructive else "")
    return "; ".join(filter(None, (reason, NETWORK if network else "")))


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
        self._combined = 0

    def analyze(self, call: SimpleCommand) -> FoldersAfter:
        """Add what *call* needs. Raises ``CannotAnalyzeError`` if its program is not known."""
        if call.level > MAX_DEPTH:
            raise CannotAnalyzeError(f"it has more than {MAX_DEPTH} levels of nested code")
        self.found.printed = None
        call = step_over_keywords(call)
        if call.negated:
            return self.analyze(call._replace(negated=False)).negated
        if not call.words:
            self._assign(call)
            return stay(call.dirs)
        first = call.words[0]
        if not first.literal or (first.parts and not _HOME.match(first.source)):
            raise CannotAnalyzeError(f"the program to run ({first.source}) is not known in advance")
        if first.source in KEYWORDS:
            raise CannotAnalyzeError(f"it has {first.source} where a program is expected")
        for word in call.words:
            if not word.plain and word.globs:
                place = self.found.workspace
                words = tuple(literal_option(each, call.dirs, place) for each in call.words)
                call = call._replace(words=words)
                break
        calls = self._with_values(call)
        if len(calls) == 1:
            return self._analyze_one(calls[0])
        start = len(self.found.needs)
        ends: list[FoldersAfter] = []
        printed: list[Names | None] = []
        for each in calls:
            ends.append(self._analyze_one(each))
            printed.append(self.found.printed)
        self.found.merge_commands(start)
        self.found.printed = functools.reduce(names_of_either, printed)
        return functools.reduce(either_of, ends)

    def _with_values(self, call: SimpleCommand) -> list[SimpleCommand]:
        """Return the call once for each value of its variables, so that each word of it is one
        fixed text, or not known. If there are too many, the variables are not known."""
        known: dict[str, tuple[str, ...]] = {}
        for word in call.words:
            for part in word.parts:
                if part.values is not None and part.values != (STREAM,):
                    known[part.source] = part.values
        if not known:
            return [call]
        count = math.prod(map(len, known.values()))
        if count > 1:
            self._combined += count
        if count > MAX_VALUES or self._combined > _MAX_COMBINED:
            words = tuple(map(without_values, call.words))
            return [call._replace(words=words, written=call.words)]
        calls: list[SimpleCommand] = []
        for chosen in itertools.product(*known.values()):
            values = dict(zip(known, chosen, strict=True))
            words = tuple(each for word in call.words for each in fill_in(word, values))
            calls.append(call._replace(words=words, written=call.words))
        return calls

    def _assign(self, call: SimpleCommand) -> None:
        """Add the assignments that stand after ``time`` instead of a command."""
        for name, value in call.sets:
            self.found.variables.assign(name, None)
            if not LOCAL.fullmatch(name):
                aliases = self.commands_in(value)
                self.found.add_unknown(call.source, SETS_VARIABLE, aliases=aliases)

    def _note_variables(self, base: str, call: SimpleCommand) -> None:
        """Note the variables that the command may set in the shell that runs it."""
        variables = self.found.variables
        if base in ("break", "continue"):
            variables.escape(call.dirs)
        if base in _RUNNING:
            for name, _ in call.sets:
                variables.assign(name, None)
        names = set_variables(base, call.words[1:])
        if names is None:
            variables.forget()
        for name in names or ():
            variables.assign(name, None, read=True)

    def _analyze_one(self, call: SimpleCommand) -> FoldersAfter:
        base = base_name(call.words[0].text)
        arguments = call.words[1:]
        self.found.names.append(base)
        self.found.code.update([(word.text, None) for word in call.words if word.code])
        known = self.lookup(base)
        if known is None and self.lookup(base.lower()) is not None:
            # The same program where the file system ignores case.
            base = base.lower()
            known = self.lookup(base)
        self._note_variables(base, call)
        if known is None:
            self._add_unknown_program(base, call)
            return stay(call.dirs)
        call = self._enter_folders(known, call)
        arguments = call.words[1:]
        self.found.evaluates = self.found.evaluates or evaluates_text(base, known, arguments)
        inner = inner_commands.unwrap(base, call.words)
        if inner is not None and inner.inert and inner.words and not inner.reason:
            return self._analyze_inert(call, inner, base)
        self._note_text(base, known, call, inner)
        actions = find_actions(base, arguments) if known.syntax in ("find", "fd") else []
        reading = self._add_need(base, known, call, inner, actions)
        given, printed = self.found.piped, None
        if reading is not None and inner is None:
            place = self.found.workspace
            printed = printed_names(known, arguments, reading, given, call.dirs, place)
            if printed is not None and call.wrapped and call.added is not None:
                printed = replace(call.added, exact=False)  # some of those that it was given
        start = len(self.found.needs)
        for each in (inner, *actions):
            if each is not None:
                names = given if each.from_input else printed if each.adds_paths else None
                self._analyze_inner(call, each, names)
        if reading is not None and (actions or (inner is not None and inner.words)):
            self._doubt_unless_proven(start)
        if len(actions) == 1 or (inner is not None and inner.from_input):
            printed = self.found.printed
        code = literal_code(base, arguments)
        if code is not None:
            self._analyze_nested(code, call.dirs, call.level)
        self.found.printed = None if len(actions) > 1 else printed
        return self._folders_after(base, call)

    def _doubt_unless_proven(self, start: int) -> None:
        """Make the last need before index *start*, of a command that runs others, ask unless
        theirs, from there on, are proven: rules for them do not cover what it adds to them."""
        needs = self.found.needs
        proven = start < len(needs) and all(
            need.default_action == "allow" for need in needs[start:]
        )
        if start and not proven:
            needs[start - 1] = replace(
                needs[start - 1], default_action="ask", possible=RUNS_ANOTHER
            )

    def _enter_folders(self, known: Program, call: SimpleCommand) -> SimpleCommand:
        """Return *call* without its options that change the folder, in that folder: ``git -C web
        status`` as ``cd web && git status``. It stays as it is if the folder is not known."""
        words, folders = split_folders(known, call.words)
        place = self.found.workspace
        dirs = call.dirs
        steps: list[tuple[Word, Dirs]] = []
        for word in folders:
            paths = paths_of(word, dirs, place)
            if not paths:
                return call
            steps.append((word, dirs))
            dirs = limited(frozenset({*map(os.path.normpath, paths), *map(place.resolve, paths)}))
        if not steps:
            return call
        for word, around in steps:
            self.found.add_read(word, around, folder=True)
        for path in filter(place.is_guarded, dirs):
            self.found.add_edit(path)
        if known.syntax == "tar":  # the archive itself is named from the first folder
            dirs = any_of(call.dirs, dirs)
        return call._replace(words=words, dirs=dirs, unmoved=call.words)

    def _add_unknown_program(self, base: str, call: SimpleCommand) -> None:
        """Add the need of a program that is not in the catalog: only its words are known."""
        self.found.runs_text = self.found.runs_text or runs_unknown_text(
            base, call.words[1:], call.sets
        )
        add_all_paths(self.found, call.words[1:], call.dirs)
        reason = name_reason(call.words[0].text) or variable_reason([name for name, _ in call.sets])
        text = as_written(call.shown_words)
        folder = self.found.folder_of(call.dirs)
        context = depends_on_context(call)
        offered = None if reason or context else pattern_of(call.shown_words)
        self.found.add(
            PermissionNeed(
                "bash",
                text,
                always=pattern_in(folder, offered),
                words="" if call.written else call.marked(text),
                folder=folder,
                named=() if reason else named_options(UNKNOWN, call.words),
                shown=call.source,
                reason=reason,
                possible=possible_effect(None, call.words[1:]),
                strict="unknown" if reason else "",
                aliases=distinct_aliases(
                    text, [*name_aliases(base, call), *self._embedded_commands(call, None, reason)]
                ),
                runs=call.word_by_word if reason else "",
                mentions=() if reason else self._mentions(call),
            )
        )

    def _note_text(
        self, base: str, known: Program, call: SimpleCommand, inner: Inner | None
    ) -> None:
        """Note the text that the command writes out, and whether it runs text that it is given."""
        arguments = call.words[1:]
        if base in ("echo", "printf"):
            said = " ".join(word.text for word in arguments if not word.text.startswith("-"))
            self.found.texts[said.replace("\\n", "\n")] = None
        if (inner is not None and inner.runs_text) or runs_unknown_text(base, arguments, call.sets):
            self.found.runs_text = True
        is_language = known.runs_input in ("language", "escapes")
        if is_language and all(word.text.startswith("-") for word in arguments):
            self.found.runs_code = True
            self.found.runs_text = self.found.runs_text or "make" in base
        self.found.runs_escapes = self.found.runs_escapes or known.runs_input == "escapes"

    def _analyze_inert(self, call: SimpleCommand, inner: Inner, base: str) -> FoldersAfter:
        """Analyze what a wrapper runs that needs no rule of its own, in its place."""
        aliases = (*call.aliases, as_written(call.words))
        options = call.words[1 : len(call.words) - len(inner.words)]
        default_path = base == "command" and any("p" in word.text for word in options)
        same = len(call.written) == len(call.words)
        ends = self.analyze(
            call._replace(
                words=inner.words,
                written=call.written[-len(inner.words) :] if same else (),
                unmoved=(),
                aliases=aliases,
                default_path=call.default_path or default_path,
                level=call.level + 1,
            )
        )
        return ends if base == "command" else stay(call.dirs)

    def _analyze_inner(self, call: SimpleCommand, inner: Inner, names: Names | None) -> None:
        """Analyze what a command runs besides itself, with *names* added to it."""
        before = self.found.piped
        if inner.adds_arguments:  # they are its input
            self.found.piped = None
        if names is not None:
            exact = inner.exact and (names.exact or inner.adds_paths)
            names = replace(names, exact=exact)
        dirs = frozenset[str]() if inner.chdir else call.dirs
        for code in inner.codes:
            self._analyze_process(code, dirs, call.level)
        if inner.words and not inner.reason:
            source = " ".join(word.source for word in inner.words)
            self._count_nested(source)
            self.analyze(
                SimpleCommand(
                    inner.words,
                    source,
                    dirs,
                    inner.sets,
                    adds_paths=inner.adds_paths,
                    adds_arguments=inner.adds_arguments,
                    added=names,
                    replaced=inner.replaced,
                    wrapped=True,
                    level=call.level + 1,
                )
            )
        self.found.piped = before

    def _count_nested(self, inner: str) -> None:
        """Count the code that a command runs. Raises ``CannotAnalyzeError`` when it is too much."""
        self._nested += len(inner)
        if self._nested > MAX_NESTED:
            raise CannotAnalyzeError(f"it has more than {MAX_NESTED:,} characters of nested code")

    def _analyze_process(self, text: str, dirs: Dirs, level: int) -> None:
        """Analyze code that another shell runs."""
        state = self.found.variables.snapshot()
        self.found.variables.start_process()
        self._analyze_nested(text, dirs, level)
        self.found.variables.restore(state)

    def _analyze_nested(self, text: str, dirs: Dirs, level: int) -> None:
        """Analyze code that a program runs. "Always" to ``bash -c 'git push'`` does not allow
        ``git push``, so nothing in it has a pattern."""
        self._count_nested(text)
        before = len(self.found.needs)
        self.analyze_code(text, dirs, level)
        self.found.withhold_always(before)

    def _add_need(
        self,
        base: str,
        known: Program,
        call: SimpleCommand,
        inner: Inner | None,
        actions: list[Inner],
    ) -> Reading | None:
        """Add the need of the command itself, after those of its paths. Return what it reads if it
        is proven to do no more, else None."""
        arguments = call.words[1:]
        if inner is None and not actions:
            call = self._without_harmless_names(base, known, call)
        reading = find_reads(base, known, arguments) if inner is None else None
        if inner is not None and known.wrapper is not None and known.wrapper.passes_names:
            reading = Reading(proven=True)  # what it runs has a need of its own
        reason = (
            uncovered_reason(base, known, call, inner, actions)
            or self._operator_reason(base, arguments)
            or pattern_reason(base, known, call, self.found.workspace)
        )
        matched = len(self.found.matched)
        reason = self._add_paths(base, known, call, inner, reading, reason)
        proven = not reason and reading is not None and self._is_proven(call, reading)
        shows = reading if proven else None
        why = add_reach(self.found, known, call, shows, matched) if shows else reason
        proven = proven and not why
        if known.syntax == "git":
            proven = self._note_git(call, proven=proven)
        folder = self.found.folder_of(call.dirs)
        offered = None if reason else self._always(base, known, call, inner, actions)
        destructive = destroys(known, arguments)
        network = not proven and uses_network(known, arguments)
        text = call.text
        self.found.add(
            PermissionNeed(
                "bash",
                text,
                always=pattern_in(folder, offered),
                same=call.same,
                words="" if call.written else call.marked(text),
                folder=folder,
                named=() if proven or reason or actions else named_words(known, call.words),
                shown=call.source,
                reason=_with_effects(why, base, destructive=destructive, network=network),
                possible=possible_effect(known, arguments, reading, inner, *actions),
                default_action="allow" if proven else "ask",
                destructive=destructive,
                incidental=proven and (base == "cd" or (base == "cat" and not arguments)),
                network=network,
                strict="unknown" if reason else "",
                aliases=(
                    *all_aliases(base, known, call, text),
                    *self._embedded_commands(call, inner, reason),
                ),
                runs=call.word_by_word if reason and (inner is None or inner.reason) else "",
                mentions=() if reason or known.familiar else self._mentions(call),
            )
        )
        return reading if proven else None

    def _note_git(self, call: SimpleCommand, *, proven: bool) -> bool:
        """Note a call of git; return whether it stays proven, which needs the git that reads no
        configuration of the repository."""
        proven = proven and not call.default_path
        subcommand = git_arguments.parse(call.words[1:]).subcommand
        self.found.git.append(GitUse(subcommand, call.dirs, proven))
        return proven

    def _without_harmless_names(
        self, base: str, known: Program, call: SimpleCommand
    ) -> SimpleCommand:
        """Return *call* as if nothing were added to it, if it does the same with any added name."""
        added = call.adds_paths or call.adds_arguments
        if added and takes_names(base, known, call, self.found.workspace):
            return call._replace(adds_paths=False, adds_arguments=False)
        return call

    def _add_paths(
        self,
        base: str,
        known: Program,
        call: SimpleCommand,
        inner: Inner | None,
        reading: Reading | None,
        reason: str,
    ) -> str:
        """Add the paths among the arguments; return *reason*, or why they are not known."""
        arguments = call.words[1:]
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
        return reason

    def _always(
        self,
        base: str,
        known: Program,
        call: SimpleCommand,
        inner: Inner | None,
        actions: list[Inner],
    ) -> str | None:
        """Return the pattern for "always": of the words as they are written, because a variable
        has another value in the next line."""
        if call.written and (inner is not None or call.unmoved):
            return None
        as_shown = call._replace(words=call.shown_words)
        return always_pattern(base, known, as_shown, inner, actions)

    def _operator_reason(self, base: str, arguments: tuple[Word, ...]) -> str:
        """Return the reason why operands of ``test`` can become operators, "" if they can't."""
        bare = (part.source for word in arguments for part in word.parts if not part.quoted)
        return (
            READ_SPLITS
            if base in ("test", "[") and any(map(self.found.may_be_read_text, bare))
            else ""
        )

    def _embedded_commands(
        self, call: SimpleCommand, inner: Inner | None, reason: str
    ) -> tuple[str, ...]:
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

    def _mentions(self, call: SimpleCommand) -> tuple[str, ...]:
        """Return texts that an unknown program can run as commands."""
        quoted = [word for word in call.words[1:] if " " in word.text]
        if not quoted:
            return (call.word_by_word,)
        embedded = [alias for text in embedded_texts(quoted) for alias in self.commands_in(text)]
        return (call.word_by_word, *dict.fromkeys(embedded))

    def _is_proven(self, call: SimpleCommand, reading: Reading) -> bool:
        """Return whether the command is certain to do no more than *reading* says."""
        place, dirs = self.found.workspace, call.dirs
        inside = bool(dirs) and all(map(place.is_inside, dirs))
        bare = "/" not in call.words[0].text
        plain = bare and not (call.adds_paths or call.adds_arguments)
        return reading.proven and inside and plain and not place.has_above(dirs, reading.unless)

    def _folders_after(self, base: str, call: SimpleCommand) -> FoldersAfter:
        if base in ("eval", "source", "."):
            return stay(frozenset[str]())
        if base == "popd" or (base in ("cd", "pushd") and call.wrapped):
            return FoldersAfter(frozenset(), call.dirs)
        if base not in ("cd", "pushd") or call.asynchronous:
            return stay(call.dirs)
        target = cd_target(call.words[1:])
        if target is None:
            home = frozenset({self.found.workspace.home} if base == "cd" else ())
            return FoldersAfter(home, call.dirs)
        odd = target.text == "-" or (base == "pushd" and re.match("[-+]", target.text))
        paths = None if odd else paths_of(target, call.dirs, self.found.workspace)
        if paths is None:
            return FoldersAfter(frozenset(), call.dirs)
        both = {os.path.normpath(path) for path in paths}
        reached = limited(frozenset(both | set(map(self.found.workspace.resolve, paths))))
        certain = call.words[-1] is target and not target.globs and self._exist(paths)
        return FoldersAfter(reached, call.dirs, fails=not certain)

    def _exist(self, folders: Sequence[str]) -> bool:
        """Return whether it is certain that one can change to *folders*: they exist, and nothing in
        the line can have removed one. If the project itself does not exist, its folders count."""
        if any(
            need.default_action != "allow" for need in self.found.needs if need.permission == "bash"
        ):
            return False
        if not os.path.isdir(self.found.workspace.directory):
            return all(map(self.found.workspace.is_inside, folders))
        return all(os.path.isdir(path) and os.access(path, os.X_OK) for path in folders)
