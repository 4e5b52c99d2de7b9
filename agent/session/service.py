"""The session service: what every front end calls. Events come back on the bus.

What runs is owned by its ``Runner``, next to ``CompactionRequests``, ``UserShell`` (commands of
the user) and ``QuickQuestions``.
"""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from agent.bus import Subscription
from agent.provider.catalog.catalog import Catalog
from agent.records.errors import NoModelConnected
from agent.records.events import (
    Event,
    MessageRemoved,
    MessageUpdated,
    Notice,
    PartUpdated,
    PermissionReplied,
    QuestionReplied,
    SessionCreated,
    SessionUpdated,
)
from agent.records.messages import Session, SessionStatus, UserMessage
from agent.session.api import BackgroundTaskList, PromptInput, SessionSnapshot
from agent.session.fallback import Fallbacks
from agent.session.goals import Goals
from agent.session.prompt.attachments import MentionReader
from agent.session.prompt.user_message import session_after_prompt, user_message
from agent.session.quick_question import QuickQuestions
from agent.session.repeated_prompts import RepeatedPrompts
from agent.session.repository import SessionRepository, discard_undone
from agent.session.spending import Spending
from agent.session.subagents.background import BackgroundTasks
from agent.session.subagents.subagents import Subagents, lineage_of
from agent.session.turn.turn_services import TurnServices
from agent.session.turn_runner import Runner
from agent.session.undo import Undo
from agent.session.user_compaction import CompactionRequests
from agent.session.user_shell import ShellReports, UserShell

PAGE_SIZE = 400
"""Messages that a front end gets when it attaches; older ones are loaded on request."""


