"""Fixtures that start the real app on a real runtime in temporary folders."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import textual.app
import textual.pilot
from textual.pilot import Pilot

from agent.records.messages import Idle

if TYPE_CHECKING:
    from agent.runtime.runtime import Runtime
from app.startup.launch import LaunchOptions, load_runtime
from app.tui.app import OpencodeApp
from app.tui.runtime_startup import OpenRuntime
from app.tui.type_ahead import Later
from tests.support.harness import config_for
from tests.support.model_server import ModelServer
from tests.support.settling import wait_until_at_rest

# The pilot's own waiting for an idle processor takes most of a test's time, and more of it the
# busier the machine is.
textual.app.wait_for_idle = wait_until_at_rest
textual.pilot.wait_for_idle = wait_until_at_rest

LOCAL = ["ollama", "lmstudio", "llama.cpp", "vllm"]
WAIT = 30.0
"""Seconds after which a test that waits for the app is stuck (a hang guard, no figure)."""


@dataclass(frozen=True)
class Running:
    """An app under test. Its waits end as soon as the condition holds."""

    app: OpencodeApp
    pilot: Pilot[int]

    @property
    def runtime(self) -> "Runtime":
        return self.app.controller.live.runtime

    @property
    def prompt(self) -> str:
        return self.app.controller.main.prompt.text

    def text(self) -> str:
        """Return the screen's rows as text."""
        strips = self.app.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in strip) for strip in strips)

    async def until(self, holds: Callable[[], bool]) -> None:
        """Let the app work until *holds* returns true."""
        async with asyncio.timeout(WAIT):
            while not holds():
                await self.pilot.pause()
                await asyncio.sleep(0)
        await self.pilot.pause()

    async def until_shown(self, text: str) -> None:
        try:
            await self.until(lambda: text in self.text())
        except TimeoutError:
            raise AssertionError(f"{text!r} did not come up in:\n{self.text()}") from None

    async def until_ready(self) -> None:
        """Wait until the runtime is open and the home page is filled in."""
        await self.until(lambda: self.app.controller.live.is_ready)

    async def until_idle(self) -> None:
        """Wait until a session is open, its turn is over, and the screen shows that."""

        def idle() -> bool:
            view = self.app.controller.live.view
            return (
                view is not None
                and bool(view.message_ids)
                and not view.queued
                and isinstance(view.status, Idle)
                and isinstance(self.runtime.sessions.status(view.session_id), Idle)
            )

        await self.until(idle)

    async def type(self, text: str, *then: str) -> None:
        """Type *text* and press the keys *then*."""
        for char in text:
            await self.pilot.press({" ": "space", "/": "slash"}.get(char, char))
        await self.pilot.press(*then)


Starter = Callable[..., AbstractAsyncContextManager[Running]]


@pytest.fixture
def folders(tmp_path: Path) -> Mapping[str, str]:
    """An environment in which all folders are temporary and no provider has a key."""
    home = tmp_path / "home"
    for name in ("config", "data", "cache", "state"):
        (home / name).mkdir(parents=True)
    return {
        "HOME": str(home),
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_DATA_HOME": str(home / "data"),
        "XDG_CACHE_HOME": str(home / "cache"),
        "XDG_STATE_HOME": str(home / "state"),
        "OPENCODE_PY_DATA": str(home / "data" / "own"),
        # Servers on the machine that runs the tests must not matter.
        "OPENCODE_PY_CONFIG_CONTENT": json.dumps({"disabled_providers": LOCAL}),
    }


def configure(folders: Mapping[str, str], server: ModelServer, **settings: object) -> None:
    """Write settings in which *server* is the only provider."""
    folder = Path(folders["XDG_CONFIG_HOME"]) / "opencode-py"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config_for(server, **settings)))


@pytest.fixture
async def scripted(folders: Mapping[str, str]) -> AsyncIterator[ModelServer]:
    """A model server configured in the app's settings; it must not have refused any request."""
    async with ModelServer() as server:
        configure(folders, server)
        yield server
    assert server.refused == []


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """The folder that the app opens."""
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "README.md").write_text("# A shop\n\nIt sells things.\n")
    return folder


@pytest.fixture
def start(folders: Mapping[str, str], work: Path) -> Starter:
    """Start an app: ``async with start(...) as running``.

    Keyword arguments are those of ``LaunchOptions``, and *size* (columns, rows), *env* (added to
    the environment), *grace* (seconds), *later* (the timer of held answers),
    *ready* (wait until the runtime is open), *open_runtime* (in place of ``load_runtime``).
    """

    @asynccontextmanager
    async def run(
        *,
        size: tuple[int, int] = (100, 30),
        env: Mapping[str, str] | None = None,
        grace: float = 0.0,
        later: Later | None = None,
        ready: bool = True,
        open_runtime: OpenRuntime = load_runtime,
        **launch: object,
    ) -> AsyncIterator[Running]:
        given = LaunchOptions(**{"directory": work, **launch})
        app = OpencodeApp(
            given,
            {**folders, **(env or {})},
            open_runtime,
            log_path="the log",
            grace=grace,
            later=later,
        )
        async with app.run_test(size=size, notifications=True) as pilot:
            running = Running(app, pilot)
            if ready:
                await running.until_ready()
            try:
                yield running
            finally:
                await app.controller.close()

    return run
