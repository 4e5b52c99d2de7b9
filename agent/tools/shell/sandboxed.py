"""Commands in the sandbox: what the model reads about it and asks of it."""

import asyncio
from typing import TYPE_CHECKING

from agent.files import printable
from agent.permission.rules import NETWORK, UNSANDBOXED
from agent.permission.sandbox.command_policy import requested_needs
from agent.permission.sandbox.service import WrappedCommand
from agent.records.requests import PermissionNeed
from agent.tools.core.base import ToolContext

if TYPE_CHECKING:  # loads the grammar of shells and the programs that are known
    from agent.permission.shell.analysis import Analysis

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
    from agent.permission.sandbox import kept_files  # loads the programs that are known

    if ctx.read_rules is None or ctx.by_user or not line.reaches:
        return needs, (), ()
    rules = await ctx.read_rules()
    if not (rules.restrict or any(reach.secrets for reach in line.reaches)):
        return needs, (), ()
    needs, kept = await asyncio.to_thread(
        kept_files.keep_files, needs, line.reaches, rules, directory=directory, hides=hides
    )
    return needs, kept.paths, tuple(map(printable, kept_files.kept_notes(kept, rules)))
