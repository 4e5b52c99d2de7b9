"""A walk over the parsed command line that knows every node type it visits.

The walk carries the folders that commands can run in. A node type that is not listed, or an
unexpected token, means that the text cannot be analyzed.
"""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from agent.permission.programs.builtin_effects import KEYWORDS, LOCAL
from agent.permission.programs.lookup import base_name
from agent.permission.shell.command_needs import Commands
from agent.permission.shell.expansion import WORDS, Expander
from agent.permission.shell.findings import Findings
from agent.permission.shell.names import Names
from agent.permission.shell.paths import Dirs, Workspace, any_of
from agent.permission.shell.possible_commands import possible_commands, split_commands
from agent.permission.shell.redirections import REDIRECTIONS, Pipeline, Redirections, flatten
from agent.permission.shell.simple_command import (
    FoldersAfter,
    SimpleCommand,
    after_and,
    after_or,
    either_of,
    stay,
)
from agent.permission.shell.variable_values import Values
from agent.permission.shell.variables import Variables
from agent.permission.syntax.parser import descendants, lost_text, parse, text_of
from agent.permission.syntax.source import (
    MAX_DEPTH,
    CannotAnalyzeError,
    join_lines,
    quote_dash,
    refuse_early,
    unsupported_syntax,
    word_set,
)
from agent.permission.syntax.words import literal_word

if TYPE_CHECKING:
    from tree_sitter import Node


_TOKENS = word_set(
    "; & && || | |& ( ) { } $( <( >( ` ! if then else elif fi for select while until do done in "
    "case esac function"
) | {"\n"}
_EXPANDS = re.compile(r"[$`<>(]")
_SIMPLE = re.compile(r"[\w./:@%+-]+(?: [\w./:@%+-]+)*", re.ASCII)
"""A command of literal words."""
_GRAMMATICAL = KEYWORDS | word_set(
    "time coproc export declare typeset readonly local unset unsetenv read mapfile readarray "
    "getopts printf"
)
"""Names that make another node of a command, or a variable of a word that follows."""
_SILENCED = re.compile(r"2> ?/dev/null")
_CLAUSES = frozenset({"elif_clause", "else_clause"})
_CASE_ENDS = frozenset({";;", ";&", ";;&"})
_MAX_REPEATED = 2
_MAX_PASSES = 50
"""Times that a loop, and the loops of a line together, are analyzed again because variables or the
folder change in them; then neither is known."""
_MAX_LEVELS = 3
"""Levels of text in text that are analyzed for deny rules."""
_MAX_TEXTS = 64
"""Texts of a line that are parsed for deny rules; in more, every word counts as a command."""
_SPELLED = re.compile(r"[`{]|\$[^\w@*#?!$-]|\\\n|-delete")
_SETTING = re.compile(r"=|\b(?:for|select|read\w*|printf|mapfile|getopts)\b")
"""Text that can compose a name its letters don't show, and text that can set a variable: it is
parsed even after ``_MAX_TEXTS`` others."""
_ONE_WORD = re.compile(r"(?:[\w.*?-]*/)*[\w.*?-]+", re.ASCII)
"""One word without quotes or expansions: a command without arguments."""


def _root(text: str) -> "Node":
    """Return the tree of *text*; it is certain to show all of it."""
    root = parse(text)
    if root.has_error:
        raise CannotAnalyzeError("its syntax is not understood")
    lost = lost_text(root, text)
    quoted = quote_dash(text) if lost == "-" else None
    if quoted is not None:
        return _root(quoted)
    if lost:
        raise CannotAnalyzeError(f"a part of it is not understood: {lost[:20]!r}")
    return root


def _may_compose_names(text: str) -> bool:
    return bool(_SPELLED.search(text) or ("$" in text and _SETTING.search(text)))


def _redirects(redirections: Sequence["Node"]) -> bool:
    """Return whether the input or output is another one with *redirections*."""
    return any(not _SILENCED.fullmatch(text_of(each)) for each in redirections)


