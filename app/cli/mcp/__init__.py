"""``opencode-py mcp``: the MCP servers of the settings."""

import argparse
import os

from app.cli.command_support import command_parser, run_command
from app.cli.parser import help_texts


def parser() -> argparse.ArgumentParser:
    result = command_parser(
        "mcp",
        "Manage the MCP servers in your settings and in this folder.",
        epilog="In the program, /mcp shows their status.",
    )
    parts = result.add_subparsers(dest="part", required=True, metavar="PART")
    listed = parts.add_parser("list", **help_texts("list the servers without starting them"))
    listed.add_argument("--json", action="store_true", help="print JSON")
    add = parts.add_parser(
        "add",
        **help_texts("add a server to your settings"),
        usage="%(prog)s NAME --url URL [--header NAME=VALUE …]\n"
        "       %(prog)s NAME [--env NAME=VALUE …] -- PROGRAM [ARGUMENT …]\n"
        "       %(prog)s NAME --from-claude-code",
    )
    add.add_argument("name", metavar="NAME", help="a name for the server")
    add.add_argument("--url", metavar="URL", help="the address of a remote server")
    add.add_argument(
        "--header",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a header to send with requests",
    )
    add.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a variable for its program",
    )
    add.add_argument(
        "--from-claude-code",
        action="store_true",
        help="copy it from Claude Code's own settings (~/.claude.json)",
    )
    add.add_argument("command", nargs="*", metavar="PROGRAM", help="the program and its arguments")
    auth = parts.add_parser(
        "auth", **help_texts("log in to a remote server; without a name, list your logins")
    )
    auth.add_argument("name", nargs="?", metavar="NAME", help="the server")
    logout = parts.add_parser("logout", **help_texts("remove the login of a server"))
    logout.add_argument("name", metavar="NAME", help="the server")
    debug = parts.add_parser("debug", **help_texts("connect to a server and report each step"))
    debug.add_argument("name", metavar="NAME", help="the server")
    return result


def main(argv: list[str]) -> int:
    at = argv.index("--") if "--" in argv else len(argv)
    program = argv[at + 1 :]
    return run_command(
        parser(),
        argv[:at],
        lambda arguments: _run(arguments, program),
        interrupted_message="Interrupted.",
    )


def _run(arguments: argparse.Namespace, program: list[str]) -> int:
    """Run a part of the command; *program* is what follows ``--``."""
    from app.startup.logs import start_log  # not needed by --help

    if arguments.part in {"auth", "debug"}:  # the SDK logs errors with tracebacks
        start_log(os.environ)
    match arguments.part:
        case "list":
            from app.cli.mcp.servers import show_servers  # each part loads its own modules

            return show_servers(as_json=arguments.json)
        case "add":
            from app.cli.mcp.servers import add_server  # as above

            return add_server(arguments, [*arguments.command, *program])
        case _:
            from app.cli.mcp import connection  # as above

            parts = {"auth": connection.log_in, "logout": connection.log_out}
            return parts.get(arguments.part, connection.probe)(arguments.name)
