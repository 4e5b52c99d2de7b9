"""Prompts that wait for the end of their turn (spec 11, F3)."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from agent.records.events import SessionIdle


@dataclass(slots=True, eq=False)
class Prompt:
    """*message_id* is None until the prompt is stored, and empty where its turn has none."""

    ended: asyncio.Future[SessionIdle]
    message_id: str | None = None
    cancelled: bool = False

    def settle(self, event: SessionIdle) -> None:
        if not self.ended.done():
            self.ended.set_result(replace(event, outcome="cancelled") if self.cancelled else event)


@dataclass(slots=True)
class Waiting:
    """All prompts of one session that have no answer yet. *queued* are the ids of messages that
    wait for a turn, as the last event told."""

    queued: tuple[str, ...] = ()
    _prompts: list[Prompt] = field(default_factory=list[Prompt])

    @contextmanager
    def new(self) -> Generator[Prompt]:
        """A prompt, for as long as it waits."""
        prompt = Prompt(asyncio.get_running_loop().create_future())
        self._prompts.append(prompt)
        try:
            yield prompt
        finally:
            self._prompts.remove(prompt)

    def cancel(self) -> list[Prompt]:
        """Mark all as cancelled; gives those that no turn has taken up."""
        for prompt in self._prompts:
            prompt.cancelled = True
        return [prompt for prompt in self._prompts if prompt.message_id in self.queued]

    def over(self, event: SessionIdle) -> None:
        """A turn is over: answer the prompts that it was for."""
        for prompt in self._prompts:
            if prompt.message_id is None:
                continue
            goes_on = event.outcome in {"completed", "failed"}
            sent_after = event.outcome == "cancelled" and not prompt.cancelled
            if not ((goes_on or sent_after) and prompt.message_id in self.queued):
                prompt.settle(event)