def check_token(node: "Node") -> None:
    """Raise for a token that the walk does not know."""
    if not node.is_named and node.type not in _TOKENS:
        raise CannotAnalyzeError(f"{node.type.strip() or 'a token'} is in an unexpected place")


def _adjacent(node: "Node") -> list["Node"]:
    """Return the words that follow *node* without a space."""
    found: list[Node] = []
    end, following = node.end_byte, node.next_sibling
    while following is not None and following.start_byte == end and following.type in WORDS:
        found.append(following)
        end, following = following.end_byte, following.next_sibling
    return found


class Walker:
    """Analyzes code into *found*, including nested code."""

    def __init__(self, found: Findings, depth: int = 0) -> None:
        self.found = found
        self.level = 0
        self.commands_in = TextCommands(found.workspace, depth)
        self._passes = 0
        self._analyzed: dict[
            tuple[str, Dirs, int, Names | None], tuple[FoldersAfter, Names | None]
        ] = {}
        self.commands = Commands(found, self.analyze_nested, self.commands_in)
        self.expander = Expander(found, self.substitution, self.substituted_code)
        self.redirections = Redirections(found, self.expander)
        self.variables = Variables(found, self.expander, self.commands_in)
        self._handlers: dict[str, Callable[[Node, Dirs], FoldersAfter]] = {
            "list": self._and_or,
            "pipeline": self._and_or,
            "negated_command": self._and_or,
            "redirected_statement": self._and_or,
            "file_redirect": self._and_or,
            "command": self._command,
            "subshell": self._subshell,
            "compound_statement": self._compound,
            "if_statement": self._if,
            "while_statement": self._while,
            "for_statement": self._for,
            "c_style_for_statement": self._c_for,
            "case_statement": self._case,
            "function_definition": self._function,
            "test_command": self.expander.check_test,
            "declaration_command": self.variables.declaration,
            "unset_command": self.variables.declaration,
            "variable_assignment": self.variables.assignment,
            "variable_assignments": self.variables.assignments,
        }

    def analyze_code(self, text: str, dirs: Dirs) -> None:
        """Analyze *text* as bash code that runs in one of *dirs*."""
        if self.level > MAX_DEPTH:
            raise CannotAnalyzeError(f"it is nested more than {MAX_DEPTH} levels deep")
        if _SIMPLE.fullmatch(text) and text.partition(" ")[0] not in _GRAMMATICAL:
            # Parsing each of a thousand ``sh -c name`` would give the same result.
            words = tuple(map(literal_word, text.split(" ")))
            self.commands.analyze(SimpleCommand(words, text, dirs, level=self.level + 1))
            return
        refuse_early(text)
        joined, ends = join_lines(text)
        root = _root(joined)
        if ends is not None and ends != list(map(text_of, descendants(root, "heredoc_start"))):
            raise CannotAnalyzeError("an escaped line break is next to a here-document")
        self.level += 1
        self.sequence(root.children, dirs)
        self.level -= 1

    def analyze_nested(self, text: str, dirs: Dirs, level: int) -> None:
        """Analyze code that a call at *level* runs."""
        before, self.level = self.level, level
        piped, self.found.piped = self.found.piped, None
        self.analyze_code(text, dirs)
        self.level, self.found.piped = before, piped

    def substituted_code(self, text: str, dirs: Dirs) -> None:
        """Analyze the code of a substitution that was found as text."""
        state = self.found.variables.snapshot()
        self.analyze_code(text, dirs)
        self.found.variables.restore(state)

    def substitution(self, node: "Node", dirs: Dirs) -> None:
        """Analyze ``$(…)`` or ``<(…)``, which is a subshell."""
        self._subshell(node, dirs)

    def sequence(self, nodes: Sequence["Node"], dirs: Dirs) -> FoldersAfter:
        ends = stay(dirs)
        for at, node in enumerate(nodes):
            if node.type == "comment" or not node.is_named:
                check_token(node)
            elif at + 1 < len(nodes) and nodes[at + 1].type == "&":
                state = self.found.variables.snapshot()
                self.statement(node, dirs)
                self.found.variables.restore(state)
                ends = stay(dirs)
            else:
                ends = self.statement(node, dirs)
                dirs = ends.either
        return ends

    def statement(self, node: "Node", dirs: Dirs) -> FoldersAfter:
        handler = self._handlers.get(node.type)
        if handler is None:
            raise CannotAnalyzeError(unsupported_syntax(node.type))
        return handler(node, dirs)

    def _and_or(self, node: "Node", dirs: Dirs) -> FoldersAfter:
        variables = self.found.variables
        ends = stay(dirs)
        for each in flatten(node):
            start = variables.snapshot() if each.operator else None
            if each.operator == "&&":
                ends = after_and(ends, self._pipeline(each, ends.success))
            elif each.operator == "||":
                ends = after_or(ends, self._pipeline(each, ends.failure))
            else:
                ends = self._pipeline(each, dirs)
            if start is not None:
                variables.merge([start], start)
        return ends

    def _pipeline(self, pipeline: Pipeline, dirs: Dirs) -> FoldersAfter:
        if len(pipeline.stages) == 1:
            ends = self._stage(*pipeline.stages[0], dirs)
            return ends.negated if pipeline.negated else ends
        given = self.found.piped
        for at, stage in enumerate(pipeline.stages):
            self.found.piped = self.found.printed if at else given
            state = self.found.variables.snapshot()
            self._stage(*stage, dirs)
            self.found.variables.restore(state)
        self.found.piped, self.found.printed = given, None
        return stay(dirs)

    def _stage(
        self, node: "Node | None", redirections: Sequence["Node"], dirs: Dirs
    ) -> FoldersAfter:
        """Analyze one command with the redirections that bash performs for it, in its folder."""
        piped = self.found.piped
        extra = [word for each in redirections for word in self.redirections.add(each, dirs)]
        simple = node is not None and node.type == "command"
        # Names are followed from one simple command to the next.
        self.found.piped = piped if simple and not _redirects(redirections) else None
        if node is not None and simple:
            ends = self._command(node, dirs, extra)
        elif extra:
            raise CannotAnalyzeError("words after a redirection are not supported")
        else:
            ends = stay(dirs) if node is None else self.statement(node, dirs)
        if not simple or _redirects(redirections):
            self.found.printed = None
        self.found.piped = piped
        return ends

    def _subshell(self, node: "Node", dirs: Dirs) -> FoldersAfter:
        state = self.found.variables.snapshot()
        self.sequence(node.children, dirs)
        self.found.variables.restore(state)
        return stay(dirs)

    def _compound(self, node: "Node", dirs: Dirs) -> FoldersAfter:
        if node.children[0].type == "((":
            self.expander.check_arithmetic(node)
            for child in node.children:
                self.expander.follow(child, dirs)
            return stay(dirs)
        return self.sequence(node.children, dirs)

    def _command(self, node: "Node", dirs: Dirs, extra: Sequence["Node"] = ()) -> FoldersAfter:
        key = (text_of(node), dirs, self.level, self.found.piped)
        if extra or _EXPANDS.search(key[0]):
            return self._analyze_command(node, key[0], dirs, extra)
        # The same words again, without anything that depends on the place in the line.
        known = self._analyzed.get(key)
        if known is not None:
            ends, self.found.printed = known
            return ends
        before = len(self.found.variables.assigned)
        ends = self._analyze_command(node, key[0], dirs, extra)
        if before == len(self.found.variables.assigned):
            self._analyzed[key] = ends, self.found.printed
        return ends

    def _analyze_command(
        self, node: "Node", text: str, dirs: Dirs, extra: Sequence["Node"]
    ) -> FoldersAfter:
        sets: list[tuple[str, str]] = []
        parts: list[Node] = []
        text = " ".join([text, *map(text_of, extra)])
        target_end = -1
        piped = self.found.piped
        redirected = _redirects([each for each in node.children if each.type in REDIRECTIONS])
        for child in node.children:
            if child.end_byte <= target_end:
                continue  # a part of the target before
            if child.type == "variable_assignment":
                sets.append(self.variables.follow_assignment(child, dirs))
            elif child.type in REDIRECTIONS:
                more = _adjacent(child)
                target_end = more[-1].end_byte if more else -1
                extra = (*extra, *self.redirections.add(child, dirs, more))
            elif child.type in WORDS or child.type in ("$", "regex", "extglob_pattern"):
                parts.append(child)
            else:
                raise CannotAnalyzeError(
                    f"it contains a construct ({child.type}) that is not supported"
                )
        words = self.expander.read_words([*parts, *extra], dirs)
        call = SimpleCommand(tuple(words), text, dirs, tuple(sets), level=self.level)
        self.found.piped = None if redirected else piped
        ends = self.commands.analyze(call)
        self.found.piped = piped
        if redirected:
            self.found.printed = None
        return ends

    def _if(self, node: "Node", dirs: Dirs) -> FoldersAfter:
        return self._condition(node.children, dirs)

    def _condition(self, nodes: Sequence["Node"], dirs: Dirs) -> FoldersAfter:
        """Analyze ``if a; then b; …`` or ``elif a; then b``, with the clauses that follow."""
        variables = self.found.variables
        body = next(at for at, child in enumerate(nodes) if child.type == "then")
        rest = next((at for at, each in enumerate(nodes) if each.type in _CLAUSES), len(nodes))
        tested = self.sequence(nodes[:body], dirs)
        start = variables.snapshot()
        taken = self.sequence(nodes[body:rest], tested.success)
        after = variables.snapshot()
        variables.restore(start)
        other = stay(tested.failure)
        if rest < len(nodes):
            clause = nodes[rest]
            if clause.type == "else_clause":
                other = self.sequence(clause.children, tested.failure)
            else:
                other = self._condition([*clause.children, *nodes[rest + 1 :]], tested.failure)
        variables.merge([after], start)
        return either_of(taken, other)

    def _while(self, node: "Node", dirs: Dirs) -> FoldersAfter:
        return self._loop(node.children[:-1], node.children[-1], dirs)

    def _loop(
        self,
        head: Sequence["Node"],
        body: "Node",
        dirs: Dirs,
        name: str = "",
        values: Values = None,
    ) -> FoldersAfter:
        """Analyze a loop until another pass would find nothing new; *name* has one of *values* in
        each."""
        variables, first = self.found.variables, len(self.found.needs)
        passes = 0
        while True:
            start, escaped = variables.snapshot(), len(variables.escapes)
            tested = self.sequence(head, dirs)
            states = [variables.snapshot()]
            if name:
                variables.assign(name, values)
            ends = self.sequence(body.children, tested.success)
            left = variables.escapes[escaped:]
            reached = any_of(dirs, tested.either, ends.either, *(folders for _, folders in left))
            variables.merge([*states, *(state for state, _ in left)], start)
            after = variables.snapshot()
            variables.restore(start)
            if not variables.merge([after], start) and reached == dirs:
                break
            dirs = reached if not passes else frozenset()
            passes += 1
            self._passes += 1
            if passes > _MAX_REPEATED or self._passes > _MAX_PASSES:
                variables.forget()
                dirs = frozenset()
        if passes:
            self.found.merge_commands(first)
        variables.restore(after)
        return stay(dirs)

    def _for(self, node: "Node", dirs: Dirs) -> FoldersAfter:
        name = text_of(node.children[1])
        if not LOCAL.fullmatch(name):
            reason = f"sets {name}, which can change what later commands do"
            self.found.add_unknown(f"for {name}", reason)
        listed = [child for child in node.children[2:] if child.type in WORDS]
        words = self.expander.read_words(listed, dirs) if listed else []
        self.found.texts.update(dict.fromkeys(word.text for word in words))
        for word in words:
            self.expander.check_listed(word, dirs)
        values = self.variables.values_of(words) if node.children[0].type == "for" else None
        if node.children[0].type == "select":
            self.found.variables.assign("REPLY", None, read=True)
        before = self.found.variables.snapshot()
        self.found.variables.assign(name, values)
        self.found.variables.merge([before], before)
        rest = [child for child in node.children[2:-1] if child.type not in WORDS]
        return self._loop(rest, node.children[-1], dirs, name, values)

    def _c_for(self, node: "Node", dirs: Dirs) -> FoldersAfter:
        body = node.children[-1]
        for child in node.children[:-1]:
            self.expander.follow(child, dirs)
            self.expander.check_arithmetic(child)
        return self._loop((), body, dirs)

    def _case(self, node: "Node", dirs: Dirs) -> FoldersAfter:
        variables = self.found.variables
        start, ends = variables.snapshot(), stay(dirs)
        states, entered = [start], dirs
        for child in node.children:
            if child.type == "case_item":
                after = self._case_item(child, entered)
                ends = either_of(ends, after)
                states.append(variables.snapshot())
                continues = child.children[-1].type in (";&", ";;&")
                entered = any_of(dirs, after.either) if continues else dirs
                if not continues:
                    variables.restore(start)
                variables.merge(states if continues else [], start)
            elif child.is_named and child.type != "comment":
                self.expander.read_values([child], dirs)
        variables.merge(states, start)
        return ends

    def _case_item(self, node: "Node", dirs: Dirs) -> FoldersAfter:
        closed = next(at for at, child in enumerate(node.children) if child.type == ")")
        for child in node.children[:closed]:
            if child.is_named:
                self.expander.follow(child, dirs)
        body = [child for child in node.children[closed + 1 :] if child.type not in _CASE_ENDS]
        return self.sequence(body, dirs)

    def _function(self, node: "Node", dirs: Dirs) -> FoldersAfter:
        name = next(text_of(child) for child in node.children if child.type == "word")
        reason = f"defines the function {name}, which can replace a program of that name"
        self.found.add_unknown(f"{name}()", reason)
        state = self.found.variables.snapshot()
        self.found.variables.forget()
        for child in node.children:
            if child.type == "file_redirect":
                self.redirections.add(child, dirs)
            elif child.is_named and child.type != "word":
                self.statement(child, frozenset())
        self.found.variables.restore(state)
        for name in dict.fromkeys(self.found.variables.assigned[state.at :]):
            self.found.variables.assign(name, None)
        return stay(dirs)


