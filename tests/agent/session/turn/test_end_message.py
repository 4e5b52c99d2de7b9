"""The stored message about the end of a turn, which the user and the model see."""

from dataclasses import replace

from agent.records.messages import AssistantMessage, ErrorInfo
from agent.session.turn.state import TurnEnd
from agent.session.turn.step import INTERRUPTED
from agent.session.turn.turn import end_message
from tests.agent.store.samples import make_assistant, make_session, make_user
from tests.support.harness import Harness
from tests.support.script import Call, Hold, Text, Tokens, answer

SESSION = make_session()
ASKED = make_user(SESSION, turn_id="trn_1")
STEP = make_assistant(SESSION, completed=13.0)


def kept_message(end: TurnEnd, step: AssistantMessage | None) -> AssistantMessage | None:
    return end_message(end, step, ASKED, "trn_1", 20.0)


def test_a_fault_is_kept_with_the_last_step_or_by_itself() -> None:
    why = ErrorInfo("limit", "Stopped after 3 steps.")
    kept = kept_message(TurnEnd("limit_reached", error=why), STEP)
    assert kept == replace(STEP, error=why)
    alone = kept_message(TurnEnd("failed", "error", why), None)
    assert alone is not None
    assert (alone.parent_id, alone.turn_id, alone.step) == (ASKED.id, "trn_1", 0)
    assert (alone.error, alone.finish, alone.completed) == (why, "error", 20.0)


def test_a_stop_between_steps_is_stored_and_a_stop_within_a_step_only_once() -> None:
    stopped = TurnEnd("cancelled")
    for step in (None, replace(STEP, finish="tool-calls")):
        alone = kept_message(stopped, step)
        assert alone is not None
        assert alone.id != STEP.id
        assert (alone.error, alone.interrupted, alone.completed) == (INTERRUPTED, True, 20.0)
    assert kept_message(stopped, replace(STEP, error=INTERRUPTED, interrupted=True)) is None
    assert kept_message(stopped, replace(STEP, finish="stop")) is None  # all was said
    assert kept_message(TurnEnd("completed"), replace(STEP, finish="stop")) is None


async def test_a_stop_during_compaction_is_shown_and_sent_to_the_model(
    harness: Harness,
) -> None:
    """The step before it was complete: without the message the turn would end silently."""
    (harness.folder / "a.txt").write_text("a\n")
    hold = Hold()
    harness.server.script(
        answer(Call("read", {"file_path": "a.txt"}), Tokens(85_000, 100)),
        answer(Text("## Goal"), hold),
    )
    session = await harness.session()
    before = len(harness.events)
    await harness.send(session, "look at a")
    await hold.reached.wait()
    await harness.runtime.sessions.cancel(session.id)
    assert (await harness.idle(session, after=before)).outcome == "cancelled"
    _, step, last = (item.message for item in await harness.messages(session))
    assert isinstance(step, AssistantMessage)
    assert isinstance(last, AssistantMessage)
    assert (step.interrupted, last.interrupted) == (False, True)
    hold.gate.set()
    harness.server.replace((answer(Text("fine")),))
    assert (await harness.turn(session, "go on")).outcome == "completed"
    assert "interrupted your previous response" in str(harness.server.requests[-1].body)
