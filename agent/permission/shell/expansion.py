"""Words from nodes, and what is inside them: substitutions, expansions, arithmetic."""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from agent.permission.programs.builtins import ELEMENT
from agent.permission.shell.fallback import guessed
from agent.permission.shell.findings import READ_SPLITS, Findings
from agent.permission.shell.operands import by_look
from agent.permission.shell.paths import Dirs
from agent.permission.syntax.parser import descendants, outermost, text_of, without
from agent.permission.syntax.source import (
    CannotAnalyseError,
    counts,
    evaluates,
    hidden_code,
    sum_at,
    unescape_backticks,
)
from agent.permission.syntax.words import STREAM, Part, Word, read_word

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
"""Text in which nothing is run, quoted or put in."""
_QUOTES = ("string", "raw_string", "ansi_c_string", "translated_string")
_SPLIT = ("string", "simple_expansion", "expansion", "command_substitution")
_OPERANDS = ("concatenation", "word", *_QUOTES)
_CODED = re.compile(r"[$`\\]")
_PLACE = re.compile(r"\[(\w+)\]\+?=")
_NUMBER = re.compile(r"-?\d+")
_COMPARES = re.compile(r"-(eq|ne|lt|le|gt|ge)")

Code = Callable[[str, Dirs], None]
Run = Callable[["Node", Dirs], None]


