"""Tells the hooks what happens and gathers what they say (spec 10, H1, H2)."""

import asyncio
from collections.abc import Iterable, Mapping

from agent.bus import Bus
from agent.hooks.execution import HookFailed, matches, run_hook
from agent.hooks.records import NO_ANSWER, Hook, HookAnswer, HookCall, HookEvent, merge_answers
from agent.records.events import Notice, PluginFailed

FAIL_CLOSED_EVENTS: frozenset[HookEvent] = frozenset({"PreToolUse"})
"""Events that a hook which fails or is late blocks: it may have been about to object."""


class Hooks:
    """The hooks of an opened folder. *env* is what programs are started with."""

    def __init__(self, bus: Bus, env: Mapping[str, str], hooks: Iterable[Hook] = ()) -> None:
        self._bus = bus
        self._env = env
        self._hooks = list(hooks)

    @property
    def all(self) -> tuple[Hook, ...]:
        return tuple(self._hooks)

    def wants(self, event: HookEvent, about: str = "") -> bool:
        """Whether any hook is to be told."""
        return any(True for _ in self._for(event, about))

    async def tell(self, call: HookCall) -> HookAnswer:
        """Tell every hook that *call* is for, side by side; all they say as one.

        Never raises: what fails is shown to the user.
        """
        due = list(self._for(call.event, call.about))
        if not due:
            return NO_ANSWER
        env = {**self._env, "CLAUDE_PROJECT_DIR": call.directory}
        answer = merge_answers(await asyncio.gather(*(self._one(hook, call, env) for hook in due)))
        if answer.message:
            self._bus.publish(Notice(answer.message, "info"))
        return answer

    def _for(self, event: HookEvent, about: str) -> Iterable[Hook]:
        return (h for h in self._hooks if h.event == event and matches(h.matcher, about))

    async def _one(self, hook: Hook, call: HookCall, env: Mapping[str, str]) -> HookAnswer:
        try:
            return await run_hook(hook, call, env)
        except HookFailed as error:
            sentence = f"The hook {hook.shown} ({hook.event}, {hook.source}) {error}."
            failed = PluginFailed(hook.source, sentence) if hook.function else Notice(sentence)
            self._bus.publish(failed)
            if call.event in FAIL_CLOSED_EVENTS:
                return HookAnswer(decision="deny", reason=sentence)
            return NO_ANSWER
