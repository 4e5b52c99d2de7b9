"""The sessions of a server: what changes them is sent to it, and comes back as events."""

import base64
import mimetypes
import time
from dataclasses import replace
from pathlib import Path

from agent.agents import Agents
from agent.bus import Bus
from agent.custom_commands import CommandInfo
from agent.records.errors import NothingToDo, SessionBusy, SessionNotFound
from agent.records.frozen import frozen
from agent.records.json import Json, JsonObject
from agent.records.messages import (
    Busy,
    Delivery,
    Idle,
    MessageWithParts,
    Session,
    SessionStatus,
    UserMessage,
    messages_before,
)
from agent.session.api import PromptInput, SessionSnapshot
from agent.session.prompt.slash_commands import SlashCommands
from agent.session.queue import Queues
from agent.session.repository import SessionRepository
from agent.session.review.timeline import user_text
from agent.session.service import PAGE_SIZE, SessionService
from agent.session.subagents.background import BackgroundTasks
from agent.session.turn.turn_services import TurnServices
from agent.session.turn_runner import Runner
from agent.session.undo import BUSY, Undo, UndoFile, UndoPlan
from agent.session.user_compaction import CompactionRequests
from agent.session.user_shell import UserShell
from agent.store.store import Store
from agent.transfer.opencode_records import dict_of, dicts_of, session_record, text_of
from app.remote.changes import RemoteChangeReader
from app.remote.connection import Connection, ServerRefused
from app.remote.mirror import Mirror
from app.remote.requests import Sender

BUILT_IN = frozenset({"init", "review"})
"""Commands that each server has; they give way to the actions of their names."""

NOT_THERE = "Not available for a session on a server. Do this where the server runs."

TOGETHER = "On a server, undo always covers the conversation and the files together."

NO_DELIVERY = "On a server, a queued message is sent when it was to be: drop it and send it again."

EFFECTS = {"added": "will be deleted", "deleted": "will be restored"}


@frozen(kw_only=True)
class CommandInput(PromptInput):
    """A slash command, which the server expands."""

    command: str
    arguments: str


class RemoteCommands(SlashCommands):
    """The slash commands of a server."""

    def __init__(self, listed: Json) -> None:
        self._listed = tuple(
            CommandInfo(
                name=text_of(each.get("name")),
                description=text_of(each.get("description")),
                template="",
                source="the server",
                kind="built in" if text_of(each.get("name")) in BUILT_IN else "command",
            )
            for each in dicts_of(listed)
        )

    async def all(self) -> tuple[CommandInfo, ...]:
        return self._listed

    async def prompt(
        self, name: str, argument: str, session: Session, base: PromptInput, piped: str = ""
    ) -> PromptInput:
        return CommandInput(
            text=base.text,
            agent=base.agent,
            model=base.model,
            effort=base.effort,
            command=name,
            arguments=f"{argument}\n{piped}".strip(),
        )


class RemoteRepository(SessionRepository):
    """Creates and changes sessions at the server. The agent and the model of one are set by its
    next prompt."""

    def __init__(
        self,
        store: Store,
        agents: Agents,
        directory: str,
        project: str,
        connection: Connection,
        mirror: Mirror,
    ) -> None:
        super().__init__(store, agents, directory, project)
        self._remote_store = store
        self._connection = connection
        self._mirror = mirror
        self._root = project

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
        if folders is not None:
            raise NothingToDo(NOT_THERE)
        body: JsonObject = {"agent": agent}
        if title:
            body["title"] = title
        return await self._added(await self._connection.post("/session", body))

    async def open(self, session_id: str) -> Session:
        await self._mirror.open(session_id)
        return await self.get(session_id)

    async def get(self, session_id: str) -> Session:
        await self._mirror.open(session_id)
        return await self._remote_store.session(session_id)

    async def elsewhere(self) -> tuple[str, ...]:
        return ()

    async def rename(self, session_id: str, title: str) -> Session:
        return await self._change(session_id, {"title": " ".join(title.split())})

    async def pin(self, session_id: str, *, pinned: bool) -> Session:
        return await self._change(session_id, {"pinned": pinned})

    async def archive(self, session_id: str, *, archived: bool) -> Session:
        when = round(time.time() * 1000) if archived else None
        return await self._change(session_id, {"time": {"archived": when}})

    async def set_model(self, session_id: str, model: str, effort: str | None = None) -> Session:
        return await self._remote_store.session(session_id)

    async def set_agent(self, session_id: str, agent: str) -> Session:
        return await self._remote_store.session(session_id)

    async def fork(self, session_id: str, at_message: str | None = None) -> Session:
        body: JsonObject = {} if at_message is None else {"messageID": at_message}
        return await self._added(await self._connection.post(f"/session/{session_id}/fork", body))

    async def _change(self, session_id: str, body: JsonObject) -> Session:
        return await self._added(
            await self._connection.change("PATCH", f"/session/{session_id}", body)
        )

    async def _added(self, info: Json) -> Session:
        await self._mirror.add(info)
        return session_record(dict_of(info), self._root)


