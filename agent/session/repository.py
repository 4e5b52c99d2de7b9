"""The sessions of a folder: create, list, rename, fork."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from agent.agents import AgentInfo, Agents
from agent.records.context_parts import ReportPart
from agent.records.errors import SessionNotFound
from agent.records.ids import new_id
from agent.records.messages import (
    AssistantMessage,
    CompactionPart,
    MessageWithParts,
    Part,
    Session,
    UserMessage,
    messages_before,
)
from agent.session.queue import is_queued
from agent.session.related_folders import other_places
from agent.session.spending import with_model_usage
from agent.store import queries
from agent.store.background_reports import background_report, queued_report
from agent.store.listing import SessionHit, SessionListItem, SessionScope
from agent.store.recovery import close_part
from agent.store.store import Store


class AgentSwitch:
    """Switches the agent of a session, with its model and effort.

    It remembers the model that was chosen before an agent with a model of its own came, even if no
    prompt was sent with it.
    """

    def __init__(self, agents: Agents, store: Store) -> None:
        self._agents = agents
        self._store = store
        self._left: dict[str, tuple[str | None, str | None]] = {}

    async def __call__(self, session: Session, name: str) -> Session:
        """Return *session* with the agent *name*. Settings that the agent does not have stay; the
        model that came with the previous agent is dropped, unless the user chose another one."""
        if name == session.agent:
            return session
        before, after = self._agents.find(session.agent), self._agents.find(name)
        model, effort = session.model, session.effort
        if before is not None and not _has_own(before):
            self._left[session.id] = (model, effort)
            if after is not None and _brought(after, session):
                del self._left[session.id]  # the caller has already set the new one's
        elif before is not None and _brought(before, session):
            model, effort = self._left.get(session.id) or await self._last(session)
        if after is not None and _has_own(after):
            model, effort = after.model or model, after.effort
        return replace(session, agent=name, model=model, effort=effort)

    async def _last(self, session: Session) -> tuple[str | None, str | None]:
        """The model and effort that were last used with an agent that has none of its own; None,
        the default, where there was none."""
        for item in reversed(await self._store.context_messages(session.id)):
            message = item.message
            if not isinstance(message, UserMessage) or message.synthetic:
                continue
            agent = self._agents.find(message.agent)
            if agent is not None and not _has_own(agent):
                return message.model, message.effort
        return None, None


def _has_own(agent: AgentInfo) -> bool:
    return agent.model is not None or agent.effort is not None


def _brought(agent: AgentInfo, session: Session) -> bool:
    """Return whether *session* has its model and effort from *agent*."""
    own_model = agent.model is None or agent.model == session.model
    return _has_own(agent) and own_model and agent.effort in {None, session.effort}


MAX_ADOPTED = 10_000
"""The most sessions that are moved with a folder."""

FORKED = (
    "This session was forked while the sub-agent was working, so its report goes to the original "
    "session. Start it again if you need its report here."
)


PLACES_TIMEOUT = 2.0
"""Seconds that the program waits at its end for the other places of a folder."""


class SessionRepository:
    """Sessions that were opened in *directory*, whose project root is *project*.

    *worktrees* returns the folders of the program's own worktrees: their sessions are listed here
    and stay there.
    """

    def __init__(
        self,
        store: Store,
        agents: Agents,
        directory: str,
        project: str,
        clock: Callable[[], float] = time.time,
        worktrees: Callable[[], tuple[str, ...]] = tuple,
    ) -> None:
        self._store = store
        self._worktrees = worktrees
        self.switch_agent = AgentSwitch(agents, store)
        self._path = directory
        self._project = project
        self._clock = clock
        self._places: tuple[str, ...] | None = None
        self._looking: asyncio.Task[None] | None = None

    async def create(
        self,
        *,
        agent: str = "build",
        model: str | None = None,
        effort: str | None = None,
        parent_id: str | None = None,
        title: str = "",
        session_id: str | None = None,
        folders: tuple[str, str] | None = None,
    ) -> Session:
        """Create an empty session, under *session_id* if that is given. An empty title is replaced
        by the first words of the first prompt. *folders* are its directory and project if these are
        not the opened ones."""
        directory, project = folders or (self._path, self._project)
        session = replace(
            self.draft(agent, model),
            id=session_id or new_id("ses"),
            title=title,
            parent_id=parent_id,
            effort=effort,
            directory=directory,
            project=project,
        )
        await self._store.save(session)
        if self._looking is None:  # records where the folder is, so that it is found after a move
            self._looking = asyncio.create_task(self._record_place())
        return session

    async def _record_place(self) -> None:
        """Look where this folder was, unless that is known: a list of sessions looks anyway."""
        if await self._store.read(queries.place, self._path) is None:
            await self.elsewhere()

    async def close(self) -> None:
        """Finish looking for the other places of this folder, if that is quick."""
        if self._looking is not None:
            await asyncio.wait([self._looking], timeout=PLACES_TIMEOUT)
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)

    def draft(self, agent: str, model: str | None) -> Session:
        """Return a session that is not stored yet, as ``create`` begins with it."""
        now = self._clock()
        return Session(
            id="",
            directory=self._path,
            project=self._project,
            title="",
            created=now,
            updated=now,
            agent=agent,
            model=model,
        )

    async def update(self, session_id: str, change: Callable[[Session], Session]) -> Session:
        """Replace a session's record; changes of one session never overwrite each other."""
        return await self._store.update(session_id, change)

    async def list(self, *, limit: int = 100, before: str | None = None) -> list[Session]:
        """Return the sessions of this folder that were used, the last used first; *before* is a
        session's id."""
        found = await self._store.sessions(
            directory=self._path, elsewhere=await self.elsewhere(), limit=limit, before=before
        )
        return [s for s in found if s.turns > 0 or s.title]

    async def elsewhere(self) -> tuple[str, ...]:
        """Return the other places of this folder, whose sessions are listed with its own."""
        if self._places is None:
            self._places = await other_places(self._store, self._path)
        return tuple(dict.fromkeys((*self._places, *await asyncio.to_thread(self._worktrees))))

    async def open(self, session_id: str) -> Session:
        """Return a session to work in. One of another place of this folder is moved here, with the
        sessions of its sub-agents, unless it belongs to a worktree or a turn of it runs elsewhere.

        Raises ``SessionNotFound``.
        """
        session = await self._store.session(session_id)
        if session.directory == self._path or session.directory not in await self.elsewhere():
            return session
        if session.directory in await asyncio.to_thread(self._worktrees):
            return session
        if await self._store.foreign_lease(session_id):
            return session
        for child in await self._store.children(session_id):
            if child.directory == session.directory:
                await self.update(child.id, self._moved_here)
        return await self.update(session_id, self._moved_here)

    async def take(self, session_id: str) -> Session:
        """Move a session here."""
        return await self.update(session_id, self._moved_here)

    async def adopt(self, directory: str) -> None:
        """Move the sessions of *directory*, which is being removed, here."""
        for session in await self._store.sessions(directory=directory, limit=MAX_ADOPTED):
            await self.update(session.id, self._moved_here)

    def _moved_here(self, session: Session) -> Session:
        return replace(session, directory=self._path, project=self._project)

    async def lines(
        self, *, everywhere: bool = False, archived: bool = False
    ) -> Sequence[SessionListItem]:
        """All sessions as a list shows them: of this folder or of all, *archived* ones too."""
        return await self._store.session_list(
            await self._scope(everywhere=everywhere, archived=archived)
        )

    async def _scope(self, *, everywhere: bool, archived: bool) -> SessionScope:
        if everywhere:
            return SessionScope(None, archived)
        return SessionScope(self._path, archived, await self.elsewhere())

    async def search(
        self, text: str, *, everywhere: bool = False, archived: bool = False
    ) -> Sequence[SessionHit]:
        """The sessions in which every word of *text* was written, newest first."""
        return await self._store.search_sessions(
            text, await self._scope(everywhere=everywhere, archived=archived)
        )

    async def latest(self) -> Session | None:
        """The session of this folder that was used last."""
        found = await self.list(limit=20)
        own = [session for session in found if session.directory == self._path]
        return next(iter(own or found), None)

    async def get(self, session_id: str) -> Session:
        return await self._store.session(session_id)

    async def rename(self, session_id: str, title: str) -> Session:
        text = " ".join(title.split())
        return await self.update(session_id, lambda s: replace(s, title=text or s.title))

    async def pin(self, session_id: str, *, pinned: bool) -> Session:
        """Keep a session at the top of the list, or no longer."""
        return await self.update(session_id, lambda s: replace(s, pinned=pinned))

    async def archive(self, session_id: str, *, archived: bool) -> Session:
        """Keep a session out of the list, or bring it back."""
        return await self.update(session_id, lambda s: replace(s, archived=archived))

    async def set_model(self, session_id: str, model: str, effort: str | None = None) -> Session:
        return await self.update(session_id, lambda s: replace(s, model=model, effort=effort))

    async def set_agent(self, session_id: str, agent: str) -> Session:
        """Have another agent continue, with the model that ``taken_over`` says."""
        now = await self.switch_agent(await self.get(session_id), agent)
        return await self.update(
            session_id, lambda s: replace(s, agent=agent, model=now.model, effort=now.effort)
        )

    async def fork(self, session_id: str, at_message: str | None = None) -> Session:
        """Return a copy of a session: all of it, or the messages before *at_message*. Undone
        messages are undone in the copy too, and can be redone there.

        Raises ``SessionNotFound`` if that message is not in the session.
        """
        source = await self._store.session(session_id)
        every = messages = await self._store.messages(session_id)
        if at_message is not None:
            ids = [m.message.id for m in messages]
            if at_message not in ids:
                raise SessionNotFound(f"No message {at_message} in session {session_id}.")
            messages = messages[: ids.index(at_message)]
        now = self._clock()
        new, renamed = new_id("ses"), dict[str, str]()
        # Queued messages stay with the source.
        moved = [_copied(item, new, renamed, now) for item in messages if not is_queued(item)]
        undone = renamed.get(source.undone_at or "")
        copy = replace(
            source,
            id=new,
            title=f"{source.title} (fork)",
            created=now,
            updated=now,
            parent_id=None,
            forked_from=source.id,
            pinned=False,
            archived=False,
            background_task=None,
            undone_at=undone,
            undone_tree=source.undone_tree if undone else None,
        )
        records = [record for item in moved for record in (item.message, *item.parts)]
        for child in await self._store.children(session_id):
            if child.background_task is not None and child.background_task.message_id in renamed:
                owed = child.background_task.state == "running" or _reports(every, child.id)
                if owed and not _reports(messages, child.id, sent=True):
                    # Its report goes to the other one.
                    report = background_report(child, "interrupted", FORKED)
                    records.extend(queued_report(copy, report, now))
        await self._store.save(copy, *records)
        return copy


