"""Undo and redo of the last prompts with their changes to files.

Undone messages stay in the store until the next prompt: the session only records the first of
them. Files are restored from the snapshot before the message; a file that was changed by something
else since is restored only on request. Diffs of turns (``ChangeReader``) come from the same
snapshots, and from the single edits where no snapshot exists.
"""

import asyncio
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from agent.records.blocks import DiffBlock, ShellBlock, SubtaskBlock
from agent.records.errors import SessionBusy, SessionNotFound
from agent.records.frozen import frozen
from agent.records.messages import (
    Completed,
    Failed,
    Idle,
    MessageWithParts,
    PatchPart,
    Pending,
    Session,
    TextPart,
    ToolPart,
    UserMessage,
    messages_before,
)
from agent.session.api import Sessions
from agent.session.context.compaction_markers import is_request
from agent.session.queue import is_queued
from agent.session.repository import SessionRepository
from agent.session.review.reviewed_file import HunkWriter, ReviewedFile, reviewed_file
from agent.session.snapshots.by_project import ProjectSnapshots
from agent.session.snapshots.snapshots import FileChange, Snapshots
from agent.session.snapshots.uncovered_state import head_of
from agent.session.subagents.background import BackgroundTasks
from agent.session.turn.turn_services import TurnServices
from agent.session.turn_runner import Runner
from agent.store import queries
from agent.store.store import Store

T = TypeVar("T")

MAX_DIFF_CHARACTERS = 400_000
"""Characters of a file above which only its edits are shown, not the diff."""


class ChangeReader:
    """Reads diffs of turns: each file from before the first turn to after the last, with the
    changes of sub-agents that worked in the same files."""

    def __init__(self, store: Store, snapshots: ProjectSnapshots) -> None:
        self._store = store
        self._snapshots = snapshots

    async def diffs(
        self, messages: Sequence[MessageWithParts], until: str | None = None
    ) -> tuple[DiffBlock, ...]:
        """Return one block per file, by path, of the changes of *messages* and of their sub-agents
        before the message *until*; for a file without snapshots a block for each edit, in order."""
        return tuple(file.block for file in await self.files(messages, until))

    async def files(
        self, messages: Sequence[MessageWithParts], until: str | None = None
    ) -> tuple[ReviewedFile, ...]:
        """Return the same with the texts before and after, for a review."""
        every = await with_subagent_messages(self._store, messages, until)
        whole = await self._between(every)
        edits = [ReviewedFile(block) for block in tool_diffs(every) if block.path not in whole]
        shown = [file for file in whole.values() if file is not None]
        return tuple(sorted((*shown, *edits), key=lambda file: file.block.path))

    async def _between(
        self, messages: Sequence[MessageWithParts]
    ) -> dict[str, ReviewedFile | None]:
        """Return the change by path, None where a file is the same as before."""
        found: dict[str, ReviewedFile | None] = {}
        if not messages:
            return found
        session = await self._store.session(messages[0].message.session_id)
        snapshots = self._snapshots.of(session.project)
        for path, net in (await net_changes(self._store, snapshots, messages)).items():
            if net.before == net.after:
                found[path] = None
                continue
            old = await snapshots.content(net.before)
            new = await snapshots.content(net.after)
            if old is None or new is None or len(old) + len(new) > MAX_DIFF_CHARACTERS:
                continue
            sides = (None if net.before is None else old, None if net.after is None else new)
            found[path] = await asyncio.to_thread(reviewed_file, path, *sides)
        return found


async def with_subagent_messages(
    store: Store, messages: Sequence[MessageWithParts], until: str | None = None
) -> list[MessageWithParts]:
    """Return *messages* and those of the sub-agents that worked for them in the same files, at any
    depth; without tasks that a sub-agent got after the message *until*."""
    found = [*messages]
    children = _children(messages)
    for child in await _worktree_children(store, messages):
        del children[child.id]
    for child_id, since in children.items():
        theirs = await store.messages_after(child_id, since)
        after = await store.messages_after(child_id, until) if until else []
        end = next((m.message.id for m in after if is_request(m)), None)
        found += await with_subagent_messages(store, messages_before(theirs, end), end)
    return found


async def _worktree_children(
    store: Store, messages: Sequence[MessageWithParts]
) -> tuple[Session, ...]:
    """Return the sub-agents that worked for *messages* in worktrees of their own."""
    found: list[Session] = []
    for child_id in _children(messages):
        with suppress(SessionNotFound):
            child = await store.session(child_id)
            caller = await store.session(messages[0].message.session_id)
            found += [child] if child.project != caller.project else []
    return tuple(found)


