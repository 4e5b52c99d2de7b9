"""The ``glob`` tool: find files by name pattern."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from posixpath import expanduser, join

from pydantic import Field

from agent.records.blocks import ListingBlock, ToolLabel
from agent.records.errors import ToolError
from agent.records.frozen import frozen
from agent.records.requests import PermissionReply
from agent.records.tool_facts import ToolFacts
from agent.tools.core.tool import BaseTool, Plan, Result, ToolContext, ToolSpec
from agent.tools.core.tool_args import ToolArgs
from agent.tools.files.paths import (
    ToolPath,
    missing_file_error,
    resolve_path,
    search_needs,
    show_path,
)
from agent.tools.search.globs import (
    check_glob,
    is_magic,
    literal_part,
    literal_prefix,
    matcher,
    matches_hidden,
)
from agent.tools.search.searcher import (
    MAX_RESULTS,
    PARTIAL,
    TIMED_OUT,
    Newest,
    Outcome,
    Searcher,
    find_rg,
)
from agent.tools.search.tree import find_links, is_ignored
from agent.tools.search.worker import SearchRequest


class GlobArgs(ToolArgs):
    """Arguments of ``glob``."""

    pattern: str = Field(description="The glob pattern, for example src/**/*.py")
    path: str | None = Field(
        default=None, description="The folder to search (default: the working directory)"
    )


@frozen
class GlobPlan:
    """*rest* is matched against paths relative to *root*."""

    pattern: str
    root: ToolPath
    rest: str
    hidden: bool
    ignored: bool


class GlobTool(BaseTool):
    """Finds files with *searcher*, by default ripgrep or the worker process.

    *spill* is the folder of kept outputs, which can be searched without permission.
    """

    spec = ToolSpec(
        name="glob",
        verb="Glob",
        aliases=("find_files",),
        variables={"limit": str(MAX_RESULTS)},
        concurrent=True,
    )
    facts = ToolFacts(action="allow", kind="search", claude_name="Glob", in_claude_settings=True)
    args = GlobArgs

    def __init__(self, searcher: Searcher | None = None, spill: str | None = None) -> None:
        self._searcher = searcher or Searcher(find_rg())
        self._spill = None if spill is None else os.path.realpath(spill)

    async def prepare(self, args: GlobArgs, ctx: ToolContext) -> Plan[GlobPlan]:
        pattern = expanduser(args.pattern)
        check_glob(pattern, "pattern")
        prefix, rest = literal_prefix(pattern)
        if ".." in rest.split("/"):
            raise ToolError(f"'..' is allowed only at the start of a pattern, not in {pattern!r}.")
        top = resolve_path(args.path or ".", ctx)
        root = resolve_path(join(top.path, prefix), ctx) if prefix else top
        named = bool(prefix) or args.path is not None
        payload = GlobPlan(
            pattern=args.pattern,
            root=root,
            rest=rest,
            hidden=matches_hidden(pattern) or (named and _hidden(root, ctx)),
            ignored=named and is_ignored(root.path, ctx.project),
        )
        where = f" in {top.shown}" if args.path else ""
        return Plan(
            label=ToolLabel("Glob", f"{args.pattern}{where}"),
            payload=payload,
            needs=search_needs("glob", args.pattern, root, folder=True, spill=self._spill),
            heading="Search these files?",
        )

    async def execute(
        self, plan: Plan[GlobPlan], reply: PermissionReply | None, ctx: ToolContext
    ) -> Result:
        payload = plan.payload
        exact = await asyncio.to_thread(_literal, payload)
        if exact is not None:
            return _result([show_path(exact, ctx)], 1, [])
        found = Newest()
        outcome = await self._find(payload, found, hidden=payload.hidden, ignored=payload.ignored)
        links = await asyncio.to_thread(_links, payload, found)
        notes = _notes(outcome)
        if found.total == 0 and not (payload.hidden and payload.ignored):
            outcome = await self._find(payload, found, hidden=True, ignored=True)
            notes = _notes(outcome)
            if found.total:
                notes.insert(0, "Only hidden files or files that .gitignore excludes match.")
        if links:
            names = ", ".join(show_path(link, ctx) for link in links[:3])
            notes.append(
                f"Links to folders were not followed ({names}"
                f"{', …' if len(links) > 3 else ''}); name one in the pattern to search it."
            )
        return _result([show_path(path, ctx) for path in found.paths()], found.total, notes)

    async def _find(self, plan: GlobPlan, found: Newest, *, hidden: bool, ignored: bool) -> Outcome:
        order = SearchRequest(plan.root.path, plan.root.path, hidden=hidden, ignored=ignored)
        fits = _fits(plan)

        def take(records: list[bytes]) -> None:
            for path in map(os.fsdecode, records):
                if fits(path):
                    found.offer(path)

        holding = os.fsencode(literal_part(plan.rest))
        return await self._searcher.run(order, take, holding=holding)


def _fits(plan: GlobPlan) -> Callable[[str], bool]:
    base = plan.root.path.rstrip("/") + "/"
    # After a literal folder the rest is anchored; alone it matches at any depth.
    anchored = plan.rest if "/" in plan.rest or "/" not in plan.pattern else f"./{plan.rest}"
    test = matcher(anchored)
    return lambda path: test(path.removeprefix(base))


def _hidden(root: ToolPath, ctx: ToolContext) -> bool:
    relative = os.path.relpath(root.path, ctx.project)
    return any(part.startswith(".") and part not in (".", "..") for part in relative.split("/"))


def _literal(plan: GlobPlan) -> str | None:
    """Return the file that a pattern without wildcards names, if it exists."""
    root = Path(plan.root.path)
    if not root.is_dir():
        if root.exists():
            raise ToolError(f"{plan.root.shown} is a file, not a folder. Read it instead.")
        raise missing_file_error(plan.root, granted=True)
    if is_magic(plan.rest):
        return None
    path = root / plan.rest
    return str(path) if path.is_file() else None


def _links(plan: GlobPlan, found: Newest) -> list[str]:
    """Add linked files that match; return the links to folders that a wildcard skipped."""
    fits = _fits(plan)
    folders: list[str] = []
    for link in find_links(plan.root.path, hidden=plan.hidden, ignored=plan.ignored):
        if Path(link).is_dir():
            folders.append(link)
        elif fits(link):
            found.offer(link)
    wide = "**" in plan.rest or "/" not in plan.pattern
    return folders if wide else []


def _notes(outcome: Outcome) -> list[str]:
    notes = [TIMED_OUT] if outcome.timed_out else []
    return [*notes, PARTIAL] if outcome.partial else notes


def _result(paths: list[str], total: int, notes: list[str]) -> Result:
    if total > len(paths):
        notes.insert(0, f"{total:,} files match; these are the {len(paths)} newest.")
    lines = paths or ["No files match."]
    if notes:
        lines = [*lines, "", f"({' '.join(notes)})"]
    return Result(
        "\n".join(lines),
        blocks=(ListingBlock(tuple(paths), total),),
        facts=(f"{total:,} {'file' if total == 1 else 'files'}",),
    )
