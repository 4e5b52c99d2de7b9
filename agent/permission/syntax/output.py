"""The output of commands that is known to be a number."""

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
