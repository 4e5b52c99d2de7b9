"""Hooks that change a model request before it is sent, or refuse it."""

from collections.abc import Mapping
from dataclasses import replace
from math import isfinite

from agent.bus import Bus
from agent.hooks.records import HookAnswer, HookCall
from agent.hooks.service import Hooks
from agent.provider.client import ModelRequest
from agent.records.errors import ProviderError, ProviderErrorKind
from agent.records.events import Notice
from agent.records.frozen import frozen
from agent.records.json import Json, JsonObject

REFUSED = "A hook refused the request to the model: {reason}"
NO_REASON = "no reason given"
NO_EFFECT = "A hook for PreRequest set {names}, which has no effect: {known}."
KNOWN_SETTINGS = (
    "the known ones are temperature (a number), effort (one of the model's levels), max_output "
    "(tokens) and headers (text by name), null to leave one out"
)


@frozen
class RequestHooks:
    """Runs every request of an opened folder through its hooks."""

    hooks: Hooks
    bus: Bus
    directory: str

    async def __call__(self, request: ModelRequest) -> ModelRequest:
        """Return *request* as the hooks change it. Raises ``ProviderError`` for a refused one."""
        model = request.model
        if not self.hooks.any_for("PreRequest", model.full_name):
            return request
        details: JsonObject = {
            "provider": model.provider,
            "model": model.id,
            "params": {
                "temperature": request.temperature,
                "effort": request.effort,
                "max_output": request.max_output,
                "headers": {},
            },
        }
        answer = await self.hooks.run(
            HookCall(
                event="PreRequest",
                session_id=request.session_id,
                directory=self.directory,
                about=model.full_name,
                details=details,
            )
        )
        _refuse(answer)
        return self._changed(request, answer.input) if answer.input else request

    def _changed(self, request: ModelRequest, given: JsonObject) -> ModelRequest:
        known, useless = _apply_changes(given, request)
        if useless:
            sentence = NO_EFFECT.format(names=", ".join(useless), known=KNOWN_SETTINGS)
            self.bus.publish(Notice(sentence))
        return known


def _refuse(answer: HookAnswer) -> None:
    if answer.decision == "deny" or answer.stop is not None:
        reason = answer.stop if answer.stop is not None else answer.reason
        sentence = REFUSED.format(reason=reason or NO_REASON)
        raise ProviderError(ProviderErrorKind.INVALID_REQUEST, sentence)


def _apply_changes(
    given: Mapping[str, Json], request: ModelRequest
) -> tuple[ModelRequest, list[str]]:
    """Return *request* with the changes of *given*, and the names that have no effect."""
    useless: list[str] = []
    for name, value in given.items():
        match name, value:
            case "temperature", None | int() | float() if _is_temperature(value):
                heat = None if value is None else float(value)
                request = replace(request, temperature=heat)
            case "effort", None:
                request = replace(request, effort=None)
            case "effort", str() if value in request.model.efforts:
                request = replace(request, effort=value)
            case "max_output", None:
                request = replace(request, max_output=None)
            case "max_output", int() if not isinstance(value, bool) and value > 0:
                request = replace(request, max_output=value)
            case "headers", dict():
                kept = {
                    n: v for n, v in value.items() if isinstance(v, str) and _is_valid_header(n, v)
                }
                useless += [f"the header {n[:60]}" for n in value if n not in kept]
                request = replace(request, headers={**request.headers, **kept})
            case _:
                useless.append(name[:60])
    return request, useless


def _is_valid_header(name: str, value: str) -> bool:
    """Return whether a header can be sent: a line break in one would begin another."""
    return (
        bool(name)
        and name.isascii()
        and name.isprintable()
        and " " not in name
        and (value.isascii() and value.isprintable())
    )


def _is_temperature(value: float | None) -> bool:
    return value is None or (not isinstance(value, bool) and isfinite(value))
