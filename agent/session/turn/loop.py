"""The loop of a turn: step after step until there is nothing left to do.

The loop decides only after the tools of a step have ended. Its state is one frozen record that is
replaced whole at every continuation, and each continuation has a named reason.
"""

import logging
from dataclasses import field, replace
from enum import StrEnum

from agent.provider.client import ModelInfo, ModelRequest
from agent.records.errors import ProviderError, ProviderErrorKind
from agent.records.frozen import frozen
from agent.records.messages import AssistantMessage, ErrorInfo, Finish, UserMessage
from agent.records.reminders import reminder
from agent.session.turn.guards import (
    FILTERED,
    MAX_CUT_CALLS,
    Guard,
    StepLimit,
    empty_response_error,
    is_empty,
)
from agent.session.turn.state import PlannedStep, TurnEnd, TurnTotals
from agent.session.turn.step import StepResult
from agent.session.turn.turn import Turn

DEFAULT_OUTPUT = 32_000
"""Output cap of a step, in tokens, for models whose limit is known; it leaves room for a whole file
in one call. The first response of a session that it cuts off is requested again with a cap of up
to ``MAX_OUTPUT``, which the session keeps."""

UNKNOWN_LIMIT_OUTPUT = 8_192
"""The same for models whose limit is not known: servers refuse a cap above it."""

MAX_OUTPUT = 65_536
MIN_OUTPUT = 1_024
"""The output cap, in tokens, however full the window is."""

MAX_RESUMES = 3
MAX_LOST_STREAMS = 3
MAX_STOP_HOOKS = 3
LEAN_OUTPUT = 500
"""Output tokens below which a step adds little towards a token target."""
MAX_LEAN_STEPS = 3

RESUME_CUT_RESPONSE = reminder(
    "Your response was cut off by the output limit. Continue exactly where it stopped. Do not "
    "repeat anything and do not summarize."
)
RESUME_PAUSED_RESPONSE = reminder(
    "The server paused your response. Continue exactly where it stopped. Do not repeat anything "
    "and do not summarize."
)
LAST_STEP_REMINDER = reminder(
    "This is the last step of this turn, and tools are off. Say in a few lines what was done, what "
    "was found, and what is left."
)
TARGET_REMINDER = reminder(
    "There is budget left for more work on this task. Continue with what makes the result better "
    "or more certain. Do not summarize."
)
UNFINISHED_ERRORS: dict[Finish | None, str] = {
    "length": "Stopped: the response was cut off by the output limit {times} times in a row. "
    "Send “continue”, ask for less, or choose a model with a larger limit.",
    "paused": "Stopped: the provider paused the response {times} times in a row. Send “continue”.",
}
"""The errors of responses that stay unfinished, by the reason why they ended."""
STEP_LIMIT_ERROR = (
    "Stopped after {steps} steps, the limit of this agent. Send a message to continue."
)

log = logging.getLogger(__name__)


class Reason(StrEnum):
    """The reason why the loop continues with another step."""

    START = "start"
    NEXT_STEP = "next_step"
    OMIT_RETRY = "omit_retry"
    PRUNE_RETRY = "prune_retry"
    COMPACT_RETRY = "compact_retry"
    OUTPUT_ESCALATE = "output_escalate"
    OUTPUT_RESUME = "output_resume"
    PAUSED = "paused"
    STOP_HOOK = "stop_hook"
    BUDGET = "budget"
    STREAM_LOST = "stream_lost"
    USER_MESSAGE = "user_message"
    REPORT = "report"
    LATE_ERRORS = "late_errors"
    FALLBACK = "fallback"


