"""The pending permission requests and questions of a server, answered over the connection."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace

from agent.bus import Bus
from agent.permission.rules import Rule
from agent.permission.service import PermissionService
from agent.records.errors import OpencodePyError, SessionNotFound
from agent.records.events import (
    Notice,
    PermissionAsked,
    PermissionModeChanged,
    PermissionReplied,
    QuestionAsked,
    QuestionReplied,
)
from agent.records.json import Json, JsonObject
from agent.records.requests import (
    PermissionMode,
    PermissionReply,
    PermissionRequest,
    Question,
    QuestionReply,
)
from agent.session.subagents.subagents import lineage_of
from agent.store.store import Store
from agent.tools.core.questions import QuestionService
from agent.transfer import opencode_records as records
from agent.transfer.opencode_records import dict_of, text_of
from agent.transfer.opencode_shapes import request_in
from app.remote.connection import Connection

PARTIAL = (
    "This server takes no part of a change, no other command and no exemption from the sandbox: "
    "approve or reject the whole call."
)


NO_MODES = "This server has no permission modes: its own rules decide."


class Sender:
    """Sends in tasks what nothing waits for; a failure becomes a notice."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._tasks: set[asyncio.Task[None]] = set()

    def send(
        self, work: Coroutine[object, object, object], failed: Callable[[], None] | None = None
    ) -> asyncio.Task[None]:
        async def run() -> None:
            try:
                await work
            except OpencodePyError as error:
                self._bus.publish(Notice(error.message, "error"))
                if failed is not None:
                    failed()

        task = asyncio.create_task(run(), name="sending to the server")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: work.close())  # it never began if it was cancelled at once
        return task

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


class RemotePermissions(PermissionService):
    """The permission requests of the server. Its rules and its mode decide, not those here."""

    def __init__(
        self,
        bus: Bus,
        store: Store,
        connection: Connection,
        sender: Sender,
        send_mode: Callable[[PermissionMode], Coroutine[object, object, object]] | None,
    ) -> None:
        """*send_mode* sends a permission mode to the server; None if it has no modes."""
        super().__init__(bus, store, _no_rules)
        self._events = bus
        self._connection = connection
        self._sender = sender
        self._send_mode = send_mode
        self._asked: dict[str, tuple[PermissionRequest, bool]] = {}

    @property
    def mode(self) -> PermissionMode:
        """The permission mode of the server; another one is sent there."""
        return self._mode

    @mode.setter
    def mode(self, mode: PermissionMode) -> None:
        if mode == self._mode:
            return
        if self._send_mode is None:
            self._events.publish(Notice(NO_MODES, "error"))
        else:
            self._sender.send(self._send_mode(mode))

    def note_mode(self, mode: PermissionMode) -> None:
        """Take over the mode that the server has now."""
        if mode != self._mode:
            self._mode = mode
            self._events.publish(PermissionModeChanged(mode))

    def show(self, request: PermissionRequest, *, complete: bool) -> None:
        """Show a request. *complete* if the server described all of it, and takes any reply."""
        if request.id not in self._asked:
            self._asked[request.id] = (request, complete)
            self._events.publish(PermissionAsked(request))

    def withdraw(self, request_id: str) -> None:
        found = self._asked.pop(request_id, None)
        if found is not None:
            self._events.publish(PermissionReplied(request_id, found[0].session_id, None))

    def withdraw_all(self) -> None:
        for request_id in tuple(self._asked):
            self.withdraw(request_id)

    def pending(self, root_id: str | None = None) -> tuple[PermissionRequest, ...]:
        asked = (request for request, _ in self._asked.values())
        return tuple(one for one in asked if root_id in {None, one.root_id})

    def reply(self, request_id: str, reply: PermissionReply) -> bool:
        if request_id not in self._asked:
            return False
        request, complete = self._asked[request_id]

        def again() -> None:
            if request_id in self._asked:
                self.withdraw(request_id)
                self.show(request, complete=complete)

        self._sender.send(self._send(request_id, reply, complete=complete), again)
        return True

    async def _send(self, request_id: str, reply: PermissionReply, *, complete: bool) -> None:
        body: JsonObject = {"reply": reply.answer}
        if reply.comment:
            body["message"] = reply.comment
        changes: JsonObject = {}
        if reply.hunks is not None:
            changes["hunks"] = [*sorted(reply.hunks)]
        if reply.edited_command is not None:
            changes["command"] = reply.edited_command
        if reply.unsandboxed:
            changes["unsandboxed"] = True
        if changes and not complete:
            self._events.publish(Notice(PARTIAL, "error"))
            request = self._asked[request_id][0]
            self.withdraw(request_id)
            self.show(request, complete=False)
            return
        try:
            await self._connection.post(f"/permission/{request_id}/reply", body | changes)
        except SessionNotFound:
            self.withdraw(request_id)  # another client was first