class RemoteUndo(Undo):
    """Undo and redo at the server, which takes back files and conversation together."""

    def __init__(
        self,
        services: TurnServices,
        repository: SessionRepository,
        sessions: "RemoteSessions",
        background_tasks: BackgroundTasks,
        runner: Runner,
        connection: Connection,
        mirror: Mirror,
    ) -> None:
        super().__init__(services, repository, sessions, background_tasks, runner)
        self._connection = connection
        self._mirror = mirror

    @property
    def changes(self) -> RemoteChangeReader:
        return RemoteChangeReader(self._store, self._connection)

    async def plan(self, session_id: str, checkpoint: str | None = None) -> UndoPlan | None:
        if checkpoint is not None:
            raise NothingToDo("The sessions are on a server, where checkpoints cannot be restored.")
        if not isinstance(self._sessions.status(session_id), Idle):
            raise SessionBusy(BUSY)
        session = await self._store.session(session_id)
        shown = messages_before(await self._store.messages(session_id), session.undone_at)
        at = next((n for n in reversed(range(len(shown))) if _is_prompt(shown[n])), None)
        if at is None:
            return None
        first = shown[at]
        path = f"/session/{session_id}/diff"
        changed = dicts_of(await self._connection.get(path, messageID=first.message.id))
        files = (
            UndoFile(
                text_of(each.get("file")),
                EFFECTS.get(text_of(each.get("status")), "will be reverted"),
            )
            for each in changed
        )
        return UndoPlan(
            session_id, first.message.id, user_text(first), len(shown) - at, tuple(files)
        )

    async def undo(
        self, plan: UndoPlan, *, files: bool, conversation: bool, overwrite: bool = False
    ) -> tuple[str, ...]:
        if files != conversation and (plan.files or files):
            raise NothingToDo(TOGETHER)
        body: JsonObject = {"messageID": plan.message_id}
        await self._mirror.add(
            await self._connection.post(f"/session/{plan.session_id}/revert", body)
        )
        return ()

    async def redo(self, session_id: str) -> tuple[str, ...] | None:
        """Restore the last prompt that was taken back: the server hides what follows the next."""
        undone_at = (await self._store.session(session_id)).undone_at
        if undone_at is None:
            return None
        messages = await self._store.messages(session_id)
        hidden = messages[len(messages_before(messages, undone_at)) :]
        following = [item.message.id for item in hidden if _is_prompt(item)][1:]
        path = f"/session/{session_id}"
        if following:
            body: JsonObject = {"messageID": following[0]}
            info = await self._connection.post(f"{path}/revert", body)
        else:
            info = await self._connection.post(f"{path}/unrevert", {})
        await self._mirror.add(info)
        return ()


@frozen
class RemoteShell(UserShell):
    """Runs the user's shell commands where the server runs."""

    sessions: "RemoteSessions"

    async def start(
        self, session_id: str, command: str, *, timeout: int | None = None, by_user: bool = True
    ) -> str:
        if not by_user:  # the server would run it as the user's own
            raise NothingToDo(NOT_THERE)
        if not isinstance(self.sessions.status(session_id), Idle):
            raise SessionBusy(BUSY)
        self.sessions.send(f"/session/{session_id}/shell", {"agent": "build", "command": command})
        return ""


class RemoteCompaction(CompactionRequests):
    """Compacts sessions at the server."""

    def __init__(
        self, store: Store, runner: Runner, sessions: "RemoteSessions", *, takes_focus: bool
    ) -> None:
        super().__init__(store, runner)
        self._sessions = sessions
        self._takes_focus = takes_focus

    async def start(self, session_id: str, focus: str = "") -> None:
        if focus and not self._takes_focus:
            raise NothingToDo("At this server, /compact takes no argument.")
        body: JsonObject = {"focus": focus} if focus else {}
        self._sessions.send(f"/session/{session_id}/summarize", body)


class RemoteQueues(Queues):
    """The queued messages of a server, which the mirror lists."""

    def __init__(self, store: Store, bus: Bus, connection: Connection) -> None:
        super().__init__(store, bus)
        self._messages = store
        self._connection = connection

    async def remove(self, session_id: str, message_id: str) -> MessageWithParts | None:
        item = await self._messages.message(message_id)
        try:
            await self._connection.change("DELETE", f"/session/{session_id}/message/{message_id}")
        except (SessionNotFound, ServerRefused):
            return None  # a turn has picked it up
        return item

    async def deliver(self, session_id: str, message_id: str, delivery: Delivery) -> bool:
        raise NothingToDo(NO_DELIVERY)


