"""``opencode-py attach``: the full screen on the sessions of a server."""

import argparse
import asyncio
import importlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from app.cli.command_support import FAILED, USAGE, command_parser, report, run_command

if TYPE_CHECKING:
    from agent.permission.trust.trust import AskTrust
    from agent.runtime.runtime import Runtime
    from app.remote.connection import Connection
    from app.startup.launch import LaunchOptions

VARIABLE = "OPENCODE_SERVER_PASSWORD"


def parser() -> argparse.ArgumentParser:
    result = command_parser(
        "attach",
        "Use the sessions of a running server in this terminal: opencode-py serve, a screen "
        "started with --port, or opencode itself. The agent works where the server runs.",
        epilog="A server that you run on this machine needs no password: its token is read from "
        "its file.",
    )
    add = result.add_argument
    add("url", help="the address of the server, such as http://127.0.0.1:4096")
    add("-p", "--password", help=f"its token or password (default: {VARIABLE})")
    add("--dir", default="", help="a folder on the server (default: the one that it serves)")
    add("-c", "--continue", dest="resume", action="store_true", help="resume the latest session")
    add("-s", "--session", metavar="ID", help="resume this session")
    add("--fork", action="store_true", help="with -c or -s: fork the session")
    add("-m", "--model", metavar="PROVIDER/MODEL", help="the model to use (one of the server's)")
    add("--agent", metavar="NAME", help="the agent to start with")
    add("--prompt", metavar="TEXT", help="send this prompt at once")
    return result


def main(argv: list[str]) -> int:
    """Show the screen until the user leaves; return the exit code."""
    return run_command(parser(), argv, _attach)


def _attach(given: argparse.Namespace) -> int:
    from app.cli.main import open_screen  # not needed by --help
    from app.remote.connection import Connection, server_address  # as above
    from app.startup.launch import LaunchOptions  # as above

    if given.resume and given.session:
        return report("Use either --continue or --session, not both.", USAGE)
    if given.fork and not (given.resume or given.session):
        return report("--fork needs the session to copy: add --continue or --session ID.", USAGE)
    address = server_address(given.url)
    secret = given.password or os.environ.get(VARIABLE) or _own_token(address)
    directory = asyncio.run(_directory(Connection(address, secret, given.dir), given.session))
    if not directory:
        return report(f"{address} is not an opencode server.", FAILED)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return report(
            "The full screen needs a terminal. Programs use the HTTP API of the server.", USAGE
        )
    launch = LaunchOptions(
        directory=Path(directory),
        model=given.model,
        agent=given.agent,
        prompt=given.prompt,
        resume=given.resume,
        session=given.session,
        fork=given.fork,
    )
    with TemporaryDirectory(prefix="opencode-py-attach-") as scratch:

        async def open_runtime(
            launch: "LaunchOptions", env: Mapping[str, str], ask_trust: "AskTrust"
        ) -> "Runtime":
            await asyncio.to_thread(importlib.import_module, "app.remote.runtime")
            from app.remote.runtime import RemoteOpener  # loaded just above

            opener = RemoteOpener(Connection(address, secret, given.dir), Path(scratch))
            return await opener(launch, env, ask_trust)

        return open_screen(launch, open_runtime)


def _own_token(address: str) -> str:
    """Return the token of this user's own server if *address* is on this machine, else ""."""
    from agent.config.paths import Paths  # not needed by --help
    from agent.provider.transport.proxies import is_loopback  # as above
    from app.server.access import token_file  # as above

    if not is_loopback(address):
        return ""
    try:
        return token_file(Paths.find(os.environ).data).read_text("utf-8").strip()
    except OSError:
        return ""


async def _directory(connection: "Connection", session: str | None) -> str:
    """Return the folder that the server works in, "" if it is no such server; look for *session*
    too, before the screen opens. Raises what a request raises."""
    from agent.transfer.opencode_records import dict_of, text_of  # not needed by --help

    try:
        found = dict_of(await connection.get("/path"))
        if session is not None:
            await connection.get(f"/session/{session}")
        return text_of(found.get("directory"))
    finally:
        await connection.close()
