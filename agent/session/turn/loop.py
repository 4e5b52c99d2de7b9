"""The turn loop (spec 1, L1 and L2): step after step until there is nothing left to do.

The loop decides only after a step's tools have ended. Its state is one frozen record that
is replaced whole at every continuation, and each continuation has a named reason.
"""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace

from agent.provider.client import ModelInfo, ModelRequest
from agent.records.errors import ProviderError, ProviderErrorKind
from agent.records.messages import AssistantMessage, ErrorInfo, Finish, UserMessage
from agent.session.context.step_settings import StepSettings
from agent.session.guards import MAX_CUT_CALLS, StepLimit
from agent.session.turn.loop_state import LoopState, Reason, TurnEnd, TurnHost
from agent.session.turn.step import StepResult

DEFAULT_OUTPUT = 8_192
"""Output cap of a step, in tokens (spec 1, L2: 8k, then up to ``MAX_OUTPUT``)."""

MAX_OUTPUT = 65_536
MAX_RESUMES = 3
MAX_LOST = 3
MAX_HOOKED = 3
LEAN_OUTPUT = 500
MAX_LEAN = 3
MAX_FRUITLESS = 2
LEAST_OUTPUT = 1_024
"""An answer gets so many tokens of a window however full that is."""

GO_ON = (
    "<system-reminder>\nYour answer was cut off by the output limit. Go on exactly where it "
    "stopped. Do not repeat anything and do not sum up.\n</system-reminder>"
)
TAKE_UP = (
    "<system-reminder>\nThe server paused your answer. Go on exactly where it stopped. Do not "
    "repeat anything and do not sum up.\n</system-reminder>"
)
SUM_UP = (
    "<system-reminder>\nThis is the last step of this turn: tools are off. Say in a few lines "
    "what was done, what was found, and what is left.\n</system-reminder>"
)
KEEP_GOING = (
    "<system-reminder>\nThere is room left for more work on this task. Go on with what would make "
    "the result better or surer. Do not sum up.\n</system-reminder>"
)
UNFINISHED: dict[Finish | None, str] = {
    "length": "Stopped: the answer was cut off by the output limit {times} times in a row. "
    "Say “go on”, ask for less, or choose a model with a larger limit.",
    "paused": "Stopped: the provider paused the answer {times} times in a row. Say “go on”.",
}
"""Answers that are not at their end, and what is said of one that comes to none."""
LAST_STEP = "Stopped after {steps} steps, the limit of this agent. Send a message to go on."
NO_ROOM = (
    "The conversation no longer fits the model's window, and compaction.auto is off. "
    "Run /compact, start a /new session, or choose a model with a larger window."
)
NO_SUMMARY = "The conversation is too long for the model and could not be summed up. {why}"
STILL_FULL = (
    "The conversation does not fit the model's window even after it was summed up. Shorten the "
    "instructions or the last message, or choose a model with a larger window."
)

log = logging.getLogger(__name__)


async def run_turn(
    host: TurnHost,
    session_id: str,
    on_continue: Callable[[LoopState], Awaitable[None]] | None = None,
) -> TurnEnd:
    """Run one turn to its end. Cancelling it leaves the clean-up to the caller."""
    newest = await _newest(host, None, first=True)
    state = LoopState(totals=host.totals)
    if newest is None:
        return TurnEnd("completed")
    while True:
        log.info("turn of %s: %s, step %d", session_id, state.reason, state.totals.steps + 1)
        if on_continue is not None:
            await on_continue(state)
        if state.reason is not Reason.START:
            newest = await _newest(host, newest, first=False) or newest
        outcome = await _one_step(host, session_id, state, newest)
        if isinstance(outcome, TurnEnd):
            return outcome
        state, newest = outcome


async def _newest(
    host: TurnHost, current: UserMessage | None, *, first: bool
) -> UserMessage | None:
    taken = await host.take_queued(first=first, ending=first)
    return taken[-1] if taken else current


