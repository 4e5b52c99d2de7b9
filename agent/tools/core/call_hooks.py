"""The hooks of a tool call: before it, at its permission request, and after it."""

import json
from dataclasses import replace

from agent.hooks.records import HookAnswer, HookCall, HookEvent
from agent.hooks.service import Hooks
from agent.records.errors import PermissionRejected
from agent.records.frozen import frozen
from agent.records.json import Json, JsonObject
from agent.records.requests import Action, PermissionNeed
from agent.records.tool_facts import former_name
from agent.tools.core.tool import Result, ToolContext

MAX_SENT = 500_000
"""Characters of a result or error that a hook gets."""

REFUSED = "A hook refused this call: {reason}"
OBJECTS = "A hook that the user configured objects to the {tool} call: {reason}"
ADDS = "A hook that the user configured adds to the {tool} call: {context}"
NO_REASON = "it gave no reason"


@frozen
class PreToolOutcome:
    """The decision of the hooks before a call."""

    input: JsonObject | None = None
    """The arguments that a hook put in place of the model's."""

    approved: bool = False
    """A hook allows the call."""

    need: PermissionNeed | None = None
    """Asks the user, because a hook wants that."""

    notes: tuple[str, ...] = ()
    """Notes for the model."""


@frozen
class CallHooks:
    """The hooks of one call of the tool *name*, built once for the call."""

    hooks: Hooks
    name: str
    context: ToolContext

    async def before_call(self, arguments: JsonObject) -> PreToolOutcome:
        """Run the hooks before the call. Raises ``PermissionRejected`` if one refuses it."""
        if self.context.by_user or not self._any_for("PreToolUse", arguments):
            return PreToolOutcome()
        answer = await self._run("PreToolUse", arguments, {})
        reason = answer.reason or NO_REASON
        if answer.stop is not None:
            raise PermissionRejected(REFUSED.format(reason=answer.stop))
        if answer.decision == "deny":
            raise PermissionRejected(REFUSED.format(reason=reason), by_rule=True)
        asks = None
        if answer.decision == "ask":
            # No rule covers this need: if a hook wants the user asked, the user is asked.
            why = answer.reason or "a hook wants you to look"
            asks = PermissionNeed("hook", self.name, shown=self.name, reason=why, strict="guarded")
        return PreToolOutcome(answer.input, answer.decision == "allow", asks, self._notes(answer))

    async def on_permission_request(self, arguments: JsonObject) -> tuple[Action | None, str]:
        """Run the hooks before the user sees a permission request; return the decision and why."""
        if not self._any_for("PermissionRequest", arguments):
            return None, ""
        answer = await self._run("PermissionRequest", arguments, {})
        if answer.stop is not None:
            return "deny", REFUSED.format(reason=answer.stop)
        reason = REFUSED.format(reason=answer.reason or NO_REASON)
        return answer.decision, reason if answer.decision == "deny" else ""

    def runs_after(self, arguments: JsonObject) -> bool:
        """Return whether any hook runs after the call."""
        return not self.context.by_user and self._any_for("PostToolUse", arguments)

    async def after_call(
        self, arguments: JsonObject, result: Result
    ) -> tuple[Result, tuple[str, ...], bool]:
        """Run the hooks after the call; return the result as they left it, their notes for the
        model, and whether they end the turn. See ``runs_after``."""
        response: JsonObject = {"output": result.output[:MAX_SENT]}
        if result.exit_code is not None:
            response["exit_code"] = result.exit_code
        answer = await self._run("PostToolUse", arguments, {"tool_response": response})
        if answer.output is not None:
            result = replace(result, output=answer.output)
        return result, self._notes(answer), answer.stop is not None

    async def after_failure(self, arguments: JsonObject, error: str) -> tuple[str, ...]:
        """Run the hooks after a failed call; return their notes for the model."""
        if self.context.by_user or not self._any_for("PostToolUseFailure", arguments):
            return ()
        details: JsonObject = {"error": error[:MAX_SENT]}
        return self._notes(await self._run("PostToolUseFailure", arguments, details))

    def _any_for(self, event: HookEvent, arguments: JsonObject) -> bool:
        return self.hooks.any_for(event, self.name, former_name(self.name, arguments))

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
                former=former_name(self.name, arguments),
                details=details,
            )
        )

    def _notes(self, answer: HookAnswer) -> tuple[str, ...]:
        reason = answer.stop if answer.stop is not None else answer.reason or NO_REASON
        objects = answer.decision == "deny" or answer.stop is not None
        notes = (OBJECTS.format(tool=self.name, reason=reason),) if objects else ()
        if not answer.context:
            return notes
        return (*notes, ADDS.format(tool=self.name, context=answer.context))
