"""The blocks that a tool shows, as content of a tool call."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import assert_never

from acp.helpers import ToolCallContentVariant, text_block, tool_content, tool_diff_content
from acp.schema import ToolCallLocation

from agent.records.blocks import (
    Block,
    CodeBlock,
    DiffBlock,
    Hunk,
    ImageBlock,
    ListingBlock,
    ShellBlock,
    SubtaskBlock,
    TableBlock,
    TextBlock,
    TodoBlock,
)
from agent.records.frozen import frozen
from agent.records.json import JsonObject
from agent.tools.files.diffs import NO_NEWLINE
from app.text.sanitize import sanitize, sanitize_line, without_colors

PATHS = ("file_path", "path", "notebook_path")
"""Arguments of tools that name a file or folder."""

SAMPLE = 65_536
"""Bytes of a file that show its line ends."""

_TICKS = re.compile(r"`{3,}")
_MARKS = {"completed": "x", "in_progress": "~", "cancelled": "-", "pending": " "}


def content_of(blocks: Iterable[Block], root: str) -> list[ToolCallContentVariant]:
    """Return the content for *blocks*; *root* is the folder that their paths are relative to."""
    found: list[ToolCallContentVariant] = []
    for block in blocks:
        if isinstance(block, DiffBlock):
            found += _diffs(block, root)
        elif text := _text(block).strip("\n"):
            found.append(tool_content(text_block(text)))
    return found


def text_content(text: str) -> ToolCallContentVariant:
    return tool_content(text_block(sanitize(text)))


def output_content(text: str) -> ToolCallContentVariant:
    """Return the output of a program as content."""
    return tool_content(text_block(fenced(without_colors(text), "console")))


def locations_of(
    blocks: Iterable[Block], given: JsonObject | None, root: str
) -> list[ToolCallLocation]:
    """Return the files that a call is about: those of its *blocks*, else of its arguments."""
    found: dict[str, ToolCallLocation] = {}
    for block in blocks:
        if isinstance(block, DiffBlock | CodeBlock | ImageBlock):
            path = absolute(block.path, root)
            found.setdefault(path, ToolCallLocation(path=path, line=_line(block)))
    named = next((given[key] for key in PATHS if given and isinstance(given.get(key), str)), None)
    if not found and isinstance(named, str) and named:
        path = absolute(named, root)
        found[path] = ToolCallLocation(path=path)
    return list(found.values())


def absolute(path: str, root: str) -> str:
    """Return the absolute *path*, without resolving links."""
    return os.path.normpath(Path(root, path))


def fenced(text: str, language: str = "") -> str:
    """Return *text* as a code block of Markdown that nothing in it can end."""
    longest = max((len(ticks) for ticks in _TICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.strip(chr(10))}\n{fence}"


def _line(block: DiffBlock | CodeBlock | ImageBlock) -> int | None:
    match block:
        case DiffBlock():
            changed = (n for hunk in block.hunks for line in hunk.lines if (n := line.new))
            return next(changed, None)
        case CodeBlock():
            return block.first_line
        case ImageBlock():
            return None


def _diffs(block: DiffBlock, root: str) -> list[ToolCallContentVariant]:
    """Return one diff per hunk: the lines around a change, not the whole file."""
    path = absolute(block.path, root)
    ends = _LineEnds() if block.change == "create" else _LineEnds.of(path)
    found: list[ToolCallContentVariant] = [
        tool_diff_content(
            path,
            ends.side(hunk, "add"),
            None if block.change == "create" else ends.side(hunk, "remove"),
        )
        for hunk in block.hunks
    ]
    if block.change == "move":
        found.append(text_content(f"Moved from {block.moved_from} to {block.path}."))
    if block.omitted:
        found.append(text_content(f"{block.omitted:,} more changed lines are not shown."))
    if not block.hunks and block.change == "create":
        found.append(tool_diff_content(path, ""))
    return found


@frozen
class _LineEnds:
    """The line ends of a file, which the lines of diffs do not have."""

    end: str = "\n"
    last: bool = True
    """True if the last line has one."""

    @classmethod
    def of(cls, path: str) -> "_LineEnds":
        """Return those of the file at *path*, the usual ones if it cannot be read."""
        try:
            with Path(path).open("rb") as file:
                start = file.read(SAMPLE)
                file.seek(-1, os.SEEK_END)
                last = file.read(1)
        except OSError:
            return cls()
        return cls("\r\n" if b"\r\n" in start else "\n", last == b"\n")

    def side(self, hunk: Hunk, kind: str) -> str:
        """Return one side of *hunk* as it is in the file."""
        lines = [line.text for line in hunk.lines if line.kind in {"context", kind}]
        marked = any(line.text.endswith(NO_NEWLINE) for line in hunk.lines)
        end = "\n" if any(line.endswith("\r") for line in lines) else self.end
        text = "".join(f"{line.removesuffix(NO_NEWLINE)}{end}" for line in lines)
        bare = lines[-1].endswith(NO_NEWLINE) if marked and lines else not (self.last or marked)
        return text.removesuffix(end) if bare else text


def _text(
    block: CodeBlock
    | ShellBlock
    | ListingBlock
    | TodoBlock
    | TableBlock
    | ImageBlock
    | SubtaskBlock
    | TextBlock,
) -> str:
    match block:
        case ShellBlock():
            if not block.output.strip():
                return fenced(sanitize(block.command), "sh")
            return fenced(without_colors(block.output), "console")
        case CodeBlock():
            return fenced(sanitize(block.text), block.language)
        case ListingBlock():
            more = block.total - len(block.items)
            lines = [sanitize_line(item) for item in block.items]
            return "\n".join((*lines, *((f"… {more:,} more",) if more > 0 else ())))
        case TodoBlock():
            return "\n".join(
                f"- [{_MARKS[item.status]}] {sanitize_line(item.content)}" for item in block.items
            )
        case TableBlock():
            rows = (block.columns, *block.rows)
            return "\n".join("  ".join(sanitize_line(cell) for cell in row) for row in rows)
        case ImageBlock():
            size = f", {block.width}×{block.height}" if block.width else ""
            return f"{sanitize_line(block.path)} ({block.mime}{size})"
        case SubtaskBlock():
            return sanitize(block.text or block.activity)
        case TextBlock():
            return without_colors(block.text)
        case _:
            assert_never(block)
