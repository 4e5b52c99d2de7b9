"""The checks after a turn, however it ended, and a table of the trials: with ``FAULT_TABLE=file``
each trial adds a line, and ``python -m tests.support.after_turn file`` prints the sums by class of
fault."""

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agent.records.events import SessionIdle
from agent.records.messages import (
    AssistantMessage,
    Completed,
    Failed,
    Idle,
    ReasoningPart,
    Session,
    TextPart,
)
from tests.support.harness import Harness
from tests.support.script import Text, answer


async def assert_left_clean(
    harness: Harness, session: Session, before: int, fault: str, where: str = ""
) -> None:
    """Check that the session became idle once, everything ended, nothing runs, and the next prompt
    is accepted.

    *before* is the number of events before the turn, *fault* the class that the trial counts for,
    *where* names the trial in a failure.
    """
    where = f"{fault} {where}"
    with trial(fault):
        assert harness.runtime.sessions.status(session.id) == Idle(), where
        assert harness.runtime.permissions.pending() == (), where
        ends = [
            e
            for e in harness.events[before:]
            if isinstance(e, SessionIdle) and e.session_id == session.id
        ]
        assert len(ends) == 1, where
        for item in await harness.messages(session):
            if isinstance(item.message, AssistantMessage):
                assert item.message.completed is not None, where
            for part in item.parts:
                if isinstance(part, TextPart | ReasoningPart):
                    assert part.ended is not None, where
        for tool in await harness.tools(session):
            assert isinstance(tool.state, Completed | Failed), where
        assert marked_processes() == [], where
        harness.server.replace((answer(Text("fine")),))
        after = len(harness.events)
        await harness.send(session, "next")
        assert (await harness.idle(session, after=after)).outcome == "completed", where
        assert harness.server.refused == [], where


def marked_processes() -> list[str]:
    """Return the living descendants of this process that a tool call started."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                status = (folder / "stat").read_text().rpartition(")")[2].split()
                environment = (folder / "environ").read_bytes()
            except OSError:
                continue
            if status[1] == str(os.getpid()) and b"OPENCODE_PY_CALL=" in environment:
                found.append(folder.name)
    return found


@contextmanager
def trial(fault: str) -> Iterator[None]:
    """Record one trial of a class of fault and whether its checks passed."""
    clean = False
    try:
        yield
        clean = True
    finally:
        if target := os.environ.get("FAULT_TABLE"):
            with Path(target).open("a", encoding="utf-8") as table:
                table.write(json.dumps([fault, clean]) + "\n")


def _table(path: Path) -> str:
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    tried = Counter(fault for fault, _ in rows)
    left = Counter(fault for fault, clean in rows if not clean)
    names = [*sorted(tried), "all"]
    tried["all"], left["all"] = tried.total(), left.total()
    width = max(map(len, names))
    lines = [f"{'class of fault':<{width}}  tried  left something over"]
    lines += [f"{name:<{width}}  {tried[name]:>5}  {left[name]:>19}" for name in names]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(_table(Path(sys.argv[1])))
