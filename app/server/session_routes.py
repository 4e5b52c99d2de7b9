"""The endpoints of sessions: create, prompt, abort, read, change."""

import asyncio
from collections.abc import Coroutine
from dataclasses import field

from starlette.requests import Request
from starlette.responses import Response

from agent.records.errors import SessionNotFound
from agent.records.frozen import frozen
from agent.records.json import Json, JsonObject
from agent.records.messages import MessageWithParts, Session
from agent.session.api import PromptInput
from agent.session.prompt.mentions import mentions_in
from agent.session.prompt.templates import init_prompt
from agent.transfer import opencode_shapes as shapes
from app.server.answers import (
    FileDiffAnswer,
    MessageAnswer,
    SessionAnswer,
    StatusAnswer,
    TodoAnswer,
)
from app.server.bodies import (
    CommandBody,
    ForkBody,
    InitBody,
    NewSessionBody,
    PromptBody,
    RevertBody,
    SessionChangeBody,
    ShellBody,
    SummarizeBody,
    read_body,
)
from app.server.endpoint import Endpoint
from app.server.errors import RequestError
from app.server.folders import Folder, Folders
from app.server.prompt_content import prompt_of, refuse_outside
from app.server.refusals import MESSAGES

MAX_DIGITS = 15
"""Digits of a number in a query: times in milliseconds have 13."""

TEXT: JsonObject = {"type": "string"}
COUNT: JsonObject = {"type": "integer", "minimum": 0, "maximum": 10**MAX_DIGITS - 1}
FLAG: JsonObject = {"type": "string", "enum": ["true", "false"]}

LISTED: JsonObject = {
    "scope": {"type": "string", "enum": ["project"]},
    "roots": FLAG,
    "limit": COUNT,
    "start": COUNT,
    "search": TEXT,
}
"""The parameters of a list of sessions."""

PAGE = 100
"""Sessions of a list that names no limit."""


