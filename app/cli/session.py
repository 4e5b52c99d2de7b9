"""``opencode-py session list|show|search|delete``."""

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from app.cli.command_support import command_parser, print_table, run_with_store
from app.cli.parser import help_texts

if TYPE_CHECKING:
    from agent.records.json import JsonObject
    from agent.store.listing import SessionListItem, SessionScope
    from agent.store.store import Store


def parser() -> argparse.ArgumentParser:
    result = command_parser("session", "List, read, search and delete sessions.")
    words = result.add_subparsers(dest="word", required=True, metavar="COMMAND")
    listing = words.add_parser(
        "list", **help_texts("list the sessions of this folder, newest first")
    )
    listing.add_argument(
        "-n", "--max-count", type=int, default=50, metavar="N", help="at most N sessions"
    )
    search = words.add_parser("search", **help_texts("search the sessions for all of the words"))
    search.add_argument("words", nargs="+", metavar="WORD")
    for each in (listing, search):
        each.add_argument("--all", action="store_true", help="include every folder")
        each.add_argument("--archived", action="store_true", help="include archived sessions")
        each.add_argument("--json", action="store_true", help="print JSON")
    show = words.add_parser("show", **help_texts("print a session"))
    show.add_argument("id", metavar="ID")
    show.add_argument("--json", action="store_true", help="print JSON with all details")
    delete = words.add_parser(
        "delete", **help_texts("delete sessions and those of their sub-agents")
    )
    delete.add_argument("id", nargs="+", metavar="ID")
    delete.add_argument("-f", "--force", action="store_true", help="do not ask")
    return result


def main(argv: list[str]) -> int:
    return run_with_store(parser(), argv, _run)


async def _run(store: "Store", arguments: argparse.Namespace) -> None:
    parts = {"list": _list, "search": _search, "show": _show, "delete": _delete}
    await parts[arguments.word](store, arguments)


async def _scope(store: "Store", arguments: argparse.Namespace) -> "SessionScope":
    from agent.session.related_folders import other_places  # not needed by --help
    from agent.store.listing import SessionScope  # as above

    if arguments.all:
        return SessionScope(None, arguments.archived)
    here = str(Path.cwd())
    return SessionScope(here, arguments.archived, await other_places(store, here))


async def _list(store: "Store", arguments: argparse.Namespace) -> None:
    from agent.records.amounts import money  # not needed by --help

    scope = await _scope(store, arguments)
    found = (await store.session_list(scope))[: max(0, arguments.max_count)]
    working = await store.foreign_leases()
    if arguments.json:
        listed = [{**as_json(line), "working": line.id in working} for line in found]
        print(json.dumps({"sessions": listed}, indent=1))
    elif found:
        rows = [("ID", "UPDATED", "TURNS", "COST", "TITLE")]
        rows += [
            (
                *(line.id, _when(line.updated), str(line.turns), money(line.cost)),
                line.title
                + (f" ({line.directory})" if line.directory in scope.elsewhere else "")
                + (f" (working, process {working[line.id].pid})" if line.id in working else ""),
            )
            for line in found
        ]
        print_table(rows)
    else:
        where = "" if arguments.all else " in this folder (--all lists those of every folder)"
        sys.stderr.write(f"There are no sessions{where}.\n")


async def _search(store: "Store", arguments: argparse.Namespace) -> None:
    hits = await store.search_sessions(" ".join(arguments.words), await _scope(store, arguments))
    if arguments.json:
        found = [
            {**as_json(hit.session), "message": hit.hit.message_id, "text": hit.hit.snippet}
            for hit in hits
        ]
        print(json.dumps({"hits": found}, indent=1))
    elif hits:
        rows = [("ID", "TITLE", "TEXT")]
        rows += [
            (hit.session.id, hit.session.title[:30], " ".join(hit.hit.snippet.split()))
            for hit in hits
        ]
        print_table(rows)
    else:
        sys.stderr.write("Nothing was found.\n")


async def _show(store: "Store", arguments: argparse.Namespace) -> None:
    from agent.transfer.bundle import collect_bundle  # not needed by --help
    from agent.transfer.exporter import export_text  # as above
    from app.text.sanitize import sanitize  # as above

    text = export_text(
        await collect_bundle(store, arguments.id), "json" if arguments.json else "md"
    )
    sys.stdout.write(text if arguments.json else sanitize(text))


async def _delete(store: "Store", arguments: argparse.Namespace) -> None:
    from agent.records.errors import SessionBusy  # not needed by --help
    from app.text.sanitize import sanitize_line  # as above

    for session_id in arguments.id:
        session = await store.session(session_id)
        if await store.foreign_lease(session_id):
            raise SessionBusy(f"Another opencode-py is working in {session_id}: stop it first.")
        name = sanitize_line(session.title) or "Untitled"
        if not arguments.force and not _confirm(f"Delete “{name}” permanently? (y/n) "):
            sys.stderr.write(f"{session_id} was not deleted.\n")
            continue
        await store.delete_session(session_id)
        print(f"Deleted {session_id}.")


def _confirm(question: str) -> bool:
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def as_json(line: "SessionListItem") -> "JsonObject":
    """Return a session as scripts read it in lists."""
    return {
        "id": line.id,
        "title": line.title,
        "directory": line.directory,
        "updated": line.updated,
        "turns": line.turns,
        "cost": line.cost,
        "archived": line.archived,
        "pinned": line.pinned,
        "parent": line.parent_id,
    }


def _when(seconds: float) -> str:
    from agent.transfer.bundle import date_time  # not needed by --help

    return date_time(seconds)