@frozen
class LoopState:
    """The state of the loop between two steps."""

    reason: Reason = Reason.START
    totals: TurnTotals = field(default_factory=TurnTotals)
    resumes: int = 0
    """The number of times that an unfinished response was continued since the last user message."""
    lost_streams: int = 0
    """Steps in a row whose stream broke after a call had started."""
    cut_calls: int = 0
    """Steps in a row with a call that the output limit cut off."""
    stop_hooks: int = 0
    """The number of times that a stop hook kept the turn going since the last user message."""
    lean_steps: int = 0
    """Steps in a row that added little towards the token target."""
    refused: tuple[tuple[ErrorInfo, str], ...] = ()
    """The refusals that the next step answers, each with the change of the request after it. They
    are recorded in its message: those of the refused ones are removed."""


async def run_turn(turn: Turn, session_id: str) -> TurnEnd:
    """Run one turn to its end. Cancelling it leaves the clean-up to the caller."""
    request = await _newest_request(turn, None, everything=True)
    state = LoopState(totals=turn.totals)
    if request is None:
        return TurnEnd("completed")
    while True:
        log.info("turn of %s: %s, step %d", session_id, state.reason, state.totals.steps + 1)
        if state.reason is not Reason.START:
            request = await _newest_request(turn, request, everything=False) or request
        outcome = await _run_step(turn, session_id, state, request)
        if isinstance(outcome, TurnEnd):
            return outcome
        state, request = outcome


async def _newest_request(
    turn: Turn, current: UserMessage | None, *, everything: bool
) -> UserMessage | None:
    """Dequeue messages; the newest user message, or *current* where none was dequeued."""
    users = await turn.inbox.dequeue(everything=everything)
    return users[-1] if users else current


async def _run_step(
    turn: Turn, session_id: str, state: LoopState, request: UserMessage
) -> TurnEnd | tuple[LoopState, UserMessage]:
    settings = await turn.settings(request)
    limits = turn.services.limits.guards(settings.max_steps)
    step = await _pass_guards(
        (*limits, turn.spending, turn.compaction), PlannedStep(settings, request, state.totals)
    )
    if isinstance(step, TurnEnd):
        return step
    if late := await turn.late_report():
        step = replace(step, request=await turn.add_reminder(late, request))
    last = any(isinstance(g, StepLimit) and g.is_last(step.totals) for g in limits)
    if last:
        step = replace(step, request=await turn.add_reminder(LAST_STEP_REMINDER, step.request))
    result = await _ask_model(turn, session_id, state, step, with_tools=not last)
    totals = step.totals.add_step(result.usage, result.cost).add_extra(*result.extra_usage)
    turn.totals = totals
    step, state = replace(step, totals=totals), replace(state, totals=totals)
    if last and result.error is None:
        limit = ErrorInfo("limit", STEP_LIMIT_ERROR.format(steps=totals.all_steps - 1))
        return TurnEnd("limit_reached", _assistant(result).finish, limit)
    if result.error is not None and (
        change := await turn.fall_back(settings, step.request, result.error)
    ):
        await turn.remove_message(_assistant(result))
        refused = (ErrorInfo(result.error.kind, result.error.message), change)
        noted = (*state.refused, refused)
        return replace(state, reason=Reason.FALLBACK, refused=noted), step.request
    if result.error is not None and _is_too_large(result.error):
        return await _after_overflow(turn, step, state, result, result.error)
    state = replace(state, refused=())
    turn.compaction.note_accepted()
    end = _end_of_step(result, state)
    if end is not None:
        return end
    following = await _continue_response(turn, step, state, result)
    if following is not None:
        return following
    if _assistant(result).finish == "length":
        return TurnEnd("limit_reached", "length", _empty_error(step, result))
    return await _continue_turn(turn, step, state, result)


async def _pass_guards(guards: tuple[Guard, ...], step: PlannedStep) -> PlannedStep | TurnEnd:
    for guard in guards:
        checked = await guard.before_step(step)
        if isinstance(checked, TurnEnd):
            return checked
        step = checked
    return step


