"""``opencode-py serve``: opencode's HTTP API and a web page, until the program is stopped."""

import argparse
import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from app.cli.command_support import command_parser, received_signals, report, run_command

PORT = 4096
"""The port of opencode's server, which its clients try first."""

VARIABLE = "OPENCODE_SERVER_PASSWORD"


def parser() -> argparse.ArgumentParser:
    result = command_parser(
        "serve",
        "Serve opencode's HTTP API and a web page for this folder, so that editors, bots and "
        "browsers can use it.",
        epilog=f"Clients send the token as the password of the user opencode (HTTP basic), or as "
        f"a bearer token. {VARIABLE} sets your own password. The OpenAPI description is "
        "at /doc.",
    )
    add = result.add_argument
    add("folder", nargs="?", default=".", help="the folder to work in (default: the current one)")
    add("--port", type=int, default=PORT, help="the port (default: 4096; 0 takes a free one)")
    add(
        "--hostname",
        default="127.0.0.1",
        help=f"the address to listen on; one that others can reach needs {VARIABLE}",
    )
    add(
        "--cors",
        action="append",
        default=[],
        metavar="ORIGIN",
        help="let pages of this origin use the server (can be repeated)",
    )
    add(
        "--no-token",
        action="store_true",
        help="require no token: every program on this machine can use it, including the agent's "
        "commands",
    )
    return result


def main(argv: list[str]) -> int:
    """Serve until a signal comes; return the exit code."""
    return run_command(parser(), argv, _serve, handles_signals=True)


def _serve(given: argparse.Namespace) -> int:
    from app.server.access import LOOPBACK, is_origin  # not needed by --help
    from app.startup.logs import start_log  # as above

    local = given.hostname in LOOPBACK
    if not local and not os.environ.get(VARIABLE):
        return report(f"Set {VARIABLE} to serve {given.hostname}: others can reach it.", 2)
    if not local and given.no_token:
        return report(
            f"--no-token works only on this machine's own address, not {given.hostname}.", 2
        )
    if not 0 <= given.port <= 65535:
        return report(f"{given.port} is not a port: choose 1 to 65535, or 0 for a free one.", 2)
    for origin in given.cors:
        if not is_origin(origin):
            return report(f"{origin} is not an origin: write https://HOST or http://HOST:PORT.", 2)
    start_log(os.environ)
    return asyncio.run(_run(given, os.environ))


async def _run(given: argparse.Namespace, env: Mapping[str, str]) -> int:
    from agent.config.paths import Paths  # for this command only
    from agent.installation import VERSION  # as above
    from agent.runtime.pool import RuntimePool  # as above
    from app.server.access import LOOPBACK, Access, load_token, token_file  # as above
    from app.server.folders import Folders  # as above
    from app.server.serving import listen, serving, web_app  # as above

    received = received_signals()
    data = Paths.find(env).data
    password = env.get(VARIABLE, "")
    secrets = {password} if password else ({load_token(data)} if not given.no_token else set[str]())
    folder = str(await asyncio.to_thread(Path(given.folder).resolve))
    folders = Folders(RuntimePool(env, "text"), folder, VERSION)
    listening = listen(given.hostname, given.port)
    opened = await folders.open(folder)
    for notice in opened.runtime.notices:
        report(notice)
    hosts = LOOPBACK if given.hostname in LOOPBACK else LOOPBACK | {given.hostname.lower()}
    access = Access(frozenset(secrets), hosts, frozenset(given.cors))
    address = f"http://{_in_url(given.hostname)}:{listening.getsockname()[1]}"
    async with serving(web_app(folders, access), listening):
        # Programs that start the server wait for this line.
        sys.stdout.write(f"opencode server listening on {address}\n")
        sys.stdout.flush()
        if given.no_token and not password:
            report(
                "Every program on this machine can use the server, including the agent's commands."
            )
        elif not password:
            report(f"The token is in {token_file(data)}. Stop the server with Ctrl+C.")
        number = await received.get()
        if sys.stderr.isatty():
            report("\nStopping")  # the terminal has just printed ^C
        await folders.close()
    return 128 + number


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host
