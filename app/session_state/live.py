"""The live session: the open session of a front end, its events, what can be sent to
it, and the sessions around it."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from agent.records.errors import NothingToDo, SessionNotFound
from agent.records.events import Event, Notice, PermissionModeChanged, PluginFailed
from agent.records.frozen import frozen
from agent.records.messages import Delivery, Idle, Session
from agent.session.api import PromptInput
from agent.session.prompt.mentions import agents_in, mentions_in, resources_in
from app.session_state.prompt_preparation import PromptPreparation
from app.session_state.view import NO_CHANGE, Change, SessionView
from app.startup.launch import LaunchOptions, named_session

if TYPE_CHECKING:  # the runtime loads the agent package, which the first frame is without
    from agent.bus import Subscription
    from agent.runtime.runtime import Runtime
    from app.terminal.tasks import Tasks


FRAME_SECONDS = 1 / 60
"""Seconds between two updates of the screen while events keep arriving."""


WATCH_SECONDS = 1.0
"""Seconds after which a session that another program works in is looked at again."""


async def pump_events(
    subscription: "Subscription",
    show: Callable[[Sequence[Event]], None],
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Hand every event of *subscription* to *show*, in order, in batches of one frame.

    The first event after a pause is shown at once; those that follow within a frame are gathered.
    Ends when the subscription is closed. An exception of *show* ends it too: the caller looks at
    the task's exception.
    """
    shown = clock() - FRAME_SECONDS
    while await subscription.wait():
        early = FRAME_SECONDS - (clock() - shown)
        if early > 0:
            await asyncio.sleep(early)
        show(subscription.drain())
        shown = clock()


PromptMaker = Callable[[Session, PromptInput], Coroutine[object, object, PromptInput]]
"""Makes the prompt that is sent from what was typed."""


async def _none(_: object) -> None:
    return None


