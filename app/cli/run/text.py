"""``run --format text``: the response on standard output, progress on standard error."""

from typing import TextIO

from agent.records.events import Event, PartDelta, PartUpdated, SessionIdle
from agent.records.messages import Session, TextPart
from agent.runtime.headless import HeadlessResult
from app.console.printer import Printer
from app.text.sanitize import sanitize


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

    def take(self, event: Event) -> None:
        text = isinstance(event, PartDelta) or (
            isinstance(event, PartUpdated) and isinstance(event.part, TextPart)
        )
        if text:
            if self._answer is not None and self._own(event):
                self._answer.show(event)
        elif self._progress is not None and not isinstance(event, SessionIdle):
            self._progress.show(event)

    def _own(self, event: Event) -> bool:
        """Return whether the event is of the session itself: a sub-agent's text is for its caller
        only."""
        named = event.part.session_id if isinstance(event, PartUpdated) else ""
        return (named or getattr(event, "session_id", "")) == self._session

    def end(self, ending: HeadlessResult) -> None:
        if self._answer is not None:
            self._answer.end_line()
        elif ending.answer:
            self._out.write(sanitize(ending.answer) + "\n")
            self._out.flush()
        if ending.error is not None:
            self._err.write(sanitize(ending.error.message) + "\n")
        elif ending.outcome == "cancelled":
            self._err.write("Interrupted.\n")
        for what in ending.refused:
            self._err.write(f"Refused, as nobody could be asked: {sanitize(what)}\n")