async def _one_step(
    host: TurnHost, session_id: str, state: LoopState, newest: UserMessage
) -> TurnEnd | tuple[LoopState, UserMessage]:
    setting = await host.settings(newest)
    for guard in setting.guards:
        sentence = guard.before_step(state.totals)
        if sentence is not None:
            return TurnEnd("limit_reached", error=ErrorInfo("limit", sentence))
    roomy = await _make_room(host, setting, state, newest)
    if isinstance(roomy, TurnEnd):
        return roomy
    if roomy is not state:  # after a compaction the session's block is another one
        state, setting = roomy, await host.settings(newest)
    last = any(isinstance(g, StepLimit) and g.is_last(state.totals) for g in setting.guards)
    if last:
        newest = await host.nudge(SUM_UP, newest)
    step = await host.new_step(setting, newest, state.totals.steps + 1)
    request = ModelRequest(
        model=setting.model,
        system=setting.system,
        turns=host.turns(),
        tools=() if last else setting.tools,
        max_output=_output_cap(host, setting, state),
        temperature=setting.temperature,
        effort=setting.effort,
        session_id=session_id,
    )
    result = await host.run_step(step, setting, request)
    totals = state.totals.add_step(result.usage, result.cost).add_extra(*result.children)
    host.totals = totals
    state = replace(state, totals=totals)
    if last and result.error is None:
        limit = ErrorInfo("limit", LAST_STEP.format(steps=totals.steps + totals.earlier_steps - 1))
        return TurnEnd("limit_reached", _assistant(result).finish, limit)
    if result.error is not None and result.error.kind is ProviderErrorKind.OVERFLOW:
        return await _overflowed(host, setting, state, result, newest)
    state = replace(state, relief="none")
    end = _ended(result, state)
    if end is not None:
        return end
    following = await _following(host, setting, state, result, newest)
    if following is not None:
        return following
    return await _at_rest(host, setting, state, result, newest)


async def _make_room(
    host: TurnHost, setting: StepSettings, state: LoopState, newest: UserMessage
) -> TurnEnd | LoopState:
    """Prune, then compact before a step that would not fit (spec 2, C1)."""
    gauge = host.compactor.meter
    budget = gauge.budget(setting)
    if budget is None or state.relief == "compacted" or gauge.used_tokens(setting) < budget.usable:
        return state
    if not setting.auto_compact:
        return TurnEnd("limit_reached", error=ErrorInfo("context", NO_ROOM))
    if await host.compactor.prune(setting) and gauge.used_tokens(setting) < budget.usable:
        return state
    return await _compacted(host, setting, state, newest)


async def _compacted(
    host: TurnHost, setting: StepSettings, state: LoopState, newest: UserMessage
) -> TurnEnd | LoopState:
    """Sum up what is old. Twice in a row without getting below the limit is enough (C6)."""
    try:
        usage, cost = await host.compactor.compact(setting, newest)
    except ProviderError as error:
        text = NO_SUMMARY.format(why=error.message)
        overflow = error.kind is ProviderErrorKind.OVERFLOW
        return TurnEnd(
            "failed", "error", ErrorInfo(error.kind, error.message if overflow else text)
        )
    budget, used = host.compactor.meter.budget(setting), host.compactor.meter.used_tokens(setting)
    fruitless = state.fruitless + 1 if budget is not None and used >= budget.usable else 0
    if fruitless >= MAX_FRUITLESS:
        return TurnEnd("failed", "error", ErrorInfo(ProviderErrorKind.OVERFLOW, STILL_FULL))
    return replace(state, totals=state.totals.add_extra(usage, cost), fruitless=fruitless)


async def _overflowed(
    host: TurnHost,
    setting: StepSettings,
    state: LoopState,
    result: StepResult,
    newest: UserMessage,
) -> TurnEnd | tuple[LoopState, UserMessage]:
    """The provider said that the request does not fit: prune, then compact, then give up (L2)."""
    if not setting.auto_compact:
        return TurnEnd("limit_reached", "error", ErrorInfo("context", NO_ROOM))
    if state.relief == "compacted":
        return TurnEnd("failed", "error", ErrorInfo(ProviderErrorKind.OVERFLOW, STILL_FULL))
    await host.drop(_assistant(result))
    host.compactor.meter.note_refusal(setting)
    if state.relief == "none" and await host.compactor.prune(setting):
        return replace(state, reason=Reason.PRUNE_RETRY, relief="pruned"), newest
    shorter = await _compacted(host, setting, state, newest)
    if isinstance(shorter, TurnEnd):
        return shorter
    return replace(shorter, reason=Reason.COMPACT_RETRY, relief="compacted"), newest


