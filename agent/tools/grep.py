"""The ``grep`` tool: find lines of files by regular expression."""

import asyncio
import os
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import AliasChoices, Field

from agent.permission.hard_links import Identity, kept_identities, shared_identity
from agent.permission.protected import is_secret
from agent.permission.read_rules import ReadRules
from agent.records.blocks import ListingBlock, ToolLabel
from agent.records.errors import ToolError
from agent.records.requests import EvaluatedNeed, PermissionNeed, PermissionReply
from agent.tools.core.base import Plan, Result, ToolArgs, ToolContext, ToolSpec
from agent.tools.files.paths import (
    ToolPath,
    missing_file_error,
    printable,
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
    rules: ReadRules | None = None
    """The rules for reading, None if they restrict nothing here."""

    asked: bool = False
    """A rule asks for the named file or folder, so the user allowed what is in it."""


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
        needs = search_needs("grep", args.pattern, root, folder=is_folder, spill=self._spill)
        if needs and ctx.read_rules is not None and (rules := await ctx.read_rules()).restrict:
            read, asked = _named_need(rules, root, folder=is_folder)
            needs = (*needs, *read)
            payload = replace(payload, rules=rules, asked=asked)
        return Plan(
            label=ToolLabel("Grep", f'"{args.pattern}"{where}{which}'),
            payload=payload,
            needs=needs,
            heading="Search these files?",
        )

    async def execute(
        self, plan: Plan[GrepPlan], reply: PermissionReply | None, ctx: ToolContext
    ) -> Result:
        _ = reply
        hits = _Hits(plan.payload, ctx.project)
        outcome = await self._searcher.run(plan.payload.request, hits.take)
        if plan.payload.rules is not None and plan.payload.rules.deny:
            # What the pattern finds in denied files must not show in their number.
            listing = replace(plan.payload.request, pattern=None)
            await self._searcher.run(listing, hits.take_denied)
        links = [] if hits.found_any else await asyncio.to_thread(_linked_folders, plan.payload)
        return hits.result(outcome, links, ctx)


class _Hits:
    """Collects matches, without those in secret, ignored and restricted files, and builds the
    result."""

    def __init__(self, plan: GrepPlan, project: str) -> None:
        self._plan = plan
        self._project = os.path.realpath(project)
        self._kept: dict[Identity, str] | None = None
        self._other_names: dict[str, str | None] = {}
        self._named_secret = plan.root.is_secret
        self._found = NewestMatches()
        self._secrets: set[str] = set()
        self._asked: set[str] = set()
        self._denied: dict[str, str] = {}
        """Denied files that are in the search, with the reasons."""

        # An include glob overrides ignore rules in ripgrep; here they still apply.
        filtered = plan.request.include is not None and not plan.request.ignored
        self._ignore = IgnoreRules(plan.request.folder) if filtered else None
        self._verdicts: dict[str, bool] = {}
        self._restrictions: dict[str, EvaluatedNeed | None] = {}

    def take_denied(self, records: list[bytes]) -> None:
        """Take a part of the list of all files that were searched."""
        for record in records:
            path = os.fsdecode(record)
            found = self._restriction(path)
            if found is not None and found.action == "deny" and not self._is_ignored(path):
                self._denied[path] = found.reason

    def take(self, records: list[bytes]) -> None:
        for record in records:
            self._take(record)

    def _take(self, record: bytes) -> None:
        name, zero, rest = record.partition(b"\0")
        number, colon, line = rest.partition(b":")
        if not (zero and colon and number.isdigit()):
            return  # a message of the program, not a match
        path = os.fsdecode(name)
        if not self._named_secret and self._is_secret(path):
            self._secrets.add(path)
            return
        if self._is_ignored(path) or self._is_kept(path):
            return
        text = line.decode("utf-8", "replace").removesuffix("\r")
        if len(text) > MAX_COLUMNS:
            text = text[:MAX_COLUMNS] + "…"
        self._found.offer(path, f"{int(number)}: {text}")

    def _is_ignored(self, path: str) -> bool:
        if self._ignore is None:
            return False
        ignored = self._verdicts.get(path)
        if ignored is None:
            ignored = self._verdicts[path] = self._ignore.ignores(path)
        return ignored

    def _is_kept(self, path: str) -> bool:
        """Return whether a rule for reading keeps the matches in *path* from the model."""
        if path not in self._restrictions:
            self._restrictions[path] = self._restriction(path)
        found = self._restrictions[path]
        if found is None or (found.action == "ask" and self._plan.asked):
            return False
        if found.action == "ask":
            self._asked.add(path)
        return True

    def _restriction(self, path: str) -> EvaluatedNeed | None:
        if self._plan.rules is None:
            return None
        found = self._plan.rules.restriction(self._real(path), path)
        other = self._other_name(path) if found is None else None
        return found if other is None else self._plan.rules.restriction(other)

    def _real(self, path: str) -> str:
        root = self._plan.root
        return root.real + path[len(root.path) :]  # below the root, links are not followed

    def _is_secret(self, path: str) -> bool:
        other = self._other_name(path)
        return is_secret(path) or (other is not None and self._has_secret_name(other))

    def _has_secret_name(self, path: str) -> bool:
        return is_secret(path[len(self._project) :])

    def _other_name(self, path: str) -> str | None:
        """Return the name of the file *path* in the project by which it is kept from searches."""
        if path not in self._other_names:
            identity = shared_identity(self._real(path))
            if identity is not None and self._kept is None:
                self._kept = kept_identities(self._project, self._is_kept_name)
            found = None if identity is None or self._kept is None else self._kept.get(identity)
            self._other_names[path] = found
        return self._other_names[path]

    def _is_kept_name(self, path: str) -> bool:
        rules = self._plan.rules
        return self._has_secret_name(path) or (
            rules is not None and rules.restriction(path) is not None
        )

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
        if self._denied:
            count = len(self._denied)
            reasons = list(dict.fromkeys(self._denied.values()))
            notes.append(
                f"{count:,} {'file was' if count == 1 else 'files were'} not searched: "
                f"{', '.join(reasons[:3])}."
            )
        if self._asked:
            count = len(self._asked)
            notes.append(
                f"{count:,} {'file' if count == 1 else 'files'} that a read rule asks for "
                f"{'matches' if count == 1 else 'match'} too; name one as path to ask for it."
            )
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


def _named_need(
    rules: ReadRules, root: ToolPath, *, folder: bool
) -> tuple[tuple[PermissionNeed, ...], bool]:
    """Return the need to read what ``path`` names, if a rule denies it or asks for it, and whether
    one asks. Of a denied folder nothing is searched except what another rule allows."""
    names = [root.real_pattern, *([root.pattern] if root.pattern != root.real_pattern else [])]
    found = (rules.folder_verdict if folder else rules.verdict)(*map(printable, names))
    if found.action == "allow" or root.is_secret or (folder and found.action == "deny"):
        return (), False
    return (replace(found.need, always=found.need.pattern),), found.action == "ask"


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
