"""The end of a turn: its clean-up, and the message that records how it ended."""

from dataclasses import replace

from agent.records.errors import StoreError
from agent.records.ids import new_id
from agent.records.messages import AssistantMessage, ErrorInfo, UserMessage
from agent.session.turn.step import INTERRUPTED
from agent.session.turn.turn import Turn
from agent.session.turn_state import TurnEnd


async def tear_down(
    turn: Turn, fault: ErrorInfo | None = None, *, is_prompted: bool = True
) -> None:
    """End the step that runs, if any, so that the history stays valid.

    A prompt that the cancel of a *is_prompted* turn overtook still enters the history: the user
    sent it. *fault* is why the turn failed.
    """
    if is_prompted and turn.inbox.newest is None:
        await turn.inbox.take_overtaken()
    step, store = turn.step, turn.services.store
    if step is not None:
        try:
            usage, cost = await step.tear_down(fault)
        except StoreError as error:  # shown at once, and stored when the disk has space again
            store.stage(step.unstored_message(error))
            raise
        await turn.tracker.after_step(step.message)
        if usage is not None:
            await turn.record_usage(usage, cost)
    await turn.tracker.close()


async def store_end(turn: Turn, end: TurnEnd) -> None:
    """Store how the turn ended, with its last step or as a message of its own."""
    newest = turn.inbox.newest
    if newest is None:
        return
    store = turn.services.store
    stored = await store.message(turn.step.message_id) if turn.step else None
    step = stored.message if stored is not None else None
    last = step if isinstance(step, AssistantMessage) else None
    message = end_message(end, last, newest, turn.id, turn.services.clock())
    if message is not None:
        await store.save(message)


def end_message(
    end: TurnEnd, step: AssistantMessage | None, newest: UserMessage, turn_id: str, now: float
) -> AssistantMessage | None:
    """Return the message that records how a turn ended, so that it is shown with the session.

    None where *step*, the turn's last, shows it already. A turn that failed before its first step,
    or was stopped between its steps, gets an empty message that responds to *newest*.
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
    shown = step is not None and (step.error is not None or step.finish == "stop")
    if end.outcome != "cancelled" or shown:
        return None
    return replace(empty, error=INTERRUPTED, interrupted=True)
