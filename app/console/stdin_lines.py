"""The lines of ``--plain``: prompts, and answers to what is asked meanwhile."""

import asyncio
import threading
from collections import deque
from typing import TextIO


class StdinLines:
    """Lines in the order in which they came, then None. Where somebody *types* them, one that came
    before a question was put is the next prompt and no answer to it (spec 4, M6)."""

    def __init__(self, *, interactive: bool) -> None:
        self._types = interactive
        self._early: deque[str] = deque()
        self._came: asyncio.Queue[str | None] = asyncio.Queue()

    def put(self, line: str | None) -> None:
        self._came.put_nowait(line)

    async def next_prompt(self) -> str | None:
        """The next line that is no answer, None at the end."""
        return self._early.popleft() if self._early else await self._came.get()

    def begin_question(self) -> None:
        """To be called before a question is put: what has come so far is no answer to it."""
        while self._types and not self._came.empty():
            line = self._came.get_nowait()
            if line is None:
                self._came.put_nowait(None)
                break
            self._early.append(line)

    async def next_answer(self) -> str | None:
        """The next line, for the question that was put; None at the end, which is the end for
        whoever asks next, too."""
        line = await self._came.get()
        if line is None:
            self._came.put_nowait(None)
        return line


def read_lines(source: TextIO) -> StdinLines:
    """The lines of *source* as they come. Reads in a thread that dies with us."""
    lines = StdinLines(interactive=source.isatty())
    loop = asyncio.get_running_loop()

    def put(line: str | None) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(lines.put, line)

    def read() -> None:
        for line in source:
            put(line.rstrip("\r\n"))
        put(None)

    threading.Thread(target=read, name="plain-input", daemon=True).start()
    return lines