@frozen
class SessionRoutes:
    """Sessions of the folders that clients name."""

    folders: Folders
    _prompts: set[asyncio.Task[Json]] = field(default_factory=set[asyncio.Task[Json]])

    def endpoints(self) -> tuple[Endpoint, ...]:
        one, path = SessionAnswer, "/session/{session}"
        found, running = list[SessionAnswer], dict[str, StatusAnswer]
        diff = list[FileDiffAnswer]
        return (
            Endpoint(
                "GET", "/session", "List the sessions of a folder", self.list, found, query=LISTED
            ),
            Endpoint("POST", "/session", "Create a session", self.create, one, NewSessionBody),
            Endpoint("GET", "/session/status", "Running sessions", self.statuses, running),
            Endpoint("GET", path, "One session", self.get, one),
            Endpoint(
                "PATCH", path, "Rename, archive or pin it", self.change, one, SessionChangeBody
            ),
            Endpoint("DELETE", path, "Delete a session", self.delete, bool),
            Endpoint("GET", path + "/children", "Its sub-agents", self.children, found),
            Endpoint("GET", path + "/todo", "The to-do list", self.todos, list[TodoAnswer]),
            Endpoint(
                "GET",
                path + "/diff",
                "The files that a session or a turn changed",
                self.diff,
                diff,
                query={"messageID": TEXT},
            ),
            Endpoint("POST", path + "/abort", "Interrupt the running turn", self.abort, bool),
            Endpoint("POST", path + "/fork", "Copy a session", self.fork, one, ForkBody),
            Endpoint("POST", path + "/revert", "Undo from a message", self.revert, one, RevertBody),
            Endpoint("POST", path + "/unrevert", "Redo what was undone", self.unrevert, one),
            Endpoint("POST", path + "/summarize", "Compact", self.summarize, bool, SummarizeBody),
            *self._message_endpoints(path),
        )

    def _message_endpoints(self, path: str) -> tuple[Endpoint, ...]:
        one, messages, later = MessageAnswer, path + "/message", path + "/prompt_async"
        return (
            Endpoint(
                "GET",
                messages,
                "The messages",
                self.messages,
                list[MessageAnswer],
                query={"limit": COUNT, "before": TEXT},
            ),
            Endpoint("GET", messages + "/{message}", "One message", self.message, one),
            Endpoint("DELETE", messages + "/{message}", "Drop a queued message", self.drop, bool),
            Endpoint("POST", messages, "Send a prompt and wait", self.prompt, one, PromptBody),
            Endpoint("POST", later, "Send a prompt", self.prompt_async, None, PromptBody),
            Endpoint("POST", path + "/init", "Write AGENTS.md", self.init, bool, InitBody),
            Endpoint("POST", path + "/command", "Run a command", self.command, one, CommandBody),
            Endpoint("POST", path + "/shell", "Run the user's shell", self.shell, one, ShellBody),
        )

    async def list(self, request: Request) -> Json:
        """The sessions of a folder, or of its whole project with ``scope=project``."""
        folder = await self.folders.of(request)
        query = request.query_params
        found = await folder.runtime.store.sessions(
            directory=None if query.get("scope") == "project" else str(folder.runtime.directory),
            include_children=query.get("roots") != "true",
            limit=_number(query.get("limit"), PAGE),
        )
        project, search = str(folder.runtime.project), query.get("search", "").lower()
        since = _number(query.get("start"), 0)
        return [
            self._shape(session)
            for session in found
            if session.project == project
            and search in session.title.lower()
            and shapes.milliseconds(session.updated) >= since
        ]

    async def create(self, request: Request) -> Json:
        folder = await self.folders.of(request)
        body = await read_body(request, NewSessionBody)
        runtime = folder.runtime
        if body.parent_id is not None:
            await folder.session(body.parent_id)
        agent = runtime.agents.get(body.agent or runtime.config.config.default_agent)
        return self._shape(
            await runtime.sessions.repository.create(
                agent=agent.name, title=body.title, parent_id=body.parent_id
            )
        )

    async def statuses(self, request: Request) -> Json:
        """The sessions that are not idle, by id."""
        runtime = (await self.folders.of(request)).runtime
        found = await runtime.store.sessions(directory=str(runtime.directory), limit=PAGE)
        statuses = {session.id: runtime.sessions.status(session.id) for session in found}
        return {
            key: shapes.status_shape(status)
            for key, status in statuses.items()
            if status.type != "idle"
        }

    async def get(self, request: Request) -> Json:
        return self._shape((await self._named(request))[1])

    async def change(self, request: Request) -> Json:
        folder, session = await self._named(request)
        body = await read_body(request, SessionChangeBody)
        repository = folder.runtime.sessions.repository
        if body.title is not None:
            session = await repository.rename(session.id, body.title)
        if body.time is not None:
            archived = body.time.archived is not None
            session = await repository.archive(session.id, archived=archived)
        if body.pinned is not None:
            session = await repository.pin(session.id, pinned=body.pinned)
        return self._shape(session)

    async def delete(self, request: Request) -> Json:
        folder, session = await self._named(request)
        await folder.runtime.sessions.delete(session.id)
        return True

    async def children(self, request: Request) -> Json:
        folder, session = await self._named(request)
        found = await folder.runtime.store.children(session.id)
        return [self._shape(child) for child in found]

    async def todos(self, request: Request) -> Json:
        folder, session = await self._named(request)
        return shapes.todos_shape(await folder.runtime.store.todos(session.id))

    async def diff(self, request: Request) -> Json:
        """The changed files of a session, or of the turn that ``messageID`` began."""
        folder, session = await self._named(request)
        runtime = folder.runtime
        messages = await runtime.store.messages(session.id)
        named = request.query_params.get("messageID")
        if named is not None:
            messages = _turn(messages, named)
        changes = await runtime.sessions.undo.changes.diffs(messages)
        return [shapes.file_diff_shape(block) for block in changes]

    async def messages(self, request: Request) -> Json:
        folder, session = await self._named(request)
        store = folder.runtime.store
        limit = _number(request.query_params.get("limit"), 0)
        if not limit:
            return _shapes(await store.messages(session.id), session)
        before = request.query_params.get("before") or None
        page = await store.page(session.id, before=before, limit=limit)
        return _shapes(page.messages, session)

    async def _message(self, request: Request) -> tuple[Folder, Session, MessageWithParts]:
        """Return the message that the path names, with its folder and session."""
        folder, session = await self._named(request)
        name = request.path_params["message"]
        found = await folder.runtime.store.message(name)
        if found is None or found.message.session_id != session.id:
            raise RequestError(404, f"There is no message {name} in this session.")
        return folder, session, found

    async def message(self, request: Request) -> Json:
        _, session, found = await self._message(request)
        return shapes.message_with_parts_shape(found, session.directory, session.project)

    async def drop(self, request: Request) -> Json:
        """Remove a message that waits in the queue; others stay."""
        folder, session, found = await self._message(request)
        if await folder.runtime.queues.remove(session.id, found.message.id) is None:
            raise RequestError(501, MESSAGES)
        return True

    async def prompt(self, request: Request) -> Json:
        """Send a prompt and answer with the last message of its turn, or with the message itself if
        it is to have no reply."""
        folder, session = await self._named(request)
        made = prompt_of(await read_body(request, PromptBody), folder.runtime)
        if not made.answered:
            await folder.runtime.sessions.prompt(session.id, made)
            return await _last_message(folder, session)
        # A client that hangs up does not end the turn: it has an endpoint for that.
        return await asyncio.shield(self._start(_prompted(folder, session, made)))

    async def prompt_async(self, request: Request) -> Json | Response:
        """Send a prompt; everything else comes as events."""
        folder, session = await self._named(request)
        made = prompt_of(await read_body(request, PromptBody), folder.runtime)
        await folder.runtime.mcp.wait_until_tried()
        await folder.runtime.sessions.prompt(session.id, made)
        return Response(status_code=204)

    async def init(self, request: Request) -> Json:
        """Have the agent describe the project in AGENTS.md, and wait for the end of its turn."""
        folder, session = await self._named(request)
        body = await read_body(request, InitBody)
        model = f"{body.provider_id}/{body.model_id}" if body.provider_id else None
        made = PromptInput(text=init_prompt(""), model=model)
        await asyncio.shield(self._start(_prompted(folder, session, made)))
        return True

    async def command(self, request: Request) -> Json:
        folder, session = await self._named(request)
        body = await read_body(request, CommandBody)
        for mention in mentions_in(body.arguments, folder.runtime.directory):
            refuse_outside(mention, folder.runtime)
        base = PromptInput(text="", agent=body.agent, model=body.model, effort=body.variant)
        made = await folder.runtime.commands.prompt(
            body.command.removeprefix("/"), body.arguments, session, base
        )
        answer = await asyncio.shield(self._start(_prompted(folder, session, made)))
        executed: JsonObject = {
            "name": body.command,
            "sessionID": session.id,
            "arguments": body.arguments,
        }
        folder.feed.publish("command.executed", executed)
        return answer

    async def shell(self, request: Request) -> Json:
        folder, session = await self._named(request)
        body = await read_body(request, ShellBody)
        with folder.turn_ends(session.id) as ends:
            await folder.runtime.sessions.user_shell.start(session.id, body.command)
            await ends.wait_for("")
        return await _last_message(folder, session)

    async def abort(self, request: Request) -> Json:
        folder, session = await self._named(request)
        if not await folder.runtime.sessions.cancel(session.id):
            folder.runtime.permissions.cancel_session(session.id)
        await folder.runtime.sessions.wait(session.id)
        return True

    async def fork(self, request: Request) -> Json:
        folder, session = await self._named(request)
        body = await read_body(request, ForkBody)
        return self._shape(
            await folder.runtime.sessions.repository.fork(session.id, body.message_id)
        )

    async def revert(self, request: Request) -> Json:
        """Undo the prompt that *messageID* belongs to and all later ones, with their files. One
        that was undone with earlier ones stays undone, and those are restored."""
        folder, session = await self._named(request)
        body = await read_body(request, RevertBody)
        messages = await folder.runtime.store.messages(session.id)
        target = _prompt_of_message(messages, body.message_id)
        position = {item.message.id: number for number, item in enumerate(messages)}
        undo = folder.runtime.sessions.undo
        while position.get(session.undone_at or "", len(messages)) < position[target]:
            await undo.redo(session.id)
            session = await folder.runtime.store.session(session.id)
        while (plan := await undo.plan(session.id)) is not None:
            if position[plan.message_id] < position[target]:
                break
            await undo.undo(plan, files=True, conversation=True)
        return self._shape(await folder.runtime.store.session(session.id))

    async def unrevert(self, request: Request) -> Json:
        folder, session = await self._named(request)
        while await folder.runtime.sessions.undo.redo(session.id) is not None:
            pass
        return self._shape(await folder.runtime.store.session(session.id))

    async def summarize(self, request: Request) -> Json:
        folder, session = await self._named(request)
        body = await read_body(request, SummarizeBody)
        with folder.turn_ends(session.id) as ends:
            await folder.runtime.sessions.compaction.start(session.id, body.focus)
            await ends.wait_for("")
        return True

    async def _named(self, request: Request) -> tuple[Folder, Session]:
        """Return the session of the path and its folder: its own, if the request names none."""
        folder = await self.folders.of(request)
        session_id = request.path_params["session"]
        try:
            return folder, await folder.session(session_id)
        except SessionNotFound:
            for other in self.folders.all():
                if other is not folder:
                    try:
                        return other, await other.session(session_id)
                    except SessionNotFound:
                        continue
            raise

    def _shape(self, session: Session) -> JsonObject:
        return shapes.session_shape(session, self.folders.version)

    def _start(self, work: Coroutine[None, None, Json]) -> asyncio.Task[Json]:
        task = asyncio.create_task(work)
        self._prompts.add(task)
        task.add_done_callback(self._prompts.discard)
        return task


