"""Prompts that are sent again and again, one for each session, while the program runs."""

import asyncio
import re
from collections.abc import Awaitable, Callable

from agent.bus import Bus
from agent.records.errors import NothingToDo, OpencodePyError
from agent.records.events import Event, Notice, SessionIdle
from agent.records.frozen import frozen
from agent.records.messages import Idle
from agent.session.api import PromptInput, Sessions

LEAST = 10.0
"""The shortest interval in seconds."""

USAGE = "/loop 10m PROMPT sends a prompt every 10 minutes; the units are s, m and h."
TOO_SHORT = f"The shortest interval is {LEAST:.0f} seconds."
NO_LOOP = f"No loop is running in this session. {USAGE}"
ENDED = "The loop has ended: {reason}"

_UNITS = {"s": 1.0, "m": 60.0, "h": 3_600.0}


@frozen
class RepeatedPrompt:
    """A prompt that is sent every *seconds*."""

    seconds: float
    text: str


def parse_loop(argument: str) -> RepeatedPrompt:
    """Parse ``10m PROMPT``. Raises ``NothingToDo`` with a sentence."""
    match = re.fullmatch(r"(\d{1,6})\s*([smh])\w*\s+(\S.*)", argument.strip(), re.DOTALL)
    if match is None:
        raise NothingToDo(USAGE)
    number, unit, text = match.groups()
    seconds = int(number) * _UNITS[unit]
    if seconds < LEAST:
        raise NothingToDo(TOO_SHORT)
    return RepeatedPrompt(seconds, text.strip())


class RepeatedPrompts:
    """The repeated prompts of all sessions of a runtime."""

    def __init__(
        self,
        sessions: Sessions,
        bus: Bus,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._sessions = sessions
        self._bus = bus
        self._sleep = sleep
        self._running: dict[str, tuple[RepeatedPrompt, asyncio.Task[None]]] = {}

    def find(self, session_id: str) -> RepeatedPrompt | None:
        """Return the repeated prompt of a session."""
        return self._running[session_id][0] if session_id in self._running else None

    def start(self, session_id: str, prompt: RepeatedPrompt) -> None:
        """Send *prompt* now and every interval, in place of an earlier one."""
        self.forget(session_id)
        task = asyncio.create_task(
            self._repeat(session_id, prompt), name=f"repeating in {session_id}"
        )
        self._running[session_id] = prompt, task

    def stop(self, session_id: str) -> None:
        """Stop repeating the prompt of a session. Raises ``NothingToDo`` if there is none."""
        if not self.forget(session_id):
            raise NothingToDo(NO_LOOP)

    async def wait(self, session_id: str) -> None:
        """Wait until the prompt of a session is not repeated any more."""
        if (found := self._running.get(session_id)) is not None:
            await asyncio.wait([found[1]])

    async def close(self) -> None:
        for session_id in list(self._running):
            self.forget(session_id)

    def forget(self, session_id: str) -> bool:
        """Stop repeating the prompt of a session; return whether there was one."""
        found = self._running.pop(session_id, None)
        if found is not None:
            found[1].cancel()
        return found is not None

    async def _repeat(self, session_id: str, prompt: RepeatedPrompt) -> None:
        def ends(event: Event) -> bool:
            return isinstance(event, SessionIdle) and event.session_id == session_id

        reason = ""
        with self._bus.subscribe(ends) as ended:
            while not reason:
                ended.drain()
                if self._sessions.status(session_id) == Idle():
                    reason = await self._send(session_id, prompt)
                await self._sleep(prompt.seconds)
                outcomes = [
                    event.outcome for event in ended.drain() if isinstance(event, SessionIdle)
                ]
                if outcomes and outcomes[-1] != "completed":
                    reason = "its turn did not end normally. Start it again with /loop."
        self._running.pop(session_id, None)
        self._bus.publish(Notice(ENDED.format(reason=reason), session_id=session_id))

    async def _send(self, session_id: str, prompt: RepeatedPrompt) -> str:
        """Send the prompt; return why it cannot be sent."""
        try:
            await self._sessions.prompt(session_id, PromptInput(text=prompt.text))
        except OpencodePyError as error:
            return error.message
        return ""
