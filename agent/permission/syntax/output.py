"""The output of commands of which something is known: numbers, names of files."""

import re

from agent.permission.syntax.parser import lost_text, parse

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