class Expander:
    """Reads words and follows what bash runs while it expands them.

    *run* walks a substitution that was parsed, *code* analyses code found as text.
    """

    def __init__(self, found: Findings, run: Run, code: Code) -> None:
        self.found = found
        self.run = run
        self.code = code
        self._plain: dict[str, Word] = {}

    def words(self, nodes: Sequence["Node"], dirs: Dirs, *, follow: bool = True) -> list[Word]:
        """One word for each run of nodes that touch, in order of position.

        *follow* is false where the caller has followed what is inside: twice at each level of
        nesting would be twice for ever deeper ones.
        """
        if len(nodes) == 1:
            return [self._word(nodes, dirs, follow=follow)]
        groups: list[list[Node]] = []
        for node in sorted(nodes, key=lambda each: each.start_byte):
            if groups and groups[-1][-1].end_byte == node.start_byte:
                groups[-1].append(node)
            else:
                groups.append([node])
        return [self._word(group, dirs, follow=follow) for group in groups]

    def _word(self, group: Sequence["Node"], dirs: Dirs, *, follow: bool) -> Word:
        if len(group) == 1 and group[0].type in _PLAIN:
            text = text_of(group[0])
            known = self._plain.get(text)
            if known is None and (_INERT.fullmatch(text) or not group[0].child_count):
                known = self._plain[text] = self._read(text, ())
            if known is not None:
                return known
        if follow:
            for node in group:
                self.inside(node, dirs)
        if len(group) == 1 and group[0].type in EXPANDED:
            source = text_of(group[0])
            stream = group[0].type == "process_substitution"
            values = (STREAM,) if stream else self._values(source)
            return self._read(source, (Part(0, len(source), source, values),))
        pieces: list[str] = []
        parts: list[Part] = []
        for node in group:
            lead = len("".join(pieces))
            raw = node.text or b""
            for span in outermost(node, *EXPANDED):
                start = lead + len(raw[: span.start_byte - node.start_byte].decode())
                source = text_of(span)
                parts.append(Part(start, start + len(source), source, self._values(source)))
            pieces.append(raw.decode())
        return self._read("".join(pieces), parts)

    def _read(self, source: str, parts: Sequence[Part]) -> Word:
        word = read_word(source, parts)
        if word.code:
            self.found.code[word.text] = None
        return word

    def _values(self, source: str) -> tuple[str, ...] | None:
        """The texts that a variable can have here, None when not known."""
        name = re.fullmatch(r"\$(?:\{(\w+|[?#$!])\}|(\w+|[?#$!]))", source)
        key = (name[1] or name[2]) if name else ""
        if key in ("?", "#", "$", "!"):
            return ("0",)
        if key == "HOME" and key not in self.found.bound:
            return (self.found.place.home,)
        return self.found.bound.get(key)

    def inside(self, node: "Node", dirs: Dirs) -> None:
        """Follow everything in *node* that bash runs or evaluates while expanding it."""
        kind = node.type
        text = text_of(node)
        if kind in ("command_substitution", "process_substitution"):
            if text.startswith("`"):
                self.code(unescape_backticks(text[1:-1]), dirs)
            else:
                self.run(node, dirs)
        elif kind == "expansion":
            self.expansion(text, dirs)
        elif kind in ("regex", "extglob_pattern"):
            self.hidden(text, dirs)
        elif node.is_named and kind not in _INSIDE:
            raise CannotAnalyseError(f"it holds a construct ({kind}) that is not followed")
        else:
            if kind == "arithmetic_expansion":
                self.arithmetic(node)
            for child in node.children:
                self.inside(child, dirs)

    def expansion(self, text: str, dirs: Dirs) -> None:
        if evaluates(text):
            self.found.unknown(text, f"{text} may run text that is held in a variable")
        self.hidden(text[2:-1], dirs)
        self._calculated(text)

    def hidden(self, text: str, dirs: Dirs) -> None:
        for code in hidden_code(text):
            self.code(code, dirs)

    def arithmetic(self, node: "Node") -> None:
        """A variable or subscript in arithmetic is evaluated again as an expression."""
        for name in descendants(node, "variable_name", "word"):
            text = text_of(name)
            values = self.found.bound.get(text, ("0",))
            if values is None or not all(_NUMBER.fullmatch(value) for value in values):
                self.found.unknown(text_of(node), f"{text} is evaluated as an expression")
        for each in descendants(node, "subscript"):
            if not re.fullmatch(r"\w+\[(\d+|\w+)\]", text_of(each)):
                self.found.unknown(text_of(node), f"{text_of(each)} is evaluated")
        if descendants(node, "variable_name", "subscript"):
            self.found.evaluating = True
        for quote in outermost(node, "word", *_QUOTES):
            if _CODED.search(without(quote, *EXPANDED)):
                word = self._word([quote], frozenset(), follow=False)
                aliases = tuple(guessed(word.text))
                reason = "quoted code is evaluated as an expression"
                self.found.unknown(text_of(node), reason, aliases=aliases)

        for each in outermost(node, "command_substitution"):
            self._output(text_of(each))

    def _output(self, substitution: str) -> None:
        """What a command writes is evaluated: a file that it shows may hold code."""
        inner = re.sub(r"^\$\(|^`|[)`]$", "", substitution)
        if not counts(inner):
            self.found.unknown(substitution, "its output is evaluated as an expression")

    def test(self, node: "Node", dirs: Dirs) -> tuple[Dirs, Dirs]:
        """``[ … ]`` and ``[[ … ]]``: no command, but paths are looked at and text evaluated. The
        folders stay as they are."""
        double = text_of(node).startswith("[[")
        for child in node.children:
            self.inside(child, dirs)
        operators = [text_of(each) for each in descendants(node, "test_operator")]
        for each in outermost(node, *_OPERANDS):
            self._word([each], dirs, follow=False)
        bare = [text_of(each) for each in outermost(node, *_SPLIT) if each.type != "string"]
        if not double and bare:
            # In single brackets it may split into ``-v`` and a name, which is evaluated.
            self.found.evaluating = True
            if any(map(self.found.brings, bare)):
                self.found.unknown(text_of(node), READ_SPLITS)
        if double and any(map(_COMPARES.fullmatch, operators)):
            self.found.evaluating = True
            self._compared(node)
        for each in descendants(node, "unary_expression"):
            if each.child_count == 2 and re.fullmatch("-[a-zA-Z]", text_of(each.children[0])):
                word = self._word(each.children[1:], dirs, follow=False)
                operator = text_of(each.children[0])
                if operator in ("-v", "-R"):
                    self._named(word, text_of(node))
                elif operator not in ("-n", "-z", "-o", "-t"):
                    self._looked_at(word, dirs)
        return dirs, dirs

    def _named(self, word: Word, text: str) -> None:
        """*word* of the test *text* names a variable, whose subscript is evaluated."""
        if word.parts or not ELEMENT.fullmatch(word.text):
            reason = f"{word.text} is evaluated"
            self.found.unknown(text, reason, aliases=tuple(guessed(word.text)))

    def element(self, word: Word) -> None:
        """*word* is one of a list; ``[…]=`` in front says which, and that is evaluated."""
        if not word.source.startswith("[") or "=" not in word.text:
            return
        place = _PLACE.match(word.source)
        values = self.found.bound.get(place[1], ("0",)) if place else None
        if values is None or not all(map(_NUMBER.fullmatch, values)):
            reason = "its place in the list is evaluated"
            self.found.unknown(word.source, reason, aliases=tuple(guessed(word.text)))

    def _compared(self, node: "Node") -> None:
        for each in descendants(node, "word", "variable_name"):
            values = self.found.bound.get(text_of(each), ("0",))
            if values is None or not all(_NUMBER.fullmatch(value) for value in values):
                self.found.unknown(text_of(node), f"{text_of(each)} is evaluated")
        for each in descendants(node, "binary_expression"):
            if any(_COMPARES.fullmatch(text_of(child)) for child in each.children):
                for output in outermost(each, "command_substitution"):
                    self._output(text_of(output))

    def _looked_at(self, word: Word, dirs: Dirs) -> None:
        by_look(self.found, [word], dirs)

    def body(self, text: str, dirs: Dirs) -> None:
        """A here-document that bash expands; the grammar misses parts, so it is read by hand."""
        self.hidden(text, dirs)
        self._calculated(text)
        for found in re.finditer(r"(?<!\\)\$\{[^}]*\}", text):
            if evaluates(found[0]):
                self.found.unknown(found[0], f"{found[0]} may run text held in a variable")

    def _calculated(self, text: str) -> None:
        """Arithmetic in a text that is expanded and that the grammar doesn't show."""
        for found in re.finditer(r"(?<!\\)\$\(\(|\$\[", text):
            rest = sum_at(text, found.end())
            for code in hidden_code(rest):
                self._output(code)
            for name in re.findall(r"[A-Za-z_]\w*", rest):
                if name in self.found.bound:
                    self.found.unknown(rest, f"{name} is evaluated as an expression")
            if re.search(r"['\"\\]", rest):
                aliases = tuple(guessed(rest))
                self.found.unknown(rest, "quoted text is evaluated", aliases=aliases)
