"""Words from nodes, and the substitutions, expansions and arithmetic in them."""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from agent.permission.programs.builtin_effects import ELEMENT
from agent.permission.shell.findings import READ_SPLITS, Findings, evaluated_reason, substituted
from agent.permission.shell.operands import add_listed, add_outside_paths
from agent.permission.shell.paths import Dirs
from agent.permission.shell.possible_commands import possible_commands
from agent.permission.shell.simple_command import FoldersAfter, stay
from agent.permission.shell.variable_values import NUMBER
from agent.permission.syntax.hidden_code import hidden_expansions, unescape_backticks
from agent.permission.syntax.parser import (
    descendants,
    listed_files,
    outermost,
    prints_number,
    text_of,
    without,
)
from agent.permission.syntax.source import (
    CannotAnalyzeError,
    expansion_evaluates,
    unsupported_syntax,
)
from agent.permission.syntax.words import STREAM, Part, Word, brace_words, matches_flag, read_word

if TYPE_CHECKING:
    from tree_sitter import Node

EXPANDED = (
    "simple_expansion",
    "expansion",
    "command_substitution",
    "process_substitution",
    "arithmetic_expansion",
)
WORDS = frozenset(
    {
        "word",
        "string",
        "raw_string",
        "ansi_c_string",
        "translated_string",
        "concatenation",
        "number",
        "brace_expression",
        "test_operator",
        "variable_name",
        "command_name",
        *EXPANDED,
    }
)
_INSIDE = WORDS | {
    "string_content",
    "special_variable_name",
    "binary_expression",
    "unary_expression",
    "postfix_expression",
    "parenthesized_expression",
    "ternary_expression",
    "subscript",
    "regex",
    "extglob_pattern",
    "array",
    "variable_assignment",
    "file_descriptor",
    "heredoc_content",
}
_PLAIN = frozenset({"word", "command_name", "concatenation", "brace_expression", "number"})
_INERT = re.compile(r"[\w./:@%+=,{}*?-]+", re.ASCII)
"""Text without code, quotes or expansions."""
_QUOTES = ("string", "raw_string", "ansi_c_string", "translated_string")
_SPLIT = ("string", "simple_expansion", "expansion", "command_substitution")
_OPERANDS = ("concatenation", "word", *_QUOTES)
_CODED = re.compile(r"[$`\\]")
_INDEX = re.compile(r"\[(\w+)\]\+?=")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_ASSIGNS = re.compile(r"\+\+|--|<<=|>>=|(?<![=!<>])=(?!=)")
_SETS_DEFAULT = re.compile(r"(\w+)(\[[^]]*\])?:?=")
_DEFAULT = re.compile(r"\$\{!?\w+(?:\[[^]]*\])?:?[-=+]([^`(]*)\}", re.DOTALL)
"""A variable with text for when it is not set, which bash expands like a word."""
_VARIABLE = re.compile(r"\$(?:\w+|\{[^{}]*\}|\[[^]]*\])")
_WILD = re.compile(r"[*?]|(?<!\$)\[")
_FOLDER = frozenset({"$PWD", "${PWD}", "$(pwd)", "`pwd`"})
"""Expansions to the folder in which the command runs."""
_COMPARES = re.compile(r"-(eq|ne|lt|le|gt|ge)")

Code = Callable[[str, Dirs], None]
Run = Callable[["Node", Dirs], None]