class TextCommands:
    """The commands of a text in case it is run, for deny rules; none for text that is no code.

    *depth* is the number of texts around it: no more than ``_MAX_LEVELS`` are analyzed.
    """

    def __init__(self, place: Workspace, depth: int) -> None:
        self._workspace = place
        self._depth = depth
        self._known: dict[str, tuple[str, ...]] = {}

    def __call__(self, text: str) -> tuple[str, ...]:
        if self._depth > _MAX_LEVELS:
            return ()
        if _ONE_WORD.fullmatch(text):
            base = base_name(text)
            return (text,) if base == text else (text, base)
        if not text.strip():
            return ()
        known = self._known.get(text)
        if known is None:
            parsed = len(self._known) < _MAX_TEXTS or _may_compose_names(text)
            known = self._look_into(text) if parsed else tuple(split_commands(text))
            self._known[text] = known
        return known

    def _look_into(self, text: str) -> tuple[str, ...]:
        scratch = Findings(self._workspace)
        walker = Walker(scratch, self._depth + 1)
        try:
            walker.analyze_code(text, frozenset())
        except (CannotAnalyzeError, ValueError, IndexError, RecursionError):
            return tuple(dict.fromkeys((*scratch.command_texts(), *possible_commands(text))))
        return tuple(dict.fromkeys(scratch.command_texts()))
