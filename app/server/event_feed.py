"""The events of one folder as opencode's clients read them, for any number of readers.

Each event is converted and encoded once. A reader gets no delta before the message and the part
that it belongs to: a reader that came later gets the whole part instead. One that fell behind is
disconnected; when it comes back with the id of its last event, it gets what it missed, or, where
that is no longer kept, the current state of the sessions that changed since.
"""

import asyncio
import json
import math
import secrets
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from agent.records import events
from agent.records.background import ShellInfo
from agent.records.errors import StoreError
from agent.records.frozen import frozen
from agent.records.json import Json, JsonObject
from agent.records.messages import Message, Part, Session, is_open
from agent.runtime.runtime import Runtime
from agent.transfer import opencode_shapes as shapes
from agent.transfer.record_json import record_json

READER_LIMIT = 8_000_000
"""Bytes that a reader can be behind before it is disconnected."""

KEPT_EVENTS = 4_000
"""Events that are kept for readers that come back."""

STATE_MESSAGES = 100
"""Messages of a changed session that a reader gets whose events are no longer kept."""


WATCHED = {"create": "add", "modify": "change", "delete": "unlink"}
"""What happened to a file, as opencode's watcher names it."""


@frozen
class Encoded:
    """One event, ready to be sent."""

    number: int
    data: bytes
    """The JSON object."""
    directory: str
    session_id: str = ""
    message_id: str = ""
    part_id: str = ""
    opens: bool = False
    """True if deltas can follow it."""
    is_delta: bool = False


class Reader:
    """The events that one client has not read yet."""

    def __init__(self) -> None:
        self._queue: deque[Encoded] = deque()
        self._size = 0
        self._ready = asyncio.Event()
        self.known: set[str] = set()
        """The open messages and parts that the client knows."""
        self._over = False

    @property
    def closed(self) -> bool:
        """True once nothing more can be read."""
        return self._over and not self._queue

    def put(self, event: Encoded) -> None:
        if self._over:
            return
        self._queue.append(event)
        self._size += len(event.data)
        if self._size > READER_LIMIT:
            self.close()
        self._ready.set()

    def close(self) -> None:
        self._queue.clear()
        self.finish()

    def finish(self) -> None:
        """End once the queued events are read."""
        self._over = True
        self._ready.set()

    async def take(self, timeout: float) -> list[Encoded]:
        """Return the queued events, [] if none came within *timeout* seconds or it was closed."""
        try:
            async with asyncio.timeout(timeout):
                await self._ready.wait()
        except TimeoutError:
            return []
        taken = list(self._queue)
        self._queue.clear()
        self._size = 0
        if not self._over:
            self._ready.clear()
        return taken


@dataclass(slots=True)
class _OpenPart:
    """A part to which deltas are added."""

    part: Part
    pieces: list[str] = field(default_factory=list[str])

    def shape(self) -> JsonObject | None:
        shape = shapes.part_shape(self.part)
        if shape is not None and "text" in shape:
            shape["text"] = f"{shape['text']}{''.join(self.pieces)}"
        return shape


