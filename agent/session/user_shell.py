"""A command that the user runs in the session: a turn of its own kind.

It is stored as a synthetic message with the command's call as its part, so that it is
drawn, cut, canceled and recovered like the agent's own; the model reads it as text.
"""

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace

from agent.records.background import BackgroundTaskState, ShellInfo
from agent.records.blocks import Block
from agent.records.context_parts import ReportPart
from agent.records.decisions import Decision
from agent.records.errors import OpencodePyError, SessionBusy, SessionNotFound
from agent.records.frozen import frozen
from agent.records.ids import new_id
from agent.records.json import JsonObject
from agent.records.messages import MessageWithParts, Session, ToolPart, UserMessage
from agent.records.reminders import reminder
from agent.records.requests import PermissionNeed, PermissionReply
from agent.redact import without_known_secrets
from agent.session.prompt.instructions import Instruction
from agent.session.prompt.user_message import title_of
from agent.session.queue import Queues
from agent.session.repository import SessionRepository, discard_undone
from agent.session.subagents.background import report_in
from agent.session.turn.executor import StepExecutor
from agent.session.turn.guards import DoomLoop
from agent.session.turn.state import TurnEnd
from agent.session.turn.turn import Turn
from agent.session.turn.turn_services import TurnServices
from agent.session.turn_runner import Runner
from agent.store.background_reports import queued_report
from agent.store.store import Store
from agent.tools.core.tool import ToolContext
from agent.tools.core.truncate import Limits, cut
from agent.tools.shell.results import describe_shell, format_seconds

BUSY = "The agent is working. Run the command when it is done, or interrupt it first."
STOPPED = "Stopped by the user."
TOOL = "bash"


@frozen
class UserShell:
    """Runs shell commands that the user typed, without a permission request."""

    services: TurnServices
    runner: Runner
    repository: SessionRepository

    async def start(
        self, session_id: str, command: str, *, timeout: int | None = None, by_user: bool = True
    ) -> str:
        """Begin to run *command*, ended after *timeout* milliseconds; its end is published like a
        turn's (``SessionIdle``). Without *by_user* deny rules and the sandbox apply, as
        to the agent's commands. Returns the id of its message.

        Raises ``SessionNotFound``, and ``SessionBusy`` while a turn runs here or elsewhere.
        """
        session = await self.services.store.session(session_id)

        async def work(turn: Turn, _: str) -> TurnEnd:
            return await self._run(turn, session, message_id, arguments, by_user=by_user)

        message_id = new_id("msg")
        arguments: JsonObject = {"command": command}
        if timeout is not None:
            arguments["timeout"] = timeout

        claimed = await self.runner.claim(session_id, work)
        if claimed is None:
            raise SessionBusy(BUSY)
        try:
            await discard_undone(self.services.store, session_id)
            if by_user:
                await self.services.store.add_prompt_history(f"!{command}", session.directory)
            await self.repository.update(session_id, lambda s: _titled(s, command))
        except BaseException:
            await self.runner.unclaim(session_id)
            raise
        self.runner.launch(session_id, claimed)
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
            created=self.services.clock(),
            agent=session.agent,
            model=session.model or self.services.catalog.default_model(),
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
        await self.services.store.save(message, part)
        services = self.services
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
        return ()


async def _allow(
    needs: tuple[PermissionNeed, ...], heading: str, blocks: tuple[Block, ...] = (), /
) -> PermissionReply:
    return PermissionReply("once")


def _titled(session: Session, command: str) -> Session:
    """A session that begins with a command is listed by it."""
    return replace(session, title=session.title or title_of(f"! {command}"))


# Reports of commands in the background: their ends, and the output that was watched for.
#
# A report is stored as a queued message, as that of a sub-agent is: a running turn takes it at its
# next step, an idle session starts a turn with it where a user is there to see it.

SHOWN = Limits(lines=20, bytes=2_000, line_chars=500)
"""The limits of the output in a report."""

