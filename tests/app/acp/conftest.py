"""Fixtures for tests of ``opencode-py acp``: the launcher as a child process of the SDK's own
client."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from acp import RequestError, spawn_agent_process
from acp.core import ClientSideConnection
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    DeniedOutcome,
    NewSessionResponse,
    RequestPermissionResponse,
    TextContentBlock,
    ToolCallUpdate,
)

from tests.support.harness import GUARD, config_for, environment, write_config
from tests.support.installed import InstalledProgram, installed
from tests.support.model_server import ModelServer

ROOT = Path(__file__).resolve().parents[3]
LAUNCHER = [sys.executable, str(ROOT / "opencode_py.py"), "acp"]


@dataclass
class Editor:
    """A client that records what it is sent.

    *answers* are the options that it chooses, in order: an id, empty for a closed dialog, or an
    error.
    """

    updates: list[Any] = field(default_factory=list)
    permission_requests: list[tuple[ToolCallUpdate, list[str]]] = field(default_factory=list)
    answers: list[str | Exception] = field(default_factory=list)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    open_dialogs: asyncio.Event = field(default_factory=asyncio.Event)

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        async with self.changed:
            self.updates.append(update)
            self.changed.notify_all()

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[Any], **_: Any
    ) -> RequestPermissionResponse:
        self.permission_requests.append((tool_call, [option.option_id for option in options]))
        self.open_dialogs.set()
        if not self.answers:  # a dialog that stays open
            await asyncio.get_running_loop().create_future()
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        if not answer:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        outcome = AllowedOutcome(outcome="selected", option_id=answer)
        return RequestPermissionResponse(outcome=outcome)

    def on_connect(self, conn: object) -> None:
        pass

    def of(self, kind: str) -> list[Any]:
        return [update for update in self.updates if update.session_update == kind]

    def text(self, kind: str = "agent_message_chunk") -> str:
        return "".join(update.content.text for update in self.of(kind))

    def states(self) -> list[tuple[str, str]]:
        """Return kind and status of the calls that were sent."""
        kinds = ("tool_call", "tool_call_update")
        return [(u.kind, u.status) for u in self.updates if u.session_update in kinds]

    async def until(self, holds: Callable[["Editor"], bool]) -> None:
        async with asyncio.timeout(GUARD), self.changed:
            await self.changed.wait_for(lambda: holds(self))


@dataclass
class Desk:
    """A client, its agent, and the project that they work on."""

    editor: Editor
    agent: ClientSideConnection
    process: asyncio.subprocess.Process
    project: Path
    server: ModelServer

    async def new(self) -> NewSessionResponse:
        return await self.agent.new_session(cwd=str(self.project), mcp_servers=[])

    async def prompt(self, session_id: str, *blocks: Any) -> Any:
        content = [text_content(b) if isinstance(b, str) else b for b in blocks]
        return await self.agent.prompt(session_id=session_id, prompt=content)


def text_content(text: str) -> TextContentBlock:
    return TextContentBlock(type="text", text=text)


@dataclass
class Home:
    """The agent's settings folder, and the project."""

    home: Path
    project: Path
    server: ModelServer

    @property
    def env(self) -> dict[str, str]:
        return {**environment(self.home), "PYTHONPATH": str(ROOT)}

    def settings(self, **more: object) -> None:
        write_config(self.home, {**config_for(self.server), **more})

    @asynccontextmanager
    async def desk(
        self, editor: Editor | None = None, capabilities: ClientCapabilities | None = None
    ) -> AsyncIterator[Desk]:
        """A fresh agent process with a client that has introduced itself."""
        client = editor or Editor()
        async with spawn_agent_process(
            client,
            *LAUNCHER,
            env=self.env,
            cwd=self.project,
            use_unstable_protocol=True,
            # The SDK kills an agent that takes longer to end, in a race with its end.
            transport_kwargs={"shutdown_timeout": GUARD},
        ) as (agent, process):
            await agent.initialize(
                protocol_version=1,
                client_capabilities=capabilities or ClientCapabilities(terminal=False),
            )
            yield Desk(client, agent, process, self.project, self.server)


@pytest.fixture
async def home(installed: InstalledProgram) -> AsyncIterator[Home]:
    async with ModelServer() as server:
        made = Home(installed.home, installed.project, server)
        made.settings()
        yield made
    assert server.refused == []


@pytest.fixture
async def desk(home: Home) -> AsyncIterator[Desk]:
    """Return a fresh agent process with a client that has initialized it."""
    async with home.desk() as made:
        yield made


__all__ = ["Desk", "Editor", "Home", "RequestError", "installed", "text_content"]