async def _ask_model(
    turn: Turn, session_id: str, state: LoopState, step: PlannedStep, *, with_tools: bool
) -> StepResult:
    settings = step.settings if with_tools else replace(step.settings, tools=())
    running = await turn.new_step(settings, step.request, step.totals.steps + 1)
    for refusal, change in state.refused:
        await turn.note_change(running.message, refusal, change)
    if not state.refused:
        await turn.note_return(running.message, step.request)
    request = ModelRequest(
        model=settings.model,
        system=settings.system,
        turns=turn.conversation.turns(),
        tools=settings.tools,
        max_output=_output_cap(turn, step),
        temperature=settings.temperature,
        effort=settings.effort,
        session_id=session_id,
        history=turn.conversation.sent,
    )
    return await turn.run_step(running, settings, request)


def _is_too_large(error: ProviderError) -> bool:
    return error.kind is ProviderErrorKind.OVERFLOW or error.file_limit is not None


async def _after_overflow(
    turn: Turn, step: PlannedStep, state: LoopState, result: StepResult, error: ProviderError
) -> TurnEnd | tuple[LoopState, UserMessage]:
    """The provider refused the request as too large: omit attached files where it named those,
    else prune, then compact, then give up."""
    info = ErrorInfo(error.kind, error.message)
    if change := await turn.compaction.omit_files(error):
        await turn.remove_message(_assistant(result))
        noted = (*state.refused, (info, change))
        return replace(state, reason=Reason.OMIT_RETRY, refused=noted), step.request
    if error.kind is not ProviderErrorKind.OVERFLOW:
        return TurnEnd("failed", "error", info)
    if (end := turn.compaction.give_up(step.settings)) is not None:
        return end
    await turn.remove_message(_assistant(result))
    shorter = await turn.compaction.after_overflow(step)
    if isinstance(shorter, TurnEnd):
        return shorter
    pruned = turn.compaction.relief == "pruned"
    reason = Reason.PRUNE_RETRY if pruned else Reason.COMPACT_RETRY
    return replace(state, reason=reason, totals=shorter.totals), step.request


async def _continue_turn(
    turn: Turn, step: PlannedStep, state: LoopState, result: StepResult
) -> TurnEnd | tuple[LoopState, UserMessage]:
    """The model has finished: continue for queued messages, a report of a background task, a stop
    hook or a token target, else end the turn."""
    users = await turn.inbox.dequeue(everything=True)
    if users:
        return replace(state, reason=Reason.USER_MESSAGE, resumes=0, stop_hooks=0), users[-1]
    reports = await turn.inbox.wait_for_reports(wait=turn.waits_for_background)
    if reports:
        turn.totals = turn.totals.add_extra(*turn.calls.take_extra_usage())
        return replace(state, reason=Reason.REPORT, totals=turn.totals), reports[-1]
    message = _assistant(result)
    if (
        state.stop_hooks < MAX_STOP_HOOKS
        and (why := await turn.run_stop_hooks(message)) is not None
    ):
        reminder = await turn.add_reminder(why, step.request)
        return replace(state, reason=Reason.STOP_HOOK, stop_hooks=state.stop_hooks + 1), reminder
    if late := await turn.late_report():
        return replace(state, reason=Reason.LATE_ERRORS), await turn.add_reminder(
            late, step.request
        )
    target = step.settings.target_tokens
    if target is not None:
        output = result.usage.output if result.usage else 0
        lean = state.lean_steps + 1 if output < LEAN_OUTPUT else 0
        if state.totals.usage.output < target * 9 // 10 and lean < MAX_LEAN_STEPS:
            reminder = await turn.add_reminder(TARGET_REMINDER, step.request)
            return replace(state, reason=Reason.BUDGET, lean_steps=lean), reminder
    error = _empty_error(step, result) if is_empty(result.message) else None
    return TurnEnd("completed", message.finish, error)


def _empty_error(step: PlannedStep, result: StepResult) -> ErrorInfo:
    return empty_response_error(
        result.message, result.usage, result.output_limit, after_calls=step.totals.steps > 1
    )


def _assistant(result: StepResult) -> AssistantMessage:
    message = result.message.message
    assert isinstance(message, AssistantMessage)  # a step's message always is one
    return message