async def _prompted(folder: Folder, session: Session, made: PromptInput) -> Json:
    await folder.runtime.mcp.wait_until_tried()
    with folder.turn_ends(session.id) as ends:
        message_id = await folder.runtime.sessions.prompt(session.id, made)
        await ends.wait_for(message_id)
    return await _last_message(folder, session)


async def _last_message(folder: Folder, session: Session) -> Json:
    page = await folder.runtime.store.page(session.id, limit=1)
    if not page.messages:
        raise RequestError(500, "The turn ended without a message.")
    last = page.messages[-1]
    return shapes.message_with_parts_shape(last, session.directory, session.project)


def _turn(messages: "list[MessageWithParts]", message_id: str) -> "list[MessageWithParts]":
    turn = next((m.message.turn_id for m in messages if m.message.id == message_id), None)
    return [item for item in messages if turn is not None and item.message.turn_id == turn]


def _prompt_of_message(messages: "list[MessageWithParts]", message_id: str) -> str:
    """Return the id of the prompt that *message_id* answers, or is."""
    prompt = ""
    for item in messages:
        if item.message.role == "user":
            prompt = item.message.id
        if item.message.id == message_id and prompt:
            return prompt
    raise RequestError(404, f"There is no message {message_id} in this session.")


def _shapes(messages: "list[MessageWithParts] | tuple[MessageWithParts, ...]", of: Session) -> Json:
    return shapes.messages_shape(messages, of.directory, of.project)


def _number(text: str | None, default: int) -> int:
    """Return a query's number. Raises ``RequestError`` for one that is none."""
    if not text:
        return default
    if not text.isdecimal() or len(text) > MAX_DIGITS:
        raise RequestError(400, f"{text[:40]!r} is not a number, or too large.")
    return int(text)
