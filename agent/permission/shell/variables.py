"""Variables that a line sets: statements of their own."""

import itertools
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from agent.permission.programs.builtin_effects import LOCAL, SETS_VARIABLE
from agent.permission.shell.expansion import WORDS, Expander
from agent.permission.shell.findings import Findings, substituted
from agent.permission.shell.paths import Dirs
from agent.permission.shell.simple_command import FoldersAfter, stay
from agent.permission.shell.variable_values import NUMBER, Values
from agent.permission.syntax.parser import prints_number, text_of
from agent.permission.syntax.words import (
    MAX_VALUES,
    Word,
    assigned_texts,
    fill_in,
    tilde_expanded,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_TAKES = re.compile(r"\$\((?!\()|`|\$\{?!?[a-z_]")
"""A command's output in a value, or another variable of the line."""


class Variables:
    """Adds assignments to *found*; *expander* follows their values, *commands_in* finds commands in
    them."""

    def __init__(
        self, found: Findings, words: Expander, commands_in: Callable[[str], tuple[str, ...]]
    ) -> None:
        self.found = found
        self.expander = words
        self.commands_in = commands_in
        self._plain: dict[str, tuple[str, str]] = {}

    def declaration(self, node: "Node", dirs: Dirs) -> FoldersAfter:
        local = node.type == "declaration_command"
        values: list[str] = []
        for child in node.children[1:]:
            if child.type == "variable_assignment":
                name, value = self.follow_assignment(child, dirs)
                values.append(value)
                self._assign(child, name, dirs)
                local = bool(LOCAL.fullmatch(name)) and local
            else:
                self.expander.follow(child, dirs)
                local = local and child.type == "variable_name"
                if child.type == "variable_name":
                    self.found.variables.assign(text_of(child), None)
                elif not text_of(child).startswith(("-", "+")):
                    self.found.variables.forget()
        text = text_of(node)
        if local and LOCAL.fullmatch(text.split()[-1].partition("=")[0]):
            self.found.add_command(text, "sets a variable of the shell", "ask")
        else:
            aliases = self.aliases(*values)
            self.found.add_unknown(text, "can change what later commands do", aliases=aliases)
        return stay(dirs)

    def follow_assignment(self, node: "Node", dirs: Dirs) -> tuple[str, str]:
        """Follow one assignment; return its name, empty for a subscript, and its unquoted value."""
        text = text_of(node)
        known = self._plain.get(text)
        if known is None:
            known = self._follow_assignment(node, dirs)
            if not re.search(r"[$`<>(]", text):
                self._plain[text] = known
        return known

    def _follow_assignment(self, node: "Node", dirs: Dirs) -> tuple[str, str]:
        for child in node.children:
            self.expander.follow(child, dirs)
        nodes = [child for child in node.children[1:] if child.type in WORDS]
        words = self.expander.read_values(nodes, dirs, follow=False) if nodes else []
        for child in node.children[1:]:
            if child.type == "array":
                items = [item for item in child.children if item.type in WORDS]
                elements = self.expander.read_words(items, dirs, follow=False) if items else []
                for word in elements:
                    self.expander.check_element(word)
                    self.expander.check_listed(word, dirs)
                words += elements
        values = [word.text for word in words]
        self.found.texts.update(dict.fromkeys(values))
        name = node.children[0]
        return text_of(name) if name.type == "variable_name" else "", " ".join(values)

    def _assign(self, node: "Node", name: str, dirs: Dirs) -> None:
        """Note that the variable *name* has the value of the assignment *node* from here on."""
        if not name:
            self.found.variables.assign(re.split(r"\W", text_of(node), maxsplit=1)[0], None)
            return
        operator = node.children[1].type
        nodes = node.children[2:]
        values: Values = ("",) if not nodes else None
        if nodes and operator == "=" and all(child.type in WORDS for child in nodes):
            word = self.expander.read_values(nodes, dirs, follow=False)[0]
            values = NUMBER if _is_number(nodes) else self._resolved(assigned_texts(word))
        read = values is None and _TAKES.search(text_of(node).partition("=")[2]) is not None
        self.found.variables.assign(name, values, read=read)

    def values_of(self, words: Sequence[Word]) -> Values:
        """Return every text that a loop over *words* can give its variable."""
        found: list[str] = []
        for word in words:
            if any(part.values is None for part in word.parts):
                return None
            sources = {part.source: part.values or () for part in word.parts}
            for chosen in itertools.islice(itertools.product(*sources.values()), MAX_VALUES + 1):
                filled = fill_in(word, dict(zip(sources, chosen, strict=True)))
                if not all(each.known for each in filled):
                    return None
                found += [value for each in filled for value in each.values or ()]
            if len(found) > MAX_VALUES:
                return None
        return self._resolved(found) or None

    def _resolved(self, values: Sequence[str] | None) -> Values:
        """Return *values* with a leading tilde replaced; None if that is not known."""
        if values is None:
            return None
        home = self.found.workspace.home
        found = tuple(tilde_expanded(value, home) for value in values)
        return None if None in found else tuple(value for value in found if value is not None)

    def assignment(self, node: "Node", dirs: Dirs) -> FoldersAfter:
        """Add an assignment. A variable that only the line reads needs no approval: what its value
        runs is analyzed, and so is each command that uses the variable."""
        name, value = self.follow_assignment(node, dirs)
        self._assign(node, name, dirs)
        if not LOCAL.fullmatch(name):
            self.found.add_unknown(text_of(node), SETS_VARIABLE, aliases=self.aliases(value))
        return stay(dirs)

    def aliases(self, *values: str) -> tuple[str, ...]:
        """Return the commands in the values, in case a program runs them, for deny rules."""
        return tuple(text for value in values for text in self.commands_in(value))

    def assignments(self, node: "Node", dirs: Dirs) -> FoldersAfter:
        for child in node.children:
            self.assignment(child, dirs)
        return stay(dirs)


def _is_number(nodes: Sequence["Node"]) -> bool:
    """Return whether the value of an assignment is a calculation, or output that is a number."""
    node = nodes[0]
    if node.type == "string" and node.child_count == 3:
        node = node.children[1]
    if len(nodes) > 1 or node.type not in ("arithmetic_expansion", "command_substitution"):
        return False
    return node.type == "arithmetic_expansion" or prints_number(substituted(text_of(node)))