async def patches_in(store: Store, messages: Iterable[MessageWithParts]) -> list[PatchPart]:
    """Return the patches of *messages*, in the order of the changes."""
    found = {p.id: p for m in messages for p in m.parts if isinstance(p, PatchPart)}
    order = await store.read(queries.in_stored_order, list(found))
    return [found[patch_id] for patch_id in dict.fromkeys((*order, *found))]


def first_bases(patches: Iterable[PatchPart]) -> dict[str, str]:
    """Return by path the snapshot before the first of *patches* that changed it."""
    found: dict[str, str] = {}
    for patch in patches:
        for path in patch.files:
            found.setdefault(path, patch.base)
    return found


async def net_changes(
    store: Store, snapshots: Snapshots, messages: Iterable[MessageWithParts]
) -> dict[str, FileChange]:
    """Return by path the change of each file that *messages* changed, from before the first change
    to after the last."""
    found: dict[str, FileChange] = {}
    for patch in await patches_in(store, messages):
        theirs = frozenset(patch.files)
        for change in await snapshots.changes(patch.base, patch.tree):
            if change.path not in theirs:
                continue
            first = found.get(change.path, change)
            found[change.path] = replace(change, before=first.before, before_mode=first.before_mode)
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


BUSY = "The session is busy: stop the turn first, then undo."
MODE_BACK = {True: "will be executable again", False: "will no longer be executable"}
IGNORED = "Files that git ignores are not undone."
BACKGROUND_BUSY = (
    "Sub-agents are working in the background: wait for them or stop them first, then undo."
)


@frozen
class UndoFile:
    """A file that an undo restores."""

    path: str
    effect: str
    """The effect on the file, as a short phrase."""
    modified_since: bool = False
    """True if the file was changed by something else since; it is not restored then."""
    tree: str = ""
    """The snapshot from which it is restored."""


@frozen
class UndoPlan:
    """The effects of an undo."""

    session_id: str
    message_id: str
    text: str
    """The prompt that goes back into the editor."""
    messages: int
    files: tuple[UndoFile, ...] = ()
    not_restorable: tuple[str, ...] = ()
    """Changed files that cannot be restored."""
    nested_repositories: tuple[str, ...] = ()
    """Repositories inside the project in which commands can have changed something."""
    reason: str = ""
    """The reason why no file can be restored."""
    notes: tuple[str, ...] = ()
    """Sentences on what else is not taken back."""

    def left_paths(self) -> tuple[tuple[str, str], ...]:
        """Return the paths at which something stays as it is, each with the reason."""
        nested = "a separate repository: changes by commands are not undone"
        return (
            *((path, "cannot be undone") for path in self.not_restorable),
            *((path, nested) for path in self.nested_repositories),
        )

    def sentences(self) -> tuple[str, ...]:
        """Return everything else that the user has to know before."""
        return tuple(sentence for sentence in (*self.notes, self.reason) if sentence)