def _output_cap(turn: Turn, step: PlannedStep) -> int:
    """The output cap of the next step, within the rest of the window: providers refuse a request
    whose prompt and cap exceed it together."""
    model = step.settings.model
    cap = turn.output_caps.get(model.full_name) or default_output(model)
    if model.context_limit is None:
        return cap
    left = model.context_limit - turn.compactor.meter.used_tokens(step.settings)
    return min(cap, max(MIN_OUTPUT, left))


def default_output(model: ModelInfo) -> int:
    """Return the default output cap, or the model's own limit where that is smaller."""
    return min(DEFAULT_OUTPUT, model.output_limit or UNKNOWN_LIMIT_OUTPUT)


def _end_of_step(result: StepResult, state: LoopState) -> TurnEnd | None:
    """The end of the turn where the result of the step demands it, else None."""
    if result.stopped:
        return TurnEnd("rejected", "tool-calls")
    if result.error is not None:
        info = ErrorInfo(result.error.kind, result.error.message)
        return TurnEnd("failed", "error", info)
    finish = _assistant(result).finish
    if finish == "content-filter" and result.calls == 0:
        return TurnEnd("failed", finish, ErrorInfo(ProviderErrorKind.CONTENT_FILTER, FILTERED))
    if result.cut and state.cut_calls + 1 >= MAX_CUT_CALLS:
        text = (
            f"Stopped: {MAX_CUT_CALLS} responses in a row were cut off by the output limit in the "
            "middle of a tool call. Ask for smaller pieces, or choose a model with a larger limit."
        )
        return TurnEnd("limit_reached", finish, ErrorInfo("limit", text))
    if finish in UNFINISHED_ERRORS and result.calls == 0 and state.resumes >= MAX_RESUMES:
        text = UNFINISHED_ERRORS[finish].format(times=MAX_RESUMES + 1)
        return TurnEnd("limit_reached", finish, ErrorInfo("limit", text))
    if result.lost and state.lost_streams + 1 >= MAX_LOST_STREAMS:
        text = (
            f"Stopped: the stream broke off {MAX_LOST_STREAMS} times in a row after a tool had "
            "started."
        )
        return TurnEnd("failed", "error", ErrorInfo(ProviderErrorKind.NETWORK, text))
    return None


async def _continue_response(
    turn: Turn, step: PlannedStep, state: LoopState, result: StepResult
) -> tuple[LoopState, UserMessage] | None:
    """The state of the next step where the response needs one: its calls have results, or it is
    unfinished. None where the model has finished."""
    message, request = _assistant(result), step.request
    if result.lost:
        lost = state.lost_streams + 1
        return replace(state, reason=Reason.STREAM_LOST, lost_streams=lost), request
    state = replace(state, lost_streams=0)
    model = step.settings.model
    larger = min(MAX_OUTPUT, model.output_limit or MAX_OUTPUT)
    current = turn.output_caps.get(model.full_name) or default_output(model)
    if message.finish == "length" and result.complete_calls == 0 and larger > current:
        await turn.remove_message(message)
        turn.output_caps[model.full_name] = larger
        return replace(state, reason=Reason.OUTPUT_ESCALATE), request
    if message.finish == "length" and is_empty(result.message):
        return None  # another request would be used up by the same reasoning
    if result.calls > 0:
        cut = state.cut_calls + 1 if result.cut else 0
        return replace(state, reason=Reason.NEXT_STEP, cut_calls=cut), request
    resumes = state.resumes + 1
    if message.finish == "length":
        reminder = await turn.add_reminder(RESUME_CUT_RESPONSE, request)
        return replace(state, reason=Reason.OUTPUT_RESUME, resumes=resumes), reminder
    if message.finish == "paused":
        reminder = await turn.add_reminder(RESUME_PAUSED_RESPONSE, request)
        return replace(state, reason=Reason.PAUSED, resumes=resumes), reminder
    return None