class SessionService:
    """Prompts, cancels and describes the sessions of one folder."""

    def __init__(self, services: TurnServices, repository: SessionRepository) -> None:
        self._services = services
        self._repository = repository
        self._mentions = MentionReader(services.registry, services.files, services.permissions)
        self._subagents = self._new_subagents()
        self._runner = Runner(services, self._subagents)
        background_tasks = self._subagents.background_tasks
        self._shell_reports = ShellReports(
            services.store,
            services.queues,
            is_running=lambda session_id: self._runner.running(session_id) is not None,
            start_turn=self._runner.start_on_report,
            wakes=not services.wait_for_background,
            clock=services.clock,
        )
        services.shells.reporter = self._shell_reports
        self._undo = Undo(services, repository, self, background_tasks, self._runner)
        self._compaction = CompactionRequests(services.store, self._runner)
        self._user_shell = UserShell(services, self._runner, repository)
        self._goals = Goals(services, self)
        self._repeated_prompts = RepeatedPrompts(self, services.bus)
        self._quick_questions = QuickQuestions(services, self._subagents)

    def _new_subagents(self) -> Subagents:
        services = self._services
        background_tasks = BackgroundTasks(
            services.store,
            services.bus,
            services.queues,
            services.pipeline.truncator,
            start_turn=lambda session_id: self._runner.start_on_report(session_id),  # noqa: PLW0108 - made later
            release=lambda session_id: self._runner.release_if_idle(session_id),  # noqa: PLW0108 - made later
            clock=services.clock,
        )
        return Subagents(
            self,
            services.store,
            services.bus,
            self._repository,
            services.agents,
            background_tasks,
            services.worktrees,
        )

    @property
    def repository(self) -> SessionRepository:
        """Creating, listing, renaming, forking and deleting sessions."""
        return self._repository

    @property
    def fallbacks(self) -> Fallbacks:
        """The models that continue when one fails."""
        return self._services.fallbacks

    @property
    def goals(self) -> Goals:
        """The goals of sessions."""
        return self._goals

    @property
    def repeated_prompts(self) -> RepeatedPrompts:
        """The prompts that are repeated."""
        return self._repeated_prompts

    async def run_check(self, session_id: str, command: str, timeout: int) -> str:
        """Begin to run the check of a goal; return the id of its message."""
        return await self._user_shell.start(session_id, command, timeout=timeout, by_user=False)

    @property
    def spending(self) -> Spending:
        """The caps on what sessions spend."""
        return self._services.spending

    @property
    def busy(self) -> bool:
        """True if a turn runs in any session."""
        return self._runner.busy

    def status(self, session_id: str) -> SessionStatus:
        return self._runner.status(session_id)

    async def prompt(self, session_id: str, prompt: PromptInput) -> str:
        """Store a prompt; it starts a turn, or waits in the queue of the one that runs. A prompt
        that is not to be *answered* starts none.

        Returns the message's id. Raises ``SessionNotFound``, ``ModelNotFound``, ``MissingKey``,
        ``NoModelConnected``, ``ToolError`` for a file it names that cannot be read,
        ``PromptRefused``, and ``SessionBusy`` when another instance of the program runs a turn in
        this session.
        """
        session = await self._services.store.session(session_id)
        if self._services.hooks is not None:
            prompt = await self._services.hooks.prompted(session, prompt)
        name = prompt.agent or session.agent
        session = await self._repository.switch_agent(session, name)
        agent = self._services.agents.find(name)
        default = self._services.catalog.default_model()
        session = self._without_lost_model(session, prompt)
        item = user_message(session, prompt, default, self._services.clock(), agent)
        message = item.message
        assert isinstance(message, UserMessage)  # made just above
        # Refused before it is stored: a prompt that cannot be sent stays in the editor.
        model = self._services.catalog.model(message.model)
        _require_model(self._services.catalog, session, prompt, message)
        self._services.clients.client_for(model)
        item = await self._mentions.with_content(item, prompt.mentions, session, model)
        claimed = await self._runner.claim(session_id)
        adding: AbstractContextManager[None] = self._services.queues.adding(item)
        if claimed is not None and not prompt.answered:
            message, adding = replace(message, turn_id=claimed.turn.id), nullcontext()
        try:
            if claimed is not None:
                await discard_undone(self._services.store, session_id)
            if prompt.visible_text.strip():
                await self._services.store.add_prompt_history(
                    prompt.visible_text, session.directory
                )
            with adding:
                await self._services.store.update(
                    session_id,
                    lambda s: session_after_prompt(s, message, prompt, self._services.clock()),
                    message,
                    *item.parts,
                )
        except BaseException:
            if claimed is not None:
                await self._runner.unclaim(session_id)
            raise
        if claimed is not None and not prompt.answered:
            await self._runner.unclaim(session_id)
        elif claimed is not None:
            self._runner.launch(session_id, claimed)
        else:
            await self._leave_to_running(session_id)
        return message.id

    async def _leave_to_running(self, session_id: str) -> None:
        """Leave a queued prompt to the turn that runs; start one if that ended meanwhile."""
        if not await self._runner.start_queued(session_id) and (
            running := self._runner.running(session_id)
        ):
            # Sent after the cancel: it is what the user wants next. And what was to take it
            # up can never begin.
            running.start_next = (
                running.start_next or running.cancelling or running.supervisor is None
            )

    def _without_lost_model(self, session: Session, prompt: PromptInput) -> Session:
        """Return *session* without its model if that is gone: then the default answers."""
        catalog = self._services.catalog
        lost = session.model
        if lost is None or prompt.model is not None or catalog.has_model(lost):
            return session
        default = catalog.default_model()
        self._services.bus.publish(
            Notice(
                f"The model {lost} is no longer available. This session continues with {default}; "
                "/model chooses another."
            )
        )
        return replace(session, model=None)

    async def cancel(self, session_id: str, *, background: bool = True) -> bool:
        """Cancel the running turn; return true if there was something to cancel. Acknowledged on
        the bus at once.

        Its sub-agents are canceled with it, those in the *background* only if it
        is true.
        """
        return await self._runner.cancel(session_id, background=background)

    def pause(self, session_id: str, *, paused: bool) -> None:
        """Pause the running turn for a second at most, or let it go on. The user may have begun to
        stop it: nothing new begins meanwhile."""
        self._runner.pause(session_id, paused=paused)

    @property
    def subagents(self) -> Subagents:
        """The sub-agents of sessions, also those in the background."""
        return self._subagents

    @property
    def undo(self) -> Undo:
        """Undo and redo of prompts and their changes."""
        return self._undo

    @property
    def compaction(self) -> CompactionRequests:
        """Compaction that the user requests."""
        return self._compaction

    @property
    def user_shell(self) -> UserShell:
        """Commands that the user runs in a session."""
        return self._user_shell

    @property
    def quick_questions(self) -> QuickQuestions:
        """Quick questions, which leave nothing in the session."""
        return self._quick_questions

    async def attach(
        self, session_id: str, loaded: int = 0
    ) -> tuple[Subscription, SessionSnapshot]:
        """Return a subscription to a session's events and a snapshot of the session, with its last
        page of messages, or as many as *loaded* if these were more.

        The subscription is made first: changes while the snapshot is read are published again
        as events, and both agree.
        """
        subscription = self._services.bus.subscribe(lambda event: concerns(event, session_id))
        try:
            return subscription, await self.snapshot(session_id, max(PAGE_SIZE, loaded))
        except BaseException:
            subscription.close()
            raise

    async def snapshot(self, session_id: str, limit: int = PAGE_SIZE) -> SessionSnapshot:
        store = self._services.store
        session = await store.session(session_id)
        lineage = await lineage_of(store, session)
        page = await store.page(session_id, limit=limit)
        elsewhere = await store.foreign_lease(session_id) is not None
        if not elsewhere:
            self._services.queues.restore(session_id, list(page.messages))
        return SessionSnapshot(
            session=session,
            messages=page.messages,
            status=self.status(session_id),
            queued=self._services.queues.ids(session_id),
            permissions=self._services.permissions.pending(lineage.root_id),
            questions=self._services.questions.pending(lineage.root_id),
            todos=await store.todos(session_id),
            older=page.older,
            elsewhere=elsewhere,
            background_tasks=BackgroundTaskList.from_children(
                await store.children(session_id),
                self._subagents.background_tasks.activity(session_id),
            ),
        )

    async def delete(self, session_id: str) -> None:
        """End what runs in a session, then remove it with its children."""
        await self._goals.forget(session_id)
        self._repeated_prompts.forget(session_id)
        await self.cancel(session_id)
        await self.wait(session_id)
        await self._subagents.background_tasks.settle(session_id)
        self._services.queues.forget(session_id)
        self._services.files.forget(session_id)
        await self._services.shells.end_session(session_id)
        await self._services.store.delete_session(session_id)

    async def wait(self, session_id: str) -> None:
        """Wait until no turn runs in a session."""
        await self._runner.wait(session_id)

    async def close(self) -> None:
        """Cancel every turn and wait a little for their clean-up."""
        await self._goals.close()
        await self._repeated_prompts.close()
        self._subagents.background_tasks.begin_closing()
        await self._shell_reports.close()
        await self._runner.close()
        await self._subagents.background_tasks.close()
        await self._services.snapshots.close()
        await self._repository.close()


