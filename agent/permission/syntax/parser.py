"""The bash parser, loaded once and late, and what it tells of a command's output."""

import re
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


# The output of commands of which something is known: numbers, names of files.

_COUNT = re.compile(
    r"""(wc(\s+-[lwcm]+)*(\s*<\s*[\w./-]+)?
    |nproc|date\s+\+%\w+
    |grep\s+-[iEFvwx]*c[iEFvwx]*\s+([\w.^]+|'[^']*'|"[^"$`]*")(\s+[\w./][\w./-]*)?
    )""",
    re.VERBOSE,
)
_MAY_COUNT = re.compile(r"wc|nproc|date|grep")


def prints_number(code: str) -> bool:
    """Return whether *code* prints a number and nothing that it read, such as a name or a line."""
    if not _MAY_COUNT.search(code):
        return False
    root = parse(code)
    if root.has_error or root.child_count != 1 or lost_text(root, code):
        return False
    node = root.children[0]
    end = node.end_byte
    while node.type in ("redirected_statement", "pipeline"):
        node = node.children[0 if node.type == "redirected_statement" else -1]
    last = code.encode()[node.start_byte : end].decode()
    return node.type == "command" and _COUNT.fullmatch(last) is not None


_LISTING = re.compile(
    r"\s*(?:git\s+ls-files(?:\s+--)?|find(?:\s+\.)?(?:\s+-type\s+f)?\s+-name)"
    r"\s+(?:'\*(\.\w+)'|\"\*(\.\w+)\")(?:\s+-type\s+f)?\s*",
    re.ASCII,
)
_LEVELS = 5
"""Levels of folders in which the files are looked for."""


def listed_files(code: str) -> tuple[str, ...] | None:
    """Return patterns of the files that *code* lists, one for each level of folders; None for other
    code. Only names with a fixed ending count."""
    found = _LISTING.fullmatch(code)
    if found is None:
        return None
    ending = found[1] or found[2]
    return tuple("*/" * level + "*" + ending for level in range(_LEVELS))
