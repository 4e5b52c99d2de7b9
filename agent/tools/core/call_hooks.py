"""What hooks say of a tool call, before and after it (spec 3, T3; spec 10, H1)."""

import json
from dataclasses import dataclass, replace

from agent.hooks.records import HookAnswer, HookCall, HookEvent
from agent.hooks.service import Hooks
from agent.records.errors import PermissionRejected
from agent.records.json import Json, JsonObject
from agent.records.requests import Action, PermissionNeed
from agent.tools.core.base import Result, ToolContext

MAX_SENT = 500_000
"""Characters of a result that a hook is told."""

REFUSED = "A hook refused this call: {reason}"
OBJECTS = "A hook objects: {reason}"
ADDS = "A hook adds: {context}"
NO_REASON = "it gave no reason"


@dataclass(frozen=True, slots=True)
class PreToolOutcome:
    """What is to be done about a call: its *input*, None as it was; whether a hook *vouches* for
    it; a *need* that asks the user; *notes* for the model."""

    input: JsonObject | None = None
    approved: bool = False
    need: PermissionNeed | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CallHooks:
    """The hooks of one call: the tool's *name*, its arguments and where it runs."""

    hooks: Hooks
    name: str
    context: ToolContext

    async def before_call(self, arguments: JsonObject) -> PreToolOutcome:
        """Ask the hooks. Raises ``PermissionRejected`` for a call that one refuses."""
        if self.context.by_user or not self.hooks.any_for("PreToolUse", self.name):
            return PreToolOutcome()
        answer = await self._run("PreToolUse", arguments, {})
        reason = answer.reason or NO_REASON
        if answer.stop is not None:
            raise PermissionRejected(REFUSED.format(reason=answer.stop))
        if answer.decision == "deny":
            raise PermissionRejected(REFUSED.format(reason=reason), by_rule=True)
        asks = None
        if answer.decision == "ask":
            # No rule covers it: what a hook asks is asked (T3).
            why = answer.reason or "a hook wants you to look"
            asks = PermissionNeed("hook", self.name, shown=self.name, reason=why, strict="guarded")
        return PreToolOutcome(answer.input, answer.decision == "allow", asks, _notes(answer))

    async def on_permission_request(self, arguments: JsonObject) -> tuple[Action | None, str]:
        """What hooks say of a question before the user sees it, and why."""
        if not self.hooks.any_for("PermissionRequest", self.name):
            return None, ""
        answer = await self._run("PermissionRequest", arguments, {})
        if answer.stop is not None:
            return "deny", REFUSED.format(reason=answer.stop)
        reason = REFUSED.format(reason=answer.reason or NO_REASON)
        return answer.decision, reason if answer.decision == "deny" else ""

    async def after_call(
        self, arguments: JsonObject, result: Result
    ) -> tuple[Result, tuple[str, ...], bool]:
        """*result* as hooks left it, what they say to the model, and whether the turn ends."""
        if self.context.by_user or not self.hooks.any_for("PostToolUse", self.name):
            return result, (), False
        response: JsonObject = {"output": result.output[:MAX_SENT]}
        if result.exit_code is not None:
            response["exit_code"] = result.exit_code
        answer = await self._run("PostToolUse", arguments, {"tool_response": response})
        if answer.output is not None:
            result = replace(result, output=answer.output)
        return result, _notes(answer), answer.stop is not None

    async def after_failure(self, arguments: JsonObject, error: str) -> tuple[str, ...]:
        """What hooks say to the model of a call that failed."""
        if self.context.by_user or not self.hooks.any_for("PostToolUseFailure", self.name):
            return ()
        details: JsonObject = {"error": error[:MAX_SENT]}
        return _notes(await self._run("PostToolUseFailure", arguments, details))

    async def _run(self, event: HookEvent, arguments: JsonObject, more: JsonObject) -> HookAnswer:
        details: dict[str, Json] = {
            "tool_name": self.name,
            "tool_input": json.loads(json.dumps(arguments)),  # a function must not change it
            "tool_use_id": self.context.call_id,
            "agent": self.context.agent,
            **more,
        }
        return await self.hooks.run(
            HookCall(
                event=event,
                session_id=self.context.session_id,
                directory=self.context.directory,
                about=self.name,
                details=details,
            )
        )


def _notes(answer: HookAnswer) -> tuple[str, ...]:
    objects = answer.decision == "deny" or answer.stop is not None
    reason = answer.stop if answer.stop is not None else answer.reason or NO_REASON
    said = (OBJECTS.format(reason=reason),) if objects else ()
    return (*said, *((ADDS.format(context=answer.context),) if answer.context else ()))
