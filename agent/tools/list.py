"""The ``list`` tool: a folder as a tree, level by level up to the limit."""

import asyncio
import os
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import Field

from agent.files import printable
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
    os_error_message,
    resolve_path,
    search_needs,
)
from agent.tools.search.globs import check_glob, matcher
from agent.tools.search.searcher import MAX_RESULTS, mtime_of
from agent.tools.search.tree import IgnoreRules, is_ignored

MAX_FOLDER = 20_000
"""The maximum number of entries that are read in one folder."""


class ListArgs(ToolArgs):
    """Arguments of ``list``."""

    path: str | None = Field(
        default=None, description="The folder to list (default: the working directory)"
    )
    ignore: list[str] | None = Field(
        default=None, description="Globs of names or paths to omit, for example *.lock"
    )


@frozen
class ListPlan:
    root: ToolPath
    excluded: tuple[str, ...]
    ignored: bool


@dataclass(slots=True)
class _Node:
    """An entry; *children* is None for a folder that was not opened, *count* then its entries."""

    path: str
    name: str
    is_folder: bool
    children: list["_Node"] | None = None
    count: int = field(default=0)


class ListTool(BaseTool):
    """Lists folders. *spill* is the folder of kept outputs, listed without permission."""

    spec = ToolSpec(
        name="list",
        verb="List",
        aliases=("ls", "list_files", "list_dir", "list_directory"),
        variables={"limit": str(MAX_RESULTS)},
        concurrent=True,
    )
    facts = ToolFacts(
        action="allow", kind="search", claude_name="LS", in_claude_settings=True, covered_by="read"
    )
    args = ListArgs

    def __init__(self, spill: str | None = None) -> None:
        self._spill = None if spill is None else os.path.realpath(spill)

    async def prepare(self, args: ListArgs, ctx: ToolContext) -> Plan[ListPlan]:
        leave_out = tuple(args.ignore or ())
        for pattern in leave_out:
            check_glob(pattern, "ignore")
        root = resolve_path(args.path or ".", ctx)
        ignored = args.path is not None and is_ignored(root.path, ctx.project)
        return Plan(
            label=ToolLabel("List", root.shown),
            payload=ListPlan(root, leave_out, ignored),
            needs=search_needs("list", root.pattern, root, folder=True, spill=self._spill),
            heading="List this folder?",
        )

    async def execute(
        self, plan: Plan[ListPlan], reply: PermissionReply | None, ctx: ToolContext
    ) -> Result:
        return await asyncio.to_thread(_list, plan.payload)


def _list(plan: ListPlan) -> Result:
    root = plan.root
    top = _Node(root.path, root.shown, is_folder=True)
    reader = _Reader(plan)
    try:
        shown, complete = _read_levels(top, reader)
    except FileNotFoundError:
        raise missing_file_error(root, granted=True) from None
    except NotADirectoryError:
        raise ToolError(f"{root.shown} is a file, not a folder. Read it instead.") from None
    except OSError as error:
        raise os_error_message(error, root.shown, "listed") from None
    if not shown:
        return Result(f"{root.shown}/ has nothing to show.", facts=("empty",))
    items = _draw(top.children or [], 1)
    lines = [f"{root.shown}/", *items]
    if not complete:
        lines += ["", f"(The first {shown} entries; list a folder by itself to see more of it.)"]
    return Result(
        "\n".join(lines),
        blocks=(ListingBlock(tuple(items), shown + reader.left_out),),
        facts=(f"{shown:,} {'entry' if shown == 1 else 'entries'}",),
    )


def _read_levels(top: _Node, reader: "_Reader") -> tuple[int, bool]:
    """Open folders breadth first. Return the number of shown entries, and whether all are shown."""
    top.children = reader.entries(top.path)
    reader.left_out += max(0, len(top.children) - MAX_RESULTS)
    del top.children[MAX_RESULTS:]
    shown, complete = len(top.children), reader.left_out == 0
    waiting = deque(child for child in top.children if child.is_folder)
    while waiting:
        node = waiting.popleft()
        try:
            children = reader.entries(node.path)
        except OSError:
            node.children = []  # not readable: only its name is shown
            continue
        if shown + len(children) > MAX_RESULTS:
            node.count = len(children)
            reader.left_out += len(children)
            complete = False
            continue
        node.children = children
        shown += len(children)
        waiting.extend(child for child in children if child.is_folder)
    return shown, complete


class _Reader:
    """Reads the entries of a folder, without ignored ones, newest first."""

    def __init__(self, plan: ListPlan) -> None:
        self._base = plan.root.path.rstrip("/") + "/"
        self._ignore = None if plan.ignored else IgnoreRules(plan.root.path)
        self._leave_out: list[Callable[[str], bool]] = [matcher(p) for p in plan.excluded]
        self.left_out = 0

    def entries(self, folder: str) -> list[_Node]:
        nodes: list[tuple[int, str, _Node]] = []
        with os.scandir(folder) as found:
            for entry in found:
                if len(nodes) >= MAX_FOLDER:
                    break
                is_link = entry.is_symlink()
                is_folder = not is_link and entry.is_dir(follow_symlinks=False)
                if not self._wanted(entry, is_folder=is_folder):
                    continue
                name = printable(entry.name)
                if is_link:
                    name += f" -> {printable(str(Path(entry.path).readlink()))}"
                node = _Node(entry.path, name, is_folder)
                nodes.append((-mtime_of(entry.path), name, node))
        nodes.sort(key=lambda item: item[:2])
        return [node for _, _, node in nodes]

    def _wanted(self, entry: os.DirEntry[str], *, is_folder: bool) -> bool:
        if entry.name == ".git":
            return False
        relative = entry.path.removeprefix(self._base)
        if any(test(relative) for test in self._leave_out):
            return False
        return self._ignore is None or not self._ignore.ignores_entry(
            entry.path, is_folder=is_folder
        )


def _draw(nodes: list[_Node], depth: int) -> list[str]:
    lines: list[str] = []
    for node in nodes:
        mark = "/" if node.is_folder else ""
        note = f" ({node.count:,} entries)" if node.count else ""
        lines.append(f"{'  ' * depth}{node.name}{mark}{note}")
        lines += _draw(node.children or [], depth + 1)
    return lines