class EventFeed:
    """Converts the events of *runtime* and hands them to its readers."""

    def __init__(self, runtime: Runtime, version: str) -> None:
        self._runtime = runtime
        self._version = version
        self._boot = secrets.token_hex(4)
        self._number = 0
        self._readers: set[Reader] = set()
        self._kept: deque[Encoded] = deque(maxlen=KEPT_EVENTS)
        self._open_parts: dict[str, _OpenPart] = {}
        self._open_messages: dict[str, Message] = {}
        self._sessions: dict[str, Session] = {}
        self._changed = dict.fromkeys(runtime.recovered, 0)
        self._summaries: set[asyncio.Task[None]] = set()
        self._subscription = runtime.bus.subscribe()
        self._task = asyncio.create_task(self._follow(), name="event feed")

    async def close(self) -> None:
        """End the streams of all readers, once they have read what was sent."""
        self._subscription.close()
        await asyncio.gather(self._task, *self._summaries, return_exceptions=True)
        for reader in tuple(self._readers):
            reader.finish()

    def event_id(self, event: Encoded) -> str:
        """Return the id by which a reader names the last event that it got."""
        return f"{self._boot}-{event.number}"

    async def connect(self, last_event_id: str = "") -> Reader:
        """Return a new reader; with *last_event_id* it begins with what was missed."""
        reader = Reader()
        reader.put(self._encode("server.connected", {}))
        self.add(reader)
        boot, _, number = last_event_id.rpartition("-")
        if not number.isdecimal():
            return reader
        last = int(number) if boot == self._boot else -1
        if self._kept and self._kept[0].number <= last + 1:
            reader.known |= {*self._open_parts, *self._open_messages}
            for event in self._kept:
                if event.number > last:
                    reader.put(event)
        elif last < self._number:
            await self._put_state(reader, last)
        return reader

    def add(self, reader: Reader) -> None:
        """Hand the events from now on to *reader* too."""
        self._readers.add(reader)

    def disconnect(self, reader: Reader) -> None:
        self._readers.discard(reader)

    def publish(self, kind: str, properties: JsonObject) -> None:
        """Send an event that does not come from the runtime."""
        self._send(self._encode(kind, properties))

    async def _follow(self) -> None:
        async for event in self._subscription:
            if isinstance(event, events.Resync):
                self._kept.clear()
                self._open_parts.clear()
                self._open_messages.clear()
                for reader in tuple(self._readers):
                    reader.close()  # each comes back, and gets the state
                continue
            self._note(event)
            for encoded in self._converted(event):
                self._send(encoded)
            if isinstance(event, events.SessionIdle):
                task = asyncio.create_task(self._summarize(event), name="summarizing a turn")
                self._summaries.add(task)
                task.add_done_callback(self._summaries.discard)

    async def _summarize(self, ended: events.SessionIdle) -> None:
        """Send the prompt of a turn again, with what the turn edited."""
        runtime = self._runtime
        try:
            page = await runtime.store.page(ended.session_id, limit=STATE_MESSAGES)
        except StoreError:
            return  # it was closed meanwhile
        edits = shapes.turn_edits(page.messages).get(ended.turn_id)
        prompts = (item.message for item in page.messages if item.message.role == "user")
        prompt = next((one for one in prompts if one.turn_id == ended.turn_id), None)
        if edits and prompt is not None:
            info = shapes.message_shape(prompt, str(runtime.directory), str(runtime.project))
            info["summary"] = {"diffs": edits}
            properties: JsonObject = {"sessionID": ended.session_id, "info": info}
            self._send(self._encode("message.updated", properties, message_id=prompt.id))

    def _send(self, event: Encoded) -> None:
        self._kept.append(event)
        if event.session_id:
            self._changed[event.session_id] = event.number
        for reader in tuple(self._readers):
            self._put(reader, event)
            if reader.closed:
                self.disconnect(reader)

    def _put(self, reader: Reader, event: Encoded) -> None:
        """Hand *event* to a reader, after the message and the part that it needs to know."""
        if event.message_id in self._open_messages and event.message_id not in reader.known:
            reader.known.add(event.message_id)
            if event.part_id:
                reader.put(self._message_event(self._open_messages[event.message_id]))
        if event.is_delta and event.part_id not in reader.known:
            held = self._open_parts.get(event.part_id)
            shape = held.shape() if held is not None else None
            if held is None or shape is None:
                return
            event = self._part_event(held.part, shape)
        if event.opens:
            reader.known.add(event.part_id)
        elif event.part_id and not event.is_delta:
            reader.known.discard(event.part_id)
        reader.put(event)

    def _note(self, event: events.Event) -> None:
        """Keep what later readers need to know."""
        match event:
            case events.SessionCreated(session=session) | events.SessionUpdated(session=session):
                self._sessions[session.id] = session
            case events.MessageUpdated(message=message) if message.role == "assistant":
                if message.completed is None and message.error is None:
                    self._open_messages[message.id] = message
                else:
                    self._open_messages.pop(message.id, None)
            case events.PartUpdated(part=part):
                if is_open(part):
                    self._open_parts[part.id] = _OpenPart(part)
                else:
                    self._open_parts.pop(part.id, None)
            case events.PartDelta(field="text") if event.part_id in self._open_parts:
                self._open_parts[event.part_id].pieces.append(event.delta)
            case _:
                pass

    def _converted(self, event: events.Event) -> Iterator[Encoded]:
        match event:
            case events.MessageUpdated(message=message):
                yield self._message_event(message)
            case events.PartUpdated(part=part):
                if (shape := shapes.part_shape(part)) is not None:
                    yield self._part_event(part, shape)
            case events.PartDelta(field="text"):
                yield self._encode(
                    "message.part.delta",
                    {
                        "sessionID": event.session_id,
                        "messageID": event.message_id,
                        "partID": event.part_id,
                        "field": "text",
                        "delta": event.delta,
                    },
                    message_id=event.message_id,
                    part_id=event.part_id,
                    is_delta=True,
                )
            case events.SessionIdle():
                yield from self._turn_ended(event)
            case _:
                for kind, properties in self._plain(event):
                    yield self._encode(kind, properties)

    def _turn_ended(self, event: events.SessionIdle) -> Iterator[Encoded]:
        """Yield the one end of a turn. Its status was sent before."""
        error = event.error
        if error is None and event.outcome == "cancelled":
            yield self._encode(
                "session.error",
                {
                    "sessionID": event.session_id,
                    "error": {"name": "MessageAbortedError", "data": {"message": "Aborted"}},
                },
            )
        elif error is not None:
            yield self._encode(
                "session.error",
                {"sessionID": event.session_id, "error": shapes.error_shape(error)},
            )
        yield self._encode(
            "session.idle",
            {"sessionID": event.session_id, "turnID": event.turn_id, "outcome": event.outcome},
        )

    def _plain(self, event: events.Event) -> Iterator[tuple[str, JsonObject]]:
        """Yield the events without parts, by name and properties."""
        match event:
            case events.SessionCreated() | events.SessionUpdated():
                yield event.type, self._session_properties(event.session)
            case events.SessionDeleted():
                session = self._sessions.pop(event.session_id, None)
                self._changed.pop(event.session_id, None)
                yield (
                    event.type,
                    self._session_properties(session)
                    if session is not None
                    else {"sessionID": event.session_id, "info": {"id": event.session_id}},
                )
            case events.SessionStatusChanged():
                status = shapes.status_shape(event.status)
                yield event.type, {"sessionID": event.session_id, "status": status}
            case events.SessionError():
                error = shapes.error_shape(event.error)
                yield event.type, {"sessionID": event.session_id, "error": error}
            case events.PermissionAsked():
                yield event.type, shapes.permission_shape(event.request, str(self._runtime.project))
            case events.PermissionReplied():
                reply = shapes.permission_reply_shape(event.reply)
                yield (
                    event.type,
                    {
                        "sessionID": event.session_id,
                        "requestID": event.request_id,
                        "reply": reply,
                        "permissionID": event.request_id,
                        "response": reply,
                    },
                )
            case events.QuestionAsked():
                yield event.type, shapes.question_shape(event.question)
            case events.QuestionReplied():
                yield _question_ended(event)
            case _:
                yield from self._rare(event)

    def _rare(self, event: events.Event) -> Iterator[tuple[str, JsonObject]]:
        match event:
            case events.MessageRemoved():
                yield event.type, {"sessionID": event.session_id, "messageID": event.message_id}
            case events.PartRemoved():
                yield (
                    "message.part.removed",
                    {
                        "sessionID": event.session_id,
                        "messageID": event.message_id,
                        "partID": event.part_id,
                    },
                )
            case events.TodoUpdated():
                todos = shapes.todos_shape(event.items)
                yield event.type, {"sessionID": event.session_id, "todos": todos}
            case events.SessionDiff():
                diff: list[Json] = [
                    {"file": path, "additions": added, "deletions": removed}
                    for path, added, removed in event.files
                ]
                yield event.type, {"sessionID": event.session_id, "diff": diff}
            case events.Compacted():
                yield event.type, {"sessionID": event.session_id}
            case events.FileEdited():
                file = str(self._runtime.project / event.path)
                yield event.type, {"file": file}
                yield "file.watcher.updated", {"file": file, "event": WATCHED[event.change]}
            case events.McpChanged():
                yield "mcp.tools.changed", {"server": event.server}
            case events.LspChanged():
                yield "lsp.updated", {}
            case events.ShellChanged():
                yield "opencode-py.shell", {"shell": record_json(ShellInfo, event.shell)}
            case events.PermissionModeChanged():
                yield "opencode-py.mode", {"mode": event.mode}
            case events.Notice():
                variant = event.level
                yield "tui.toast.show", {"message": event.message, "variant": variant}
            case events.PluginFailed():
                yield "tui.toast.show", {"message": event.message, "variant": "error"}
            case _:
                pass  # queues and background tasks have no event there

    async def put_recovered(self, reader: Reader) -> None:
        """Hand the sessions whose turn ended with an earlier program to *reader*, which perhaps
        saw it begin."""
        await self._put_state(reader, -1, before=1)

    async def _put_state(self, reader: Reader, last: int, *, before: float = math.inf) -> None:
        """Hand the sessions that changed after event number *last* to a reader."""
        runtime = self._runtime
        for session_id in [key for key, at in self._changed.items() if last < at < before]:
            session = await runtime.store.session(session_id)
            page = await runtime.store.page(session_id, limit=STATE_MESSAGES)
            reader.put(self._encode("session.updated", self._session_properties(session)))
            for item in page.messages:
                reader.put(self._message_event(item.message))
                for part in item.parts:
                    if (shape := shapes.part_shape(part)) is not None:
                        reader.put(self._part_event(part, shape))
            status = shapes.status_shape(runtime.sessions.status(session_id))
            reader.put(self._encode("session.status", {"sessionID": session_id, "status": status}))
            if status["type"] == "idle":
                reader.put(self._encode("session.idle", {"sessionID": session_id}))

    def _message_event(self, message: Message) -> Encoded:
        runtime = self._runtime
        info = shapes.message_shape(message, str(runtime.directory), str(runtime.project))
        return self._encode(
            "message.updated",
            {"sessionID": message.session_id, "info": info},
            message_id=message.id,
        )

    def _part_event(self, part: Part, shape: JsonObject) -> Encoded:
        return self._encode(
            "message.part.updated",
            {"sessionID": part.session_id, "part": shape, "time": shapes.milliseconds(time.time())},
            message_id=part.message_id,
            part_id=part.id,
            opens=is_open(part),
        )

    def _session_properties(self, session: Session) -> JsonObject:
        return {"sessionID": session.id, "info": shapes.session_shape(session, self._version)}

    def _encode(
        self,
        kind: str,
        properties: JsonObject,
        *,
        message_id: str = "",
        part_id: str = "",
        opens: bool = False,
        is_delta: bool = False,
    ) -> Encoded:
        self._number += 1
        event: JsonObject = {
            "id": f"evt_{self._boot}{self._number:08x}",
            "type": kind,
            "properties": properties,
        }
        session_id = properties.get("sessionID")
        return Encoded(
            self._number,
            json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode(errors="replace"),
            str(self._runtime.directory),
            session_id if isinstance(session_id, str) else "",
            message_id,
            part_id,
            opens,
            is_delta,
        )


def _question_ended(event: events.QuestionReplied) -> tuple[str, JsonObject]:
    properties: JsonObject = {"sessionID": event.session_id, "requestID": event.question_id}
    reply = event.reply
    if reply is None or reply.dismissed or reply.declined:
        return "question.rejected", properties
    given: list[Json] = [*reply.labels, *([reply.text] if reply.text else [])]
    values = None if reply.values is None else list(reply.values.values())
    answers = [given] if values is None else [v if isinstance(v, list) else [v] for v in values]
    properties["answers"] = [[str(each) for each in answer] for answer in answers]
    return "question.replied", properties
