"""Fixtures for tests of the session package: a runtime over real HTTP."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.harness import Harness, open_harness


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[Harness]:
    async with open_harness(tmp_path) as opened:
        yield opened
