"""The ``grep`` tool: find lines of files by regular expression."""

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path

from pydantic import AliasChoices, Field

from agent.permission.protected import is_secret
from agent.records.blocks import ListingBlock, ToolLabel
from agent.records.errors import ToolError
from agent.records.requests import PermissionReply
from agent.tools.core.base import Plan, Result, ToolArgs, ToolContext, ToolSpec
from agent.tools.files.paths import (
    ToolPath,
    missing_file_error,
    resolve_path,
    search_needs,
    show_path,
)
from agent.tools.search.globs import check_glob
from agent.tools.search.newest_hits import LIMIT, PARTIAL, TIMED_OUT, NewestMatches
from agent.tools.search.searcher import MAX_COUNT, Outcome, Searcher, find_rg
from agent.tools.search.tree import IgnoreRules, find_links, is_ignored
from agent.tools.search.worker import SearchRequest

MAX_COLUMNS = 500
"""Characters shown of a matching line, so that 100 lines are below the limit of an output."""


class GrepArgs(ToolArgs):
    """Arguments of ``grep``."""

    pattern: str = Field(description="The regular expression to search for")
    path: str | None = Field(
        default=None, description="The folder or file to search (default: the working directory)"
    )
    include: str | None = Field(
        default=None,
        validation_alias=AliasChoices("include", "glob"),
        description="A glob that file names must match, for example *.{ts,tsx}",
    )


@dataclass(frozen=True, slots=True)
class GrepPlan:
    root: ToolPath
    request: SearchRequest


class GrepTool:
    """Searches contents with *searcher*, by default ripgrep or the worker process.

    *spill* is the folder of kept outputs, which can be searched without permission.
    """

    spec = ToolSpec(
        name="grep",
        verb="Grep",
        aliases=("search", "ripgrep", "search_files", "grep_search"),
        variables={"limit": str(LIMIT)},
    )
    args = GrepArgs

    def __init__(self, searcher: Searcher | None = None, spill: str | None = None) -> None:
        self._searcher = searcher or Searcher(find_rg())
        self._spill = None if spill is None else os.path.realpath(spill)

    def concurrency_safe(self, args: GrepArgs) -> bool:
        _ = args
        return True

    async def prepare(self, args: GrepArgs, ctx: ToolContext) -> Plan[GrepPlan]:
        if not args.pattern:
            raise ToolError("The pattern is empty. Give a regular expression to search for.")
        if "\0" in args.pattern:
            raise ToolError("The pattern contains a NUL byte. Give a plain regular expression.")
        if args.include is not None:
            check_glob(args.include, "include")
            if args.include.startswith("!"):
                raise ToolError("include names what to search; a leading ! is not supported.")
        root = resolve_path(args.path or ".", ctx)
        payload = await asyncio.to_thread(_plan, args, root, ctx)
        where = f" in {root.shown}" if args.path else ""
        which = f" ({args.include})" if args.include else ""
        is_folder = payload.request.root == payload.request.folder
        return Plan(
            label=ToolLabel("Grep", f'"{args.pattern}"{where}{which}'),
            payload=payload,
            needs=search_needs("grep", args.pattern, root, folder=is_folder, spill=self._spill),
            heading="Search these files?",
        )

    async def execute(
        self, plan: Plan[GrepPlan], reply: PermissionReply | None, ctx: ToolContext
    ) -> Result:
        _ = reply
        hits = _Hits(plan.payload)
        outcome = await self._searcher.run(plan.payload.request, hits.take)
        links = [] if hits.found_any else await asyncio.to_thread(_linked_folders, plan.payload)
        return hits.result(outcome, links, ctx)


class _Hits:
    """Collects matches, without those in secret and ignored files, and builds the result."""

    def __init__(self, plan: GrepPlan) -> None:
        self._named_secret = plan.root.is_secret
        self._found = NewestMatches()
        self._secrets: set[str] = set()
        # An include glob overrides ignore rules in ripgrep; here they still apply.
        filtered = plan.request.include is not None and not plan.request.ignored
        self._ignore = IgnoreRules(plan.request.folder) if filtered else None
        self._verdicts: dict[str, bool] = {}

    def take(self, records: list[bytes]) -> None:
        for record in records:
            self._take(record)

    def _take(self, record: bytes) -> None:
        name, zero, rest = record.partition(b"\0")
        number, colon, line = rest.partition(b":")
        if not (zero and colon and number.isdigit()):
            return  # a message of the program, not a match
        path = os.fsdecode(name)
        if not self._named_secret and is_secret(path):
            self._secrets.add(path)
            return
        if self._ignore is not None:
            ignored = self._verdicts.get(path)
            if ignored is None:
                ignored = self._verdicts[path] = self._ignore.ignores(path)
            if ignored:
                return
        text = line.decode("utf-8", "replace").removesuffix("\r")
        if len(text) > MAX_COLUMNS:
            text = text[:MAX_COLUMNS] + "…"
        self._found.offer(path, f"{int(number)}: {text}")

    @property
    def found_any(self) -> bool:
        return self._found.total > 0

    def result(self, outcome: Outcome, links: list[str], ctx: ToolContext) -> Result:
        """Return the result. *links* are linked folders that were not searched."""
        notes = self._notes(outcome)
        if links:
            names = ", ".join(show_path(link, ctx) for link in links[:3])
            notes.append(f"Links to folders were not followed ({names}); name one as path.")
        lines: list[str] = []
        items: list[str] = []
        for path, matches in self._found.groups():
            shown = show_path(path, ctx)
            lines += [shown, *(f"  {match}" for match in matches), ""]
            items += [f"{shown}:{match}" for match in matches]
        total = self._found.total
        if total > len(items):
            notes.insert(
                0,
                f"At least {total:,} lines match in {self._found.files:,} files; these are the "
                f"{len(items)} in the newest files. Narrow the pattern, path or include.",
            )
        if not items:
            lines = ["No lines match.", ""]
        if notes:
            lines.append(f"({' '.join(notes)})")
        return Result(
            "\n".join(lines).rstrip("\n"),
            blocks=(ListingBlock(tuple(items), total),),
            facts=(f"{total:,} {'match' if total == 1 else 'matches'}",),
        )

    def _notes(self, outcome: Outcome) -> list[str]:
        notes: list[str] = []
        if self._secrets:
            count = len(self._secrets)
            notes.append(
                f"{count} {'file' if count == 1 else 'files'} that may hold secrets "
                f"{'matches' if count == 1 else 'match'} too; name one as path to ask for it."
            )
        if outcome.timed_out:
            notes.append(TIMED_OUT)
        if outcome.partial:
            notes.append(PARTIAL)
        return notes


def _linked_folders(plan: GrepPlan) -> list[str]:
    order = plan.request
    if order.root != order.folder:
        return []
    links = find_links(order.root, hidden=order.hidden, ignored=order.ignored)
    return [link for link in links if Path(link).is_dir()]


def _plan(args: GrepArgs, root: ToolPath, ctx: ToolContext) -> GrepPlan:
    path = Path(root.path)
    if not path.exists():
        raise missing_file_error(root)
    if not path.is_dir() and not path.is_file():
        raise ToolError(f"{root.shown} is neither a file nor a folder, so it is not searched.")
    folder = root.path if path.is_dir() else str(path.parent)
    order = SearchRequest(
        root=root.path,
        folder=folder,
        hidden=True,
        ignored=args.path is not None and is_ignored(root.path, ctx.project),
        pattern=args.pattern,
        include=args.include,
        max_count=MAX_COUNT,
    )
    return GrepPlan(root, order)
