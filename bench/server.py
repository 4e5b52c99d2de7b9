"""A scripted model in its own process, so that its cost is not counted.

``python -m bench.server LOG [--lenient]`` prints its address, then responds to a word in the newest
user message: ``deltas N`` (N deltas of 5 characters at full speed), ``rich N`` (the same with all
of Markdown), ``paced N`` (one every 10 ms) or ``loop N`` (N reads, one per step). Each ends with
the word END and N, any other response with DONE.

LOG gets JSON lines: ``event`` (``request``, ``mark``, ``ended`` or ``closed``), ``t`` (of
``time.monotonic``, which all processes of a machine share) and, for marks, the ``word`` sent just
before. LOG.requests gets the bodies of the first requests, one a line.
"""

import asyncio
import json
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from bench.scripted_text import RICH, SECTION, pieces
from tests.support.model_server import ModelServer
from tests.support.script import Answer, Call, Done, Finish, Pause, Piece, Text, Tokens, answer

CHARACTERS = 4
"""Characters of a request for each reported token."""

FIRST = 5
"""Requests whose bodies are written."""

STEP = 0.01
"""Seconds between two paced deltas."""


class Model:
    """The scripted model; *lenient* for other programs, in any protocol: a request without tools is
    then no turn, except under ``/plain/``."""

    def __init__(self, server: ModelServer, log: Path, *, lenient: bool = False) -> None:
        self._server = server
        self._lenient = lenient
        self._bodies = Path(f"{log}.requests")
        self._written = 0
        self._log = log.open("a", buffering=1, encoding="utf-8")
        self._watching: set[asyncio.Task[None]] = set()

    def scripted(self, body: dict) -> Answer:
        request = self._server.requests[-1]
        self._server.requests[:] = [request]  # a thousand long ones would take gigabytes
        aside = self._lenient and not body.get("tools") and "/plain/" not in request.path
        if aside:  # a title request, or a check of the model
            return answer(Text("A bill"))
        if self._written < FIRST:
            self._written += 1
            with self._bodies.open("a", encoding="utf-8") as bodies:
                bodies.write(json.dumps(body) + "\n")
        self._tell("request")
        watching = asyncio.create_task(self._watch(request.closed))
        self._watching.add(watching)
        watching.add_done_callback(self._watching.discard)
        word, count, done = requested_work(body)
        if not word:
            self._tell("ended")
            return answer(Text("A short answer. DONE"))
        if word != "loop":
            section = RICH if word == "rich" else SECTION
            return self._stream(count, section, paced=word == "paced")
        if done < count:
            # A full window is compacted, as with a provider that counts.
            used = Tokens(prompt=len(json.dumps(body)) // CHARACTERS)
            return answer(read_call(body, done), used)
        self._tell("ended")
        return answer(Text(f"All are read. END{count}"))

    def _stream(self, count: int, section: str, *, paced: bool) -> Iterator[Piece]:
        for text, mark in pieces(count, section):
            yield Text(text)
            if mark:
                self._tell("mark", word=mark)
            if paced:
                yield Pause(STEP)
        yield from (Text(f"\n\nEND{count}"), Finish("end"), Tokens(), Done())

    async def _watch(self, closed: asyncio.Event) -> None:
        await closed.wait()
        self._tell("closed")

    def _tell(self, event: str, **more: str) -> None:
        self._log.write(json.dumps({"event": event, "t": time.monotonic(), **more}) + "\n")


def requested_work(body: dict) -> tuple[str, int, int]:
    """Return the user's newest command, its number, and the number of tool results after it;
    nothing for other text."""
    items = body.get("messages") or body.get("input") or []
    done = 0
    for item in reversed(items):
        content = item.get("content")
        results = sum(
            isinstance(block, dict) and block.get("type") == "tool_result"
            for block in (content if isinstance(content, list) else ())
        )
        done += results + (item.get("role") == "tool")
        done += item.get("type") == "function_call_output"
        if item.get("role") == "user" and not results:
            found = re.search(r"(deltas|rich|paced|loop) (\d+)", str(content))
            return (found[1], int(found[2]), done) if found else ("", 0, done)
    return "", 0, done


READS = {
    "read": ("file_path", "filePath", "path"),
    "Read": ("file_path",),
    "read_file": ("path", "target_file"),
}
"""Tools that read a file, and the names of their argument in different agents."""

SHELLS = {"exec_command": "cmd", "shell_command": "command"}
"""Tools of agents that read files by a command only, and the name of its argument."""


def read_call(body: dict, done: int) -> Call:
    """Return a call that reads a file, for the tools that *body* offers."""
    for offered in body["tools"]:
        tool = offered.get("function", offered)
        schema = tool.get("parameters") or tool.get("input_schema") or {}
        for argument in READS.get(tool.get("name"), ()):
            if argument in schema.get("properties", {}):
                # Never the same call twice, which would look like a loop.
                window = {argument: f"file{done % 40}.txt", "offset": 1 + done}
                return Call(tool["name"], window)
        if (name := tool.get("name")) in SHELLS:
            return Call(name, {SHELLS[name]: f"tail -n +{1 + done} file{done % 40}.txt"})
    raise LookupError("No tool is offered that reads a file.")


async def main(log: Path, *, lenient: bool) -> None:
    async with ModelServer(strict=not lenient) as server:
        server.always(Model(server, log, lenient=lenient).scripted)
        sys.stdout.write(f"{server.url}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), lenient="--lenient" in sys.argv))
