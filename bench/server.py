"""A scripted model in a process of its own, so that its cost is not counted.

``python -m bench.server LOG`` prints its address, then answers by a word in the newest user
message: ``deltas N`` (N deltas of 5 characters as fast as they go), ``paced N`` (one each
10 ms) or ``loop N`` (N reads, one a step). Each of these ends with the word END and N, every
other answer with DONE.

LOG gets JSON lines: ``event`` (``request``, ``mark`` or ``closed``), ``t`` (of
``time.monotonic``, which all processes of a machine share) and, for marks, the ``word`` that
was sent just before.
"""

import asyncio
import json
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from bench.wording import pieces
from tests.support.model_server import ModelServer, Request
from tests.support.script import Answer, Call, Done, Finish, Pause, Piece, Text, Tokens, answer

STEP = 0.01
"""Seconds between two paced deltas."""


class Model:
    def __init__(self, server: ModelServer, log: Path) -> None:
        self._server = server
        self._log = log.open("a", buffering=1, encoding="utf-8")
        self._watching: set[asyncio.Task[None]] = set()

    def scripted(self, body: dict) -> Answer:
        self._tell("request")
        watching = asyncio.create_task(self._watch(self._server.requests[-1]))
        self._watching.add(watching)
        watching.add_done_callback(self._watching.discard)
        users = [i for i, m in enumerate(body["messages"]) if m["role"] == "user"]
        found = re.search(r"(deltas|paced|loop) (\d+)", str(body["messages"][users[-1]]["content"]))
        if found is None:
            return answer(Text("A short answer. DONE"))
        if found[1] != "loop":
            return self._stream(int(found[2]), paced=found[1] == "paced")
        done = sum(m["role"] == "tool" for m in body["messages"][users[-1] :])
        if done < int(found[2]):
            # Never the same call twice: that would be taken for a loop.
            return answer(Call("read", {"file_path": f"file{done % 40}.txt", "offset": 1 + done}))
        return answer(Text(f"All are read. END{found[2]}"))

    def _stream(self, count: int, *, paced: bool) -> Iterator[Piece]:
        for text, mark in pieces(count):
            yield Text(text)
            if mark:
                self._tell("mark", word=mark)
            if paced:
                yield Pause(STEP)
        yield from (Text(f"\n\nEND{count}"), Finish("end"), Tokens(), Done())

    async def _watch(self, request: Request) -> None:
        await request.closed.wait()
        self._tell("closed")

    def _tell(self, event: str, **more: str) -> None:
        self._log.write(json.dumps({"event": event, "t": time.monotonic(), **more}) + "\n")


async def main(log: Path) -> None:
    async with ModelServer() as server:
        server.always(Model(server, log).scripted)
        sys.stdout.write(f"{server.url}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
