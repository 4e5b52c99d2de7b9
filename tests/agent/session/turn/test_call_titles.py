"""A call that failed before planning has the label of its tool's finished calls."""

import pytest

from agent.records.blocks import ToolLabel
from agent.records.events import Event, PartUpdated
from agent.records.json import JsonObject
from agent.records.labels import label_of
from agent.records.messages import Completed, Failed, Pending, Running, Session, ToolPart
from tests.support.harness import Harness
from tests.support.script import Call, Text, answer

SLEEPS = Call("bash", {"command": "echo begun; sleep 60"})
TODOS: JsonObject = {"todos": [{"content": "x", "status": "completed", "priority": "high"}]}


def runs(event: Event) -> bool:
    part = event.part if isinstance(event, PartUpdated) else None
    state = part.state if isinstance(part, ToolPart) else None
    return isinstance(state, Running) and "begun" in state.output


async def calls(harness: Harness, session: Session) -> list[ToolPart]:
    return [part for part in await harness.parts(session) if isinstance(part, ToolPart)]


@pytest.mark.parametrize("made", [TODOS, {"nonsense": 1}])
async def test_one_that_was_cancelled_in_the_queue_has_the_title(
    harness: Harness, made: JsonObject
) -> None:
    harness.server.script(answer(SLEEPS, Call("todowrite", made)))
    session = await harness.session()
    await harness.send(session, "go")
    await harness.until(runs)
    await harness.runtime.sessions.cancel(session.id)
    await harness.idle(session)
    ran, queued = await calls(harness, session)
    assert isinstance(ran.state, Failed)
    assert isinstance(queued.state, Failed)
    assert (label_of(ran).verb, label_of(queued)) == ("Bash", ToolLabel("To-do"))


async def test_it_has_one_from_its_first_moment_to_its_last(harness: Harness) -> None:
    harness.server.script(
        answer(Call("update_todos", TODOS), Call("todowrite", {"nonsense": 1})), answer(Text("ok"))
    )
    session = await harness.session()
    await harness.turn(session, "go")
    done, wrong = await calls(harness, session)
    assert isinstance(done.state, Completed)
    assert isinstance(wrong.state, Failed)
    assert {label_of(done).verb, label_of(wrong).verb} == {"To-do"}
    parts = [event.part for event in harness.events if isinstance(event, PartUpdated)]
    begun = [p for p in parts if isinstance(p, ToolPart) and isinstance(p.state, Pending)]
    assert {label_of(part).verb for part in begun} == {"To-do"}
    assert {part.id for part in begun} == {done.id, wrong.id}


def test_one_that_was_stored_without_a_title_is_called_by_its_name() -> None:
    part = ToolPart(id="p", session_id="s", message_id="m", call_id="c", tool="bash_output")
    assert label_of(part) == ToolLabel("Bash output")


async def test_a_call_that_fails_before_planning_shows_its_subject(
    harness: Harness,
) -> None:
    gone = {"file_path": "gone.py", "old_string": "a", "new_string": "b"}
    harness.server.script(answer(Call("edit", gone)), answer(Text("ok")))
    session = await harness.session()
    await harness.turn(session, "go")
    (call,) = await calls(harness, session)
    assert isinstance(call.state, Failed)
    assert label_of(call) == ToolLabel("Edit", "gone.py")
