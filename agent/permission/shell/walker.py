"""A walk over the parsed command line that knows every node type it visits.

The walk carries the folders that commands can run in. A node type that is not listed, or an
unexpected token, means that the text cannot be analyzed.
"""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from agent.permission.programs.builtins import KEYWORDS, LOCAL
from agent.permission.programs.lookup import base_name
from agent.permission.shell.call import Call, FoldersAfter
from agent.permission.shell.command import Commands
from agent.permission.shell.expansion import WORDS, Expander
from agent.permission.shell.fallback import possible_commands, split_commands
from agent.permission.shell.findings import Findings
from agent.permission.shell.paths import Dirs, Workspace, any_of
from agent.permission.shell.variables import Variables
from agent.permission.syntax.parser import lost_text, parse, text_of
from agent.permission.syntax.source import (
    MAX_DEPTH,
    CannotAnalyzeError,
    join_lines,
    quote_dash,
    refuse_early,
    word_set,
)
from agent.permission.syntax.words import Word, literal_word, plain

if TYPE_CHECKING:
    from tree_sitter import Node


_WRITES = word_set("> >> >| &> &>> >& <>")
_STATEMENTS = word_set("command list pipeline redirected_statement negated_command subshell")


class Redirections:
    """Adds redirections to *found*; *expander* reads their targets."""

    def __init__(self, found: Findings, words: Expander) -> None:
        self.found = found
        self.expander = words

    def add_heredoc(self, node: "Node", dirs: Dirs) -> tuple[list["Node"], list["Node"]]:
        """Add a here-document; return the words and statements on its line."""
        words: list[Node] = []
        statements: list[Node] = []
        start = ""
        for child in node.children:
            match child.type:
                case "heredoc_start":
                    start = text_of(child)
                case "heredoc_body":
                    self.found.texts[text_of(child)] = None
                    if not re.search(r"['\"\\]", start):
                        self.expander.follow_heredoc(text_of(child), dirs)
                case "file_redirect":
                    words += self.add_redirection(child, dirs)
                case kind if kind in WORDS:
                    words.append(child)
                case kind if kind in _STATEMENTS:
                    statements.append(child)
                case "<<" | "<<-" | "&&" | "||" | "|" | "|&" | "heredoc_end" | "file_descriptor":
                    pass
                case kind:
                    raise CannotAnalyzeError(f"its here-document holds a {kind.strip()}")
        return words, statements

    def add_herestring(self, node: "Node", dirs: Dirs) -> None:
        """Add ``<<< text``, which the command reads as its input."""
        nodes = [child for child in node.children if child.type in WORDS]
        for word in self.expander.read_words(nodes, dirs):
            self.found.texts[word.text] = None

    def add_redirection(self, node: "Node", dirs: Dirs) -> list["Node"]:
        """Add one redirection; return the words after its target, which belong to the command."""
        operator = next(child.type for child in node.children if not child.is_named)
        targets = [child for child in node.children if child.type in WORDS]
        if not targets:
            if operator in (">&-", "<&-"):
                return []
            raise CannotAnalyzeError("a redirection has no target")
        first = [targets.pop(0)]
        while targets and targets[0].start_byte == first[-1].end_byte:
            first.append(targets.pop(0))
        word = self.expander.read_words(first, dirs)[0]
        if first[0].type == "process_substitution":
            return targets
        if operator in (">&", "<&") and re.fullmatch(r"\d+-?|-", word.text):
            return targets
        self._add_target(operator, word, dirs)
        return targets

    def _add_target(self, operator: str, word: Word, dirs: Dirs) -> None:
        text = f"{operator} {word.source}"
        if any(plain(value).startswith(("/dev/tcp/", "/dev/udp/")) for value in word.values or ()):
            self.found.add_unknown(text, "opens a network connection")
        elif operator in _WRITES:
            if not self.found.add_write(word, dirs):
                self.found.add_unknown(text, "writes a file that is known at run time only")
        elif operator not in ("<", "<&"):
            raise CannotAnalyzeError(f"the redirection {operator} is not understood")
        elif not self.found.add_read(word, dirs):
            self.found.add_unknown(text, "reads a file that is known at run time only")


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
        raise CannotAnalyzeError(f"the parser does not show {lost[:20]!r}")
    return root


def _may_compose_names(text: str) -> bool:
    return bool(_SPELLED.search(text) or ("$" in text and _SETTING.search(text)))


def _check_token(node: "Node") -> None:
    """Raise for a token that the walk does not know."""
    if not node.is_named and node.type not in _TOKENS:
        raise CannotAnalyzeError(f"{node.type.strip() or 'a token'} stands in an odd place")


