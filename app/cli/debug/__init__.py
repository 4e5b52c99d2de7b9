"""``opencode-py debug``: how the program is configured and how it decides."""

import argparse
import time
from typing import TYPE_CHECKING

from app.cli.command_support import (
    DONE,
    USAGE,
    command_parser,
    read_json_lines,
    report,
    run_command,
    write_json_line,
)
from app.cli.parser import help_texts

if TYPE_CHECKING:
    from agent.records.json import JsonObject

BOM = "\ufeff"


def parser() -> argparse.ArgumentParser:
    result = command_parser("debug", "Inspect settings, rules and internals.")
    parts = result.add_subparsers(dest="part", required=True, metavar="PART")
    lines = "read cases from standard input, and print one JSON object per line"
    permission = parts.add_parser(
        "permission", **help_texts("show how the rules decide on a command, and why")
    )
    permission.add_argument("--jsonl", action="store_true", help=lines)
    permission.add_argument("permission", nargs="?", metavar="PERMISSION", help="such as bash")
    permission.add_argument("pattern", nargs="?", metavar="TEXT", help="the command or path")
    permission.add_argument(
        "--agent", default="build", help="the agent whose rules apply (default: build)"
    )
    edit = parts.add_parser("edit", **help_texts("show how the edit tool would apply an edit"))
    edit.add_argument("--jsonl", action="store_true", required=True, help=lines)
    stream = parts.add_parser("stream", **help_texts("show how a provider's stream is decoded"))
    stream.add_argument("--jsonl", action="store_true", required=True, help=lines)
    stream.add_argument(
        "--transport",
        choices=("http", "litellm"),
        default="http",
        help="the client that decodes it",
    )
    for name, about in (
        ("config", "each setting and the file it came from"),
        ("paths", "where this program keeps its files"),
        ("info", "versions and system information for a bug report; no secrets"),
        ("plugins", "what each plugin adds, or where it failed"),
    ):
        part = parts.add_parser(name, **help_texts(f"show {about}"))
        part.add_argument("--json", action="store_true", help="print JSON")
        if name == "config":
            part.add_argument(
                "--schema", action="store_true", help="print the JSON schema of config files"
            )
    return result


def main(argv: list[str]) -> int:
    return run_command(parser(), argv, _run)


def _run(arguments: argparse.Namespace) -> int:
    match arguments.part:
        case "permission":
            from app.cli.debug.permission import answer_cases, explain  # each part loads its own

            if arguments.jsonl:
                return answer_cases()
            if arguments.permission is None or arguments.pattern is None:
                return report(
                    'Name what to check, such as: debug permission bash "git push"', USAGE
                )
            return explain(arguments.agent, arguments.permission, arguments.pattern)
        case "edit":
            return _answer_edits()
        case "stream":
            from app.cli.debug.stream import answer_streams  # as above

            return answer_streams(arguments.transport)
        case part:
            from app.cli.debug.config import SHOWN, show_schema  # as above

            if part == "config" and arguments.schema:
                return show_schema()
            return SHOWN[part](as_json=arguments.json)


def _answer_edits() -> int:
    """Answer ``{"id", "before", "old", "new", "replace_all"}`` lines with the whole text after the
    edit, or the reason why it was refused, and the microseconds of CPU time it took. No file is
    touched."""
    from agent.tools.edit_match import EditRefused, apply_edit  # as above

    for case in read_json_lines():
        before: str = case["before"]
        mark = BOM if before.startswith(BOM) else ""  # the tool works on text without it
        start = time.process_time()
        answer: JsonObject = {"id": case["id"]}
        try:
            edit = apply_edit(
                before.removeprefix(BOM),
                case["old"],
                case["new"],
                replace_all=bool(case.get("replace_all")),
            )
            answer["after"] = mark + edit.text
        except EditRefused as refused:
            answer["error"] = refused.reason
        answer["us"] = round((time.process_time() - start) * 1e6)
        write_json_line(answer)
    return DONE
