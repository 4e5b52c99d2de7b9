"""A server on a free port of this machine, on a scripted model, and a client of it."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pydantic import TypeAdapter
from starlette.routing import BaseRoute, Route

from agent.runtime.pool import RuntimePool
from app.server.access import LOOPBACK, Access
from app.server.connections import PatientProtocol
from app.server.folders import Folders
from app.server.serving import all_endpoints, listen, serving, web_app
from tests.support.harness import GUARD, config_for, environment, write_config
from tests.support.model_server import ModelServer

TOKEN = "token-of-the-tests"


@dataclass
class Stream:
    """The events that one client has read."""

    events: list[dict[str, Any]] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def read(self, response: httpx2.Response) -> None:
        async for line in response.aiter_lines():
            if line.startswith("id: "):
                self.ids.append(line[4:])
            elif line.startswith("data: "):
                async with self._changed:
                    self.events.append(json.loads(line[6:]))
                    self._changed.notify_all()

    def names(self) -> list[str]:
        return [event["type"] for event in self.events]

    def of(self, name: str) -> list[dict[str, Any]]:
        return [event["properties"] for event in self.events if event["type"] == name]

    async def until(self, holds: Callable[["Stream"], bool]) -> None:
        async with asyncio.timeout(GUARD), self._changed:
            await self._changed.wait_for(lambda: holds(self))

    async def next(self, name: str, count: int = 1) -> dict[str, Any]:
        """Wait until *count* events of that name have come, and return the last of them."""
        await self.until(lambda stream: len(stream.of(name)) >= count)
        return self.of(name)[count - 1]

    def state(self, session: str) -> list[tuple[str, str]]:
        """Return the texts of a session's parts as a client that only follows has them."""
        parts: dict[str, dict[str, Any]] = {}
        known: set[str] = set()
        for event in self.events:
            properties = event["properties"]
            if properties.get("sessionID") != session:
                continue
            if event["type"] == "message.updated":
                known.add(properties["info"]["id"])
            elif event["type"] == "message.part.updated":
                assert properties["part"]["messageID"] in known
                parts[properties["part"]["id"]] = dict(properties["part"])
            elif event["type"] == "message.part.delta":
                parts[properties["partID"]]["text"] += properties["delta"]
        return sorted((key, part["text"]) for key, part in parts.items() if "text" in part)


@dataclass
class Served:
    """A server, which can be stopped and started again at the same address."""

    model: ModelServer
    home: Path
    project: Path
    client: httpx2.AsyncClient
    heartbeat: float = 10.0
    body_seconds: float = 60.0
    protocol: type[PatientProtocol] = PatientProtocol
    lacking: str = "none"
    """The beginning of the paths that the server lacks, as an older one does."""
    folders: Folders = field(init=False)
    address: str = field(init=False, default="http://127.0.0.1:0")
    _running: AsyncExitStack = field(init=False, default_factory=AsyncExitStack)

    async def start(self) -> None:
        listening = listen("127.0.0.1", int(self.address.rpartition(":")[2]))
        self.address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        self.client.base_url = httpx2.URL(self.address)
        pool = RuntimePool(environment(self.home), "text")
        self.folders = Folders(pool, str(self.project), "1.2.3")
        access = Access(frozenset({TOKEN}), LOOPBACK)
        app = web_app(self.folders, access, self.heartbeat, self.body_seconds)
        app.router.routes[:] = [route for route in app.routes if not self._lacks(route)]
        await self._running.enter_async_context(serving(app, listening, self.protocol))
        self._running.push_async_callback(self.folders.close)

    def _lacks(self, route: BaseRoute) -> bool:
        return isinstance(route, Route) and route.path.startswith(self.lacking)

    async def stop(self) -> None:
        await self._running.aclose()

    async def call(self, method: str, path: str, body: object = None, status: int = 200) -> Any:
        response = await self.client.request(method, path, json=body)
        assert response.status_code == status, response.text
        found = response.json() if response.content else None
        if status < 300:
            self._compare(method, path.partition("?")[0], found)
        return found

    def _compare(self, method: str, path: str, found: Any) -> None:
        """Compare an answer with its description."""
        for endpoint in all_endpoints(self.folders):
            pattern = re.sub(r"{\w+}", "[^/]+", endpoint.path)
            if endpoint.method == method and re.fullmatch(pattern, path):
                if endpoint.answer is None:
                    assert found is None
                else:
                    TypeAdapter(endpoint.answer).validate_python(found, strict=False)
                return

    async def session(self) -> str:
        return (await self.call("POST", "/session", {}))["id"]

    async def send(self, session: str, text: str) -> None:
        body = {"parts": [{"type": "text", "text": text}]}
        await self.call("POST", f"/session/{session}/prompt_async", body, status=204)

    @asynccontextmanager
    async def stream(self, last: str = "", path: str = "/event") -> AsyncIterator[Stream]:
        headers = {"last-event-id": last} if last else {}
        found = Stream()
        async with self.client.stream("GET", path, headers=headers) as response:
            assert response.status_code == 200
            reading = asyncio.create_task(found.read(response))
            try:
                yield found
            finally:
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    home, project = tmp_path / "server-home", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    async with ModelServer() as model:
        asks = {"bash": "ask", "edit": "ask"}
        write_config(home, config_for(model, permission=asks))
        login = {"authorization": f"Bearer {TOKEN}"}
        async with httpx2.AsyncClient(headers=login, timeout=GUARD) as client:
            running = Served(model, home, project, client)
            await running.start()
            try:
                yield running
            finally:
                await running.stop()
    assert model.refused == []
