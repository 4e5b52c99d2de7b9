"""``opencode-py export``: a session as JSON, Markdown or HTML."""

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from app.cli.command_support import command_parser, report, run_with_store, typed_path

if TYPE_CHECKING:
    from agent.store.store import Store


def parser() -> argparse.ArgumentParser:
    result = command_parser(
        "export",
        "Write a session: the named one, or the latest of this folder.",
        epilog="Without -o it goes to standard output. Text that looks like a key is removed, "
        "unless --with-secrets is given; review it before you share it. On a terminal, control "
        "characters are shown as symbols; a file or a pipe gets them unchanged.",
    )
    add = result.add_argument
    add("id", nargs="?", metavar="ID", help="the session")
    add("-o", "--output", type=typed_path, metavar="FILE", help="write to FILE (.json, .md, .html)")
    add(
        "--format",
        choices=("json", "md", "html"),
        help="the format (default: that of FILE, or json)",
    )
    add("--json", action="store_true", help="the same as --format json")
    add("--sanitize", action="store_true", help="remove secrets (the default)")
    add("--with-secrets", action="store_true", help="do not remove secrets")
    add("-f", "--force", action="store_true", help="overwrite FILE")
    return result


def main(argv: list[str]) -> int:
    return run_with_store(parser(), argv, _run)


async def _run(store: "Store", arguments: argparse.Namespace) -> None:
    from agent.config.loading import load_config  # not needed by --help
    from agent.redact import all_secrets  # as above
    from agent.transfer.bundle import collect_bundle, without_secrets  # as above
    from agent.transfer.exporter import export_text, write_bundle  # as above
    from app.text.sanitize import sanitize  # as above

    bundle = await collect_bundle(store, arguments.id or await _latest(store))
    if not arguments.with_secrets:
        folder = Path.cwd()
        load_config(folder, folder, os.environ)  # it names further secrets
        bundle = without_secrets(bundle, all_secrets(os.environ))
    form = "json" if arguments.json else arguments.format
    if arguments.output is None:
        text = export_text(bundle, form or "json")
        sys.stdout.write(sanitize(text) if sys.stdout.isatty() else text)
        return
    write_bundle(bundle, arguments.output, form, overwrite=arguments.force)
    report(f"Exported to {arguments.output}.")


async def _latest(store: "Store") -> str:
    from agent.records.errors import SessionNotFound  # not needed by --help
    from agent.session.related_folders import other_places  # as above

    here = str(Path.cwd())
    listed = await store.sessions(directory=here, elsewhere=await other_places(store, here))
    found = [session for session in listed if session.turns or session.title]
    if not found:
        raise SessionNotFound(
            "There is no session in this folder. opencode-py session list --all lists all of them."
        )
    return found[0].id
