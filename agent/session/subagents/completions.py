"""Model completions requested by an MCP server and paid by the session.

The caller has asked the user before.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from agent.provider.catalog.catalog import Catalog
from agent.provider.client import ModelRequest, complete
from agent.provider.client_pool import ClientPool
from agent.provider.usage_parsing import cost as cost_of
from agent.records.frozen import frozen
from agent.records.messages import SidePurpose
from agent.records.usage import Usage
from agent.session.spending import UpdateSession, record_usage
from agent.tools.core.tool import CompletionRequest

MIN_REASONING_OUTPUT = 2_000
"""Tokens that a reasoning model gets at least."""

NO_MODEL = "none"
"""The config's ``small_model`` for no model."""

Spent = Callable[[Usage, float | None], None]


@frozen
class Completions:
    """Makes completers. *small_model* is the config's: it responds if there is one, else the small
    model of the session's provider, else the session's own."""

    catalog: Catalog
    clients: ClientPool
    update: UpdateSession
    small_model: str | None = None
    clock: Callable[[], float] = time.time

    def for_session(self, session_id: str, model: str, spent: Spent) -> "SessionCompleter":
        """Return the completer for a session that works with *model*; *spent* gets the usage of
        each call."""
        given = None if self.small_model == NO_MODEL else self.small_model
        name = given or self.catalog.small_model(model.partition("/")[0]) or model
        return SessionCompleter(self, session_id, name, model, spent)


@frozen
class SessionCompleter:
    """A ``Completer`` for the calls of one session, which works with the model *own*."""

    deps: Completions
    session_id: str
    model: str
    own: str
    spent: Spent
    purpose: SidePurpose = ""

    def with_model_hints(self, hints: Sequence[str]) -> "SessionCompleter":
        # Only models that the user configured or works with: a server cannot choose a dearer one.
        known = dict.fromkeys((self.model, self.own, *self.deps.catalog.configured_models()))
        meant = (_match_hint(hint, tuple(known), self.model) for hint in hints)
        return replace(self, model=next((name for name in meant if name), self.model))

    @property
    def vision(self) -> bool:
        return self.deps.catalog.model(self.model).vision

    async def complete(self, request: CompletionRequest) -> str:
        model = self.deps.catalog.model(self.model)
        most = (
            max(request.max_output, MIN_REASONING_OUTPUT) if model.reasoning else request.max_output
        )
        model_request = ModelRequest(
            model=model,
            system=(request.system,) if request.system else (),
            turns=request.turns,
            max_output=min(most, model.output_limit or most),
            temperature=request.temperature,
            session_id=self.session_id,
        )
        answer = await complete(self.deps.clients.client_for(model), model_request, "answer")
        cost = cost_of(answer.usage, model.price)
        await record_usage(
            *(self.deps.update, self.session_id, answer.usage, cost, self.deps.clock()),
            extra_model=model.full_name,
            purpose=self.purpose,
        )
        self.spent(answer.usage or Usage(), cost)
        return answer.text


def _match_hint(hint: str, names: Sequence[str], now: str) -> str | None:
    """Return the one of *names* that *hint* means: the one with exactly that name, else one that
    contains it; *now* before others. None where it is ambiguous."""
    low = hint.casefold()
    exact = [name for name in names if low in {name.casefold(), name.partition("/")[2].casefold()}]
    found = exact or [name for name in names if low in name.casefold()]
    if now in found:
        return now
    return found[0] if len(found) == 1 else None
