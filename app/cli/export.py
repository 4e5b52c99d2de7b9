"""``opencode-py export``: a session as JSON, Markdown or HTML."""

import argparse
import os
import sys
from typing import TYPE_CHECKING

from app.cli.session_store import current_folder, run_with_store, typed_path

if TYPE_CHECKING:
    from agent.store.store import Store


def parser() -> argparse.ArgumentParser:
    """Return the parser of the arguments of ``export``."""
    result = argparse.ArgumentParser(
        prog="opencode-py export",
        description="Write a session: the named one, or the latest of this folder.",
        epilog="Without -o it goes to standard output. What looks like a key is left out, unless "
        "--with-secrets is given; read it all the same before you share it.",
        allow_abbrev=False,
    )
    result.add_argument("id", nargs="?", metavar="ID", help="the session")
    result.add_argument("-o", "--output", metavar="FILE", help="write it there (.json, .md, .html)")
    result.add_argument(
        "--format", choices=("json", "md", "html"), help="default: json, or by FILE"
    )
    result.add_argument("--json", action="store_true", help="the same as --format json")
    result.add_argument("--sanitize", action="store_true", help="leave secrets out (the default)")
    result.add_argument("--with-secrets", action="store_true", help="leave nothing out")
    result.add_argument("-f", "--force", action="store_true", help="write over FILE")
    return result


def main(argv: list[str]) -> int:
    """Run the command and return the exit code: 0 done, 1 failed, 2 wrong usage."""
    return run_with_store(parser(), argv, _run)


async def _run(store: "Store", arguments: argparse.Namespace) -> None:
    from agent.redact import secrets_of  # not needed by --help
    from agent.transfer.bundle import collect_bundle, without_secrets  # as above
    from agent.transfer.exporter import export_text, write_bundle  # as above

    bundle = await collect_bundle(store, arguments.id or await _latest(store))
    if not arguments.with_secrets:
        bundle = without_secrets(bundle, secrets_of(os.environ))
    form = "json" if arguments.json else arguments.format
    if arguments.output is None:
        sys.stdout.write(export_text(bundle, form or "json"))
        return
    path = typed_path(arguments.output)
    write_bundle(bundle, path, form, overwrite=arguments.force)
    sys.stderr.write(f"Exported to {path}.\n")


async def _latest(store: "Store") -> str:
    from agent.records.errors import SessionNotFound  # not needed by --help
    from agent.store.listing import SessionScope  # as above

    found = await store.session_list(SessionScope(current_folder()))
    if not found:
        raise SessionNotFound(
            "There is no session in this folder. opencode-py session list --all names all."
        )
    return max(found, key=lambda line: line.updated).id
