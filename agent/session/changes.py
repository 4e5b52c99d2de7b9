"""What turns changed: the difference of each file from before the first of them to after the
last (spec 8, U11). Out of the snapshots, and where there are none, edit by edit."""

import asyncio
from collections.abc import Iterator, Sequence

from agent.display import DiffBlock
from agent.model import Completed, MessageWithParts, PatchPart, ToolPart
from agent.session.snapshot import Snapshots
from agent.tools.diffing import make_diff

LARGEST = 400_000
"""Characters of a file above which only its edits are shown, not the difference."""


class Changes:
    """Reads differences of the sessions of one project."""

    def __init__(self, snapshots: Snapshots) -> None:
        self._snapshots = snapshots

    async def of(self, messages: Sequence[MessageWithParts]) -> tuple[DiffBlock, ...]:
        """One block a file, by path, of what *messages* changed; for a file that no snapshot
        covers a block for each of its edits, in order."""
        whole = await self._between(messages)
        edits = [block for block in edits_of(messages) if block.path not in whole]
        shown = [block for block in whole.values() if block is not None]
        return tuple(sorted((*shown, *edits), key=lambda block: block.path))

    async def _between(self, messages: Sequence[MessageWithParts]) -> dict[str, DiffBlock | None]:
        """By path the difference, None where a file is as it was before."""
        first: dict[str, str | None] = {}
        last: dict[str, str | None] = {}
        for patch in (p for m in messages for p in m.parts if isinstance(p, PatchPart)):
            for change in await self._snapshots.changes(patch.base, patch.tree):
                first.setdefault(change.path, change.before)
                last[change.path] = change.after
        found: dict[str, DiffBlock | None] = {}
        for path, before in first.items():
            if before == last[path]:
                found[path] = None
                continue
            old = await self._snapshots.content(before)
            new = await self._snapshots.content(last[path])
            if old is None or new is None or len(old) + len(new) > LARGEST:
                continue
            change = "create" if before is None else "delete" if last[path] is None else "modify"
            diff = await asyncio.to_thread(make_diff, path, old, new, change)
            found[path] = diff.block
        return found


def edits_of(messages: Sequence[MessageWithParts]) -> Iterator[DiffBlock]:
    """The differences that tools showed, in order."""
    for part in (part for item in messages for part in item.parts):
        if isinstance(part, ToolPart) and isinstance(part.state, Completed):
            yield from (block for block in part.state.blocks if isinstance(block, DiffBlock))
