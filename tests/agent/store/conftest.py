from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.bus import Bus
from agent.store.store import Store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "sessions.db"


@pytest.fixture
def bus() -> Bus:
    return Bus()


@pytest.fixture
async def store(path: Path, bus: Bus) -> AsyncIterator[Store]:
    opened = await Store.open(path, bus)
    yield opened
    await opened.close()