class Undo:
    """Undo and redo for the sessions of one folder, and of the worktrees of their sub-agents."""

    def __init__(
        self,
        services: TurnServices,
        repository: SessionRepository,
        sessions: Sessions,
        background_tasks: BackgroundTasks,
        runner: Runner,
    ) -> None:
        self._runner = runner
        self._store = services.store
        self._background_tasks = background_tasks
        self._snapshots = services.snapshots
        self._repository = repository
        self._sessions = sessions
        self._tracker = services.files

    def hunk_writer(self, root: Path) -> HunkWriter:
        """Return the writer that reverts hunks of files below *root*."""
        return HunkWriter(root, self._tracker)

    @property
    def changes(self) -> ChangeReader:
        """The reader of the changes of turns."""
        return ChangeReader(self._store, self._snapshots)

    async def files_after(
        self, messages: Sequence[MessageWithParts]
    ) -> tuple[dict[str, str | None], tuple[str, ...]]:
        """Return the files that *messages* and their sub-agents changed, as they were after them:
        their texts by path, None for a file that was deleted; and files that are no text."""
        done = await with_subagent_messages(self._store, messages)
        texts: dict[str, str | None] = {}
        left: list[str] = []
        if not messages:
            return texts, ()
        snapshots = await self._of(messages[0].message.session_id)
        for path, change in (await net_changes(self._store, snapshots, done)).items():
            text = await snapshots.content(change.after)
            if text is None or Path(path).is_absolute():
                left.append(path)
            else:
                texts[path] = None if change.after is None else text
        return texts, tuple(left)

    async def plan(self, session_id: str, checkpoint: str | None = None) -> UndoPlan | None:
        """Return what an undo of the last prompt would do or, with *checkpoint*, of everything that
        came after that message; None when there is nothing to undo.

        Raises ``SessionBusy`` while a turn runs.
        """
        session = await self._idle(session_id)
        messages = _shown(session, await self._store.messages(session_id))
        if checkpoint is None:
            at = next((n for n in reversed(range(len(messages))) if _is_prompt(messages[n])), None)
        else:
            ids = [item.message.id for item in messages]
            at = ids.index(checkpoint) + 1 if checkpoint in ids else None
        if at is None or at == len(messages):
            return None
        gone = messages[at:]
        done = await with_subagent_messages(self._store, gone)
        patches = await patches_in(self._store, done)
        snapshots = self._snapshots.of(session.project)
        files = await self._files(snapshots, done, first_bases(patches))
        covered = {file.path for file in files}
        apart: tuple[str, ...] = ()
        large: tuple[str, ...] = ()
        notes: tuple[str, ...] = ()
        if _commanded(done) and (known := await _first_snapshot(snapshots, patches)):
            apart = await snapshots.nested_repositories(known)
            since = gone[0].message.created
            large = await asyncio.to_thread(snapshots.oversized_files, since)
            removed, notes = await _not_covered(snapshots, known, session.project)
            large = (*large, *removed)
        return UndoPlan(
            session_id=session_id,
            message_id=gone[0].message.id,
            text=_text(gone[0]) if _is_prompt(gone[0]) else "",
            messages=len(gone),
            files=files,
            not_restorable=tuple(sorted(({b.path for b in tool_diffs(done)} | {*large}) - covered)),
            nested_repositories=apart,
            reason=snapshots.unavailable_reason,
            notes=(*notes, *map(_in_worktree, await _worktree_children(self._store, gone))),
        )

    async def _of(self, session_id: str) -> Snapshots:
        """Return the snapshots of the files that a session works in."""
        return self._snapshots.of((await self._store.session(session_id)).project)

    async def undo(
        self, plan: UndoPlan, *, files: bool, conversation: bool, overwrite: bool = False
    ) -> tuple[str, ...]:
        """Carry out *plan*: undo the *files*, the *conversation*, or both; *overwrite* also
        restores files that were changed by something else since. Return the files that could not be
        restored. A canceled call continues to its end."""

        async def undone(session: Session) -> tuple[str, ...]:
            return await self._undone(
                plan, session, files=files, conversation=conversation, overwrite=overwrite
            )

        return await self._to_end(plan.session_id, undone)

    async def _undone(
        self, plan: UndoPlan, session: Session, *, files: bool, conversation: bool, overwrite: bool
    ) -> tuple[str, ...]:
        tree, failed = session.undone_tree if session.undone_at else None, ()
        snapshots = self._snapshots.of(session.project)
        if files and plan.files:
            paths = {file.path for file in plan.files}
            if tree is None:
                tree = await snapshots.take_with(paths)
            else:
                tree = await snapshots.with_kept(tree, paths - await self._undone_paths(session))
            chosen = {f.path: f.tree for f in plan.files if overwrite or not f.modified_since}
            failed = await _restore(snapshots, chosen)
        if conversation:

            def change(held: Session) -> Session:
                return replace(held, undone_at=plan.message_id, undone_tree=tree)

            await self._repository.update(plan.session_id, change)
        return failed

    async def _undone_paths(self, session: Session) -> set[str]:
        """Return the files of the prompts that are undone already."""
        messages = await self._store.messages(session.id)
        undone = messages[len(messages_before(messages, session.undone_at)) :]
        patches = await patches_in(self._store, await with_subagent_messages(self._store, undone))
        return {path for patch in patches for path in patch.files}

    async def redo(self, session_id: str) -> tuple[str, ...] | None:
        """Redo the prompt that was undone last, with its files; None when there is nothing to redo.
        Return the files that could not be restored. A canceled call continues to its end."""
        return await self._to_end(session_id, self._redone)

    async def _redone(self, session: Session) -> tuple[str, ...] | None:
        session_id = session.id
        if session.undone_at is None:
            return None
        messages = await self._store.messages(session_id)
        undone = messages[len(messages_before(messages, session.undone_at)) :]
        hidden = [m for m in undone if not is_queued(m)]
        following = next((m.message.id for m in hidden[1:] if _is_prompt(m)), None)
        back = messages_before(hidden, following)
        later = hidden[len(back) :]
        patches = await patches_in(self._store, await with_subagent_messages(self._store, later))
        again = await patches_in(self._store, await with_subagent_messages(self._store, back))
        changed_later, tree = first_bases(patches), session.undone_tree
        chosen = {path: changed_later.get(path) or tree for p in again for path in p.files}
        snapshots = self._snapshots.of(session.project)
        failed = await _restore(snapshots, {path: known for path, known in chosen.items() if known})

        def change(held: Session) -> Session:
            kept = held.undone_tree if following is not None else None
            return replace(held, undone_at=following, undone_tree=kept)

        await self._repository.update(session_id, change)
        return failed

    async def _to_end(self, session_id: str, change: Callable[[Session], Awaitable[T]]) -> T:
        """Make *change* to its end, even if canceled: the user who confirmed it may leave."""

        async def held() -> T:
            async with self._held(session_id) as session:
                return await change(session)

        task = asyncio.create_task(held(), name="undo")
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            await asyncio.wait([task])
            raise

    @asynccontextmanager
    async def _held(self, session_id: str) -> AsyncGenerator[Session]:
        """Hold the session, so that no turn can begin in it, here or elsewhere: a prompt that is
        sent meanwhile stays queued, and is not undone."""
        await self._idle(session_id)
        if await self._runner.claim(session_id) is None:
            raise SessionBusy(BUSY)
        try:
            yield await self._store.session(session_id)
        finally:
            await self._runner.unclaim(session_id)

    async def _idle(self, session_id: str) -> Session:
        if self._sessions.status(session_id) != Idle():
            raise SessionBusy(BUSY)
        if self._background_tasks.running(session_id):
            raise SessionBusy(BACKGROUND_BUSY)
        return await self._store.session(session_id)

    async def _files(
        self, snapshots: Snapshots, messages: list[MessageWithParts], trees: Mapping[str, str]
    ) -> tuple[UndoFile, ...]:
        """Return each file that *messages* changed, with the effect of restoring it from its
        snapshot in *trees*."""
        found: list[UndoFile] = []
        net = await net_changes(self._store, snapshots, messages)
        for path, change in sorted(net.items()):
            before, after = change.before, change.after
            if before == after and change.before_mode == change.after_mode:
                continue  # changed and changed back
            what = "will be deleted" if before is None else "will be restored"
            what = "will be reverted" if before and after else what
            what = MODE_BACK[change.before_mode.endswith("755")] if before == after else what
            touched = await snapshots.blob_of(path) != after
            if before == after and not touched:
                runs = change.after_mode.endswith("755")
                touched = await asyncio.to_thread(snapshots.can_run, path) != runs
            found.append(UndoFile(path, what, touched, trees[path]))
            await asyncio.sleep(0)
        return tuple(found)