class LiveSession:
    """The open session of one front end. It exists before the runtime does: prompts sent until then
    are queued, so that nothing typed early is lost.

    *opened* is called when another session, or none (None), is shown, *changed* after events were
    applied, with what they touched.
    """

    def __init__(
        self,
        tasks: "Tasks",
        opened: Callable[[SessionView | None], None],
        changed: Callable[[Change, Sequence[Event]], None],
    ) -> None:
        self._tasks = tasks
        self._opened = opened
        self._changed = changed
        self._runtime: Runtime | None = None
        self._ready = asyncio.Event()
        self._opening = 0
        self._sending = asyncio.Lock()
        self._creating = asyncio.Lock()
        self._subscription: Subscription | None = None
        self._agent: str | None = None
        self._model: str | None = None
        self._effort: str | None = None
        self._overridden: tuple[str, str | None] | None = None
        self._attach_count = 0
        self.view: SessionView | None = None
        self.unsent = 0
        self.runtime_of: Callable[[Session], Awaitable[Runtime | None]] = _none
        """Returns the runtime of a session that belongs to another folder, None for this one's."""
        self.switched: Callable[[Runtime], Awaitable[None]] = _none
        """Called when another folder's runtime is used from now on."""
        self.while_switching: Callable[[], AbstractContextManager[None]] = nullcontext
        """Entered while another session is being opened."""
        self.preparation = PromptPreparation(lambda: changed(Change(other=True), ()))

    @property
    def runtime(self) -> "Runtime":
        """The runtime. Raises ``NothingToDo`` while it is still being opened."""
        if self._runtime is None:
            raise NothingToDo("Still starting. Try again in a moment.")
        return self._runtime

    @property
    def is_ready(self) -> bool:
        return self._runtime is not None

    @property
    def opening(self) -> bool:
        """True until the runtime, and the session that was chosen last, are open."""
        return not self._ready.is_set()

    @property
    def session(self) -> Session | None:
        return self.view.session if self.view is not None else None

    @property
    def busy(self) -> bool:
        """True while a turn runs or a prompt is prepared, unless it is being stopped."""
        if self.preparation.started:
            return True
        if self.view is None or isinstance(self.view.status, Idle):
            return False
        return not getattr(self.view.status, "cancelling", False)

    @property
    def agent(self) -> str:
        """The agent of the next prompt."""
        session = self.session
        if self._agent is not None:
            return self._agent
        if session is not None:
            return session.agent
        return self._runtime.config.config.default_agent if self._runtime else "build"

    @property
    def model(self) -> str:
        """The model of the next prompt, ``provider/model``; empty before the runtime is open."""
        session = self.session
        if self._model is not None:
            return self._model
        if self._runtime is None:
            return session.model or "" if session is not None else ""
        catalog = self._runtime.catalog
        if session is not None and session.model is not None and catalog.has_model(session.model):
            return session.model
        return catalog.default_model()

    @property
    def effort(self) -> str | None:
        """The reasoning effort of the next prompt, None for the model's default."""
        session = self.session
        if self._effort is not None or self._model is not None or session is None:
            return self._effort or None
        return session.effort

    async def start(self, runtime: "Runtime", launch: LaunchOptions) -> None:
        """Set the runtime and open the session that the command line names."""
        self._runtime = runtime
        self._agent, self._effort = launch.agent, launch.effort
        if launch.model is not None:
            self._model = runtime.catalog.model(launch.model).full_name
        elif (own := runtime.agents.get(self.agent)).model is not None:
            self._overridden = (self.model, self._effort)
            self._model = runtime.catalog.model(own.model).full_name
            self._effort = self._effort or own.effort
        wanted = await named_session(runtime.sessions.repository, launch)
        if wanted is not None:
            self._runtime = await self.runtime_of(wanted) or runtime
            await self._attach(wanted.id)
        else:
            self.close()
        self._ready.set()

    async def until_ready(self) -> None:
        """Wait until runtime and session are open and the prompts sent before are stored."""
        async with self._sending:
            await self._ready.wait()

    async def restart(self, runtime: "Runtime") -> None:
        """Continue the same session and choices with another runtime of the same folder."""
        self._runtime = runtime
        if self.view is not None:
            await self._attach(self.view.session_id)
        else:
            self.close()

    async def open(self, session_id: str) -> None:
        """Show another session. The choices made for the one before are forgotten."""
        store = self.runtime.store
        self._agent = self._model = self._effort = None
        with self.switching():
            session = await store.session(session_id)
            if (runtime := await self.runtime_of(session)) is not None:
                await self.use(runtime)
            await self.runtime.sessions.repository.open(session_id)
            await self._attach(session_id)

    @contextmanager
    def switching(self) -> Generator[None]:
        """While this is open, another session is being opened: prompts and commands wait for it."""
        self._opening += 1
        self._ready.clear()
        try:
            with self.while_switching():
                yield
        finally:
            self._opening -= 1
            if not self._opening:
                self._ready.set()

    async def use(self, runtime: "Runtime") -> None:
        """Use *runtime* from now on, which may be that of another folder."""
        if runtime is not self._runtime:
            self._runtime = runtime
            await self.switched(runtime)

    def close(self) -> None:
        """Show no session: the next prompt creates one. A running turn continues."""
        self._attach_count += 1
        self._unsubscribe()
        self.view = None
        subscription = self.runtime.bus.subscribe(
            lambda event: isinstance(event, Notice | PluginFailed | PermissionModeChanged)
        )
        self._follow(subscription)
        self._opened(None)

    async def send(
        self, text: str, delivery: Delivery = "steer", *, make: PromptMaker | None = None
    ) -> None:
        """Send a prompt, in the order of the calls.

        A busy session picks it up at its next step, or, if *delivery* says so, at the end of its
        turn. *make* replaces the prompt that is sent.
        """
        self.unsent += 1
        try:
            async with self._sending:
                await self._ready.wait()
                session = await self.ensure_session()
                await self.catch_up()
                prompt = PromptInput(
                    text=text,
                    agent=self.agent,
                    model=self._model,
                    effort=self.effort,
                    delivery=delivery,
                    mentions=(
                        *mentions_in(text, Path(session.directory)),
                        *resources_in(text, self.runtime.mcp.resource_uris()),
                    ),
                    agents=agents_in(text, [a.name for a in self.runtime.agents.subagents()]),
                )
                if make is not None:
                    prompt = await self.preparation.run(make(session, prompt))
                await self.runtime.sessions.prompt(session.id, prompt)
        finally:
            self.unsent -= 1

    async def cancel(self, *, background: bool = True) -> bool:
        """Cancel the running turn or the preparation of a prompt; return whether there was one.
        Without *background*, the turn's background tasks continue."""
        if self.preparation.stop():
            return True
        if (session := self.session) is None:
            return False
        return await self.runtime.sessions.cancel(session.id, background=background)

    def pause(self, *, paused: bool) -> None:
        """Pause the running turn while it is not certain that it is stopped, or let it go on."""
        if self._runtime is not None and self.session is not None:
            self._runtime.sessions.pause(self.session.id, paused=paused)

    async def use_agent(self, name: str) -> None:
        """Use an agent from the next prompt on, with its own model if it has one.

        The model chosen before is restored by the next agent that has none.
        """
        chosen = self.runtime.agents.get(name)
        if chosen.model is not None or chosen.effort is not None:
            self._overridden = self._overridden or (self.model, self.effort)
            await self.use_model(chosen.model or self._overridden[0], chosen.effort)
        elif self._overridden is not None:
            overridden, self._overridden = self._overridden, None
            await self.use_model(*overridden)
        self._agent = name
        if self.session is not None:
            await self.runtime.sessions.repository.set_agent(self.session.id, name)
        self._changed(Change(other=True), ())

    async def use_model(self, model: str, effort: str | None = None) -> None:
        """Use a model (``provider/model``) and an effort from the next prompt on."""
        model = self.runtime.catalog.model(model).full_name
        self._model, self._effort = model, effort
        if self.session is not None:
            await self.runtime.sessions.repository.set_model(self.session.id, model, effort)
        self._changed(Change(other=True), ())

    async def ensure_session(self) -> Session:
        """Return the open session, or a new one: one for all that were sent before it was open."""
        async with self._creating:
            if self.session is not None:
                return self.session
            session = await self.runtime.sessions.repository.create(
                agent=self.agent, model=self.model, effort=self.effort
            )
            await self._attach(session.id)
            return session

    async def _attach(self, session_id: str) -> None:
        self._attach_count += 1
        attach_id = self._attach_count
        before = self.view
        # A session that is read again keeps its earlier pages that were loaded.
        loaded = len(before.message_ids) if before and before.session_id == session_id else 0
        subscription, snapshot = await self.runtime.sessions.attach(session_id, loaded)
        if attach_id != self._attach_count:  # another session was opened meanwhile
            subscription.close()
            return
        self._unsubscribe()
        self.view = SessionView(snapshot)
        self._follow(subscription)
        self._opened(self.view)
        if not self.runtime.server:
            self._tasks.spawn(self._report_goal(session_id), "looking for a goal")
        if self.view.elsewhere:
            self._tasks.spawn(self._watch(self.view), "watching another program's session")

    async def _report_goal(self, session_id: str) -> None:
        """Say that the program ended while a goal of the session was worked on."""
        goal = await self.runtime.sessions.goals.goal(session_id)
        if goal is not None and goal.state == "paused":
            sentence = (
                f"The goal “{goal.text}” is paused. /goal resume continues, /goal stop ends it."
            )
            self.runtime.bus.publish(Notice(sentence, session_id=session_id))

    async def _watch(self, view: SessionView) -> None:
        """Read the session of *view* again when the program that works in it has stored more, or
        does not work in it any more."""
        store = self.runtime.store
        version = await store.foreign_version()
        while self.view is view:
            await asyncio.sleep(WATCH_SECONDS)
            idle = await store.foreign_lease(view.session_id) is None
            if self.view is view and (idle or await store.foreign_version() != version):
                await self._attach(view.session_id)

    async def catch_up(self) -> None:
        """Read the open session again if another program has changed it, of which no events came,
        or works in it now."""
        view = self.view
        if view is None or view.elsewhere or self.runtime.server:
            return
        if not isinstance(view.status, Idle):
            return
        store = self.runtime.store
        try:
            stored = await store.session(view.session_id)
        except SessionNotFound:
            return  # sending to it says so
        busy = await store.foreign_lease(view.session_id) is not None
        if self.view is view and (busy or stored.updated != view.session.updated):
            await self._attach(view.session_id)

    def _follow(self, subscription: "Subscription") -> None:
        self._subscription = subscription
        self._tasks.spawn(pump_events(subscription, self._apply), "showing events")

    def _unsubscribe(self) -> None:
        if self._subscription is not None:
            self._subscription.close()
            self._subscription = None

    def _apply(self, events: Sequence[Event]) -> None:
        change = NO_CHANGE
        if self.view is not None:
            before = self.view.session.agent
            for event in events:
                change |= self.view.apply(event)
            if (now := self.view.session.agent) != before and now != self.agent:
                # Not chosen here: the user agreed that another agent continues.
                self._tasks.spawn(self.use_agent(now), "going on with another agent")
            if change.stale:
                self._tasks.spawn(self._attach(self.view.session_id), "reading the session again")
                change = NO_CHANGE  # the view is replaced; the events are still reported
        self._changed(change, events)
        if self.view is not None and self.view.deleted:
            self.close()


