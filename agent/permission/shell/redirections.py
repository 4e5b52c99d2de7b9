"""Redirections: the files that they read and write, and here-documents."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from agent.permission.shell.expansion import WORDS, Expander
from agent.permission.shell.findings import Findings
from agent.permission.shell.paths import Dirs
from agent.permission.syntax.parser import text_of
from agent.permission.syntax.source import CannotAnalyzeError, word_set
from agent.permission.syntax.words import Word, plain

if TYPE_CHECKING:
    from tree_sitter import Node


_WRITES = word_set("> >> >| &> &>> >& <>")
REDIRECTIONS = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})
_AFTER = frozenset({"&&", "||", "|", "|&"})


class Redirections:
    """Adds redirections to *found*; *expander* reads their targets."""

    def __init__(self, found: Findings, words: Expander) -> None:
        self.found = found
        self.expander = words

    def add(self, node: "Node", dirs: Dirs, more: Sequence["Node"] = ()) -> list["Node"]:
        """Add one redirection; return the words after it, which belong to the command. *more* are
        words that follow without a space: they belong to its target."""
        if more and node.type != "herestring_redirect":
            raise CannotAnalyzeError("the target of a redirection is not understood")
        if node.type == "heredoc_redirect":
            return self._add_heredoc(node, dirs)
        if node.type == "herestring_redirect":
            self._add_herestring(node, dirs, more)
            return []
        return self._add_redirection(node, dirs)

    def _add_heredoc(self, node: "Node", dirs: Dirs) -> list["Node"]:
        """Add a here-document and the redirections after it; the statements after it on its line
        are those of ``following``."""
        words: list[Node] = []
        start, end = "", -1
        later = following(node)
        for child in node.children:
            match child.type:
                case "heredoc_start":
                    start, end = text_of(child), child.end_byte
                case "heredoc_body":
                    self.found.texts[text_of(child)] = None
                    if not re.search(r"['\"\\]", start):
                        self.expander.follow_heredoc(text_of(child), dirs)
                case "file_redirect":
                    words += self._add_redirection(child, dirs)
                case kind if kind in WORDS and child.start_byte != end:
                    words.append(child)
                case "<<" | "<<-" | "heredoc_end" | "file_descriptor":
                    pass
                case kind if kind in _AFTER or kind == "pipeline" or child in later:
                    pass
                case kind:
                    raise CannotAnalyzeError(f"its here-document contains a {kind.strip()}")
        return words

    def _add_herestring(self, node: "Node", dirs: Dirs, more: Sequence["Node"]) -> None:
        """Add ``<<< text``, which the command reads as its input."""
        nodes = [child for child in (*node.children, *more) if child.type in WORDS]
        for word in self.expander.read_values(nodes, dirs):
            self.found.texts[word.text] = None

    def _add_redirection(self, node: "Node", dirs: Dirs) -> list["Node"]:
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
        word = self.expander.read_values(first, dirs)[0]
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
                self.found.add_unknown(text, "writes a file whose name is not known in advance")
        elif operator not in ("<", "<&"):
            raise CannotAnalyzeError(f"the redirection {operator} is not understood")
        elif not self.found.add_read(word, dirs):
            self.found.add_unknown(text, "reads a file whose name is not known in advance")


def following(node: "Node") -> list["Node"]:
    """Return the operators and statements that follow a here-document on its line: the grammar
    has them in the redirection, as ``&& statement`` or as a pipeline that starts with its
    bar."""
    found: list[Node] = []
    for child in node.children if node.type == "heredoc_redirect" else ():
        if child.type == "pipeline" and child.children[0].type in _AFTER:
            found += child.children
        elif child.type in _AFTER or found:
            found.append(child)
        if found and child.type in ("heredoc_body", "heredoc_end"):
            break
    return [each for each in found if each.type not in ("heredoc_body", "heredoc_end")]


# The parts of a statement in the order in which bash runs them.
#
# The grammar attaches a redirection to a whole list or pipeline, and puts what follows a
# here-document on its line inside the redirection. Bash performs a redirection for the last command
# in front of it, and takes ``&&`` and ``||`` from left to right.

Stage = tuple["Node | None", tuple["Node", ...]]
"""One command, compound or not, and its redirections. Without a command they stand alone."""


class Pipeline(NamedTuple):
    """Commands that run together, connected by pipes."""

    operator: str
    """The ``&&`` or ``||`` in front, empty for the first."""

    stages: tuple[Stage, ...]
    negated: bool = False


def flatten(node: "Node") -> list[Pipeline]:
    """Return the pipelines of a statement, from left to right."""
    return _flatten(node, ())


def _flatten(node: "Node | None", redirections: tuple["Node", ...]) -> list[Pipeline]:
    later: list[tuple[str, list[Pipeline]]] = []
    negated = False
    while node is not None:
        if node.type in REDIRECTIONS:
            node, redirections = None, (node, *redirections)
        elif node.type == "redirected_statement":
            own = tuple(child for child in node.children if child.type in REDIRECTIONS)
            bodies = [child for child in node.children if child.type not in REDIRECTIONS]
            for each in reversed(own):
                later += reversed(_joined(following(each), ()))
            node, redirections = _only(bodies), (*own, *redirections)
        elif node.type in ("list", "pipeline"):
            parts = [child for child in node.children if child.type != "comment"]
            later += reversed(_joined(parts[1:], redirections))
            node, redirections = parts[0], ()
        elif node.type == "negated_command":
            negated = not negated
            node = _only([child for child in node.children if child.is_named])
        else:
            break
    found = [Pipeline("", ((node, redirections),), negated)]
    for operator, pipelines in reversed(later):
        first = pipelines[0]
        if operator in ("&&", "||"):
            found += [first._replace(operator=operator), *pipelines[1:]]
        else:
            whole = found[-1]._replace(stages=(*found[-1].stages, *first.stages))
            found[-1:] = [whole, *pipelines[1:]]
    return found


def _joined(
    nodes: Sequence["Node"], redirections: tuple["Node", ...]
) -> list[tuple[str, list[Pipeline]]]:
    """Return the pipelines in *nodes* with the operator in front of each; *redirections* belong to
    the last one."""
    if len(nodes) % 2 or any(node.is_named for node in nodes[::2]):
        raise CannotAnalyzeError("its parts are combined in a way that is not supported")
    last = len(nodes) - 1
    return [
        (nodes[at - 1].type, _flatten(nodes[at], redirections if at == last else ()))
        for at in range(1, len(nodes), 2)
    ]


def _only(nodes: Sequence["Node"]) -> "Node | None":
    if len(nodes) > 1:
        raise CannotAnalyzeError("its redirections are not understood")
    return nodes[0] if nodes else None
