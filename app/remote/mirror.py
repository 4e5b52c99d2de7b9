"""A copy of the server's sessions in the local store, kept up to date by the server's events.

The store publishes each change on the bus, so a front end follows a session on a server as it
follows one of this process. The messages of a session are copied when it is first opened.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable
from dataclasses import replace

from agent.bus import Bus
from agent.records import events
from agent.records.background import ShellInfo
from agent.records.errors import OpencodePyError, SessionNotFound, StoreError
from agent.records.json import Json, JsonObject
from agent.records.messages import (
    AssistantMessage,
    Idle,
    Message,
    Outcome,
    Part,
    SessionStatus,
    TextPart,
    UserMessage,
    is_open,
)
from agent.runtime.folder_controls import ModeState
from agent.store.recovery import close_part
from agent.store.store import Store
from agent.transfer import opencode_records as records
from agent.transfer.opencode_records import dict_of, dicts_of, text_of
from agent.transfer.record_json import record_of
from app.remote.connection import LONGEST_DELAY, Connection, ServerGone, ServerRefused
from app.remote.controls import RemoteControls
from app.remote.requests import RemoteRequests

log = logging.getLogger(__name__)

MAX_SESSIONS = "1000"
"""Sessions that are listed."""

OUTCOMES: dict[str, Outcome] = {
    "completed": "completed",
    "cancelled": "cancelled",
    "rejected": "rejected",
    "limit_reached": "limit_reached",
    "failed": "failed",
}

LOST = "The connection to the server was lost. Reconnecting…"
AGAIN = "Reconnected to the server."


def _nothing(kind: str, properties: JsonObject) -> None:
    """Ignore what an editor asks: no screen follows."""


def turn_of(prompt_id: str) -> str:
    """Return the id of the turn that a prompt begins: the server names none."""
    return f"trn_{prompt_id}"


class Mirror:
    """Copies what *connection* sends into *store*. *requests* keeps the pending requests.
    *controls* are those of this program's servers."""

    def __init__(
        self,
        connection: Connection,
        store: Store,
        bus: Bus,
        requests: RemoteRequests,
        project: str,
        controls: RemoteControls | None,
        *,
        delay: float = 0.5,
    ) -> None:
        self._controls = controls
        self._connection = connection
        self._store = store
        self._bus = bus
        self._requests = requests
        self._project = project
        self._delay = delay
        self.statuses: dict[str, SessionStatus] = {}
        self._copied: dict[str, dict[str, list[str]]] = {}
        """The copied sessions, each with the responses to each of its prompts."""
        self._prompts: dict[str, UserMessage] = {}
        self._unread: dict[str, JsonObject] = {}
        self._whole: set[str] = set()
        self._aborted: set[str] = set()
        self._queued: dict[str, tuple[str, ...]] = {}
        self._changing = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._on_editor: Callable[[str, JsonObject], None] = _nothing

    def follow_editors(self, on_editor: Callable[[str, JsonObject], None]) -> None:
        """Call *on_editor* with the name and the properties of what editors ask of the screen."""
        self._on_editor = on_editor

    async def start(self) -> None:
        """Follow the server; return once the sessions are copied. Raises what a request raises."""
        ready = asyncio.Event()
        self._task = asyncio.create_task(self._follow(ready.set), name="following the server")
        waiting = asyncio.create_task(ready.wait())
        await asyncio.wait({self._task, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if self._task.done():
            self._task.result()

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def open(self, session_id: str) -> None:
        """Copy a session with its messages, unless that was done. Raises ``SessionNotFound``."""
        async with self._changing:
            if session_id not in self._copied:
                await self._copy_session(session_id)

    async def add(self, info: Json) -> None:
        """Store a session that the server has described."""
        await self._store.save(records.session_record(dict_of(info), self._project))

    def set_status(self, session_id: str, status: SessionStatus) -> None:
        self.statuses[session_id] = status
        self._bus.publish(events.SessionStatusChanged(session_id, status))

    async def _follow(self, on_ready: Callable[[], None]) -> None:
        """Connect, again and again; the first attempt raises its error."""
        connected_before, delay, lost = False, self._delay, ""
        while True:
            try:
                async with self._connection.stream("/event") as stream:
                    self._whole.clear()
                    self._unread.clear()
                    async for event in stream:
                        if event.get("type") == "server.connected":
                            async with self._changing:
                                await self._copy_all()
                            if lost:
                                self._bus.publish(events.Notice(AGAIN, "info"))
                            connected_before, delay, lost = True, self._delay, ""
                            on_ready()
                        else:
                            await self._apply_safely(event)
                raise ServerGone(LOST)
            except OpencodePyError as error:
                if not connected_before:
                    raise
                if not lost:
                    self._requests.withdraw_all()
                    lost = LOST if isinstance(error, ServerGone) else error.message
                    self._bus.publish(events.Notice(lost, "error"))
            await asyncio.sleep(delay)
            delay = min(2 * delay, LONGEST_DELAY)

    async def _apply_safely(self, event: JsonObject) -> None:
        try:
            async with self._changing:
                await self._apply(text_of(event.get("type")), dict_of(event.get("properties")))
        except (StoreError, SessionNotFound, ValueError, TypeError) as error:
            # An event of a newer server, or of something that was deleted meanwhile.
            log.warning("an event of the server was ignored: %s", error)

    async def _copy_all(self) -> None:
        """Copy the list of sessions and what is pending, and the open sessions again."""
        get = self._connection.get
        listed = dicts_of(await get("/session", scope="project", limit=MAX_SESSIONS))
        for info in reversed(listed):
            await self.add(info)
        running = dict_of(await get("/session/status"))
        for session_id in {*running, *self.statuses}:
            self.set_status(session_id, records.status_record(dict_of(running.get(session_id))))
        for session_id in tuple(self._copied):
            try:
                await self._copy_session(session_id)
            except SessionNotFound:
                await self._deleted(session_id)
        await self._copy_mode()
        self._requests.withdraw_all()
        for asked in dicts_of(await get("/permission")):
            await self._requests.permission(asked)
        for asked in dicts_of(await get("/question")):
            await self._requests.question(asked)

    async def _copy_mode(self) -> None:
        """Take over the permission mode. A server of another version can lack it: the sessions are
        copied all the same."""
        if self._controls is None:
            return
        try:
            self._requests.note_mode((await self._controls.mode()).mode)
        except ServerRefused as error:
            self._bus.publish(events.Notice(error.message, "error"))

    async def _copy_session(self, session_id: str) -> None:
        path = f"/session/{session_id}"
        await self.add(await self._connection.get(path))
        found = dicts_of(await self._connection.get(f"{path}/message"))
        todos = records.todos_record(await self._connection.get(f"{path}/todo"))
        known = {item.message.id for item in await self._store.messages(session_id)}
        self._copied[session_id] = {}
        self._set_queued(session_id, [])
        for item in found:
            info = dict_of(item.get("info"))
            known.discard(text_of(info.get("id")))
            await self._copy_message(info, dicts_of(item.get("parts")))
        for message_id in known:
            await self._store.remove_message(session_id, message_id)
        await self._store.save_todos(session_id, todos)
        self._bus.publish(events.Resync())

    async def _copy_message(self, info: JsonObject, parts: Iterable[JsonObject]) -> None:
        message = self._message(info)
        await self._store.save(message)
        self._note_queued(message)
        for raw in parts:
            followed = self._unread.pop(text_of(raw.get("id")), None)
            part = self._part(followed or raw)
            if part is not None:
                await self._save_part(part, message, whole=followed is not None)

    def _message(self, info: JsonObject) -> Message:
        session_id, message_id = text_of(info.get("sessionID")), text_of(info.get("id"))
        if info.get("role") == "user":
            made = records.user_record(info, session_id, message_id, turn_of(message_id))
            before = self._prompts.get(message_id)
            made = replace(made, synthetic=before is not None and before.synthetic)
            self._prompts[message_id] = made
            return made
        parent_id = text_of(info.get("parentID"))
        steps = self._copied[session_id].setdefault(parent_id, [])
        if message_id not in steps:
            steps.append(message_id)
        step = steps.index(message_id) + 1
        return records.assistant_record(
            info, session_id, message_id, parent_id, turn_of(parent_id), step
        )

    def _part(self, raw: JsonObject) -> Part | None:
        ids = (text_of(raw.get(key)) for key in ("sessionID", "messageID", "id"))
        return records.part_record(raw, *ids)

    async def _save_part(self, part: Part, message: Message | None, *, whole: bool) -> None:
        """Store a part; *whole* if the deltas that come now follow this state of it."""
        if isinstance(message, AssistantMessage) and message.completed is not None:
            part = close_part(part, message.completed)
        if (prompt := self._prompts.get(part.message_id)) is not None:
            await self._note_synthetic(prompt, part)
        if not is_open(part):
            self._whole.discard(part.id)
            await self._store.save(part)
        elif part.id in self._whole:
            self._store.stage(part)
        else:
            await self._store.save(part)
            if whole:
                self._whole.add(part.id)

    async def _note_synthetic(self, prompt: UserMessage, part: Part) -> None:
        """Hide a message of the program itself: one whose first part the user did not write."""
        written = isinstance(part, TextPart) and not part.synthetic
        first = not await self._has_parts(prompt.id)
        synthetic = (first and not written and part.type != "file") or (
            prompt.synthetic and not written
        )
        if synthetic != prompt.synthetic:
            self._prompts[prompt.id] = replace(prompt, synthetic=synthetic)
            await self._store.save(self._prompts[prompt.id])

    def queued(self, session_id: str) -> tuple[str, ...]:
        """Return the ids of the messages that wait at the server, oldest first."""
        return self._queued.get(session_id, ())

    def _note_queued(self, message: Message) -> None:
        if not isinstance(message, UserMessage):
            return
        others = [each for each in self.queued(message.session_id) if each != message.id]
        waits = [message.id] if message.turn_id is None else []
        if waits and message.id in self.queued(message.session_id):
            return
        self._set_queued(message.session_id, [*others, *waits])

    def _set_queued(self, session_id: str, ids: list[str]) -> None:
        if tuple(ids) != self.queued(session_id):
            self._queued[session_id] = tuple(ids)
            self._bus.publish(events.QueueChanged(session_id, tuple(ids)))

    async def _has_parts(self, message_id: str) -> bool:
        found = await self._store.message(message_id)
        return found is not None and bool(found.parts)

    async def _apply(self, kind: str, properties: JsonObject) -> None:
        session_id = text_of(properties.get("sessionID"))
        match kind:
            case "message.updated":
                info = dict_of(properties.get("info"))
                if text_of(info.get("sessionID")) in self._copied:
                    message = self._message(info)
                    await self._store.save(message)
                    self._note_queued(message)
            case "message.part.updated":
                await self._part_updated(dict_of(properties.get("part")))
            case "message.part.delta":
                self._grow(properties)
            case "message.part.removed":
                await self._part_removed(properties)
            case "message.removed":
                if session_id in self._copied:
                    name = text_of(properties.get("messageID"))
                    await self._store.remove_message(session_id, name)
                    self._set_queued(session_id, [i for i in self.queued(session_id) if i != name])
            case "permission.asked":
                await self._requests.permission(properties)
            case "question.asked":
                await self._requests.question(properties)
            case "permission.replied" | "question.replied" | "question.rejected":
                self._requests.withdraw(text_of(properties.get("requestID")))
            case _:
                await self._session_changed(kind, session_id, properties)

    async def _session_changed(self, kind: str, session_id: str, properties: JsonObject) -> None:
        match kind:
            case "session.created" | "session.updated":
                await self.add(properties.get("info"))
            case "session.deleted":
                await self._deleted(text_of(dict_of(properties.get("info")).get("id")))
            case "session.status":
                status = dict_of(properties.get("status"))
                self.set_status(session_id, records.status_record(status))
            case "session.idle":
                self._turn_ended(session_id, properties)
            case "session.error":
                error = records.error_record(dict_of(properties.get("error")))
                if "Abort" in error.kind:
                    self._aborted.add(session_id)
                else:
                    self._bus.publish(events.SessionError(session_id or None, error))
            case "session.compacted":
                self._bus.publish(events.Compacted(session_id))
            case "todo.updated":
                todos = records.todos_record(properties.get("todos"))
                await self._store.save_todos(session_id, todos)
            case "tui.prompt.append" | "tui.command.execute" | "tui.session.select":
                self._on_editor(kind, properties)
            case "tui.toast.show":
                failed = properties.get("variant") == "error"
                message = text_of(properties.get("message"))
                self._bus.publish(events.Notice(message, "error" if failed else "info"))
            case "mcp.tools.changed":
                self._bus.publish(events.McpChanged(text_of(properties.get("server"))))
            case "opencode-py.shell":
                shell = record_of(ShellInfo, properties.get("shell"))
                self._bus.publish(events.ShellChanged(shell.session_id, shell))
            case "opencode-py.mode":
                self._requests.note_mode(record_of(ModeState, properties).mode)
            case _:
                pass

    def _turn_ended(self, session_id: str, properties: JsonObject) -> None:
        aborted = session_id in self._aborted
        self._aborted.discard(session_id)
        named = OUTCOMES.get(text_of(properties.get("outcome")))
        if not isinstance(self.statuses.get(session_id, Idle()), Idle):
            self.set_status(session_id, Idle())
        self._bus.publish(
            events.SessionIdle(
                session_id,
                text_of(properties.get("turnID")),
                named or ("cancelled" if aborted else "completed"),
            )
        )

    async def _deleted(self, session_id: str) -> None:
        self._copied.pop(session_id, None)
        self.statuses.pop(session_id, None)
        with contextlib.suppress(SessionNotFound):
            await self._store.delete_session(session_id)

    async def _part_updated(self, raw: JsonObject) -> None:
        part = self._part(raw)
        if part is None:
            return
        if part.session_id in self._copied:
            await self._save_part(part, None, whole=True)
        elif is_open(part):
            self._unread[part.id] = dict(raw)
        else:
            self._unread.pop(part.id, None)

    async def _part_removed(self, properties: JsonObject) -> None:
        found = await self._store.message(text_of(properties.get("messageID")))
        for part in found.parts if found is not None else ():
            if part.id == properties.get("partID"):
                await self._store.remove_part(part)

    def _grow(self, properties: JsonObject) -> None:
        """Add a delta to a part that came whole on this connection; the server sends the whole part
        again where that is not so, or at its end."""
        part_id, delta = text_of(properties.get("partID")), text_of(properties.get("delta"))
        if part_id in self._unread:
            raw = self._unread[part_id]
            raw["text"] = text_of(raw.get("text")) + delta
        elif part_id in self._whole:
            self._store.append(part_id, "text", delta)
