"""The controls of a folder at a server of this program."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import aclosing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from agent.mcp.records import ServerStatus
from agent.records.background import ShellInfo
from agent.records.errors import NothingToDo, SessionNotFound
from agent.records.frozen import frozen
from agent.records.json import Json, JsonObject
from agent.records.memory import MemoryOrigin
from agent.records.messages import Session
from agent.records.requests import PermissionMode, PermissionReply, PermissionRequest
from agent.runtime.folder_controls import (
    CodeState,
    Detached,
    FolderStatus,
    GuidanceState,
    McpChange,
    MemoryFile,
    ModeState,
    NewSession,
    RulesState,
    SpendingState,
)
from agent.session.fallback import FallbackState
from agent.session.goals import NO_GOAL, parse_goal
from agent.session.repeated_prompts import NO_LOOP, parse_loop
from agent.session.review.context_usage import ContextUsage
from agent.session.spending import parse_cap
from agent.store.stats import UsageRow
from agent.transfer.importer import read_export
from agent.transfer.opencode_records import dict_of, session_record, text_of
from agent.transfer.record_json import record_json, record_of
from app.remote.connection import LONGEST_DELAY, Connection, ServerGone, ServerRefused
from app.remote.requests import Sender

PREFIX = "/opencode-py"

KindT = TypeVar("KindT")

OTHER_VERSION = "The server runs another version of opencode-py: update both."


NOT_OFFERED = "The server runs an older opencode-py, which cannot do this: update it."

UNKNOWN_PATH = (*(f"There is no {method} {PREFIX}/" for method in ("GET", "POST")), f"{PREFIX}/")
"""The beginnings of the sentences with which our servers refuse a path or a method of one."""


class NotOffered(ServerRefused):
    """The server lacks a control, as one of an older version."""


@contextmanager
def _offered() -> Generator[None]:
    """Raise ``NotOffered`` where the server does not know the path of a request."""
    try:
        yield
    except (SessionNotFound, ServerRefused) as error:
        if error.message.startswith(UNKNOWN_PATH):
            raise NotOffered(NOT_OFFERED, 404) from error
        raise


class ShellFollower:
    """The output of background commands at a server, while something listens. *delay* is the time
    in seconds before the first attempt to connect again."""

    def __init__(self, connection: Connection, sender: Sender, *, delay: float) -> None:
        self._connection = connection
        self._sender = sender
        self._delay = delay
        self._listening: dict[str, int] = {}
        """The number of listeners of each command."""
        self._shells: dict[str, tuple[ShellInfo, str]] = {}

    def find(self, shell_id: str) -> ShellInfo | None:
        found = self._shells.get(shell_id)
        return found[0] if found is not None else None

    def tail(self, shell_id: str) -> str:
        found = self._shells.get(shell_id)
        return found[1] if found is not None else ""

    def listen(self, shell_id: str, listener: Callable[[], None]) -> Callable[[], None]:
        self._listening[shell_id] = self._listening.get(shell_id, 0) + 1
        task = self._sender.send(self._follow(shell_id, listener))

        def stop() -> None:
            task.cancel()
            self._listening[shell_id] -= 1
            if not self._listening[shell_id]:
                del self._listening[shell_id]
                self._shells.pop(shell_id, None)

        return stop

    async def _follow(self, shell_id: str, listener: Callable[[], None]) -> None:
        """Follow a command to its end, also after the connection was lost."""
        delay = self._delay
        while True:
            with suppress(ServerGone):  # which the mirror reports
                async with aclosing(self._states(shell_id)) as states:
                    async for shell, output in states:
                        delay = self._delay
                        self._shells[shell_id] = (shell, output)
                        listener()
                        if shell.state != "running":
                            return
            await asyncio.sleep(delay)
            delay = min(2 * delay, LONGEST_DELAY)

    async def _states(self, shell_id: str) -> AsyncGenerator[tuple[ShellInfo, str]]:
        """Yield a command with its output, again with each change. One that the server no longer
        knows has ended with the server that ran it."""
        try:
            with _offered():
                path = f"{PREFIX}/shells/{shell_id}/output"
                async with self._connection.stream(path) as events:
                    async for event in events:
                        if "output" in event:
                            shell = _record(ShellInfo, event.get("shell"))
                            yield shell, text_of(event.get("output"))
        except SessionNotFound:
            if (known := self._shells.get(shell_id)) is None:
                raise
            yield replace(known[0], state="killed", ended=time.time()), known[1]


@frozen
class RemoteControls:
    """The controls of the folder at *connection*. *project* is its project's path."""

    connection: Connection
    project: str
    shell_output: ShellFollower

    async def status(self) -> FolderStatus:
        return await self._get(FolderStatus, "/status")

    async def usage(self, days: int) -> tuple[UsageRow, ...]:
        return await self._get(tuple[UsageRow, ...], "/usage", days=str(days))

    async def context(self, session_id: str | None, model: str, agent: str) -> ContextUsage:
        named = {"session": session_id or "", "model": model, "agent": agent}
        return await self._get(ContextUsage, "/context", **named)

    async def spending(self, session_id: str | None) -> SpendingState:
        return await self._get(SpendingState, "/spending", session=session_id or "")

    async def set_cap(self, argument: str, new: NewSession) -> str:
        path = "/spending"
        if parse_cap(argument)[0] == "session":
            path += f"?session={(await new()).id}"
        return await self._post(str, path, argument=argument)

    async def fallback(self) -> FallbackState:
        return await self._get(FallbackState, "/fallback")

    async def change_fallback(self, argument: str) -> str:
        return await self._post(str, "/fallback", argument=argument)

    async def guidance(self) -> GuidanceState:
        return await self._get(GuidanceState, "/guidance")

    async def memory(self) -> MemoryFile:
        return await self._get(MemoryFile, "/memory")

    async def propose_memory(self, session_id: str) -> tuple[str, ...]:
        path = f"/session/{session_id}/memory"
        return await self._post(tuple[str, ...], path, waits=True)

    async def draft_memory(self, lines: tuple[str, ...]) -> PermissionRequest:
        return await self._post(PermissionRequest, "/memory/draft", lines=list(lines))

    async def write_memory(
        self,
        request: PermissionRequest,
        reply: PermissionReply,
        origins: Mapping[str, MemoryOrigin],
    ) -> str:
        return await self._post(
            str,
            "/memory",
            request=record_json(PermissionRequest, request),
            reply=record_json(PermissionReply, reply),
            origins=record_json(dict[str, MemoryOrigin], dict(origins)),
        )

    async def rules(self, session_id: str | None, agent: str) -> RulesState:
        return await self._get(RulesState, "/rules", session=session_id or "", agent=agent)

    async def revoke_rule(self, session_id: str, permission: str, pattern: str) -> None:
        path = f"/session/{session_id}/revoke"
        await self._post(bool, path, permission=permission, pattern=pattern)

    async def pin(self, session_id: str, message_id: str, *, pinned: bool) -> None:
        path = f"/session/{session_id}/pin"
        await self._post(bool, path, messageID=message_id, pinned=pinned)

    async def import_session(self, path: Path) -> Session:
        data = dict_of(await asyncio.to_thread(read_export, path))
        with _offered():
            info = await self.connection.post(f"{PREFIX}/import", data)
        return session_record(dict_of(info), self.project)

    async def goal(
        self, session: Session | None, argument: str, new: NewSession, model: str
    ) -> str:
        if argument.strip().lower() not in {"", "pause", "resume", "stop"}:
            parse_goal(argument)
            session = await new()
        if session is None:
            raise NothingToDo(NO_GOAL)
        return await self._post(str, f"/session/{session.id}/goal", argument=argument, model=model)

    async def loop(self, session: Session | None, argument: str, new: NewSession) -> str:
        if argument.strip().lower() not in {"", "stop"}:
            parse_loop(argument)
            session = await new()
        if session is None:
            raise NothingToDo(NO_LOOP)
        return await self._post(str, f"/session/{session.id}/loop", argument=argument)

    async def aside(self, session_id: str, question: str) -> AsyncGenerator[str, None]:
        path = f"{PREFIX}/session/{session_id}/aside"
        body: JsonObject = {"argument": question}
        with _offered():
            async with self.connection.stream(path, body, silence=None) as events:
                async for event in events:
                    if "error" in event:
                        raise ServerRefused(text_of(event.get("error")), 200)
                    yield text_of(event.get("text"))

    async def servers(self) -> tuple[ServerStatus, ...]:
        return await self._get(tuple[ServerStatus, ...], "/servers")

    async def change_server(self, name: str, change: McpChange) -> None:
        await self._post(bool, f"/servers/{quote(name, safe='')}", waits=True, change=change)

    async def code(self) -> CodeState:
        return await self._get(CodeState, "/code")

    async def restart_code(self) -> None:
        await self._post(bool, "/code/restart")

    async def shells(self) -> tuple[ShellInfo, ...]:
        return await self._get(tuple[ShellInfo, ...], "/shells")

    async def kill_shell(self, shell_id: str) -> None:
        await self._post(bool, f"/shells/{shell_id}/kill")

    async def detach(self, session_id: str) -> Detached:
        return await self._post(Detached, f"/session/{session_id}/detach")

    async def mode(self) -> ModeState:
        return await self._get(ModeState, "/mode")

    async def change_mode(self, mode: PermissionMode) -> None:
        await self._post(ModeState, "/mode", mode=mode)

    async def are_offered(self) -> bool:
        """Return whether the server has controls: one of an older version has none."""
        try:
            await self.mode()
        except NotOffered:
            return False
        except ServerRefused:  # each request says what is wrong
            return True
        return True

    async def _get(self, kind: type[KindT], path: str, **query: str) -> KindT:
        with _offered():
            answer = await self.connection.get(PREFIX + path, **query)
        return _record(kind, answer)

    async def _post(
        self, kind: type[KindT], path: str, *, waits: bool = False, **body: Json
    ) -> KindT:
        with _offered():
            answer = await self.connection.post(PREFIX + path, body, waits=waits)
        return _record(kind, answer)


def _record(kind: type[KindT], raw: Json) -> KindT:
    try:
        return record_of(kind, raw)
    except ValueError as error:
        raise ServerRefused(OTHER_VERSION, 200) from error
