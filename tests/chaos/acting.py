"""A scripted model that follows the prompt: ``#7 in s1 do: write bash.`` is two steps of
work.

The response depends on the request alone: not on who sends it, on retries, or on what was said
before.
"""

import asyncio
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path

from tests.support.model_server import ModelServer
from tests.support.script import Answer, Call, Cut, Failure, Hold, Piece, Reason, Text, answer

PLAN = re.compile(r"#(\d+) in (\w+) do:((?: \w+)*)\.")

_TURNS: dict[str, Callable[[str, Path], tuple[Piece, ...]]] = {
    "write": lambda n, place: (
        Text("I write."),
        Call("write", {"file_path": f"{place}/{n}.txt", "content": f"{n}\r\nlast"}),
    ),
    "again": lambda n, place: (
        Call("write", {"file_path": f"{place}/same.txt", "content": f"now {n}\n"}),
    ),
    "bash": lambda n, place: (
        Call("bash", {"command": f"mkdir -p {place}; echo {n} >> {place}/log"}),
    ),
    "gone": lambda n, place: (Call("bash", {"command": f"rm -f {place}/log"}),),
    "fail": lambda n, place: (Call("bash", {"command": f"echo {n}; exit 3"}),),
    "slow": lambda n, place: (Text("It takes long."), Call("bash", {"command": "sleep 1"})),
    "read": lambda n, place: (
        Reason("Hm."),
        Call("read", {"file_path": f"{place}/same.txt"}),
        Call("glob", {"pattern": "**/*.txt"}),
    ),
    "many": lambda n, place: (
        Call("list", {}),
        Call("bash", {"command": f"mkdir -p {place}; echo many {n} >> {place}/log"}),
        Call("write", {"file_path": f"{place}/m{n}.txt", "content": "many\n"}),
        Call("nonsense", {"x": 1}),
        Call("read", '{"file_path": "'),
    ),
    "task": lambda n, place: (
        Call(
            "task",
            {
                "subagent_type": "general",
                "description": "a part of it",
                "prompt": f"#{n} in {place.name} do: again bash.",
            },
        ),
    ),
}
FAULTS = ("hold", "cut", "late", "http")
WORK = (*_TURNS, *FAULTS)


class Model:
    """A scripted server in a thread of its own, for tests that are not asynchronous."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._holds: list[Hold] = []
        self._flows = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.server = ModelServer()
        self.server.always(self._respond)
        self._call(self.server.__aenter__())

    def _call(self, work: object) -> None:
        done: Future[object] = asyncio.run_coroutine_threadsafe(work, self._loop)  # type: ignore[arg-type]
        done.result(30)

    def release(self) -> None:
        """Release every held response."""

        async def go_on() -> None:
            while self._holds:
                self._holds.pop().gate.set()

        self._call(go_on())

    @contextmanager
    def flowing(self) -> Iterator[None]:
        """Hold nothing inside this context, neither responses held now nor new ones."""

        async def flow(on: bool) -> None:
            self._flows = on

        self._call(flow(True))
        self.release()
        try:
            yield
        finally:
            self._call(flow(False))

    def close(self) -> None:
        self.release()
        self._call(self.server.__aexit__())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(30)
        self._loop.close()

    def _respond(self, body: dict) -> Answer:
        if not body.get("tools") or body.get("tool_choice") in ("none", {"type": "none"}):
            return answer(Text("A few words about it"))
        messages = body["messages"]
        plans = [(at, m) for at, m in enumerate(messages) if m["role"] == "user" and _plans(m)]
        if not plans:
            return answer(Text("There is nothing to do."))
        at, message = plans[-1]
        number, place, work = _plans(message)[-1]
        done = sum(m["role"] == "assistant" for m in messages[at:])
        words = work.split()
        if done >= len(words):
            return answer(Text(f"#{number} is done."))
        return self._step(words[done], number, self._folder / place)

    def _step(self, word: str, number: str, place: Path) -> Answer:
        match word:
            case "hold":
                if self._flows:
                    return answer(Text("I think about "), Text("it."))
                hold = Hold()
                self._holds.append(hold)
                return answer(Text("I think about "), hold, Text("it."))
            case "cut":
                return answer(Reason("Hm."), Text("I begin"), Cut())
            case "late":
                return answer(*_TURNS["read"](number, place), Text(" "), Cut())
            case "http":
                return Failure(500)
            case _:
                return answer(*_TURNS[word](number, place))


def _plans(message: dict) -> list[tuple[str, str, str]]:
    content = message["content"]
    texts = [content] if isinstance(content, str) else [b.get("text", "") for b in content]
    return [found for text in texts for found in PLAN.findall(text or "")]