def _reports(messages: Sequence[MessageWithParts], child_id: str, *, sent: bool = False) -> bool:
    """Return whether one of *messages* has the report of that child; with *sent* only messages
    count that are not queued."""
    return any(
        isinstance(part, ReportPart) and part.child_id == child_id
        for item in messages
        if item.message.turn_id is not None or not sent
        for part in item.parts
    )


def _copied(
    item: MessageWithParts, session_id: str, renamed: dict[str, str], now: float
) -> MessageWithParts:
    """*item* under new ids in another session; *renamed* maps old message ids to new ones."""
    new = new_id("msg")
    renamed[item.message.id] = new
    match item.message:
        case UserMessage() as user:
            message = replace(user, id=new, session_id=session_id)
        case assistant:
            parent = renamed.get(assistant.parent_id, assistant.parent_id)
            message = replace(assistant, id=new, session_id=session_id, parent_id=parent)
            if message.completed is None:
                message = replace(message, completed=now, interrupted=True)
    parts: list[Part] = []
    for part in item.parts:
        # A turn can be running in the source: its open parts would never end here.
        copy = close_part(part, now) if item.message.role == "assistant" else part
        if isinstance(copy, CompactionPart) and copy.tail_start_id is not None:
            start = renamed.get(copy.tail_start_id, copy.tail_start_id)
            copy = replace(copy, tail_start_id=start)
        parts.append(replace(copy, id=new_id("prt"), session_id=session_id, message_id=new))
    return MessageWithParts(message, tuple(parts))


async def discard_undone(store: Store, session_id: str) -> None:
    """Discard the undone messages of a session in which a turn is about to begin.

    The caller must have claimed the session, so that no redo happens meanwhile.
    """
    session = await store.session(session_id)
    if session.undone_at is None:
        return
    stored = await store.messages(session.id)
    # Queued messages came later, perhaps while the session was claimed: they were never undone.
    undone = stored[len(messages_before(stored, session.undone_at)) :]
    gone = [m for m in undone if not is_queued(m)]
    # The first last: if the program ends in between, the rest is still undone.
    for item in reversed(gone):
        await store.remove_message(session.id, item.message.id)

    def settled(now: Session) -> Session:
        for item in gone:
            if isinstance(message := item.message, AssistantMessage):
                now = with_model_usage(now, message.model, message.usage, message.cost)
        return replace(now, undone_at=None, undone_tree=None)

    await store.update(session.id, settled)
