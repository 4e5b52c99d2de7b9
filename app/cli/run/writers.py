"""The program's own forms of output of ``run``: text, and one JSON object per line.

The JSON is stable: fields may be added, none is renamed or removed while ``v`` is 1. Every line has
``v``, ``type``, ``time`` (seconds since the epoch) and ``session``, which distinguishes sub-agents
from the session of the prompt. Types:

``start`` model, agent, directory
``text``, ``reasoning`` message, part, text (complete, at its end)
``delta`` part, text (with ``--deltas``)
``tool`` call, tool, state (running, completed, failed), title; then input, output or error
``report`` child, agent, description, outcome, text, error (of a background sub-agent)
``permission`` permission, pattern, answer (once, reject)
``retry`` attempt, message, next_at
``step`` message, finish, usage, cost
``notice`` message
``end`` outcome, answer, error, refused, usage, cost, code
"""

import contextlib
import json
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Protocol, TextIO

from agent.records import events
from agent.records.json import Json, JsonObject
from agent.records.labels import label_of
from agent.records.messages import (
    Completed,
    Failed,
    ReasoningPart,
    ReportPart,
    Retry,
    RetryPart,
    Running,
    Session,
    StepFinishPart,
    TextPart,
    ToolPart,
    UserMessage,
)
from agent.records.requests import PermissionRequest
from agent.runtime.headless import HeadlessResult
from app.plain.printer import Printer
from app.text.sanitize import sanitize

VERSION = 1


class Writer(Protocol):
    """Writes a run in one format."""

    def start(self, session: Session, model: str) -> None: ...
    def take(self, event: events.Event) -> None: ...
    def end(self, ending: HeadlessResult) -> None: ...


class JsonLines:
    """Writes events as lines of JSON; text is not sanitized, JSON escapes it."""

    def __init__(
        self, out: TextIO, *, deltas: bool = False, clock: Callable[[], float] = time.time
    ) -> None:
        self._out = out
        self._deltas = deltas
        self._clock = clock
        self._session = ""
        self._requests: dict[str, PermissionRequest] = {}
        self._written: dict[str, str] = {}
        self._skipped: set[str] = set()
        self._reports: set[ReportPart] = set()

    def start(self, session: Session, model: str) -> None:
        self._session = session.id
        self._line(
            "start", session.id, model=model, agent=session.agent, directory=session.directory
        )

    def take(self, event: events.Event) -> None:
        match event:
            case events.MessageUpdated(message=UserMessage(id=message_id)):
                self._skipped.add(message_id)
            case events.PartUpdated(part=TextPart() | ReasoningPart() as part):
                self._text(part)
            case events.PartUpdated(part=ToolPart() as part):
                self._tool(part)
            case events.PartUpdated(part=ReportPart() as part):
                self._report(part)
            case events.PartUpdated(part=StepFinishPart() as part):
                usage: Json = asdict(part.usage) if part.usage else None
                self._line(
                    "step",
                    part.session_id,
                    message=part.message_id,
                    finish=part.finish,
                    usage=usage,
                    cost=part.cost,
                )
            case events.PartDelta(field="text") if self._deltas:
                self._line("delta", event.session_id, part=event.part_id, text=event.delta)
            case events.PartUpdated(part=RetryPart(change=change) as part) if change:
                message = f"{change} {part.error.message}"
                self._line("notice", part.session_id, message=message)
            case events.PermissionAsked(request=request):
                self._requests[request.id] = request
            case events.PermissionReplied():
                self._permission(event)
            case events.SessionStatusChanged(status=Retry() as retry):
                self._line(
                    "retry",
                    event.session_id,
                    attempt=retry.attempt,
                    message=retry.message,
                    next_at=retry.next_at,
                )
            case events.Notice(message=message):
                self._line("notice", self._session, message=message)
            case events.SessionError(error=error):
                self._line("notice", self._session, message=error.message)
            case _:
                pass

    def end(self, ending: HeadlessResult) -> None:
        self._line(
            "end",
            self._session,
            outcome=ending.outcome,
            answer=ending.answer,
            error=asdict(ending.error) if ending.error else None,
            refused=list(ending.refused),
            usage=asdict(ending.usage) if ending.usage else None,
            cost=ending.cost,
            code=ending.exit_code,
        )

    def _text(self, part: TextPart | ReasoningPart) -> None:
        users = isinstance(part, TextPart) and (part.synthetic or part.message_id in self._skipped)
        if part.ended is None or users or self._written.get(part.id) == "ended":
            return
        self._written[part.id] = "ended"
        self._line(
            part.type, part.session_id, message=part.message_id, part=part.id, text=part.text
        )

    def _tool(self, part: ToolPart) -> None:
        state = part.state
        if self._written.get(part.id) == state.status:
            return
        self._written[part.id] = state.status
        facts: JsonObject = {"call": part.id, "tool": part.tool, "state": state.status}
        match state:
            case Running():
                facts |= {"title": _title(part), "input": state.input}
            case Completed():
                facts |= {
                    "title": _title(part),
                    "input": state.input,
                    "output": state.output,
                    "exit_code": state.exit_code,
                    "seconds": round(state.ended - state.started, 3),
                }
            case Failed():
                facts |= {
                    "title": _title(part),
                    "input": state.input,
                    "error": state.error,
                    "kind": state.kind,
                    "output": state.output,
                }
            case _:
                return
        if part.verdicts:
            facts["verdicts"] = [asdict(verdict) for verdict in part.verdicts]
        self._line("tool", part.session_id, **facts)

    def _report(self, part: ReportPart) -> None:
        if part.identity in self._reports:
            return
        self._reports.add(part.identity)
        self._line(
            "report",
            part.session_id,
            child=part.child_id,
            agent=part.agent,
            description=part.description,
            outcome=part.outcome,
            text=part.text,
            error=part.error,
        )

    def _permission(self, event: events.PermissionReplied) -> None:
        request = self._requests.pop(event.request_id, None)
        if request is None:
            return
        answer = event.reply.answer if event.reply is not None else "withdrawn"
        for judged in request.needs:
            if judged.action == "ask":
                self._line(
                    "permission",
                    request.session_id,
                    permission=judged.need.permission,
                    pattern=judged.need.pattern,
                    answer=answer,
                )

    def _line(self, kind: str, session: str, /, **facts: Json) -> None:
        record: JsonObject = {
            "v": VERSION,
            "type": kind,
            "time": round(self._clock(), 3),
            "session": session,
            **facts,
        }
        self._out.write(json.dumps(record) + "\n")
        self._out.flush()