ENDED = "The command `{command}`, which was started in the background, has ended: {state} {output}"
PRINTED = "The background command `{command}` printed what you watch for; {state} {output}"
SENDER = "This message comes from the program, not from the user."
LAST_LINES = (
    "Its last lines follow; bash_output with the id {id} returns all that you have not read."
)

log = logging.getLogger(__name__)


class ShellReports:
    """Stores the reports of the shells of all sessions."""

    def __init__(
        self,
        store: Store,
        queues: Queues,
        *,
        is_running: Callable[[str], bool],
        start_turn: Callable[[str], Awaitable[None]],
        wakes: bool,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """*is_running* tells whether a turn runs in a session; *start_turn* begins one on queued
        messages, if it can, which happens only if a report *wakes* an idle session."""
        self._store = store
        self._queues = queues
        self._is_running = is_running
        self._start_turn = start_turn
        self._wakes = wakes
        self._clock = clock
        self._storing: dict[asyncio.Task[None], str] = {}
        self._closing = False

    def report(self, info: ShellInfo, output: str, *, watched: bool = False) -> None:
        """Report the end of a shell, or *output* in it that was *watched* for."""
        if self._closing:
            return
        task = asyncio.create_task(
            self._report(info, output, watched=watched), name=f"report of {info.id}"
        )
        self._storing[task] = info.id
        task.add_done_callback(self._storing.pop)

    async def withdraw(self, info: ShellInfo) -> None:
        """Remove the reports of a shell from the queues: the model has read it meanwhile."""
        if storing := [task for task, shell_id in self._storing.items() if shell_id == info.id]:
            await asyncio.wait(storing)
        for session_id in {info.session_id, info.root_id}:
            for item in self._queues.queued(session_id):
                report = report_in(item)
                if report is not None and report.child_id == info.id:
                    await self._queues.remove(session_id, item.message.id)

    async def close(self) -> None:
        """Report nothing from here on: all shells end with the program."""
        self._closing = True
        if self._storing:
            await asyncio.wait(set(self._storing))

    async def _report(self, info: ShellInfo, output: str, *, watched: bool) -> None:
        # A sub-agent that has reported does no more steps: its caller is told.
        session_id = info.session_id if self._is_running(info.session_id) else info.root_id
        try:
            if await self._store.foreign_lease(session_id):
                return
            report, text = _report_part(info, output, watched=watched)
            session = await self._store.session(session_id)
            message, *parts = queued_report(session, report, self._clock(), text)
            with self._queues.adding(MessageWithParts(message, tuple(parts))):
                await self._store.update(session_id, lambda s: s, message, *parts)
        except OpencodePyError as error:
            if not isinstance(error, SessionNotFound):  # the session was deleted meanwhile
                log.exception("the report of %s could not be stored", info.id)
            return
        if self._wakes and report.starts_turn and not self._closing:
            await self._start_turn(session_id)


def _report_part(info: ShellInfo, output: str, *, watched: bool) -> tuple[ReportPart, str]:
    """Return the report, without a place, and its text for the model."""
    shown = without_known_secrets(cut(output.rstrip("\n"), SHOWN, "tail"))
    facts: tuple[str, ...] = ()
    if info.ended is not None:
        code = info.signal if info.exit_code is None else f"exit {info.exit_code}"
        facts = (*filter(None, (code,)), format_seconds(info.ended - info.started))
    command = info.command.strip().partition("\n")[0]
    report = ReportPart(
        id="",
        session_id="",
        message_id="",
        child_id=info.id,
        agent="command",
        description=info.description or command,
        outcome=_outcome(info),
        text=shown,
        facts=facts,
    )
    said = (PRINTED if watched else ENDED).format(
        command=without_known_secrets(command[:200]),
        state=describe_shell(info),
        output=LAST_LINES.format(id=info.id) if shown else "It printed nothing.",
    )
    return report, f"{reminder(f'{said} {SENDER}')}\n{shown}".rstrip("\n")


def _outcome(info: ShellInfo) -> BackgroundTaskState:
    match info.state:
        case "running":
            return "running"
        case "killed":
            return "cancelled"
        case "exited" | "timed out":
            return "completed" if info.exit_code == 0 else "failed"
