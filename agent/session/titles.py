"""Better titles: a model names a session by its first prompt.

The config's ``small_model``, else the small one of the session's provider, does so while the first
turn runs. A server of the user's own, which can have one slot and one cache, is asked for a title
after the turn, by the model of the session; a turn that begins meanwhile comes first. In all other
cases a session keeps the first words of its first prompt.
"""

import asyncio
import logging
from collections.abc import Coroutine
from dataclasses import replace

from agent.bus import Bus, Subscription
from agent.provider.catalog.catalog import Catalog
from agent.provider.client import ModelInfo, ModelRequest, TextContent, UserTurn, complete
from agent.provider.client_pool import ClientPool
from agent.provider.usage_parsing import cost as cost_of
from agent.records.errors import OpencodePyError
from agent.records.events import Event, SessionStatusChanged
from agent.records.messages import Idle, Session, TextPart, UserMessage
from agent.session.prompt.templates import template
from agent.session.prompt.user_message import title_of
from agent.session.repository import SessionRepository
from agent.session.spending import with_model_usage
from agent.store.store import Store

MAX_PROMPT = 4_000
"""Characters of the first prompt that the small model reads."""

NO_MODEL = "none"
"""The value of the config's ``small_model`` that turns such requests off."""

MAX_OUTPUT = 1_000
"""Tokens that it can write: a reasoning model thinks before it names."""

LAST_TURN = 3
"""The last turn after which a server of the user's own is asked: turns can follow quickly."""

log = logging.getLogger(__name__)


class Titles:
    """Follows the bus of an opened folder from ``start`` to ``close``.

    *stays* is false for a program that ends with its turn: nothing is requested after it.
    """

    def __init__(
        self,
        bus: Bus,
        store: Store,
        directory: SessionRepository,
        catalog: Catalog,
        clients: ClientPool,
        small_model: str | None,
        *,
        stays: bool = True,
    ) -> None:
        self._bus = bus
        self._store = store
        self._directory = directory
        self._catalog = catalog
        self._clients = clients
        self._model = small_model
        self._stays = stays
        self._tasks: set[asyncio.Task[None]] = set()
        self._after_turns: set[asyncio.Task[None]] = set()
        """Those of the tasks that the next turn cancels."""
        self._requested: set[str] = set()
        self._subscription: Subscription | None = None

    def start(self) -> None:
        if self._model != NO_MODEL:
            self._subscription = self._bus.subscribe(_concerns)
            self._spawn(self._follow(self._subscription), "titles")

    async def close(self) -> None:
        """Cancel the requests for titles."""
        if self._subscription is not None:
            self._subscription.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _spawn(self, work: Coroutine[None, None, None], name: str) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _follow(self, subscription: Subscription) -> None:
        async for event in subscription:
            if isinstance(event, SessionStatusChanged):
                self._status_changed(event.session_id, resting=isinstance(event.status, Idle))

    def _status_changed(self, session_id: str, *, resting: bool) -> None:
        if not resting:
            for task in self._after_turns:
                task.cancel()
        if session_id in self._requested or (resting and not self._stays):
            return
        task = self._spawn(self._name(session_id, resting=resting), "title")
        if resting:
            self._after_turns.add(task)
            task.add_done_callback(self._after_turns.discard)

    async def _name(self, session_id: str, *, resting: bool) -> None:
        """Name a session that has only just begun. What fails leaves the title as it is."""
        try:
            session = await self._store.session(session_id)
            prompt = await self._first_prompt(session, LAST_TURN if resting else 0)
            model = self._model_for(session, resting=resting)
            if prompt is not None and model is not None and session_id not in self._requested:
                self._requested.add(session_id)
                await self._rename(session, prompt, self._catalog.model(model))
        except OpencodePyError as error:
            log.info("no title for %s: %s", session_id, error.message)
        except asyncio.CancelledError:
            self._requested.discard(session_id)
            raise

    def _model_for(self, session: Session, *, resting: bool) -> str | None:
        """Return the model that is asked during a turn or, if *resting*, after it."""
        used = session.model or self._catalog.default_model()
        provider = used.partition("/")[0]
        small = self._model or self._catalog.small_model(provider)
        own = small is None and self._catalog.access.is_own_server(provider)
        return (used if own else None) if resting else small

    async def _first_prompt(self, session: Session, last_turn: int) -> str | None:
        """The first prompt, None for a session after *last_turn* or one that has its name."""
        if session.turns > last_turn or session.parent_id is not None:
            return None
        for item in await self._store.messages(session.id):
            if isinstance(item.message, UserMessage) and not item.message.synthetic:
                texts = [p.text for p in item.parts if isinstance(p, TextPart) and not p.synthetic]
                prompt = "\n".join(texts)
                return prompt if session.title == title_of(prompt) else None
        return None

    async def _rename(self, session: Session, prompt: str, model: ModelInfo) -> None:
        request = ModelRequest(
            model=model,
            system=(template("title"),),
            turns=(UserTurn((TextContent(prompt[:MAX_PROMPT]),)),),
            max_output=min(MAX_OUTPUT, model.output_limit or MAX_OUTPUT),
            session_id=session.id,
        )
        answer = await complete(self._clients.client_for(model), request, "title")
        line = answer.text.splitlines()[0].strip().strip("\"'“”")
        title = title_of(line) if any(map(str.isalnum, line)) else session.title
        spent = cost_of(answer.usage, model.price)

        def change(now: Session) -> Session:
            cost = now.cost if spent is None else (now.cost or 0.0) + spent
            usage = now.usage + answer.usage if answer.usage else now.usage
            # A name that the user gave meanwhile stays.
            named = title if now.title == session.title else now.title
            now = with_model_usage(now, model.full_name, answer.usage, spent)
            return replace(now, title=named, usage=usage, cost=cost)

        await self._directory.update(session.id, change)


def _concerns(event: Event) -> bool:
    return isinstance(event, SessionStatusChanged)
