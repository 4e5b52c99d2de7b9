"""Tells the hooks what happens and gathers what they say (spec 10, H1, H2)."""

import asyncio
from collections.abc import Iterable, Mapping

from agent.bus import Bus
from agent.hooks.names import fits
from agent.hooks.records import NOTHING, Hook, HookAnswer, HookCall, HookEvent, merged
from agent.hooks.running import HookFailed, answer_of
from agent.records.events import Notice, PluginFailed

STRICT: frozenset[HookEvent] = frozenset({"PreToolUse"})
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
            return NOTHING
        env = {**self._env, "CLAUDE_PROJECT_DIR": call.directory}
        answer = merged(await asyncio.gather(*(self._one(hook, call, env) for hook in due)))
        if answer.message:
            self._bus.publish(Notice(answer.message, "info"))
        return answer

    def _for(self, event: HookEvent, about: str) -> Iterable[Hook]:
        return (h for h in self._hooks if h.event == event and fits(h.matcher, about))

    async def _one(self, hook: Hook, call: HookCall, env: Mapping[str, str]) -> HookAnswer:
        try:
            return await answer_of(hook, call, env)
        except HookFailed as error:
            sentence = f"The hook {hook.shown} ({hook.event}, {hook.source}) {error}."
            failed = PluginFailed(hook.source, sentence) if hook.function else Notice(sentence)
            self._bus.publish(failed)
            if call.event in STRICT:
                return HookAnswer(decision="deny", reason=sentence)
            return NOTHING
