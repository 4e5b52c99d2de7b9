"""The results of commands: transcript blocks, sentences for the model, exit codes."""

import asyncio
import re
import shlex
from typing import TYPE_CHECKING

from agent.files import printable
from agent.permission.rules import NETWORK, UNSANDBOXED
from agent.permission.sandbox_policy.command_policy import requested_needs
from agent.permission.sandbox_policy.service import WrappedCommand
from agent.process import NewOutput
from agent.records.background import ShellInfo
from agent.records.blocks import ShellBlock
from agent.records.requests import PermissionNeed
from agent.tools.core.tool import ToolContext
from agent.tools.core.truncate import Limits, count_lines, cut

if TYPE_CHECKING:  # loads the grammar of shells and the programs that are known
    from agent.permission.shell.analysis import Analysis

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


# Commands in the sandbox: what the model reads about it and asks of it.

NO_SERVER = (
    "It runs without network access: if it is a server, nothing can connect to it. In that case "
    "end it and start it again with network."
)

ASK_AGAIN = (
    "If the command needs this, call bash again with {parameter} and the reason: the user is asked."
)


def sandbox_requests(
    command: str, needs: tuple[PermissionNeed, ...], network: str | None, unsandboxed: str | None
) -> tuple[PermissionNeed, ...]:
    """Return the needs of what a call asks for beyond its sandbox: the reason for the *network*, or
    for running *unsandboxed*."""
    if unsandboxed:
        reason = f"runs without the sandbox: {unsandboxed}"
        return requested_needs(UNSANDBOXED, command, needs, reason)
    if network:
        return requested_needs(NETWORK, command, needs, f"uses the network: {network}")
    return ()


def blocked_notes(
    wrapped: WrappedCommand | None, output: str, exit_code: int | None
) -> tuple[str, ...]:
    """Return what the sandbox seems to have blocked in a command that failed, and what to do."""
    if wrapped is None or exit_code == 0:
        return ()
    from agent.process.sandbox import blocked  # loaded with the first command

    sentence = blocked(output, exit_code, wrapped.policy)
    if not sentence:
        return ()
    parameter = "network" if "network" in sentence else "unsandboxed"
    return (f"{sentence} {ASK_AGAIN.format(parameter=parameter)}",)


async def keep_files(
    needs: tuple[PermissionNeed, ...],
    line: "Analysis",
    directory: str,
    ctx: ToolContext,
    *,
    hides: bool,
) -> tuple[tuple[PermissionNeed, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the needs of *line* once the files are kept from it that it must not show, these
    files, and what its result says of them."""
    from agent.permission.sandbox_policy import kept_files  # loads the programs that are known

    if ctx.read_rules is None or ctx.by_user or not line.reaches:
        return needs, (), ()
    rules = await ctx.read_rules()
    if not (rules.restrict or any(reach.secrets for reach in line.reaches)):
        return needs, (), ()
    needs, kept = await asyncio.to_thread(
        kept_files.keep_files, needs, line.reaches, rules, directory=directory, hides=hides
    )
    return needs, kept.paths, tuple(map(printable, kept_files.kept_notes(kept, rules)))
