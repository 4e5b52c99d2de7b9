"""``opencode-py debug``: how the program is configured and how it decides."""

import argparse
import sys
from pathlib import Path

from app.cli.runner import run_command


def parser() -> argparse.ArgumentParser:
    """Return the parser of the arguments of ``debug``."""
    result = argparse.ArgumentParser(
        prog="opencode-py debug",
        description="Show what the program knows and how it decides.",
        allow_abbrev=False,
    )
    parts = result.add_subparsers(dest="part", required=True, metavar="PART")
    lines = "read cases from standard input, answer one JSON object a line"
    permission = parts.add_parser("permission", help="what the rules say of a command, and why")
    permission.add_argument("--jsonl", action="store_true", help=lines)
    permission.add_argument("permission", nargs="?", metavar="PERMISSION", help="such as bash")
    permission.add_argument("pattern", nargs="?", metavar="TEXT", help="the command or path")
    permission.add_argument("--agent", default="build", help="whose rules (default: build)")
    edit = parts.add_parser("edit", help="what the edit tool makes of an edit")
    edit.add_argument("--jsonl", action="store_true", required=True, help=lines)
    stream = parts.add_parser("stream", help="what is read from a provider's streams")
    stream.add_argument("--jsonl", action="store_true", required=True, help=lines)
    stream.add_argument(
        "--transport", choices=("http", "litellm"), default="http", help="who reads them"
    )
    for name, about in (
        ("config", "each setting and the file it came from"),
        ("paths", "where this program keeps its files"),
        ("info", "versions and this machine, for a report of a fault; no secrets"),
        ("plugins", "what each plugin adds, or where it failed"),
    ):
        part = parts.add_parser(name, help=about, description=f"Show {about}.")
        part.add_argument("--json", action="store_true", help="as JSON")
        if name == "config":
            part.add_argument("--schema", action="store_true", help="the JSON schema of the files")
    return result


def main(argv: list[str]) -> int:
    """Run the command and return the exit code: 0 done, 1 failed, 2 wrong usage."""
    return run_command(parser(), argv, _run)


def _run(arguments: argparse.Namespace) -> int:
    here = Path.cwd()
    match arguments.part:
        case "permission":
            from app.cli.debug.permission import (  # each part loads its own
                answer_cases,
                explain,
            )

            if arguments.jsonl:
                return answer_cases(sys.stdin, sys.stdout)
            if arguments.permission is None or arguments.pattern is None:
                sys.stderr.write('Say what to judge, such as: debug permission bash "git push"\n')
                return 2
            return explain(here, arguments.agent, arguments.permission, arguments.pattern)
        case "edit":
            from app.cli.debug.edit import answer_edits  # as above

            return answer_edits(sys.stdin, sys.stdout)
        case "stream":
            from app.cli.debug.stream import answer_streams  # as above

            return answer_streams(sys.stdin, sys.stdout, arguments.transport)
        case "config":
            from app.cli.debug.config import show_config, show_schema  # as above

            if arguments.schema:
                return show_schema()
            return show_config(here, as_json=arguments.json)
        case "info":
            from app.cli.debug.info import show_info  # as above

            return show_info(here, as_json=arguments.json)
        case "plugins":
            from app.cli.debug.config import show_plugins  # as above

            return show_plugins(here, as_json=arguments.json)
        case _:
            from app.cli.debug.config import show_paths  # as above

            return show_paths(as_json=arguments.json)
