"""The language server of the tests, and helpers that wait for it."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from tests.support import language_server

SCRIPT = str(Path(language_server.__file__))


PATIENCE = 30.0
"""Seconds for a process to start on a busy machine; a guard against hanging."""


def write(file: Path, text: str) -> None:
    file.write_text(text)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 - a process is waited for
            await asyncio.sleep(0.01)