class RemoteSessions(SessionService):
    """The session service of a server. *pasted* is the folder of images from the clipboard.
    *queues_later*: it keeps a message until the end of the turn if it is asked to.
    *takes_focus*: it compacts a session with a focus."""

    def __init__(
        self,
        services: TurnServices,
        repository: SessionRepository,
        connection: Connection,
        mirror: Mirror,
        sender: Sender,
        pasted: Path,
        *,
        queues_later: bool,
        takes_focus: bool,
    ) -> None:
        super().__init__(services, repository)
        self._connection = connection
        self._mirror = mirror
        self._sender = sender
        self._pasted = pasted
        self._queues_later = queues_later
        self._undo = RemoteUndo(
            services,
            repository,
            self,
            self._subagents.background_tasks,
            self._runner,
            connection,
            mirror,
        )
        self._user_shell = RemoteShell(services, self._runner, repository, self)
        self._compaction = RemoteCompaction(
            services.store, self._runner, self, takes_focus=takes_focus
        )

    def send(self, path: str, body: JsonObject) -> None:
        """Send what the server answers at the end of a turn."""
        self._sender.send(self._connection.post(path, body, waits=True))

    @property
    def busy(self) -> bool:
        return any(not isinstance(one, Idle) for one in self._mirror.statuses.values())

    def status(self, session_id: str) -> SessionStatus:
        return self._mirror.statuses.get(session_id, Idle())

    async def prompt(self, session_id: str, prompt: PromptInput) -> str:
        later = prompt.delivery == "follow_up" and not isinstance(self.status(session_id), Idle)
        if later and not self._queues_later:
            raise NothingToDo(
                "A server cannot queue a message for later. Send it when the agent is done."
            )
        directory = (await self._services.store.session(session_id)).directory
        await self._services.store.add_prompt_history(prompt.visible_text, directory)
        body = _settings(prompt)
        if isinstance(prompt, CommandInput):
            body |= {"command": prompt.command, "arguments": prompt.arguments}
            if prompt.model is not None:
                body["model"] = prompt.model
            self.send(f"/session/{session_id}/command", body)
        else:
            body["parts"] = _parts(prompt, self._pasted)
            if later:
                body["delivery"] = "follow_up"
            await self._connection.post(f"/session/{session_id}/prompt_async", body)
        return ""

    async def cancel(self, session_id: str, *, background: bool = True) -> bool:
        status = self.status(session_id)
        if isinstance(status, Busy):
            self._mirror.set_status(session_id, replace(status, cancelling=True))
        await self._connection.post(f"/session/{session_id}/abort", {})
        return not isinstance(status, Idle)

    async def snapshot(self, session_id: str, limit: int = PAGE_SIZE) -> SessionSnapshot:
        await self._mirror.open(session_id)
        snapshot = await super().snapshot(session_id, limit)
        return replace(snapshot, queued=self._mirror.queued(session_id))

    async def delete(self, session_id: str) -> None:
        await self._connection.change("DELETE", f"/session/{session_id}")

    async def wait(self, session_id: str) -> None:
        """Return at once: the server ends its turns itself."""

    async def close(self) -> None:
        await self._mirror.close()
        await self._sender.close()
        await self._connection.close()
        await super().close()


def _settings(prompt: PromptInput) -> JsonObject:
    body: JsonObject = {}
    if prompt.agent is not None:
        body["agent"] = prompt.agent
    if prompt.model is not None:
        provider, _, model = prompt.model.partition("/")
        body["model"] = {"providerID": provider, "modelID": model}
    if prompt.effort is not None:
        body["variant"] = prompt.effort
    if prompt.context:
        body["system"] = prompt.context
    return body


def _parts(prompt: PromptInput, pasted: Path) -> list[Json]:
    """Return the content of a prompt. The server finds the files that the text names; what was
    pasted here is sent along."""
    text, files = prompt.text, [_data_part(file.mime, file.data) for file in prompt.files]
    for mention in prompt.mentions:
        path = Path(mention.path)
        if path.is_relative_to(pasted):
            mime = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
            files.append(_data_part(mime, base64.b64encode(path.read_bytes()).decode()))
            text = text.replace(f"@{mention.path}", "").strip()
    parts: list[Json] = [{"type": "text", "text": text}, *files]
    if prompt.subtask is not None:
        task = prompt.subtask
        parts.append(
            {
                "type": "subtask",
                "agent": task.agent,
                "description": task.description,
                "prompt": task.prompt,
            }
        )
    return parts


def _data_part(mime: str, data: str | None) -> JsonObject:
    return {"type": "file", "mime": mime, "url": f"data:{mime};base64,{data or ''}"}


def _is_prompt(item: MessageWithParts) -> bool:
    return isinstance(item.message, UserMessage) and not item.message.synthetic
