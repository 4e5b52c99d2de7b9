"""A complete runtime on a scripted model server, in temporary folders."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from agent.bus import Subscription
from agent.files import Editor
from agent.records.events import Event, PartUpdated, PermissionAsked, SessionIdle
from agent.records.messages import MessageWithParts, Part, Running, Session, ToolPart
from agent.records.requests import PermissionReply, PermissionRequest
from agent.records.tool_facts import Answering
from agent.runtime.runtime import Runtime, open_runtime
from agent.session.api import PromptInput
from agent.session.turn.turn_services import StopHook
from tests.support.model_server import ModelServer

GUARD = 30.0
"""Seconds after which a test that waits for an event counts as stuck."""

MODEL = "scripted/model-1"


def environment(home: Path) -> dict[str, str]:
    """Return an environment without anything of this machine's user."""
    return {
        "HOME": str(home),
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "OPENCODE_PY_DATA": str(home / "data"),
        "OPENCODE_PY_CONFIG_DIR": str(home / "config"),
        "LANG": "C.UTF-8",
    }


TEXT_APIS = ("openai-chat", "openai-responses", "anthropic-messages")
"""Wire protocols whose arguments are text, which can be invalid JSON."""

APIS = (*TEXT_APIS, "gemini")
"""The wire protocols that the scripted server supports."""


def config_for(
    server: ModelServer,
    *,
    api: str = APIS[0],
    options: dict[str, object] | None = None,
    abilities: dict[str, object] | None = None,
    provider: Callable[[str], dict[str, object]] | None = None,
    **more: object,
) -> dict[str, object]:
    """Return settings with *server* as the only provider, over the protocol *api* with further
    *options*; *abilities* are added to its model. *provider* adds further providers at the same
    address. Titles are off, so that each response goes to a turn."""
    limit = {"context": 100_000, "output": 32_000}
    return {
        "model": MODEL,
        "small_model": "none",
        "provider": {
            "scripted": {
                "api": api,
                "options": {"baseURL": server.url, "apiKey": "sk-scripted-0001", **(options or {})},
                "models": {"model-1": {"limit": limit, **(abilities or {})}},
            },
            **(provider(server.url) if provider else {}),
        },
        **more,
    }


def write_config(home: Path, settings: dict[str, object]) -> None:
    folder = home / "config"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(settings), "utf-8")


@dataclass
class Harness:
    """A runtime under test; *events* are all published events, in order."""

    runtime: Runtime
    server: ModelServer
    folder: Path
    home: Path
    events: list[Event] = field(default_factory=list)
    _arrived: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def follow(self, subscription: Subscription) -> None:
        async for event in subscription:
            async with self._arrived:
                self.events.append(event)
                self._arrived.notify_all()

    async def until(self, found: Callable[[Event], bool], *, after: int = 0) -> Event:
        """Return the first event from index *after* on for which *found* is true."""
        async with asyncio.timeout(GUARD), self._arrived:
            while True:
                for event in self.events[after:]:
                    if found(event):
                        return event
                await self._arrived.wait()

    async def session(self) -> Session:
        return await self.runtime.sessions.repository.create()

    async def send(self, session: Session, text: str, **more: object) -> str:
        return await self.runtime.sessions.prompt(session.id, PromptInput(text=text, **more))

    async def idle(self, session: Session, *, after: int = 0) -> SessionIdle:
        event = await self.until(
            lambda e: isinstance(e, SessionIdle) and e.session_id == session.id, after=after
        )
        assert isinstance(event, SessionIdle)
        return event

    async def turn(self, session: Session, text: str) -> SessionIdle:
        """Send *text* and wait for the end of the turn."""
        before = len(self.events)
        await self.send(session, text)
        return await self.idle(session, after=before)

    async def permission_request(self, *, after: int = 0) -> PermissionRequest:
        event = await self.until(lambda e: isinstance(e, PermissionAsked), after=after)
        assert isinstance(event, PermissionAsked)
        return event.request

    async def printed(self, text: str) -> None:
        """Wait until a running command has printed *text*."""
        await self.until(
            lambda e: (
                isinstance(e, PartUpdated)
                and isinstance(e.part, ToolPart)
                and isinstance(e.part.state, Running)
                and text in e.part.state.output
            )
        )

    def answer(self, request: PermissionRequest, word: str, comment: str = "") -> bool:
        return self.runtime.permissions.reply(request.id, PermissionReply(word, comment))  # type: ignore[arg-type]

    async def messages(self, session: Session) -> list[MessageWithParts]:
        return await self.runtime.store.messages(session.id)

    async def parts(self, session: Session) -> list[Part]:
        return [part for item in await self.messages(session) for part in item.parts]

    async def tools(self, session: Session) -> list[ToolPart]:
        return [part for part in await self.parts(session) if isinstance(part, ToolPart)]


def tool_names(body: dict) -> set[str]:
    """Return the names of the tools that a request offers, in any protocol."""
    tools = body.get("tools", [])
    tools = [f for tool in tools for f in tool.get("functionDeclarations", [tool])]
    return {tool.get("name") or tool["function"]["name"] for tool in tools}


@asynccontextmanager
async def open_harness(
    tmp_path: Path,
    *,
    stop_hooks: tuple[StopHook, ...] = (),
    api: str = APIS[0],
    chunk: int = 0,
    options: dict[str, object] | None = None,
    editor: Editor | None = None,
    holds: bool = True,
    answering: Answering = "text",
    opened: str = "",
    trust_once: bool = False,
    **settings: object,
) -> AsyncIterator[Harness]:
    """Open a runtime on a scripted server; at the end the server must have refused nothing."""
    home, folder = tmp_path / "home", tmp_path / "project"
    home.mkdir(exist_ok=True)
    folder.mkdir(exist_ok=True)
    async with ModelServer(chunk=chunk) as server:
        write_config(home, config_for(server, api=api, options=options, **settings))
        runtime = await open_runtime(
            folder / opened,
            env=environment(home),
            stop_hooks=stop_hooks,
            editor=editor,
            wait_for_background=holds,
            answering=answering,
            trust_once=trust_once,
        )
        harness = Harness(runtime, server, folder, home)
        subscription = runtime.bus.subscribe()
        follower = asyncio.create_task(harness.follow(subscription))
        try:
            yield harness
        finally:
            await runtime.close()
            subscription.close()
            await follower
    assert server.refused == []