class Expander:
    """Reads words and follows what bash runs while it expands them.

    *run* analyzes a substitution that was parsed, *code* analyzes code found as text.
    """

    def __init__(self, found: Findings, run: Run, code: Code) -> None:
        self.found = found
        self.analyze_nodes = run
        self.analyze_code = code
        self._plain: dict[str, Word] = {}

    def read_words(self, nodes: Sequence["Node"], dirs: Dirs, *, follow: bool = True) -> list[Word]:
        """Return the words of a command or list: one for each run of adjacent nodes, in order of
        position, or several for a brace list."""
        words = self.read_values(nodes, dirs, follow=follow)
        if all(word.plain for word in words):
            return words
        return [each for word in words for each in brace_words(word)]

    def read_values(
        self, nodes: Sequence["Node"], dirs: Dirs, *, follow: bool = True
    ) -> list[Word]:
        """Return one word for each run of adjacent nodes, without expanding brace lists.

        *follow* is false if the caller has already followed what is inside: following it twice at
        each level of nesting would double the work with each level.
        """
        if len(nodes) == 1:
            return [self._read_group(nodes, dirs, follow=follow)]
        groups: list[list[Node]] = []
        for node in sorted(nodes, key=lambda each: each.start_byte):
            if groups and groups[-1][-1].end_byte == node.start_byte:
                groups[-1].append(node)
            else:
                groups.append([node])
        return [self._read_group(group, dirs, follow=follow) for group in groups]

    def _read_group(self, group: Sequence["Node"], dirs: Dirs, *, follow: bool) -> Word:
        if len(group) == 1 and group[0].type in _PLAIN:
            text = text_of(group[0])
            known = self._plain.get(text)
            if known is None and (_INERT.fullmatch(text) or not group[0].child_count):
                known = self._plain[text] = self._read(text, ())
            if known is not None:
                return known
        if follow:
            for node in group:
                self.follow(node, dirs)
        if len(group) == 1 and group[0].type in EXPANDED:
            source = text_of(group[0])
            stream = group[0].type == "process_substitution"
            values = (STREAM,) if stream else self._values(source, dirs)
            return self._read(source, (Part(0, len(source), source, values),))
        pieces: list[str] = []
        parts: list[Part] = []
        for node in group:
            lead = len("".join(pieces))
            raw = node.text or b""
            for span in outermost(node, *EXPANDED):
                # After another expansion in a string, the node begins with the spaces between.
                whole = text_of(span)
                source = whole.lstrip()
                start = lead + len(raw[: span.start_byte - node.start_byte].decode())
                start += len(whole) - len(source)
                parts.append(Part(start, start + len(source), source, self._values(source, dirs)))
            pieces.append(raw.decode())
        return self._read("".join(pieces), parts)

    def _read(self, source: str, parts: Sequence[Part]) -> Word:
        word = read_word(source, parts)
        if word.code:
            self.found.code[word.text] = None
        return word

    def _values(self, source: str, dirs: Dirs) -> tuple[str, ...] | None:
        """Return the texts that an expansion can have here, None if not known."""
        if source in _FOLDER and dirs and not self.found.variables.may_be_set("PWD"):
            return tuple(sorted(dirs))
        if source.startswith("$(("):
            return NUMBER
        name = re.fullmatch(r"\$(?:\{(\w+|[?#$!])\}|(\w+|[?#$!]))", source)
        key = (name[1] or name[2]) if name else ""
        if key in ("?", "#", "$", "!"):
            return NUMBER
        if key == "HOME" and not self.found.variables.may_be_set(key):
            return (self.found.workspace.home,)
        if source.startswith("$("):
            return listed_files(substituted(source))
        return self.found.variables.values(key)

    def follow(self, node: "Node", dirs: Dirs) -> None:
        """Follow everything in *node* that bash runs or evaluates while expanding it."""
        kind = node.type
        text = text_of(node).lstrip()
        if kind in ("command_substitution", "process_substitution"):
            if text.startswith("`"):
                quoted = node.parent is not None and node.parent.type == "string"
                self.analyze_code(unescape_backticks(text[1:-1], quoted=quoted), dirs)
            else:
                self.analyze_nodes(node, dirs)
        elif kind == "expansion":
            self.follow_expansion(text, dirs)
        elif kind in ("regex", "extglob_pattern"):
            self.follow_text(text, dirs)
        elif node.is_named and kind not in _INSIDE:
            raise CannotAnalyzeError(unsupported_syntax(kind))
        else:
            if kind == "arithmetic_expansion":
                self.check_arithmetic(node)
            for child in node.children:
                self.follow(child, dirs)

    def check_listed(self, word: Word, dirs: Dirs) -> None:
        """Check *word*, in which bash puts names of files for a pattern: a place outside asks."""
        if not word.globs:
            return
        index = _INDEX.match(word.source)
        listed = self._read(word.source[index.end() :], ()) if index else word
        if reason := add_listed(self.found, listed, dirs):
            self.found.add_unknown(word.source, reason)

    def follow_expansion(self, text: str, dirs: Dirs) -> None:
        if expansion_evaluates(text):
            self.found.add_unknown(text, f"{text} can run code from a variable")
        self.follow_text(text[2:-1], dirs)
        default = _DEFAULT.fullmatch(text)
        if default is not None and _WILD.search(default[1]):
            word = _VARIABLE.sub("$_", _VARIABLE.sub("$_", default[1]))
            variables = [Part(*each.span(), each[0], None) for each in re.finditer(r"\$_", word)]
            self.check_listed(self._read(word, variables), dirs)
        assigned = _SETS_DEFAULT.match(text, 2)
        if assigned is not None:
            self.found.variables.assign(assigned[1], None)

    def follow_text(self, text: str, dirs: Dirs, *, streams: bool = True) -> None:
        """Follow the expansions in *text*, which the grammar does not show."""
        for node, code in hidden_expansions(text, streams=streams):
            if node is None:
                self.analyze_code(code, dirs)
            else:
                self.follow(node, dirs)

    def check_arithmetic(self, node: "Node") -> None:
        """Check arithmetic: a variable or subscript in it is evaluated again as an expression."""
        names = [text_of(name) for name in descendants(node, "variable_name", "word")]
        names = [name for name in names if _IDENTIFIER.fullmatch(name)]
        for name in names:
            if not self.found.variables.is_number(name):
                self.found.add_unknown(text_of(node), evaluated_reason(name))
        if _ASSIGNS.search(without(node, "command_substitution")):
            for name in names:
                self.found.variables.calculate(name)
        for each in descendants(node, "subscript"):
            if not re.fullmatch(r"\w+\[(\d+|\w+)\]", text_of(each)):
                self.found.add_unknown(text_of(node), evaluated_reason(text_of(each)))
        if descendants(node, "variable_name", "subscript"):
            self.found.evaluates = True
        for quote in outermost(node, "word", *_QUOTES):
            if _CODED.search(without(quote, *EXPANDED)):
                word = self._read_group([quote], frozenset(), follow=False)
                aliases = tuple(possible_commands(word.text))
                reason = "quoted text in it can run as code"
                self.found.add_unknown(text_of(node), reason, aliases=aliases)

        for each in outermost(node, "command_substitution"):
            self._check_output(text_of(each))

    def _check_output(self, substitution: str) -> None:
        """Check output that is evaluated: a file that the command shows can hold code."""
        if not prints_number(substituted(substitution)):
            self.found.add_unknown(substitution, "can run code from its output")

    def check_test(self, node: "Node", dirs: Dirs) -> FoldersAfter:
        """Check ``[ … ]`` or ``[[ … ]]``: no command, but it tests paths and evaluates text. The
        folders stay the same."""
        double = text_of(node).startswith("[[")
        for child in node.children:
            self.follow(child, dirs)
        operators = [text_of(each) for each in descendants(node, "test_operator")]
        for each in outermost(node, *_OPERANDS):
            word = self._read_group([each], dirs, follow=False)
            if not double:
                self.check_listed(word, dirs)
            if not double and (len(brace_words(word)) > 1 or any(map(matches_flag, word.globbed))):
                reason = "one of its words can turn into an operator that runs code"
                self.found.add_unknown(text_of(node), reason)
        bare = [text_of(each) for each in outermost(node, *_SPLIT) if each.type != "string"]
        if not double and bare:
            # In single brackets it can split into ``-v`` and a name, which is evaluated.
            self.found.evaluates = True
            if any(map(self.found.may_be_read_text, bare)):
                self.found.add_unknown(text_of(node), READ_SPLITS)
        if double and any(map(_COMPARES.fullmatch, operators)):
            self.found.evaluates = True
            self._check_comparison(node)
        for each in descendants(node, "unary_expression"):
            if each.child_count == 2 and re.fullmatch("-[a-zA-Z]", text_of(each.children[0])):
                word = self._read_group(each.children[1:], dirs, follow=False)
                operator = text_of(each.children[0])
                if operator in ("-v", "-R"):
                    self._check_variable_name(word, text_of(node))
                elif operator not in ("-n", "-z", "-o", "-t"):
                    self._add_tested_path(word, dirs)
        return stay(dirs)

    def _check_variable_name(self, word: Word, text: str) -> None:
        """Check *word* of the test *text*, the name of a variable whose subscript is evaluated."""
        if word.parts or not ELEMENT.fullmatch(word.text):
            reason = evaluated_reason(word.text)
            self.found.add_unknown(text, reason, aliases=tuple(possible_commands(word.text)))

    def check_element(self, word: Word) -> None:
        """Check *word*, an element of a list: an index ``[…]=`` in front is evaluated."""
        if not word.source.startswith("[") or "=" not in word.text:
            return
        place = _INDEX.match(word.source)
        fixed = place and (place[1].isdigit() or self.found.variables.is_number(place[1]))
        if not fixed:
            reason = "can run code from its list index"
            self.found.add_unknown(word.source, reason, aliases=tuple(possible_commands(word.text)))

    def _check_comparison(self, node: "Node") -> None:
        for each in descendants(node, "word", "variable_name"):
            name = text_of(each)
            if _IDENTIFIER.fullmatch(name) and not self.found.variables.is_number(name):
                self.found.add_unknown(text_of(node), evaluated_reason(name))
        for each in descendants(node, "binary_expression"):
            if any(_COMPARES.fullmatch(text_of(child)) for child in each.children):
                for output in outermost(each, "command_substitution"):
                    self._check_output(text_of(output))

    def _add_tested_path(self, word: Word, dirs: Dirs) -> None:
        add_outside_paths(self.found, [word], dirs)

    def follow_heredoc(self, text: str, dirs: Dirs) -> None:
        """Follow a here-document that bash expands: the grammar does not show all parts of it."""
        self.follow_text(text, dirs, streams=False)
