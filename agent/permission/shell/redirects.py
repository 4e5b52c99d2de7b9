"""Redirections and here-documents: effects of their own, whatever the command (B4)."""

import re
from typing import TYPE_CHECKING

from agent.permission.shell.expansion import WORDS, Expander
from agent.permission.shell.findings import Findings
from agent.permission.shell.paths import Dirs
from agent.permission.syntax.lexicon import word_set
from agent.permission.syntax.parser import text_of
from agent.permission.syntax.source import CannotAnalyzeError
from agent.permission.syntax.words import Word, plain

if TYPE_CHECKING:
    from tree_sitter import Node

_WRITES = word_set("> >> >| &> &>> >& <>")
_STATEMENTS = word_set("command list pipeline redirected_statement negated_command subshell")


class Redirections:
    """Judges redirections into *found*; *words* reads their targets."""

    def __init__(self, found: Findings, words: Expander) -> None:
        self.found = found
        self.expander = words

    def add_heredoc(self, node: "Node", dirs: Dirs) -> tuple[list["Node"], list["Node"]]:
        """The words and statements that stand on the line of a here-document."""
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
        """``<<< text``: read by the command as its input."""
        nodes = [child for child in node.children if child.type in WORDS]
        for word in self.expander.read_words(nodes, dirs):
            self.found.texts[word.text] = None

    def add_redirection(self, node: "Node", dirs: Dirs) -> list["Node"]:
        """Judge one redirection; the words after its target belong to the command."""
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
