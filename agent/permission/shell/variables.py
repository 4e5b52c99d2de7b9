"""Variables that a line sets: statements of their own."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from agent.permission.programs.builtins import LOCAL
from agent.permission.shell.call import FoldersAfter
from agent.permission.shell.expansion import WORDS, Expander
from agent.permission.shell.findings import Findings
from agent.permission.shell.paths import Dirs
from agent.permission.syntax.parser import descendants, text_of
from agent.permission.syntax.source import prints_number

if TYPE_CHECKING:
    from tree_sitter import Node

_NUMBER = re.compile(r"-?\d+")
_SETS = re.compile(r"(\w+=\S*\s+)*(read|mapfile|readarray|getopts|printf)\b")
"""A command that sets the variables named by its arguments."""


_SUM = re.compile(r"\"?\$\(\([\w\s$+*/%<>=&|!?:-]*\)\)\"?")
_OUTPUT = re.compile(r"\"?\$\((.*)\)\"?", re.DOTALL)
_TAKES = re.compile(r"\$\((?!\()|`|\$\{?!?[a-z_]")
"""A command's output in a value, or another variable of the line."""


def _may_be_read_text(value: str) -> bool:
    """Return whether the *value* of an assignment can be text that was read, rather than a
    number."""
    output = _OUTPUT.fullmatch(value)
    number = _SUM.fullmatch(value) or (output is not None and prints_number(output[1]))
    return not number and _TAKES.search(value) is not None


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

    def note_variables(self, root: "Node") -> None:
        """Note the variables that the code sets, before anything is analyzed."""
        found = descendants(root, "variable_assignment", "for_statement", "command")
        kinds: dict[str, list[Node]] = {}
        for node in found:
            kinds.setdefault(node.type, []).append(node)
        for node in kinds.get("variable_assignment", ()):
            name = re.match(r"\w+", text_of(node))
            value = text_of(node).partition("=")[2]
            number = (value,) if _NUMBER.fullmatch(value) else None
            self._note(name[0] if name else "", number)
            if name and _may_be_read_text(value):
                self.found.read_variables.add(name[0])
        for node in kinds.get("for_statement", ()):
            self._note(text_of(node.children[1]), ())
        for text in map(text_of, kinds.get("command", ())):
            if _SETS.match(text):
                for name in re.findall(r"\b[A-Za-z_]\w*", text):
                    self._note(name, None)
                    self.found.read_variables.add(name)

    def _note(self, name: str, values: tuple[str, ...] | None) -> None:
        known = self.found.variables.get(name, values)
        same = values is not None and known is not None and (known == values or not known)
        first = name not in self.found.variables
        self.found.variables[name] = values if first or same else None

    def declaration(self, node: "Node", dirs: Dirs) -> FoldersAfter:
        local = node.type == "declaration_command"
        values: list[str] = []
        for child in node.children[1:]:
            if child.type == "variable_assignment":
                name, value = self.follow_assignment(child, dirs)
                values.append(value)
                local = bool(LOCAL.fullmatch(name)) and local
            else:
                self.expander.follow(child, dirs)
                local = local and child.type == "variable_name"
        text = text_of(node)
        if local and LOCAL.fullmatch(text.split()[-1].partition("=")[0]):
            self.found.add_command(text, "sets a variable", "ask")
        else:
            aliases = self.aliases(*values)
            self.found.add_unknown(text, "can change what later commands do", aliases=aliases)
        return dirs, dirs

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
        for child in node.children[1:]:
            if child.type == "array":
                items = [item for item in child.children if item.type in WORDS]
                for word in self.expander.read_words(items, dirs, follow=False):
                    self.expander.check_element(word)
                nodes += items
        values = [word.text for word in self.expander.read_words(nodes, dirs, follow=False)]
        self.found.texts.update(dict.fromkeys(values))
        name = node.children[0]
        return text_of(name) if name.type == "variable_name" else "", " ".join(values)

    def assignment(self, node: "Node", dirs: Dirs) -> FoldersAfter:
        """Add an assignment. A variable that only the line reads needs no approval: what its value
        runs is analyzed, and so is each command that uses the variable."""
        name, value = self.follow_assignment(node, dirs)
        if not LOCAL.fullmatch(name):
            reason = "sets a variable that can change what runs"
            self.found.add_unknown(text_of(node), reason, aliases=self.aliases(value))
        return dirs, dirs

    def aliases(self, *values: str) -> tuple[str, ...]:
        """Return the commands in the values, in case a program runs them, for deny rules."""
        return tuple(text for value in values for text in self.commands_in(value))

    def assignments(self, node: "Node", dirs: Dirs) -> FoldersAfter:
        for child in node.children:
            self.assignment(child, dirs)
        return dirs, dirs
