"""``opencode-py acp``: serve an editor, from the start of the program to its exit code."""

import argparse
import asyncio
import os
import sys
from collections.abc import Mapping

from app.cli.command_support import command_parser, received_signals, report, run_command


def parser() -> argparse.ArgumentParser:
    return command_parser(
        "acp",
        "Serve an editor: speak the Agent Client Protocol on standard input and output.",
        epilog="Editors start this command: in the editor's settings, set the command to "
        "opencode-py and its argument to acp. Warnings go to standard error and to the log.",
    )


def main(argv: list[str]) -> int:
    """Serve until the client ends the input; return the exit code."""
    return run_command(parser(), argv, _serve_editor, handles_signals=True)


def _serve_editor(_: argparse.Namespace) -> int:
    if sys.stdin.isatty():
        report("This command is for editors. Press ctrl+d to exit.")
    from app.startup.logs import start_log  # not needed by --help

    source, sink = _protocol_descriptors()
    start_log(os.environ)
    return asyncio.run(_serve(source, sink, os.environ))


def _protocol_descriptors() -> tuple[int, int]:
    """Return descriptors of standard input and output for the protocol alone: other output goes to
    standard error, and no child process reads the client's messages."""
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return source, sink


async def _serve(source: int, sink: int, env: Mapping[str, str]) -> int:
    from acp.core import AgentSideConnection  # for this command only

    from agent.runtime.pool import RuntimePool  # loads the agent package
    from app.acp.agent import AcpAgent  # as above
    from app.acp.stdio import StdioTransport  # as above

    received = received_signals()
    agent = AcpAgent(RuntimePool(env))
    connection = AgentSideConnection(
        agent, StdioTransport(source, sink), listening=False, use_unstable_protocol=True
    )
    listening = asyncio.create_task(connection.listen(), name="acp")
    stopping = asyncio.create_task(received.get())
    try:
        await asyncio.wait({listening, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopped = stopping.done()
    finally:
        stopping.cancel()
        listening.cancel()
        await agent.close()
        await connection.close()
    return 128 + stopping.result() if stopped else 0
