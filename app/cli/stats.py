"""``opencode-py stats``: tokens and cost by day, model and project."""

import argparse
import json
import shutil
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from app.cli.command_support import command_parser, positive_int, run_with_store

if TYPE_CHECKING:
    from agent.store.store import Store

DAY = 86_400.0


def parser() -> argparse.ArgumentParser:
    result = command_parser(
        "stats",
        "Show token usage and cost.",
        epilog="Costs are US dollars; – means unknown.",
    )
    result.add_argument(
        "--days", type=positive_int, default=30, metavar="N", help="days to cover (default: 30)"
    )
    result.add_argument("--here", action="store_true", help="only this project")
    result.add_argument(
        "--json", action="store_true", help="print JSON, a row for each day, model and project"
    )
    return result


def main(argv: list[str]) -> int:
    return run_with_store(parser(), argv, _run)


async def _run(store: "Store", arguments: argparse.Namespace) -> None:
    from agent.git import project_root  # not needed by --help

    project = str(await project_root(Path.cwd())) if arguments.here else None
    rows = await store.usage_rows(time.time() - arguments.days * DAY, project)
    if arguments.json:
        print(json.dumps({"days": arguments.days, "rows": [asdict(row) for row in rows]}, indent=1))
        return
    from app.screens.usage import stats_text  # loads Textual

    width = min(100, shutil.get_terminal_size().columns)
    print(f"The last {arguments.days} days\n\n{stats_text(rows, width).plain}")
