"""Diffs of turns: each file from before the first of them to after the last.

Changes of sub-agents are included. They come from the snapshots, and from the single edits where no
snapshot exists.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence

from agent.records.blocks import DiffBlock, SubtaskBlock
from agent.records.messages import Completed, MessageWithParts, PatchPart, Pending, ToolPart
from agent.session.context.compaction_markers import is_request
from agent.session.snapshots.snapshots import Snapshots
from agent.store.store import Store
from agent.tools.files.diffs import make_diff

MAX_DIFF_CHARACTERS = 400_000
"""Characters of a file above which only its edits are shown, not the diff."""


class ChangeReader:
    """Reads diffs of the sessions of one project."""

    def __init__(self, store: Store, snapshots: Snapshots) -> None:
        self._store = store
        self._snapshots = snapshots

    async def diffs(
        self, messages: Sequence[MessageWithParts], until: str | None = None
    ) -> tuple[DiffBlock, ...]:
        """Return one block per file, by path, of the changes of *messages* and of their sub-agents
        before the message *until*; for a file without snapshots a block for each edit, in order."""
        every = await with_subagent_messages(self._store, messages, until)
        whole = await self._between(every)
        edits = [block for block in tool_diffs(every) if block.path not in whole]
        shown = [block for block in whole.values() if block is not None]
        return tuple(sorted((*shown, *edits), key=lambda block: block.path))

    async def _between(self, messages: Sequence[MessageWithParts]) -> dict[str, DiffBlock | None]:
        """Return the diff by path, None where a file is the same as before."""
        found: dict[str, DiffBlock | None] = {}
        for path, (before, after) in (await first_and_last_blobs(self._snapshots, messages)).items():
            if before == after:
                found[path] = None
                continue
            old = await self._snapshots.content(before)
            new = await self._snapshots.content(after)
            if old is None or new is None or len(old) + len(new) > MAX_DIFF_CHARACTERS:
                continue
            change = "create" if before is None else "delete" if after is None else "modify"
            diff = await asyncio.to_thread(make_diff, path, old, new, change)
            found[path] = diff.block
        return found


async def with_subagent_messages(
    store: Store, messages: Sequence[MessageWithParts], until: str | None = None
) -> list[MessageWithParts]:
    """Return *messages* and those of the sub-agents that worked for them, at any depth; without
    tasks that a sub-agent got after the message *until*."""
    found = [*messages]
    for child_id, since in _children(messages).items():
        theirs = [m for m in await store.messages(child_id) if m.message.id > since]
        later = [m.message.id for m in theirs if is_request(m) and until and m.message.id > until]
        end = later[0] if later else None
        found += await with_subagent_messages(
            store, [m for m in theirs if end is None or m.message.id < end], end
        )
    return found


def patches_in(messages: Iterable[MessageWithParts]) -> list[PatchPart]:
    """Return the patches of *messages*, in the order of the changes."""
    found = (p for m in messages for p in m.parts if isinstance(p, PatchPart))
    return sorted(found, key=lambda patch: patch.id)


async def first_and_last_blobs(
    snapshots: Snapshots, messages: Iterable[MessageWithParts]
) -> dict[str, tuple[str | None, str | None]]:
    """Return by path the blobs of each file that *messages* changed, before the first change and
    after the last; None where the file did not exist."""
    found: dict[str, tuple[str | None, str | None]] = {}
    for patch in patches_in(messages):
        theirs = frozenset(patch.files)
        for change in await snapshots.changes(patch.base, patch.tree):
            if change.path not in theirs:
                continue
            before, _ = found.get(change.path, (change.before, None))
            found[change.path] = (before, change.after)
    return found


def _children(messages: Iterable[MessageWithParts]) -> dict[str, str]:
    """Return the sub-agents that worked for *messages*, each with the message that first gave it a
    task."""
    found: dict[str, str] = {}
    for item in messages:
        for part in item.parts:
            if isinstance(part, ToolPart) and not isinstance(part.state, Pending):
                for block in part.state.blocks:
                    if isinstance(block, SubtaskBlock) and block.session_id:
                        found.setdefault(block.session_id, item.message.id)
    return found


def tool_diffs(messages: Iterable[MessageWithParts]) -> Iterator[DiffBlock]:
    """Yield the diffs that tools showed, in order."""
    for part in (part for item in messages for part in item.parts):
        if isinstance(part, ToolPart) and isinstance(part.state, Completed):
            yield from (block for block in part.state.blocks if isinstance(block, DiffBlock))
