"""Completions for others: a prompt of an MCP server, answered by a model of the session's and
paid by the session (spec 10, X4). Whoever asks for one has asked the user before."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from agent.provider.catalog import Catalog
from agent.provider.client import ModelRequest
from agent.provider.clients import Clients
from agent.provider.once import answer_to
from agent.provider.usage import cost as cost_of
from agent.session.spending import Update, spend
from agent.tools.base import Completion
from agent.usage import Usage

THINKING = 2_000
"""Tokens that a model gets at least which thinks before it answers."""

NO_MODEL = "none"
"""The config's ``small_model`` that stands for none."""

Spent = Callable[[Usage, float | None], None]


@dataclass(frozen=True, slots=True)
class Completions:
    """*small_model* is the config's: it answers if there is one, else the small one of the
    session's provider, else the session's own."""

    catalog: Catalog
    clients: Clients
    update: Update
    small_model: str | None = None
    clock: Callable[[], float] = time.time

    def of(self, session_id: str, model: str, spent: Spent) -> "SessionCompleter":
        """What answers for a session that works with *model*; *spent* gets what each took."""
        given = None if self.small_model == NO_MODEL else self.small_model
        name = given or self.catalog.small_model(model.partition("/")[0]) or model
        return SessionCompleter(self, session_id, name, spent)


@dataclass(frozen=True, slots=True)
class SessionCompleter:
    """A ``Completer`` for the calls of one session."""

    deps: Completions
    session_id: str
    model: str
    spent: Spent

    @property
    def vision(self) -> bool:
        return self.deps.catalog.model(self.model).vision

    async def complete(self, wanted: Completion) -> str:
        model = self.deps.catalog.model(self.model)
        most = max(wanted.max_output, THINKING) if model.reasoning else wanted.max_output
        request = ModelRequest(
            model=model,
            system=(wanted.system,) if wanted.system else (),
            turns=wanted.turns,
            max_output=min(most, model.output_limit or most),
            temperature=wanted.temperature,
            session_id=self.session_id,
        )
        answer = await answer_to(self.deps.clients.client_for(model), request, "answer")
        cost = cost_of(answer.usage, model.price)
        await spend(self.deps.update, self.session_id, answer.usage, cost, self.deps.clock())
        self.spent(answer.usage or Usage(), cost)
        return answer.text
