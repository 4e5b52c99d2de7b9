"""A command that the user runs in the session: a turn of its own kind.

It is stored as a synthetic message with the command's call as its part, so that it is
drawn, cut, canceled and recovered like the agent's own; the model reads it as text.
"""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace

from agent.records.blocks import Block
from agent.records.decisions import Decision
from agent.records.errors import SessionBusy
from agent.records.frozen import frozen
from agent.records.ids import new_id
from agent.records.json import JsonObject
from agent.records.messages import Session, ToolPart, UserMessage
from agent.records.requests import PermissionNeed, PermissionReply
from agent.session.prompt.instructions import Instruction
from agent.session.prompt.user_message import title_of
from agent.session.repository import SessionRepository, discard_undone
from agent.session.turn.executor import StepExecutor
from agent.session.turn.guards import DoomLoop
from agent.session.turn.services import TurnServices
from agent.session.turn.state import TurnEnd
from agent.session.turn.turn import Turn
from agent.session.turn_runner import Runner
from agent.tools.core.base import ToolContext

BUSY = "The agent is working. Run the command when it is done, or interrupt it first."
STOPPED = "Stopped by the user."
TOOL = "bash"


class UserShell:
    """Runs shell commands that the user typed, without a permission request."""

    def __init__(
        self,
        services: TurnServices,
        runner: Runner,
        repository: SessionRepository,
    ) -> None:
        self._services = services
        self._runner = runner
        self._repository = repository

    async def start(
        self, session_id: str, command: str, *, timeout: int | None = None, by_user: bool = True
    ) -> str:
        """Begin to run *command*, ended after *timeout* milliseconds; its end is published like a
        turn's (``SessionIdle``). Without *by_user* deny rules and the sandbox apply, as
        to the agent's commands. Returns the id of its message.

        Raises ``SessionNotFound``, and ``SessionBusy`` while a turn runs here or elsewhere.
        """
        session = await self._services.store.session(session_id)

        async def work(turn: Turn, _: str) -> TurnEnd:
            return await self._run(turn, session, message_id, arguments, by_user=by_user)

        message_id = new_id("msg")
        arguments: JsonObject = {"command": command}
        if timeout is not None:
            arguments["timeout"] = timeout

        claimed = await self._runner.claim(session_id, work)
        if claimed is None:
            raise SessionBusy(BUSY)
        try:
            await discard_undone(self._services.store, session_id)
            if by_user:
                await self._services.store.add_prompt_history(f"!{command}", session.directory)
            await self._repository.update(session_id, lambda s: _titled(s, command))
        except BaseException:
            await self._runner.unclaim(session_id)
            raise
        self._runner.launch(session_id, claimed)
        return message_id

    async def _run(
        self,
        turn: Turn,
        session: Session,
        message_id: str,
        arguments: JsonObject,
        *,
        by_user: bool,
    ) -> TurnEnd:
        message = UserMessage(
            id=message_id,
            session_id=session.id,
            created=self._services.clock(),
            agent=session.agent,
            model=session.model or self._services.catalog.default_model(),
            effort=session.effort,
            turn_id=turn.id,
            synthetic=True,
        )
        part = ToolPart(
            id=new_id("prt"),
            session_id=session.id,
            message_id=message.id,
            call_id=new_id("cal"),
            tool=TOOL,
        )
        turn.use_request(message)
        await self._services.store.save(message, part)
        services = self._services
        calls = _UserCalls(services, session, message, by_user)
        executor = StepExecutor(services.store, services.pipeline, calls, services.clock)
        executor.submit(executor.announce(part), json.dumps(arguments))
        try:
            await executor.results()
        except asyncio.CancelledError:
            await executor.tear_down(STOPPED)
            raise
        return TurnEnd("completed")


@frozen
class _UserCalls:
    """The call of a user's command (``executor.CallSupport``), which needs no permission, or of a
    check."""

    services: TurnServices
    session: Session
    message: UserMessage
    by_user: bool

    @property
    def doom(self) -> DoomLoop:
        return DoomLoop(self.services.limits.max_repeats)

    def context(self, part: ToolPart, progress: Callable[[str], None]) -> ToolContext:
        session = self.session
        return ToolContext(
            session_id=session.id,
            root_id=session.id,
            message_id=self.message.id,
            call_id=part.call_id,
            agent=session.agent,
            directory=session.directory,
            project=session.project,
            files=self.services.files,
            progress=progress,
            ask=_allow,
            by_user=self.by_user,
            approved=not self.by_user,
        )

    async def ask_repeat(self, part: ToolPart, decided: Callable[[Decision], None]) -> None:
        del part, decided  # one call is no loop

    async def attached(self, touched: tuple[str, ...]) -> tuple[Instruction, ...]:
        del touched
        return ()


async def _allow(
    needs: tuple[PermissionNeed, ...], heading: str, blocks: tuple[Block, ...] = (), /
) -> PermissionReply:
    del needs, heading, blocks
    return PermissionReply("once")


def _titled(session: Session, command: str) -> Session:
    """A session that begins with a command is listed by it."""
    return replace(session, title=session.title or title_of(f"! {command}"))
