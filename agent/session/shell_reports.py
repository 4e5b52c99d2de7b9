"""Reports of commands in the background: their ends, and the output that was watched for.

A report is stored as a queued message, as that of a sub-agent is: a running turn takes it at its
next step, an idle session starts a turn with it where a user is there to see it.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from agent.records.background import BackgroundTaskState, ShellInfo
from agent.records.context_parts import ReportPart
from agent.records.errors import OpencodePyError, SessionNotFound
from agent.records.messages import MessageWithParts
from agent.records.reminders import reminder
from agent.redact import without_known_secrets
from agent.session.queue import Queues
from agent.session.subagents.background import report_in
from agent.store.background_reports import queued_report
from agent.store.store import Store
from agent.tools.core.truncate import Limits, cut
from agent.tools.shell.results import describe_shell, format_seconds

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
