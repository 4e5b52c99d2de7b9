"""What exit code 1 of a command means: a failure, or the answer "no" (spec 1, L8)."""

import re
import shlex

ANSWERS = frozenset({"grep", "egrep", "fgrep", "rg", "diff", "cmp", "test", "[", "[["})
"""Commands whose exit code 1 is an answer and no failure (spec 1, L8)."""

GIT_ANSWERS = frozenset({"grep", "diff"})

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


def exit_one_answers(command: str) -> bool:
    """Whether exit code 1 of *command* is an answer: its last command is grep or the like."""
    words = _last_command(command)
    while words and (words[0] == "!" or _ASSIGNMENT.match(words[0])):
        words = words[1:]
    if not words:
        return False
    name = words[0].rpartition("/")[2]
    if name == "git":
        verbs = [word for word in words[1:] if not word.startswith("-")]
        return bool(verbs) and verbs[0] in GIT_ANSWERS
    return name in ANSWERS


def _last_command(command: str) -> list[str]:
    """The words of the last command in *command*; empty where that can't be told simply."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars="();<>|&\n")
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    current: list[str] = []
    last: list[str] = []
    inside = 0
    try:
        for token in lexer:
            if token in {"<(", ">("}:
                inside += 1
            elif inside:
                inside -= token.count(")")
            elif set(token) <= set(";|&()\n"):
                last, current = current or last, []
            else:
                current.append(token)
    except ValueError:
        return []
    return current or last
