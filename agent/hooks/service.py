"""Runs the hooks of an event and merges their answers."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace

from agent.bus import Bus
from agent.hooks.execution import HookFailed, HookPrograms, run_hook
from agent.hooks.records import (
    NO_ANSWER,
    Hook,
    HookAnswer,
    HookCall,
    HookEvent,
    concerns,
    is_for,
    merge_answers,
)
from agent.records.events import Notice, PluginFailed
from agent.records.json import JsonObject
from agent.redact import without_known_secrets

FAIL_CLOSED_EVENTS: frozenset[HookEvent] = frozenset({"PreToolUse"})
"""Events that are blocked when a hook fails or is late: it may have wanted to object. Hooks of
Claude Code are only reported then, as there: many need programs that not every machine has."""

INFORMED_EVENTS: frozenset[HookEvent] = frozenset(
    {"SessionStart", "SessionEnd", "Notification", "SubagentStart", "TaskCompleted"}
)
"""Events that no hook can refuse. Many a failed program exits with the code of an objection."""

BACKGROUND_TIMEOUT = 3.0
"""Seconds that hooks in the background get when the program ends."""


class Hooks:
    """The hooks of an opened folder."""

    def __init__(self, bus: Bus, programs: HookPrograms, hooks: Iterable[Hook] = ()) -> None:
        self._bus = bus
        self._programs = programs
        self._hooks = list(hooks)
        self._in_background: set[asyncio.Future[HookAnswer]] = set()
        self.session_facts: Callable[[HookCall], Awaitable[JsonObject]] | None = None
        """Return the facts about the session of a call that programs get with the call."""

    @property
    def all(self) -> tuple[Hook, ...]:
        return tuple(self._hooks)

    def any_for(self, event: HookEvent, about: str = "", former: str = "") -> bool:
        """Return whether any hook runs for this event; see ``HookCall``."""
        return any(True for _ in self._matching(event, about, former))

    async def close(self) -> None:
        """Wait for the hooks in the background."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(BACKGROUND_TIMEOUT):
                await asyncio.gather(*self._in_background)

    async def run(self, call: HookCall) -> HookAnswer:
        """Run every hook for *call*, side by side; return their merged answers.

        Never raises: failures are shown to the user.
        """
        due = [hook for hook in self._hooks if concerns(hook, call)]
        if not due:
            return NO_ANSWER
        if self.session_facts is not None and any(hook.function is None for hook in due):
            call = replace(call, details={**await self.session_facts(call), **call.details})
        for hook in due:
            if hook.in_background:
                task = asyncio.ensure_future(self._run_one(hook, call))
                self._in_background.add(task)
                task.add_done_callback(self._in_background.discard)
        awaited = (self._run_one(hook, call) for hook in due if not hook.in_background)
        answer = _without_secrets(merge_answers(await asyncio.gather(*awaited)))
        if answer.message:
            self._bus.publish(Notice(answer.message, "info"))
        return answer

    def _matching(self, event: HookEvent, about: str, former: str) -> Iterable[Hook]:
        return (hook for hook in self._hooks if is_for(hook, event, about, former))

    async def _run_one(self, hook: Hook, call: HookCall) -> HookAnswer:
        try:
            return _effective(await run_hook(hook, call, self._programs), call.event)
        except HookFailed as error:
            sentence = f"The hook {hook.label} ({hook.event}, {hook.source}) {error}."
            failed = PluginFailed(hook.source, sentence) if hook.function else Notice(sentence)
            self._bus.publish(failed)
            if call.event in FAIL_CLOSED_EVENTS and not hook.uses_claude_names:
                return HookAnswer(decision="deny", reason=sentence)
            return NO_ANSWER


def _effective(answer: HookAnswer, event: HookEvent) -> HookAnswer:
    """Return *answer*. Raises ``HookFailed`` for an objection where none has an effect."""
    if answer.decision == "deny" and event in INFORMED_EVENTS:
        raise HookFailed(f"objects, which has no effect here: {answer.reason.rstrip('.')}")
    return answer


def _without_secrets(answer: HookAnswer) -> HookAnswer:
    """Return *answer* with its texts as the model and the user may read them. The input is passed
    on as it is, the output is cleaned like any tool's."""
    return replace(
        answer,
        reason=without_known_secrets(answer.reason),
        context=without_known_secrets(answer.context),
        message=without_known_secrets(answer.message),
        stop=None if answer.stop is None else without_known_secrets(answer.stop),
    )
