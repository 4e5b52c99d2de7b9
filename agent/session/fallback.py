"""Fallback models: those that continue when a model is overloaded, out of quota or gone."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from agent.bus import Bus
from agent.provider.catalog.catalog import Catalog
from agent.records.errors import (
    ModelNotFound,
    NothingToDo,
    PermissionRejected,
    ProviderError,
    ProviderErrorKind,
    ToolError,
)
from agent.records.events import Notice
from agent.records.frozen import frozen
from agent.records.ids import new_id
from agent.records.messages import ErrorInfo
from agent.records.requests import Question, QuestionOption
from agent.tools.core.questions import QuestionService

FallbackMode = Literal["ask", "auto", "off"]

STOP = "Stop here"
ASK = "{problem}{reason} Continue with {model}?"
NO_SUCH = "{name} cannot continue: choose an answer, or enter another model as provider/model. "
NOBODY = (
    "{model} could continue, but no one can be asked. To let it, set `fallback.mode` to `auto`, or "
    "add --fallback-model {model} to `run`."
)
CONTINUED = "Continued with {model}."
RETURNED = "Back to {model}."
MODES: Mapping[FallbackMode, str] = {
    "ask": "You are asked before another model continues.",
    "auto": "Another model continues without asking.",
    "off": "Fallback is off: no other model continues.",
}
"""What each mode does, as a sentence."""

HOW = "/fallback ask, auto or off changes this; /fallback retry tries failed models again."
RETRY = "retry"
RETRIED = "Every model is tried again with the next message."
RECHECKED = ErrorInfo("fallback", "It is tried again after its failure.")

_KINDS = frozenset(
    {
        ProviderErrorKind.RATE_LIMIT,
        ProviderErrorKind.OVERLOADED,
        ProviderErrorKind.QUOTA,
        ProviderErrorKind.NETWORK,
    }
)
_GONE = frozenset({404, 410})
"""The statuses of a model that the server no longer has."""


def calls_for_fallback(error: ProviderError) -> bool:
    """Return whether another model can succeed where this *error* was final."""
    return error.kind in _KINDS or error.status in _GONE


@frozen
class FailedStep:
    """A step that failed: *requested* is the model of the prompt, *model* the one that failed."""

    root_id: str
    session_id: str
    agent: str
    requested: str
    model: str


@frozen
class FallbackState:
    """The fallback models and their mode."""

    mode: FallbackMode
    models: tuple[str, ...]
    failures: Mapping[str, tuple[float, str]]
    """The models that failed: when each is tried again (seconds since the epoch), and why."""


@dataclass(slots=True)
class _Failures:
    """The models that are not asked for now, with the time at which each is tried again."""

    until: dict[str, float] = field(default_factory=dict[str, float])
    reasons: dict[str, str] = field(default_factory=dict[str, str])


class Fallbacks:
    """The fallback models of a runtime.

    *models* are their full names in order. A model that failed is tried again after *recheck*
    seconds, or later where its server said so.
    """

    def __init__(
        self,
        catalog: Catalog,
        models: Sequence[str],
        mode: FallbackMode,
        recheck: float,
        questions: QuestionService,
        bus: Bus,
        clock: Callable[[], float],
    ) -> None:
        self._catalog = catalog
        self._bus = bus
        self.models = tuple(models)
        self.mode: FallbackMode = mode
        self._recheck = recheck
        self._questions = questions
        self._clock = clock
        self._failures = _Failures()
        self._agreed: dict[tuple[str, str], str] = {}
        """The fallback that continues for a model, by session tree and model."""
        self._replaced: set[tuple[str, str]] = set()
        """The models in whose place a fallback answered last."""
        self._asking: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def current(self, root_id: str, model: str) -> str:
        """Return the model that answers for *model* now in a session tree."""
        agreed = self._agreed.get((root_id, model))
        if agreed is None or self.mode == "off" or not self.failed_until(model):
            return model
        return agreed

    def take_return(self, root_id: str, model: str) -> str:
        """Return a sentence if *model* answers again, in place of its fallback; else ""."""
        if (root_id, model) not in self._replaced:
            return ""
        self._replaced.discard((root_id, model))
        return RETURNED.format(model=model)

    def is_rechecked(self, root_id: str, model: str) -> bool:
        """Return whether *model* is tried again while its fallback can still answer."""
        key = (root_id, model)
        agreed = self._agreed.get(key) if self.mode != "off" and key in self._replaced else None
        return agreed is not None and self._can_continue(agreed)

    def failed_until(self, model: str) -> float | None:
        """Return until when *model* is not asked (seconds since the epoch), None if it is."""
        until = self._failures.until.get(model, 0.0)
        return until if until > self._clock() else None

    def state(self) -> FallbackState:
        failed = (name for name in self._failures.until if self.failed_until(name) is not None)
        found = {
            name: (self._failures.until[name], self._failures.reasons.get(name, ""))
            for name in failed
        }
        return FallbackState(self.mode, self.models, found)

    def change(self, argument: str) -> str:
        """Change the mode until the program ends, or try failed models again; return a sentence.

        Raises ``NothingToDo`` for another argument.
        """
        word = argument.strip().lower()
        if word == RETRY:
            self._failures.until.clear()
            return RETRIED
        for mode, sentence in MODES.items():
            if mode == word:
                self.mode = mode
                return sentence
        raise NothingToDo(f"There is no mode {word}. {HOW}")

    async def after_failure(self, step: FailedStep, error: ProviderError) -> str:
        """Return a sentence on the model that continues after *error*; "" where none does, or the
        user does not want it."""
        if not self.models or self.mode == "off" or not calls_for_fallback(error):
            return ""
        async with self._asking[step.root_id]:
            key = (step.root_id, step.requested)
            agreed = self._agreed.get(key)
            wait = max(error.retry_after or 0.0, self._recheck)
            self._failures.until[step.model] = self._clock() + wait
            self._failures.reasons[step.model] = error.message
            chosen = self._next(step, agreed)
            if chosen is not None and agreed != chosen and self.mode == "ask":
                chosen = await self._ask(step, error, chosen)
                # The answer can have taken longer than the wait, and agrees to the fallback.
                self._failures.until[step.model] = self._clock() + wait
            if chosen is None:
                return ""
            self._agreed[key] = chosen
            self._replaced.add(key)
            return CONTINUED.format(model=chosen)

    def _next(self, step: FailedStep, agreed: str | None) -> str | None:
        """Return the first fallback that can continue: one that the user entered, then the list."""
        entered = (agreed,) if agreed is not None and agreed not in self.models else ()
        for name in (*entered, *self.models):
            if name not in {step.model, step.requested} and self._can_continue(name):
                return name
        return None

    def _can_continue(self, name: str) -> bool:
        try:
            provider = self._catalog.model(name).provider
        except ModelNotFound:
            return False
        usable = self._catalog.access.is_usable(provider) or provider == "demo"
        return usable and self.failed_until(name) is None

    async def _ask(self, step: FailedStep, error: ProviderError, chosen: str) -> str | None:
        """Return the model that the user wants to continue: *chosen*, or another one that they
        enter; None for none."""
        keep_on = f"Continue with {chosen}"
        reason = error.message if error.message.endswith((".", "!", "?")) else f"{error.message}."
        problem = ""
        while True:
            question = Question(
                id=new_id("que"),
                session_id=step.session_id,
                root_id=step.root_id,
                header="Fallback model",
                text=ASK.format(problem=problem, reason=reason, model=chosen),
                options=(QuestionOption(keep_on), QuestionOption(STOP)),
                agent=step.agent,
            )
            try:
                reply = await self._questions.ask(question, lambda _: None)
            except ToolError:
                notice = Notice(NOBODY.format(model=chosen), session_id=step.root_id)
                self._bus.publish(notice)
                return None
            except PermissionRejected:
                return None  # the turn is being stopped
            if keep_on in reply.labels:
                return chosen
            name = reply.text.strip()
            if not name:
                return None
            if self._can_continue(name):
                return name
            problem = NO_SUCH.format(name=name)


def fallback_notices(catalog: Catalog, models: Sequence[str]) -> tuple[str, ...]:
    """Return sentences on configured *models* that cannot be used."""
    notices: list[str] = []
    for name in models:
        try:
            model = catalog.model(name)
        except ModelNotFound as error:
            notices.append(f"fallback.models: {name} is ignored: {error.message}")
            continue
        if wrong := catalog.unlisted(name):
            notices.append(f"fallback.models: {wrong}")
        if model.provider != "demo" and not catalog.access.is_usable(model.provider):
            notices.append(
                f"fallback.models: {name} is skipped because there is no key for {model.provider}. "
                "/connect adds one."
            )
    return tuple(notices)