async def _first_snapshot(snapshots: Snapshots, patches: Sequence[PatchPart]) -> str | None:
    """Return the snapshot with which the turn of *patches* began, else one of now; not one of files
    that are kept apart."""
    for base in dict.fromkeys(patch.base for patch in patches):
        if await snapshots.surroundings(base) is not None:
            return base
    return await snapshots.take()


async def _not_covered(
    snapshots: Snapshots, tree: str, project: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the ignored files that are gone since the snapshot *tree*, with which the turn began,
    and sentences on what else is not taken back."""
    noted = await snapshots.surroundings(tree)
    if noted is None:
        return (), ()
    removed = await asyncio.to_thread(noted.removed, project)
    moved = noted.moved(await head_of(project))
    ignored = IGNORED if noted.ignored and not removed else ""
    return removed, tuple(note for note in (moved, ignored) if note)


async def _restore(snapshots: Snapshots, chosen: Mapping[str, str]) -> tuple[str, ...]:
    """Restore each path from its snapshot; return those that could not be restored."""
    failed: list[str] = []
    for tree in dict.fromkeys(chosen.values()):
        paths = tuple(sorted(path for path, known in chosen.items() if known == tree))
        failed += await snapshots.restore(tree, paths)
    return tuple(failed)


def _in_worktree(child: Session) -> str:
    return f"“{child.title}” worked in {child.project}: its changes there are not undone."


def _shown(session: Session, messages: list[MessageWithParts]) -> list[MessageWithParts]:
    return [m for m in messages_before(messages, session.undone_at) if not is_queued(m)]


def _is_prompt(item: MessageWithParts) -> bool:
    message = item.message
    return isinstance(message, UserMessage) and not message.synthetic


def _text(item: MessageWithParts) -> str:
    texts = [p.text for p in item.parts if isinstance(p, TextPart) and not p.synthetic]
    return "\n".join(texts)


def _commanded(messages: list[MessageWithParts]) -> bool:
    """Return whether a command ran: it can have changed any file."""
    return any(
        isinstance(block, ShellBlock)
        for item in messages
        for part in item.parts
        if isinstance(part, ToolPart) and isinstance(part.state, Completed | Failed)
        for block in part.state.blocks
    )
