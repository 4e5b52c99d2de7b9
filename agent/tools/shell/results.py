"""The results of commands: transcript blocks, sentences for the model, exit codes."""

import re
import shlex

from agent.process import NewOutput
from agent.records.background import ShellInfo
from agent.records.blocks import ShellBlock
from agent.tools.core.truncate import Limits, count_lines, cut

SHOWN = Limits(lines=200, bytes=10_000)
"""The limits of an output in the transcript."""


def shell_block(
    command: str, printed: str, exit_code: int | None, note: str = "", *, lines: int | None = None
) -> ShellBlock:
    """Return the block of *command* with the end of *printed*; *lines* is the length of the whole
    output if *printed* is only a part."""
    output = cut(printed, SHOWN, "tail")
    kept = output.count("\n") + 1
    total = count_lines(printed) if lines is None else lines
    return ShellBlock(command, output, exit_code, note, max(0, total - kept))


def format_seconds(duration: float) -> str:
    """Return *duration* (in seconds) for display: ``4.2s``, ``2m05s``."""
    if duration < 60:
        return f"{duration:.1f}s"
    return f"{int(duration) // 60}m{int(duration) % 60:02d}s"


def describe_shell(info: ShellInfo) -> str:
    """Return one sentence on the status of a shell."""
    if info.ended is None:
        return f"{info.id} is running."
    took = format_seconds(info.ended - info.started)
    match info.state:
        case "killed":
            return f"{info.id} was ended after {took}."
        case "timed out":
            return f"{info.id} was ended at its time limit, after {took}."
        case _ if info.exit_code is None:
            return f"{info.id} was ended by {info.signal or 'a signal'} after {took}."
        case _:
            return f"{info.id} ended with exit code {info.exit_code} after {took}."


def shell_output(taken: NewOutput, notes: tuple[str, ...]) -> str:
    """Return the new output and *notes*."""
    dropped = (
        [f"[{taken.lost_characters:,} characters before this were dropped: they came too fast.]"]
        if taken.lost_characters
        else []
    )
    text = taken.text.rstrip("\n") or "(no new output)"
    return "\n".join((*dropped, text, "", *(f"({note})" for note in notes)))


EXIT_ONE_COMMANDS = frozenset({"grep", "egrep", "fgrep", "rg", "diff", "cmp", "test", "[", "[["})
"""Commands whose exit code 1 is the answer "no" and no failure."""

EXIT_ONE_GIT_COMMANDS = frozenset({"grep", "diff"})

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


def is_exit_one_normal(command: str) -> bool:
    """Return whether exit code 1 of *command* is no failure, as with grep at its end."""
    words = _last_command(command)
    while words and (words[0] == "!" or _ASSIGNMENT.match(words[0])):
        words = words[1:]
    if not words:
        return False
    name = words[0].rpartition("/")[2]
    if name == "git":
        verbs = [word for word in words[1:] if not word.startswith("-")]
        return bool(verbs) and verbs[0] in EXIT_ONE_GIT_COMMANDS
    return name in EXIT_ONE_COMMANDS


def _last_command(command: str) -> list[str]:
    """Return the words of the last command in *command*, empty if the syntax is too complex."""
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
