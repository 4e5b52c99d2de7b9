"""What a program says on its standard output, read as a ``HookAnswer``.

Both forms are read: ours, which is flat, and Claude Code's.

    {"decision": "deny", "reason": "…", "input": {…}, "output": "…", "context": "…"}
"""

import json
from typing import cast

from agent.hooks.records import NO_ANSWER, Decision, HookAnswer, HookEvent
from agent.records.json import Json, JsonObject

_DECISIONS: dict[str, Decision] = {
    "allow": "allow",
    "approve": "allow",
    "ask": "ask",
    "deny": "deny",
    "block": "deny",
}

CONTEXT_EVENTS: frozenset[HookEvent] = frozenset({"SessionStart", "UserPromptSubmit"})
"""Events for which plain output is told to the model."""


def parse_answer(event: HookEvent, output: str) -> HookAnswer:
    """The answer in *output*. Raises ``ValueError`` for what begins like JSON and is none."""
    text = output.strip()
    if not text.startswith("{"):
        return HookAnswer(context=text) if text and event in CONTEXT_EVENTS else NO_ANSWER
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError("what it printed begins like JSON and is none") from error
    raw = cast("JsonObject", value)
    own = raw.get("hookSpecificOutput")
    own = own if isinstance(own, dict) else {}
    inner = own.get("decision")
    inner = inner if isinstance(inner, dict) else {}
    word = _text(own.get("permissionDecision"), inner.get("behavior"), raw.get("decision"))
    stop = None
    if raw.get("continue") is False:
        stop = _text(raw.get("stopReason"), raw.get("reason")) or "a hook stopped it"
    return HookAnswer(
        decision=_DECISIONS.get(word.lower()),
        reason=_text(own.get("permissionDecisionReason"), inner.get("message"), raw.get("reason")),
        input=_object(own.get("updatedInput"), inner.get("updatedInput"), raw.get("input")),
        output=_text(
            own.get("updatedToolOutput"), own.get("updatedMCPToolOutput"), raw.get("output")
        )
        or None,
        context=_text(own.get("additionalContext"), raw.get("context")),
        message=_text(raw.get("systemMessage")),
        stop=stop,
    )


def _text(*values: Json) -> str:
    """The first of *values* that is text, "" without one."""
    return next((value for value in values if isinstance(value, str) and value), "")


def _object(*values: Json) -> JsonObject | None:
    return next((value for value in values if isinstance(value, dict)), None)
