"""A stream that is cut at any byte is retried, or closed with the received content.

No call runs twice or with incomplete input, no broken response is stored as complete, and the
strict server accepts the history.
"""

import json
import random
from pathlib import Path

import pytest

from agent.records.messages import Completed, Failed, Session, TextPart
from tests.support.after_turn import trial
from tests.support.chat_dialect import ChatWriter
from tests.support.counting_loop import run
from tests.support.harness import Harness, open_harness
from tests.support.scenarios import EACH, LONGEST
from tests.support.script import Answer, Call, Reason, Text, answer

FIRST: Answer = answer(
    Reason("Let me see."),
    Text("I write twice: "),
    Call("bash", {"command": "echo one >> log.txt"}),
    Call("bash", {"command": "echo two >> log.txt"}),
)
LENGTH = sum(len(data) for piece in FIRST for data in ChatWriter("model-1", 1).write(piece))


@pytest.mark.timeout(LONGEST)
def test_a_stream_cut_at_any_byte_never_runs_a_call_twice(tmp_path: Path) -> None:
    run(_cut_everywhere(tmp_path))


async def _cut_everywhere(tmp_path: Path) -> None:
    points = range(LENGTH)
    if EACH:
        points = sorted(random.Random(0).sample(points, min(6 * EACH, LENGTH)))
    settings = {"permission": {"bash": "allow", "edit": "allow"}, "retry": {"delay": 2}}
    async with open_harness(tmp_path, **settings) as harness:
        for point in points:
            await _cut_at(harness, point)


async def _cut_at(harness: Harness, point: int) -> None:
    log = harness.folder / "log.txt"
    log.unlink(missing_ok=True)
    session = await harness.session()
    requests = len(harness.server.requests)
    harness.server.replace((FIRST, _second, answer(Text("done"))))
    harness.server.cut_after = point
    idle = await harness.turn(session, "go")
    where = f"cut after {point} of {LENGTH} bytes"
    with trial("stream cut at a byte"):
        assert idle.outcome == "completed", where
        written = log.read_text().split() if log.exists() else []
        assert written == ["one", "two"], where
        await _nothing_half(harness, session, where)
        assert len(harness.server.requests) - requests <= 3, where
        assert harness.server.refused == [], where


def _second(body: dict) -> Answer:
    """Return the calls that the history does not contain yet, as the model's next response."""
    done = [
        json.loads(call["function"]["arguments"])["command"]
        for message, result in _pairs(body)
        for call in message
        if "Not run" not in result[call["id"]]
    ]
    left = [name for name in ("one", "two") if not any(name in command for command in done)]
    if not left:
        return answer(Text("done"))
    return answer(*(Call("bash", {"command": f"echo {name} >> log.txt"}) for name in left))


def _pairs(body: dict) -> list[tuple[list[dict], dict[str, str]]]:
    """Return the calls of each assistant message with their results by id."""
    found = []
    results = {m["tool_call_id"]: m["content"] for m in body["messages"] if m["role"] == "tool"}
    for message in body["messages"]:
        if message.get("tool_calls"):
            found.append((message["tool_calls"], results))  # noqa: PERF401 - read as a loop
    return found


async def _nothing_half(harness: Harness, session: Session, where: str) -> None:
    for tool in await harness.tools(session):
        assert isinstance(tool.state, Completed | Failed), where
    texts = [p for p in await harness.parts(session) if isinstance(p, TextPart)]
    for part in texts:
        assert part.ended is not None, where
        whole = part.text in {"go", "I write twice: ", "done"}
        assert whole or part.interrupted, where
