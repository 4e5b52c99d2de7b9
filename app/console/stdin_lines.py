"""The lines of standard input for ``--plain``: prompts, and answers to requests."""

import asyncio
import threading
from collections import deque
from typing import TextIO


class StdinLines:
    """Lines in the order of their arrival, then None.

    With *interactive*, someone types them: a line that came before a question was shown is the next
    prompt, not an answer to it.
    """

    def __init__(self, *, interactive: bool) -> None:
        self._interactive = interactive
        self._early: deque[str] = deque()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()

    def put(self, line: str | None) -> None:
        self._lines.put_nowait(line)

    async def next_prompt(self) -> str | None:
        """Return the next line that is not an answer, None at the end."""
        return self._early.popleft() if self._early else await self._lines.get()

    def begin_question(self) -> None:
        """Keep what has come so far from answering the question that is shown next."""
        while self._interactive and not self._lines.empty():
            line = self._lines.get_nowait()
            if line is None:
                self._lines.put_nowait(None)
                break
            self._early.append(line)

    async def next_answer(self) -> str | None:
        """Return the next line as the answer to the question; None at the end, also for later
        calls."""
        line = await self._lines.get()
        if line is None:
            self._lines.put_nowait(None)
        return line


def read_lines(source: TextIO) -> StdinLines:
    """Return the lines of *source* as they come. A daemon thread reads them."""
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