def concerns(event: Event, session_id: str) -> bool:
    """Return whether an event is about the session, its sub-agents, or no session at all."""
    match event:
        case SessionCreated() | SessionUpdated():
            return session_id in {event.session.id, event.session.parent_id}
        case MessageUpdated():
            return event.message.session_id == session_id
        case PartUpdated():
            return event.part.session_id == session_id
        case MessageRemoved():
            return event.session_id == session_id
        case PermissionReplied() | QuestionReplied():
            return True  # routes go by tree: a child's question is shown here too
        case _:
            return getattr(event, "session_id", session_id) in {session_id, None}


NO_MODEL = (
    "No model is connected, so nothing was sent. Connect one with /connect or with opencode-py "
    "auth login, or set a key such as ANTHROPIC_API_KEY. The model demo/offline shows the program "
    "without one."
)


def _require_model(
    catalog: Catalog, session: Session, prompt: PromptInput, message: UserMessage
) -> None:
    """Raise ``NoModelConnected`` for the first prompt of a session if it would reach the demo that
    nobody chose, unless it is one of the requests that the demo follows."""
    if prompt.model is not None or session.title or not catalog.lacks_model:
        return
    from agent.provider.demo.user_requests import is_request  # most sessions never use the demo

    if not is_request(prompt.text) and catalog.model(message.model).api == "demo":
        raise NoModelConnected(NO_MODEL)
