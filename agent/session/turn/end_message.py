"""The message that keeps how a turn ended, so that it is shown whenever the session is (A3)."""

from dataclasses import replace

from agent.records.ids import new_id
from agent.records.messages import AssistantMessage, UserMessage
from agent.session.turn.loop_state import TurnEnd
from agent.session.turn.step import INTERRUPTED


def end_message(
    end: TurnEnd, step: AssistantMessage | None, newest: UserMessage, turn_id: str, now: float
) -> AssistantMessage | None:
    """The message to be stored, None where *step*, the turn's last, tells all. A turn that failed
    before its first step, or was stopped beside its steps, gets an empty one.

    *newest* is the request that it was about.
    """
    empty = AssistantMessage(
        id=new_id("msg"),
        session_id=newest.session_id,
        created=now,
        parent_id=newest.id,
        turn_id=turn_id,
        step=0,
        agent=newest.agent,
        model=newest.model,
        completed=now,
    )
    if end.error is not None:
        return replace(step or replace(empty, finish="error"), error=end.error)
    told = step is not None and (step.error is not None or step.finish == "stop")
    if end.outcome != "cancelled" or told:
        return None
    return replace(empty, error=INTERRUPTED, interrupted=True)
