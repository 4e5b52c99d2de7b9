"""The hooks of sessions and turns: start and end, prompts, stops, compactions, notifications.

The hooks of tool calls are in ``agent.tools.core.call_hooks``.
"""

import asyncio
from collections.abc import Awaitable
from dataclasses import replace

from agent.bus import Bus, Subscription
from agent.hooks.records import HookAnswer, HookCall, HookEvent
from agent.hooks.service import Hooks
from agent.records.errors import PromptRefused
from agent.records.events import Event, PermissionAsked, QuestionAsked, SessionDeleted, SessionIdle
from agent.records.json import JsonObject
from agent.records.messages import AssistantMessage, Session
from agent.session.api import PromptInput
from agent.store.store import Store

BLOCKED = "A hook refused this prompt: {reason}"
NO_SUMMARY = "A hook refused the summary: {reason}"
NO_REASON = "it gave no reason"
GO_ON = "<system-reminder>\nA hook of the user's wants you to go on: {reason}\n</system-reminder>"
TOLD = "<system-reminder>\nA hook of the user's adds:\n{context}\n</system-reminder>"


class SessionHooks:
    """The hooks of an opened folder as far as sessions are concerned."""

    def __init__(self, hooks: Hooks, bus: Bus, store: Store, directory: str) -> None:
        self._hooks = hooks
        self._bus = bus
        self._store = store
        self._directory = directory
        self._begun: dict[str, Session] = {}
        self._objected: dict[str, str] = {}
        self._following: asyncio.Task[None] | None = None
        self._told: set[asyncio.Task[object]] = set()

    def start(self) -> None:
        """Follow what happens, for hooks on notifications and on the end of sessions."""
        if self._hooks.all and self._following is None:
            subscription = self._bus.subscribe(_heard)
            self._following = asyncio.create_task(self._follow(subscription), name="hooks")

    async def close(self) -> None:
        """Run the end hooks of the sessions that were used."""
        if self._following is not None:
            self._following.cancel()
            await asyncio.wait([self._following])
        for task in self._told:
            task.cancel()
        begun, self._begun = list(self._begun.values()), {}
        await asyncio.gather(*(self._end(session, "exit") for session in begun))

    async def prompted(self, session: Session, prompt: PromptInput) -> PromptInput:
        """*prompt* with what hooks add to it. Raises ``PromptRefused`` for one that they refuse."""
        if session.parent_id is not None or not self._hooks.all:
            return prompt
        contexts: list[str] = []
        if session.id not in self._begun:
            self._begun[session.id] = session
            source = "resume" if session.turns else "startup"
            started = await self._tell("SessionStart", session.id, {"source": source}, source)
            contexts.append(started.context)
        said = await self._tell("UserPromptSubmit", session.id, {"prompt": prompt.visible_text})
        reason = said.stop if said.stop is not None else said.reason
        if said.decision == "deny" or said.stop is not None:
            raise PromptRefused(BLOCKED.format(reason=reason or NO_REASON))
        contexts.append(said.context)
        told = "\n".join(each for each in contexts if each)
        return replace(prompt, context=TOLD.format(context=told)) if told else prompt

    async def stopping(self, message: AssistantMessage) -> str | None:
        """Why the turn whose last answer is *message* must go on, None if nothing objects."""
        if not self._hooks.all:
            return None
        session = await self._store.session(message.session_id)
        event: HookEvent = "Stop" if session.parent_id is None else "SubagentStop"
        again = self._objected.get(session.id) == message.turn_id
        details: JsonObject = {"agent": message.agent, "stop_hook_active": again}
        said = await self._tell(event, session.id, details)
        if said.decision != "deny" or said.stop is not None:
            return None
        self._objected[session.id] = message.turn_id
        return GO_ON.format(reason=said.reason or NO_REASON)

    async def compacting(
        self, session_id: str, *, auto: bool, focus: str, template: str
    ) -> tuple[str, str]:
        """Return the focus of a summary, with what hooks add, and its template: *template*, or the
        one that a hook puts in its place.

        Raises ``PromptRefused`` for one that the user asked for and a hook refuses; one that makes
        room is never refused.
        """
        trigger = "auto" if auto else "manual"
        details: JsonObject = {
            "trigger": trigger,
            "custom_instructions": focus,
            "template": template,
        }
        said = await self._tell("PreCompact", session_id, details, trigger)
        if said.decision == "deny" and not auto:
            raise PromptRefused(NO_SUMMARY.format(reason=said.reason or NO_REASON))
        other = (said.input or {}).get("template")
        kept = other.strip() if isinstance(other, str) and other.strip() else template
        return "\n".join(part for part in (focus, said.context) if part), kept

    async def _follow(self, subscription: Subscription) -> None:
        with subscription:
            async for event in subscription:
                work = self._work(event)
                if work is not None:  # beside, so that a slow hook holds nothing up
                    task = asyncio.ensure_future(work)
                    self._told.add(task)
                    task.add_done_callback(self._told.discard)

    def _work(self, event: Event) -> Awaitable[object] | None:
        match event:
            case PermissionAsked(request=request):
                message = f"opencode-py asks about {request.tool}: {request.heading}"
                return self._notify(request.session_id, message, "permission_prompt")
            case QuestionAsked(question=question):
                return self._notify(question.session_id, "opencode-py has a question", "question")
            case SessionIdle(session_id=session_id) if session_id in self._begun:
                return self._notify(session_id, "opencode-py waits for you", "idle_prompt")
            case SessionDeleted(session_id=session_id) if session_id in self._begun:
                return self._end(self._begun.pop(session_id), "deleted")
            case _:
                return None

    def _notify(self, session_id: str, message: str, kind: str) -> Awaitable[object]:
        details: JsonObject = {"message": message, "notification_type": kind}
        return self._tell("Notification", session_id, details, kind)

    async def _end(self, session: Session, reason: str) -> None:
        await self._tell("SessionEnd", session.id, {"reason": reason}, reason)

    async def _tell(
        self, event: HookEvent, session_id: str, details: JsonObject, about: str = ""
    ) -> HookAnswer:
        call = HookCall(
            event=event,
            session_id=session_id,
            directory=self._directory,
            about=about,
            details=details,
        )
        return await self._hooks.run(call)


def _heard(event: Event) -> bool:
    return isinstance(event, PermissionAsked | QuestionAsked | SessionIdle | SessionDeleted)
