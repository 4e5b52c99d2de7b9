"""The bash parser, loaded once and late."""

from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


@cache
def _parser() -> "Parser":
    import tree_sitter_bash  # 1 MB of tables, needed for the first command line
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


@lru_cache(maxsize=2)
def parse(text: str) -> "Node":
    """Return the root node of *text*; ``has_error`` is true if the grammar could not parse it.

    The last trees are cached: a text that could not be parsed is analyzed once more.
    """
    return _parser().parse(text.encode()).root_node


def text_of(node: "Node") -> str:
    return (node.text or b"").decode()


def descendants(node: "Node", *types: str) -> "list[Node]":
    """Return all nodes of these *types* below *node*, itself included, in order of position."""
    found: list[Node] = []
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if current.type in types:
            found.append(current)
        if children := current.children:
            waiting.extend(reversed(children))
    return found


def outermost(node: "Node", *types: str) -> "list[Node]":
    """As ``descendants``, without those that lie in another one."""
    found: list[Node] = []
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if current.type in types:
            found.append(current)
        elif current.child_count:
            waiting.extend(reversed(current.children))
    return found


def without(node: "Node", *types: str) -> str:
    """Return the text of *node* without its nodes of these *types*."""
    data = bytearray(node.text or b"")
    for each in reversed(outermost(node, *types)):
        del data[each.start_byte - node.start_byte : each.end_byte - node.start_byte]
    return data.decode()


_WHOLE = frozenset(
    {"string", "raw_string", "ansi_c_string", "expansion", "heredoc_body", "comment", "regex"}
)


def lost_text(root: "Node", source: str) -> str:
    """Return the text between the nodes that is not blank: the grammar drops some, bash does
    not."""
    data = bytearray(source.encode())
    waiting = [root]
    while waiting:
        node = waiting.pop()
        children = node.children
        if not children or node.type in _WHOLE:
            data[node.start_byte : node.end_byte] = b" " * (node.end_byte - node.start_byte)
        else:
            waiting.extend(children)
    return data.decode(errors="replace").strip(" \t\n")
