"""One instance of the program without a front end, controlled by lines of JSON.

``python -m tests.chaos.worker FOLDER HOME NAME``: each line on standard input is ``{"do": name,
…}``, each response a line ``{"got": …}`` or ``{"error": class}``. It is killed at any moment.
"""

import asyncio
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from agent.records.errors import OpencodePyError
from agent.records.events import SessionIdle
from agent.records.messages import Idle
from agent.records.requests import PermissionReply
from agent.runtime.runtime import Runtime, open_runtime
from agent.session.api import PromptInput
from tests.support.harness import environment


class Worker:
    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._service = runtime.sessions
        self._changed = asyncio.Event()
        self.ended: list[str] = []
        """The turns that ended so far, in order."""

    async def follow(self) -> None:
        with self._runtime.bus.subscribe() as events:
            async for event in events:
                if isinstance(event, SessionIdle):
                    self.ended.append(event.turn_id)
                self._changed.set()

    async def new(self) -> str:
        return (await self._service.repository.create()).id

    async def prompt(self, session: str, text: str, delivery: str) -> str:
        sent = PromptInput(text=text, delivery=delivery)  # type: ignore[arg-type]
        return await self._service.prompt(session, sent)

    async def cancel(self, session: str) -> bool:
        return await self._service.cancel(session)

    async def reply(self, word: str) -> bool:
        """Answer the oldest open request."""
        pending = self._runtime.permissions.pending()
        return bool(pending) and self._runtime.permissions.reply(
            pending[0].id,
            PermissionReply(word),  # type: ignore[arg-type]
        )

    async def fork(self, session: str) -> str:
        return (await self._service.repository.fork(session)).id

    async def undo(self, session: str) -> dict[str, Any] | None:
        plan = await self._service.undo.plan(session)
        if plan is None:
            return None
        failed = await self._service.undo.undo(plan, files=True, conversation=True)
        left = [f.path for f in plan.files if f.modified_since]
        return {
            "text": plan.text,
            "left": [*failed, *left, *plan.not_restorable],
            "why": plan.reason,
        }

    async def redo(self, session: str) -> list[str] | None:
        failed = await self._service.undo.redo(session)
        return None if failed is None else list(failed)

    async def compact(self, session: str) -> None:
        await self._service.compaction.start(session)

    async def delete(self, session: str) -> None:
        await self._service.delete(session)

    async def busy(self) -> bool:
        return self._service.busy

    async def settle(self, word: str) -> list[str]:
        """Answer requests with *word* until no turn runs; return the turns that ended so far."""
        while True:
            self._changed.clear()
            while await self.reply(word):
                pass
            if not self._service.busy and not self._runtime.permissions.pending():
                return self.ended
            await self._changed.wait()

    async def state(self, session: str) -> dict[str, Any]:
        seen = await self._service.snapshot(session, 10_000)
        return {
            "idle": seen.status == Idle(),
            "queued": list(seen.queued),
            "session": asdict(seen.session),
            "messages": [
                {**asdict(item.message), "parts": [asdict(part) for part in item.parts]}
                for item in seen.messages
            ],
        }


async def main(folder: Path, home: Path, name: str) -> None:
    runtime = await open_runtime(folder, env={**environment(home), "CHAOS_WORKER": name})
    worker = Worker(runtime)
    following = asyncio.create_task(worker.follow())
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    try:
        while line := await reader.readline():
            order = json.loads(line)
            try:
                response: dict[str, Any] = {"got": await getattr(worker, order.pop("do"))(**order)}
            except OpencodePyError as error:
                response = {"error": type(error).__name__}
            sys.stdout.write(json.dumps(response, default=str) + "\n")
            sys.stdout.flush()
    finally:
        await runtime.close()
        following.cancel()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]))
