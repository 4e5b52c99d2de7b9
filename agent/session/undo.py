"""Undo and redo of the last prompts with their changes to files.

Undone messages stay in the store until the next prompt: the session only records the first of
them. Files are restored from the snapshot before the message; a file that was changed by something
else since is restored only on request.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from agent.records.blocks import ShellBlock
from agent.records.errors import SessionBusy
from agent.records.messages import (
    Completed,
    Failed,
    Idle,
    MessageWithParts,
    Session,
    TextPart,
    ToolPart,
    UserMessage,
)
from agent.session.queue import is_queued
from agent.session.repository import SessionRepository
from agent.session.runner import Runner
from agent.session.services import SessionServices
from agent.session.snapshots.changes import (
    ChangeReader,
    first_and_last_blobs,
    patches_in,
    tool_diffs,
    with_subagent_messages,
)
from agent.session.subagents.background import BackgroundTasks
from agent.session.subagents.subagents import Sessions

BUSY = "The session is at work: stop the turn first, then undo."
BACKGROUND_BUSY = "Sub-agents work in the background: wait for them or stop them first, then undo."


@dataclass(frozen=True, slots=True)
class UndoFile:
    """A file that an undo restores."""

    path: str
    effect: str
    """The effect on the file, as a short phrase."""
    modified_since: bool = False
    """True if the file was changed by something else since; it is not restored then."""


@dataclass(frozen=True, slots=True)
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
    tree: str = ""


class Undo:
    """Undo and redo for the sessions of one project."""

    def __init__(
        self,
        services: SessionServices,
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

    @property
    def changes(self) -> ChangeReader:
        """The reader of the changes of turns."""
        return ChangeReader(self._store, self._snapshots)

    async def plan(self, session_id: str) -> UndoPlan | None:
        """Return what an undo of the last prompt would do; None when there is none left.

        Raises ``SessionBusy`` while a turn runs.
        """
        session = await self._idle(session_id)
        messages = _shown(session, await self._store.messages(session_id))
        at = next((n for n in reversed(range(len(messages))) if _is_prompt(messages[n])), None)
        if at is None:
            return None
        gone = messages[at:]
        done = await with_subagent_messages(self._store, gone)
        patches = patches_in(done)
        files = await self._files(done)
        covered = {file.path for file in files}
        tree = patches[0].base if patches else ""
        apart: tuple[str, ...] = ()
        large: tuple[str, ...] = ()
        if _commanded(done) and (known := tree or await self._snapshots.take()):
            apart = await self._snapshots.nested_repositories(known)
            since = gone[0].message.created
            large = await asyncio.to_thread(self._snapshots.oversized_files, since)
        return UndoPlan(
            session_id=session_id,
            message_id=gone[0].message.id,
            text=_text(gone[0]),
            messages=len(gone),
            files=files,
            not_restorable=tuple(sorted(({b.path for b in tool_diffs(done)} | {*large}) - covered)),
            nested_repositories=apart,
            reason=self._snapshots.unavailable_reason,
            tree=tree,
        )

    async def undo(
        self, plan: UndoPlan, *, files: bool, conversation: bool, overwrite: bool = False
    ) -> tuple[str, ...]:
        """Carry out *plan*: undo the *files*, the *conversation*, or both; *overwrite* also
        restores files that were changed by something else since. Return the files that could not be
        restored."""
        async with self._held(plan.session_id) as session:
            return await self._undone(
                plan, session, files=files, conversation=conversation, overwrite=overwrite
            )

    async def _undone(
        self, plan: UndoPlan, session: Session, *, files: bool, conversation: bool, overwrite: bool
    ) -> tuple[str, ...]:
        current = await self._snapshots.take() if files and plan.files else None
        failed: tuple[str, ...] = ()
        if files and plan.tree:
            paths = tuple(f.path for f in plan.files if overwrite or not f.modified_since)
            failed = await self._snapshots.restore(plan.tree, paths)
        if conversation:
            tree = session.undone_tree if session.undone_at else current

            def change(held: Session) -> Session:
                return replace(held, undone_at=plan.message_id, undone_tree=tree)

            await self._repository.update(plan.session_id, change)
        return failed

    async def redo(self, session_id: str) -> tuple[str, ...] | None:
        """Redo the prompt that was undone last, with its files; None when there is nothing to redo.
        Return the files that could not be restored."""
        async with self._held(session_id) as session:
            return await self._redone(session)

    async def _redone(self, session: Session) -> tuple[str, ...] | None:
        session_id = session.id
        if session.undone_at is None:
            return None
        messages = await self._store.messages(session_id)
        hidden = [m for m in messages if m.message.id >= session.undone_at and not is_queued(m)]
        following = next((m.message.id for m in hidden[1:] if _is_prompt(m)), None)
        back = [m for m in hidden if following is None or m.message.id < following]
        later = [m for m in hidden if following is not None and m.message.id >= following]
        patches = patches_in(await with_subagent_messages(self._store, later))
        tree = patches[0].base if patches else session.undone_tree
        again = patches_in(await with_subagent_messages(self._store, back))
        paths = {path for patch in again for path in patch.files}
        failed: tuple[str, ...] = ()
        if tree and paths:
            failed = await self._snapshots.restore(tree, tuple(sorted(paths)))

        def change(held: Session) -> Session:
            kept = held.undone_tree if following is not None else None
            return replace(held, undone_at=following, undone_tree=kept)

        await self._repository.update(session_id, change)
        return failed

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

    async def _files(self, messages: list[MessageWithParts]) -> tuple[UndoFile, ...]:
        """Return each file that *messages* changed, with the effect of restoring it."""
        found: list[UndoFile] = []
        for path, (before, after) in sorted(
            (await first_and_last_blobs(self._snapshots, messages)).items()
        ):
            if before == after:
                continue  # changed and changed back
            what = "is deleted" if before is None else "comes back"
            what = "goes back" if before and after else what
            touched = await self._snapshots.blob_of(path) != after
            found.append(UndoFile(path, what, touched))
            await asyncio.sleep(0)
        return tuple(found)


def _shown(session: Session, messages: list[MessageWithParts]) -> list[MessageWithParts]:
    at = session.undone_at
    return [m for m in messages if (at is None or m.message.id < at) and not is_queued(m)]


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