class Walker:
    """Analyzes code into *found*, including nested code."""

    def __init__(self, found: Findings, depth: int = 0) -> None:
        self.found = found
        self.level = 0
        self.commands_in = TextCommands(found.workspace, depth)
        self._analyzed: dict[tuple[str, Dirs, int], FoldersAfter] = {}
        self.commands = Commands(found, self.analyze_nested, self.commands_in)
        self.expander = Expander(found, self.substitution, self.analyze_code)
        self.redirections = Redirections(found, self.expander)
        self.variables = Variables(found, self.expander, self.commands_in)
        self._handlers: dict[str, Callable[[Node, Dirs], FoldersAfter]] = {
            "list": self._list,
            "pipeline": self._pipeline,
            "negated_command": self._negated,
            "redirected_statement": self._redirected,
            "command": self._command,
            "subshell": self._subshell,
            "compound_statement": self._compound,
            "if_statement": lambda node, dirs: self._branches(node.children, dirs),
            "while_statement": lambda node, dirs: self._loop(node.children, dirs),
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
            self.commands.analyze(Call(words, text, dirs, level=self.level + 1))
            return
        refuse_early(text)
        joined = join_lines(text)
        root = _root(joined)
        self.level += 1
        if _SETTING.search(joined):
            self.variables.note_variables(root)
        self.sequence(root.children, dirs)
        self.level -= 1

    def analyze_nested(self, text: str, dirs: Dirs, level: int) -> None:
        """Analyze code that a call at *level* runs."""
        before, self.level = self.level, level
        self.analyze_code(text, dirs)
        self.level = before

    def substitution(self, node: "Node", dirs: Dirs) -> None:
        """Analyze ``$(…)`` or ``<(…)``, which is a subshell."""
        self.sequence(node.children, dirs)

    def sequence(self, nodes: Sequence["Node"], dirs: Dirs) -> FoldersAfter:
        ends: FoldersAfter = (dirs, dirs)
        for node in nodes:
            if node.type == "comment" or not node.is_named:
                _check_token(node)
                continue
            ends = self.statement(node, dirs)
            dirs = any_of(*ends)
        return ends

    def statement(self, node: "Node", dirs: Dirs) -> FoldersAfter:
        handler = self._handlers.get(node.type)
        if handler is not None:
            return handler(node, dirs)
        if node.type == "file_redirect":
            self.redirections.add_redirection(node, dirs)
            return dirs, dirs
        raise CannotAnalyzeError(f"it holds a construct ({node.type}) that is not followed")

    def _list(self, node: "Node", dirs: Dirs) -> FoldersAfter:
        parts = [child for child in node.children if child.type != "comment"]
        if len(parts) != 3:
            raise CannotAnalyzeError("its parts are put together in a way that is not followed")
        left, operator, right = parts
        first = self.statement(left, dirs)
        if operator.type == "&&":
            second = self.statement(right, first[0])
            return second[0], any_of(first[1], second[1])
        second = self.statement(right, first[1])
        return any_of(first[0], second[0]), second[1]

    def _pipeline(self, node: "Node", dirs: Dirs) -> FoldersAfter:
        for child in node.children:
            if child.is_named:
                self.statement(child, dirs)
        return dirs, dirs

    def _negated(self, node: "Node", dirs: Dirs) -> FoldersAfter:
        ends = self.sequence(node.children, dirs)
        return ends[1], ends[0]

    def _subshell(self, node: "Node", dirs: Dirs) -> FoldersAfter:
        self.sequence(node.children, dirs)
        return dirs, dirs

    def _compound(self, node: "Node", dirs: Dirs) -> FoldersAfter:
        if node.children[0].type == "((":
            self.expander.check_arithmetic(node)
            for child in node.children:
                self.expander.follow(child, dirs)
            return dirs, dirs
        return self.sequence(node.children, dirs)

    def _command(self, node: "Node", dirs: Dirs, extra: Sequence["Node"] = ()) -> FoldersAfter:
        key = (text_of(node), dirs, self.level)
        if extra or _EXPANDS.search(key[0]):
            return self._analyze_command(node, key[0], dirs, extra)
        # The same words again, without anything that depends on the place in the line.
        ends = self._analyzed.get(key)
        if ends is None:
            ends = self._analyzed[key] = self._analyze_command(node, key[0], dirs, extra)
        return ends

    def _analyze_command(
        self, node: "Node", text: str, dirs: Dirs, extra: Sequence["Node"]
    ) -> FoldersAfter:
        sets: list[tuple[str, str]] = []
        parts: list[Node] = []
        text = " ".join([text, *map(text_of, extra)])
        for child in node.children:
            if child.type == "variable_assignment":
                sets.append(self.variables.follow_assignment(child, dirs))
            elif child.type == "file_redirect":
                extra = (*extra, *self.redirections.add_redirection(child, dirs))
            elif child.type == "herestring_redirect":
                self.redirections.add_herestring(child, dirs)
            elif child.type in WORDS or child.type in ("$", "regex", "extglob_pattern"):
                parts.append(child)
            else:
                raise CannotAnalyzeError(f"it holds a construct ({child.type}) not followed")
        words = self.expander.read_words([*parts, *extra], dirs)
        call = Call(tuple(words), text, dirs, tuple(sets), level=self.level)
        return self.commands.analyze(call)

    def _redirected(self, node: "Node", dirs: Dirs) -> FoldersAfter:
        body: Node | None = None
        extra: list[Node] = []
        later: list[Node] = []
        for child in node.children:
            if child.type == "file_redirect":
                extra += self.redirections.add_redirection(child, dirs)
            elif child.type == "heredoc_redirect":
                words, statements = self.redirections.add_heredoc(child, dirs)
                extra += words
                later += statements
            elif child.type == "herestring_redirect":
                self.redirections.add_herestring(child, dirs)
            elif body is None:
                body = child
            else:
                raise CannotAnalyzeError("its redirections are not understood")
        if body is None or body.type != "command":
            if extra:
                raise CannotAnalyzeError("words follow a redirection")
            ends = (dirs, dirs) if body is None else self.statement(body, dirs)
        else:
            ends = self._command(body, dirs, extra)
        for statement in later:
            ends = self.statement(statement, any_of(*ends))
            ends = (any_of(dirs, *ends), any_of(dirs, *ends))
        return ends

    def _branches(self, nodes: Sequence["Node"], dirs: Dirs) -> FoldersAfter:
        """Analyze branches, each of which can run in any folder that one before it leads to."""
        states = [dirs]
        for child in nodes:
            if child.type in ("elif_clause", "else_clause", "do_group"):
                states += self._branches(child.children, any_of(*states))
            elif child.is_named and child.type != "comment":
                states += self.statement(child, any_of(*states))
            else:
                _check_token(child)
        return any_of(*states), any_of(*states)

    def _loop(self, nodes: Sequence["Node"], dirs: Dirs) -> FoldersAfter:
        moves = any(
            re.search(r"\b(cd|pushd|popd|eval)\b|(^|[\s;])(\.|source)\s", text_of(node))
            for node in nodes
        )
        return self._branches(nodes, frozenset() if moves else dirs)

    def _for(self, node: "Node", dirs: Dirs) -> FoldersAfter:
        name = text_of(node.children[1])
        if not LOCAL.fullmatch(name):
            self.found.add_unknown(f"for {name}", f"sets {name}, which can change what runs")
        listed = [child for child in node.children[2:] if child.type in WORDS]
        words = self.expander.read_words(listed, dirs)
        self.found.texts.update(dict.fromkeys(word.text for word in words))
        if self.found.variables.get(name) is not None:
            values = [word.values for word in words]
            flat = [value for each in values for value in each or ()]
            self.found.variables[name] = tuple(flat) if flat and None not in values else None
        rest = [child for child in node.children[2:] if child.type not in WORDS]
        return self._loop(rest, dirs)

    def _c_for(self, node: "Node", dirs: Dirs) -> FoldersAfter:
        body = [
            child for child in node.children if child.type in ("do_group", "compound_statement")
        ]
        for child in node.children:
            if child not in body:
                self.expander.follow(child, dirs)
                self.expander.check_arithmetic(child)
        return self._loop(body, dirs)

    def _case(self, node: "Node", dirs: Dirs) -> FoldersAfter:
        states = [dirs]
        for child in node.children:
            if child.type == "case_item":
                states += self._case_item(child, dirs)
            elif child.is_named and child.type != "comment":
                self.expander.read_words([child], dirs)
        return any_of(*states), any_of(*states)

    def _case_item(self, node: "Node", dirs: Dirs) -> FoldersAfter:
        closed = next(at for at, child in enumerate(node.children) if child.type == ")")
        for child in node.children[:closed]:
            if child.is_named:
                self.expander.follow(child, dirs)
        body = [child for child in node.children[closed + 1 :] if child.type != ";;"]
        return self.sequence(body, dirs)

    def _function(self, node: "Node", dirs: Dirs) -> FoldersAfter:
        name = next(text_of(child) for child in node.children if child.type == "word")
        self.found.add_unknown(f"{name}()", f"defines {name}, which may hide a program")
        for child in node.children:
            if child.type == "file_redirect":
                self.redirections.add_redirection(child, dirs)
            elif child.is_named and child.type != "word":
                self.statement(child, frozenset())
        return dirs, dirs


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
