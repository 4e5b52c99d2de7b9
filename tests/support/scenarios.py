"""Turns that tests repeat with a fault at every point, and the number of those points."""

import os

from agent.records.events import PermissionAsked
from agent.records.requests import PermissionReply
from tests.support.harness import Harness
from tests.support.script import Answer, Call, Cut, Failure, Reason, Text, answer

EACH = int(os.environ.get("CANCEL_POINTS", "20"))
"""Cancels per scenario; ``make soak`` tries every iteration (0)."""


LONGEST = 600 if EACH else 7200
"""Seconds until a scenario counts as hung: trying every iteration takes long."""


SCENARIOS: dict[str, tuple[Answer, ...]] = {
    "text": (answer(Reason("hm"), Text("one "), Text("two "), Text("three")),),
    "reads": (
        answer(
            Text("I look."),
            *(Call("read", {"file_path": f"{n}.txt"}) for n in range(5)),
            Call("bash", {"command": "echo out; sleep 0.05; echo more"}),
        ),
        answer(Text("done")),
    ),
    "questions": (
        answer(
            Call("write", {"file_path": "new.txt", "content": "x\n"}),
            Call("bash", {"command": "touch made; sleep 0.02"}),
        ),
        answer(Text("done")),
    ),
    "faults": (
        answer(Reason("hm"), Text("part"), Call("read", '{"file_path": "a'), Cut()),
        Failure(500),
        answer(Call("list", {}), Call("nonsense", {}), Call("read", '{"file_path": "a'), Cut()),
        answer(Text("done")),
    ),
}


async def answer_everything(harness: Harness) -> None:
    """Approve every permission request until cancelled."""
    seen = 0
    while True:
        event = await harness.until(lambda e: isinstance(e, PermissionAsked), after=seen)
        seen = harness.events.index(event, seen) + 1
        assert isinstance(event, PermissionAsked)
        harness.runtime.permissions.reply(event.request.id, PermissionReply("once"))
