"""The parts of a statement in the order in which bash runs them.

The grammar attaches a redirection to a whole list or pipeline, and puts what follows a
here-document on its line inside the redirection. Bash performs a redirection for the last command
in front of it, and takes ``&&`` and ``||`` from left to right.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from agent.permission.shell.redirections import REDIRECTIONS, following
from agent.permission.syntax.source import CannotAnalyzeError

if TYPE_CHECKING:
    from tree_sitter import Node


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