class RemoteQuestions(QuestionService):
    """The questions of the server. One of several in a request is shown after the other."""

    def __init__(self, bus: Bus, connection: Connection, sender: Sender) -> None:
        super().__init__(bus)
        self._events = bus
        self._connection = connection
        self._sender = sender
        self._asked: dict[str, tuple[Question, ...]] = {}
        self._given: dict[str, list[Json]] = {}

    def show(self, questions: tuple[Question, ...]) -> None:
        if questions and questions[0].id not in self._asked:
            self._asked[questions[0].id] = questions
            self._given[questions[0].id] = []
            self._events.publish(QuestionAsked(self._current(questions[0].id)))

    def withdraw(self, request_id: str) -> None:
        if request_id in self._asked:
            current = self._current(request_id)
            del self._asked[request_id]
            self._events.publish(QuestionReplied(current.id, current.session_id, None))

    def withdraw_all(self) -> None:
        for request_id in tuple(self._asked):
            self.withdraw(request_id)

    def pending(self, root_id: str | None = None) -> tuple[Question, ...]:
        current = map(self._current, self._asked)
        return tuple(one for one in current if root_id in {None, one.root_id})

    def reply(self, question_id: str, reply: QuestionReply) -> bool:
        request_id = question_id.partition("#")[0]
        asked = self._asked.get(request_id)
        if asked is None:
            return False

        def again() -> None:
            if self._asked.get(request_id) == asked:
                self.withdraw(request_id)
                self.show(asked)

        if reply.dismissed:
            self._sender.send(self._send(request_id, "reject", {}), again)
            return True
        before = self._current(request_id)
        given: list[Json] = [*reply.labels, *([reply.text] if reply.text else [])]
        self._given[request_id].append(given)
        answers = self._given[request_id]
        if len(answers) < len(asked):
            self._events.publish(QuestionReplied(before.id, before.session_id, reply))
            self._events.publish(QuestionAsked(self._current(request_id)))
        else:
            self._sender.send(self._send(request_id, "reply", {"answers": answers}), again)
        return True

    def _current(self, request_id: str) -> Question:
        """Return the question that is shown, under an id of its own."""
        asked = self._asked[request_id]
        at = min(len(self._given[request_id]), len(asked) - 1)
        return replace(asked[at], id=f"{request_id}#{at + 1}")

    async def _send(self, request_id: str, how: str, body: JsonObject) -> None:
        try:
            await self._connection.post(f"/question/{request_id}/{how}", body)
        except SessionNotFound:
            self.withdraw(request_id)  # another client was first


class RemoteRequests:
    """Hands the server's requests to *permissions* and *questions*."""

    def __init__(
        self, store: Store, permissions: RemotePermissions, questions: RemoteQuestions
    ) -> None:
        self._store = store
        self._permissions = permissions
        self._questions = questions

    async def permission(self, raw: JsonObject) -> None:
        root_id = await self._root(text_of(raw.get("sessionID")))
        whole = request_in(dict_of(raw.get("metadata")))
        request = whole or records.permission_record(raw, root_id)
        self._permissions.show(request, complete=whole is not None)

    async def question(self, raw: JsonObject) -> None:
        root_id = await self._root(text_of(raw.get("sessionID")))
        self._questions.show(records.question_records(raw, root_id))

    def note_mode(self, mode: PermissionMode) -> None:
        self._permissions.note_mode(mode)

    def withdraw(self, request_id: str) -> None:
        self._permissions.withdraw(request_id)
        self._questions.withdraw(request_id)

    def withdraw_all(self) -> None:
        self._permissions.withdraw_all()
        self._questions.withdraw_all()

    async def _root(self, session_id: str) -> str:
        try:
            return (await lineage_of(self._store, await self._store.session(session_id))).root_id
        except SessionNotFound:
            return session_id


def _no_rules(name: str, /, *, child: bool) -> tuple[Rule, ...]:
    return ()
