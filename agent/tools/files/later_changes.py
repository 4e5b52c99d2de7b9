"""Changes that formatters and hooks make to a file after a tool has changed it, and those that a
command makes to files that the model has read, such as ``sed -i``.

The model is told about them, and the file as it is then counts as read: otherwise its next edit
would be refused, or would not match.
"""

import asyncio
import os
from collections.abc import Iterable, Mapping
from dataclasses import replace

from agent.files import FileContent, decode, is_binary, load
from agent.tools.core.tool import Result, ToolContext
from agent.tools.files.diffs import make_diff

MAX_SIZE = 8 * 1024 * 1024
"""Bytes of the largest file that is compared."""

MAX_LINES = 40
"""Changed lines that the model is shown."""

CHANGED_BY_HOOK = (
    "{path} was changed after that, by a hook or another program. The file as it is now counts as "
    "read."
)
CHANGED_BY_COMMAND = "{path} was changed by the command. The file as it is now counts as read."
LINES = " These lines are new:\n{lines}"


def new_lines(before: str, after: str) -> str:
    """Return the lines of *after* that differ from *before*, numbered; "" for removals alone."""
    hunks = make_diff("", before, after).block.hunks
    shown = [
        f"{line.new}: {line.text}" for hunk in hunks for line in hunk.lines if line.kind == "add"
    ]
    more = ["… (read the file for the rest)"] if len(shown) > MAX_LINES else []
    return "\n".join([*shown[:MAX_LINES], *more])


async def contents(paths: Iterable[str]) -> dict[str, FileContent]:
    """Return the content of the files at *paths* (real paths) that can be read and compared."""
    return await asyncio.to_thread(lambda: {p: found for p in paths if (found := _load(p))})


def _load(path: str) -> FileContent | None:
    try:
        return load(path, MAX_SIZE)
    except OSError:
        return None


async def known_contents(command: str, ctx: ToolContext) -> dict[str, FileContent]:
    """Return the content of the files that the session knows as they are and *command* names."""
    seen = ctx.files.all_seen(ctx.session_id)
    now = await contents(path for path in seen if path.rpartition("/")[2] in command)
    return {path: found for path, found in now.items() if found.stamp.same_file(seen[path])}


async def with_later_changes(
    result: Result,
    before: Mapping[str, FileContent],
    ctx: ToolContext,
    sentence: str = CHANGED_BY_HOOK,
) -> Result:
    """Return *result* with a note about the files of *before* that have changed since."""
    now = await contents(before)
    notes: list[str] = []
    for path, content in now.items():
        if content.stamp.same_file(before[path].stamp):
            continue
        ctx.files.record(ctx.session_id, path, content.stamp)
        note = sentence.format(path=_shown(path, ctx))
        if lines := await asyncio.to_thread(_new_lines, before[path].data, content.data):
            note += LINES.format(lines=lines)
        notes.append(note)
    return replace(result, output="\n\n".join([result.output, *notes])) if notes else result


def _new_lines(before: bytes, after: bytes) -> str:
    if is_binary(before[:8_192]) or is_binary(after[:8_192]):
        return ""
    return new_lines(decode(before).text, decode(after).text)


def _shown(path: str, ctx: ToolContext) -> str:
    relative = os.path.relpath(path, ctx.directory)
    return path if relative.startswith("..") else relative