async def _at_rest(
    host: TurnHost,
    setting: StepSettings,
    state: LoopState,
    result: StepResult,
    newest: UserMessage,
) -> TurnEnd | tuple[LoopState, UserMessage]:
    """The step asks for nothing more: what the user, a hook or a token target still wants."""
    taken = await host.take_queued(first=False, ending=True)
    if taken:
        return replace(state, reason=Reason.USER_MESSAGE, resumed=0, hooked=0), taken[-1]
    reports = await host.reports()
    if reports:
        return replace(state, reason=Reason.REPORT, totals=host.totals), reports[-1]
    message = _assistant(result)
    if state.hooked < MAX_HOOKED and (why := await host.stop_hooks(message)) is not None:
        reminder = await host.nudge(why, newest)
        return replace(state, reason=Reason.STOP_HOOK, hooked=state.hooked + 1), reminder
    if setting.target_tokens is not None:
        output = result.usage.output if result.usage else 0
        lean = state.lean + 1 if output < LEAN_OUTPUT else 0
        if state.totals.usage.output < setting.target_tokens * 9 // 10 and lean < MAX_LEAN:
            nudged = await host.nudge(KEEP_GOING, newest)
            return replace(state, reason=Reason.BUDGET, lean=lean), nudged
    return TurnEnd("completed", message.finish)


def _assistant(result: StepResult) -> AssistantMessage:
    message = result.message.message
    assert isinstance(message, AssistantMessage)  # a step's message always is one
    return message


def _output_cap(host: TurnHost, setting: StepSettings, state: LoopState) -> int:
    """The output cap of the next step, within what the prompt leaves of the window: providers
    refuse a request whose prompt and cap are more together."""
    cap = state.max_output or default_output(setting.model)
    if setting.model.context_limit is None:
        return cap
    left = setting.model.context_limit - host.compactor.meter.used_tokens(setting)
    return min(cap, max(LEAST_OUTPUT, left))


def default_output(model: ModelInfo) -> int:
    """The output cap of a step: the default, or less where the model has less."""
    return min(DEFAULT_OUTPUT, model.output_limit or DEFAULT_OUTPUT)


def _ended(result: StepResult, state: LoopState) -> TurnEnd | None:
    """Whether the step's own facts end the turn."""
    if result.stopped:
        return TurnEnd("rejected", "tool-calls")
    if result.error is not None:
        info = ErrorInfo(result.error.kind, result.error.message)
        return TurnEnd("failed", "error", info)
    finish = _assistant(result).finish
    if finish == "content-filter" and result.calls == 0:
        text = "The provider's content filter stopped the answer."
        return TurnEnd("failed", finish, ErrorInfo(ProviderErrorKind.CONTENT_FILTER, text))
    if result.cut and state.cut + 1 >= MAX_CUT_CALLS:
        text = (
            f"Stopped: {MAX_CUT_CALLS} answers in a row were cut off by the output limit in the "
            "middle of a tool call. Ask for smaller pieces, or choose a model with a larger limit."
        )
        return TurnEnd("limit_reached", finish, ErrorInfo("limit", text))
    if finish in UNFINISHED and result.calls == 0 and state.resumed >= MAX_RESUMES:
        text = UNFINISHED[finish].format(times=MAX_RESUMES + 1)
        return TurnEnd("limit_reached", finish, ErrorInfo("limit", text))
    if result.lost and state.lost + 1 >= MAX_LOST:
        text = f"Stopped: the stream broke off {MAX_LOST} times in a row after a tool had started."
        return TurnEnd("failed", "error", ErrorInfo(ProviderErrorKind.NETWORK, text))
    return None


async def _following(
    host: TurnHost,
    setting: StepSettings,
    state: LoopState,
    result: StepResult,
    newest: UserMessage,
) -> tuple[LoopState, UserMessage] | None:
    """The state of the next step, None when the step asks for none (L1)."""
    message = _assistant(result)
    if result.lost:
        return replace(state, reason=Reason.STREAM_LOST, lost=state.lost + 1), newest
    calm = replace(state, lost=0)
    larger = min(MAX_OUTPUT, setting.model.output_limit or MAX_OUTPUT)
    current = state.max_output or default_output(setting.model)
    if message.finish == "length" and result.complete_calls == 0 and larger > current:
        await host.drop(message)
        return replace(calm, reason=Reason.OUTPUT_ESCALATE, max_output=larger), newest
    if result.calls > 0:
        cut = state.cut + 1 if result.cut else 0
        return replace(calm, reason=Reason.NEXT_STEP, cut=cut), newest
    if message.finish == "length":
        nudged = await host.nudge(GO_ON, newest)
        return replace(calm, reason=Reason.OUTPUT_RESUME, resumed=state.resumed + 1), nudged
    if message.finish == "paused":
        nudged = await host.nudge(TAKE_UP, newest)
        return replace(calm, reason=Reason.PAUSED, resumed=state.resumed + 1), nudged
    return None
