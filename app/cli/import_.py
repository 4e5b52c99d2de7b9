"""``opencode-py import``: read a session that this program or opencode exported."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from app.cli.session_store import current_folder, run_with_store, typed_path

if TYPE_CHECKING:
    from agent.store.store import Store


def parser() -> argparse.ArgumentParser:
    """Return the parser of the arguments of ``import``."""
    result = argparse.ArgumentParser(
        prog="opencode-py import",
        description="Read an exported session (.json, of opencode-py or opencode) and keep it as "
        "one of this folder.",
        allow_abbrev=False,
    )
    result.add_argument("file", metavar="FILE")
    result.add_argument("--json", action="store_true", help="name the new session as JSON")
    return result


def main(argv: list[str]) -> int:
    """Run the command and return the exit code: 0 done, 1 failed, 2 wrong usage."""
    return run_with_store(parser(), argv, _run)


async def _run(store: "Store", arguments: argparse.Namespace) -> None:
    from agent.git import project_root  # not needed by --help
    from agent.transfer.importer import import_file  # as above

    folder = current_folder()
    project = str(await project_root(Path(folder)))
    path = typed_path(arguments.file)
    session = await import_file(store, path, directory=folder, project=project)
    if arguments.json:
        print(json.dumps({"session": session.id, "title": session.title}))
    else:
        print(f"Imported. To go on: opencode-py --session {session.id}")
