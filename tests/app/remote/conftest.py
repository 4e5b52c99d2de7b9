"""The full screen on the sessions of a server on a free port of this machine."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from app.remote.connection import Connection
from app.remote.runtime import RemoteOpener
from tests.app.conftest import Running, Starter
from tests.app.server.conftest import TOKEN, Served, served

__all__ = ["served"]

Attach = Callable[..., AbstractAsyncContextManager[Running]]


@pytest.fixture
def attach(served: Served, start: Starter, tmp_path: Path) -> Attach:
    """Start a screen on the server: ``async with attach() as running``."""
    count = iter(range(10))

    @asynccontextmanager
    async def run(**options: object) -> AsyncIterator[Running]:
        scratch = tmp_path / f"scratch{next(count)}"
        scratch.mkdir()
        opener = RemoteOpener(Connection(served.address, TOKEN), scratch, delay=0.01)
        async with start(open_runtime=opener, directory=served.project, **options) as running:
            yield running

    return run