def _title(part: ToolPart) -> str:
    label = label_of(part)
    return " ".join(f"{label.verb} {label.object} {label.note}".split())


class TextWriter:
    """Streams the text on a terminal; a pipe or file gets the final response only, complete.

    Progress (tools, retries, sub-agents) goes to *err* if that is a terminal.
    """

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self._out = out
        self._err = err
        self._progress = Printer(err) if err.isatty() else None
        self._answer = Printer(out) if out.isatty() else None
        self._session = ""

    def start(self, session: Session, model: str) -> None:
        self._session = session.id
        if self._progress is not None:
            self._progress.line(f"{model}, session {session.id}")

    def take(self, event: events.Event) -> None:
        text = isinstance(event, events.PartDelta) or (
            isinstance(event, events.PartUpdated) and isinstance(event.part, TextPart)
        )
        if text:
            if self._answer is not None and self._own(event):
                self._answer.show(event)
        elif self._progress is not None and not isinstance(event, events.SessionIdle):
            self._progress.show(event)
        elif isinstance(event, events.Notice):
            self._tell(event.message)
        elif isinstance(event, events.PartUpdated) and isinstance(event.part, RetryPart):
            self._tell_change(event.part)

    def _tell_change(self, part: RetryPart) -> None:
        if part.change:
            self._tell(f"{part.change} {part.error.message}")

    def _own(self, event: events.Event) -> bool:
        """Return whether the event is of the session itself, not of a sub-agent."""
        named = event.part.session_id if isinstance(event, events.PartUpdated) else ""
        return (named or getattr(event, "session_id", "")) == self._session

    def end(self, ending: HeadlessResult) -> None:
        if self._answer is not None:
            self._answer.end_line()
        elif ending.answer:
            self._out.write(sanitize(ending.answer) + "\n")
            self._out.flush()
        if ending.error is not None:
            self._tell(ending.error.message)
        elif ending.outcome == "cancelled":
            self._tell("Interrupted.")
        for what in ending.refused:
            self._tell(f"Refused, because no one could be asked: {what}")

    def _tell(self, sentence: str) -> None:
        """Write *sentence* to *err*, if that can be written."""
        with contextlib.suppress(OSError):
            self._err.write(sanitize(sentence) + "\n")
