"""``opencode-py import``: read a session that this program or opencode exported."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from app.cli.command_support import command_parser, run_with_store, typed_path
from app.startup.launch import resume_command, with_command

if TYPE_CHECKING:
    from agent.store.store import Store


def parser() -> argparse.ArgumentParser:
    result = command_parser(
        "import",
        "Read an exported session (.json, of opencode-py or opencode) and add it to this folder.",
    )
    result.add_argument("file", type=typed_path, metavar="FILE")
    result.add_argument(
        "--json", action="store_true", help="print the id and title of the new session as JSON"
    )
    return result


def main(argv: list[str]) -> int:
    return run_with_store(parser(), argv, _run)


async def _run(store: "Store", arguments: argparse.Namespace) -> None:
    from agent.git import project_root  # not needed by --help
    from agent.transfer.importer import import_file  # as above

    folder = Path.cwd()
    project = await project_root(folder)
    session = await import_file(store, arguments.file, directory=str(folder), project=str(project))
    if arguments.json:
        print(json.dumps({"session": session.id, "title": session.title}))
    else:
        print(with_command("Imported. To continue:", resume_command(session.id)))
