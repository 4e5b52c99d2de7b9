"""Calls whose work goes on in the background, as they stand (spec 3, S2): the call itself is over
for the model, and its row tells of the sub-agent until that is over too."""

from dataclasses import replace

from agent.records.blocks import Block, SubtaskBlock
from agent.records.context_parts import ErrandState
from agent.records.messages import Completed, Failed, FailureKind, Pending, Running, ToolPart
from agent.session.api import ErrandLine, Errands

_ENDED: dict[ErrandState, FailureKind] = {
    "cancelled": "aborted",
    "rejected": "denied",
    "limit_reached": "error",
    "failed": "error",
    "interrupted": "interrupted",
}
_WHY = {
    "limit_reached": "The sub-agent was cut short by a limit.",
    "failed": "The sub-agent failed.",
}


def session_of_call(part: ToolPart) -> str | None:
    """The session that a call leads to, None for one that leads nowhere."""
    block = _subtask(part)
    return block.session_id if block is not None else None


def with_background_state(part: ToolPart, errands: Errands) -> ToolPart:
    """*part* with what has become of its work in the background."""
    block = _subtask(part)
    if block is None or not block.background or not isinstance(part.state, Completed):
        return part
    line = errands.held.get(block.session_id)
    if line is None or not line.errand.is_of(part.message_id, part.call_id):
        return part
    return replace(part, state=_state(part.state, block, line))


def _state(state: Completed, block: SubtaskBlock, line: ErrandLine) -> Running | Completed | Failed:
    errand = line.errand
    if line.running:
        blocks: tuple[Block, ...] = (replace(block, activity=line.activity),)
        return Running(input=state.input, label=state.label, started=errand.started, blocks=blocks)
    ended = errand.ended or errand.started
    if errand.state == "completed":
        facts = (*state.facts, *errand.facts)
        return replace(state, started=errand.started, ended=ended, facts=facts)
    return Failed(
        error=_WHY.get(errand.state, ""),
        kind=_ENDED[errand.state],
        started=errand.started,
        ended=ended,
        input=state.input,
        label=state.label,
        blocks=state.blocks,
    )


def _subtask(part: ToolPart) -> SubtaskBlock | None:
    blocks = () if isinstance(part.state, Pending) else part.state.blocks
    return next((block for block in blocks if isinstance(block, SubtaskBlock)), None)