@frozen
class SessionFamily:
    """A session with its ancestors and siblings."""

    session: Session
    ancestors: tuple[Session, ...] = ()
    """The sessions that lead to this one, the user's own first."""
    siblings: tuple[Session, ...] = ()
    """The children of the nearest ancestor, oldest first, this session among them."""

    @property
    def position(self) -> int:
        """The position among its siblings, from 1; 0 if it is not one of them."""
        ids = [one.id for one in self.siblings]
        return ids.index(self.session.id) + 1 if self.session.id in ids else 0

    def sibling(self, step: int) -> Session | None:
        """Return the sibling *step* positions further, wrapping around; None if alone."""
        total = len(self.siblings)
        return self.siblings[(self.position - 1 + step) % total] if total > 1 else None


async def family_of(live: LiveSession, session: Session) -> SessionFamily:
    """Return the family of *session* as stored; a parent that was deleted ends the ancestors."""
    store = live.runtime.store
    above: list[Session] = []
    parent_id = session.parent_id
    while parent_id is not None:
        try:
            parent = await store.session(parent_id)
        except SessionNotFound:
            break
        above.insert(0, parent)
        parent_id = parent.parent_id
    siblings = await store.children(above[-1].id) if above else ()
    return SessionFamily(session, tuple(above), tuple(siblings))
