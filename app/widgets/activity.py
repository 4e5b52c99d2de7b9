"""The line above the prompt while a turn runs: what, how long, how to stop (spec 8, U5)."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from textual.content import Content
from textual.timer import Timer
from textual.widgets import Static

from agent.records.messages import (
    AssistantMessage,
    Busy,
    Idle,
    Retry,
    Running,
    SessionStatus,
    ToolPart,
)
from app.session.queue_text import queued_user_messages
from app.text.sanitize import sanitize
from app.text.units import count, duration, tokens
from app.toolkit.app_of import app_of

if TYPE_CHECKING:  # for its name alone
    from app.session.view import SessionView

FRAMES = "◐◓◑◒"
FRAME_SECONDS = 1 / 8
CLOCK_SECONDS = 1.0
SILENT_AFTER = 30.0
"""Seconds without a word from the model after which the line counts them (spec 1, L12a)."""
OFFER_BACKGROUND_AFTER = 2.0
"""Seconds that a command runs before the line offers to send it to the background: most are
over by then."""
MIN_STATUS_CELLS = 20
"""Cells for what runs, below which the hint how to stop it is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """*since* is when the turn began (seconds since the epoch); *output* the tokens that the
    model has generated in it so far as far as they are known; *queued* the messages that wait.
    *silent* is when the model was heard last while it is its turn to speak, 0 else. *command* is
    when the command that runs was first seen, 0 for none, *background* the key that would send it
    to the background."""

    status: SessionStatus = Idle()  # noqa: RUF009 - frozen
    since: float = 0.0
    output: int = 0
    queued: int = 0
    cancelling: bool = False
    pending_requests: int = 0
    silent: float = 0.0
    command: float = 0.0
    background: str = ""


def activity_text(work: Activity, now: float, frame: str, width: int) -> Content:
    """One line of *width* cells at the time *now*; empty when nothing runs."""
    if isinstance(work.status, Idle):
        return Content("")
    elapsed = duration(now - work.since) if work.since else ""
    if work.cancelling:
        left = Content.assemble((frame, "$tone-muted"), " ", ("Stopping", "$tone-muted"))
    elif isinstance(work.status, Retry):
        left_seconds = max(0, round(work.status.next_at - now))
        left = Content.assemble(
            ("◆", "$tone-warn"),
            (f" Retry {work.status.attempt} in {left_seconds}s", "$tone-warn"),
            (f"  {sanitize(work.status.message).strip()}", "$tone-muted"),
        )
    elif work.pending_requests:
        left = Content.assemble(
            ("◆ Waiting for you", "$tone-warn"), (f"  {elapsed}", "$tone-muted")
        )
    elif work.silent and now - work.silent >= SILENT_AFTER:
        left = Content.assemble(
            (frame, "$tone-warn"),
            (f" Waiting for the model, silent for {duration(now - work.silent)}", "$tone-warn"),
        )
    else:
        summing = work.status.compacting
        known = f"  ↓ {tokens(work.output)} tokens" if work.output and not summing else ""
        left = Content.assemble(
            (frame, "$tone-accent"),
            " Summing up the session" if summing else " Working",
            (f"  {elapsed}{known}", "$tone-muted"),
        )
    queued = f"{count(work.queued, 'message')} waiting, up to edit" if work.queued else ""
    hint = "" if work.cancelling else "esc to interrupt"
    offered = (
        work.background and work.command and now - work.command >= OFFER_BACKGROUND_AFTER and hint
    )
    aside = f"{work.background} to background" if offered else ""
    tellings = (queued, aside, hint), (aside, hint), (hint,), ()
    for right in ("   ".join(part for part in parts if part) for parts in tellings):
        room = width - left.cell_length - len(right)
        if room >= 2:
            return left + Content(" " * room) + Content.styled(right, "$tone-muted")
        if right and right == hint and width - len(hint) >= MIN_STATUS_CELLS:
            # a provider's long sentence gives way: how to stop is always there (U5)
            left = left.truncate(width - len(hint) - 2, ellipsis=True)
            return left + Content("  ") + Content.styled(hint, "$tone-muted")
    return left.truncate(max(1, width), ellipsis=True)


def output_so_far(view: "SessionView | None") -> int:
    """Tokens generated in the newest turn by the steps whose usage is known (R8: none is
    made up for the one that streams)."""
    total = 0
    turn: str | None = None
    for message_id in reversed(view.message_ids if view is not None else []):
        entry = view.entry(message_id) if view is not None else None
        if entry is None or not isinstance(entry.message, AssistantMessage):
            continue
        if turn is not None and entry.message.turn_id != turn:
            break
        turn = entry.message.turn_id
        total += entry.message.usage.output if entry.message.usage is not None else 0
    return total


def is_models_turn(view: "SessionView") -> bool:
    """Whether the next word is the model's: a turn runs and none of its tools does."""
    if isinstance(view.status, Idle) or not view.message_ids:
        return False
    entry = view.entry(view.message_ids[-1])
    return entry is not None and not any(
        isinstance(part, ToolPart) and isinstance(part.state, Running) for part in entry.parts
    )


def _step(work: Activity) -> float:
    """Seconds after which the line looks otherwise; 0 for never. One that waits for the user or
    for a retry only counts, however long that takes."""
    match work.status:
        case Idle():
            return 0.0
        case Retry():
            return CLOCK_SECONDS
        case Busy():
            return CLOCK_SECONDS if work.pending_requests and not work.cancelling else FRAME_SECONDS


class ActivityLine(Static):
    """Shows a ``Work``. Its timer runs only while there is something to move."""

    def __init__(self, *, id: str | None = None, clock: Callable[[], float] = time.time) -> None:
        super().__init__("", id=id, markup=False)
        self._work = Activity()
        self._clock = clock
        self._frame = 0
        self._timer: Timer | None = None
        self._pace = 0.0
        self.background_key: Callable[[], str] = str
        """Gives the key that would send a command to the background now, "" for none."""

    @property
    def activity(self) -> Activity:
        return self._work

    def show_stopping(self) -> None:
        """Say that the turn is being stopped, before the harness has confirmed it."""
        self.show(replace(self._work, cancelling=True))

    def note_output(self, *, models_turn: bool) -> None:
        """Something came: silence counts from now on, if the next word is the model's."""
        silent = self._clock() if models_turn else 0.0
        self._work = replace(self._work, silent=silent)

    def note_output_of(self, view: "SessionView") -> None:
        """Something came in the session of *view*."""
        self.note_output(models_turn=is_models_turn(view))

    def show_session(
        self, view: "SessionView | None", to_send: int, preparing: float = 0.0
    ) -> bool:
        """Show how the session of *view* stands; *to_send* prompts wait here, *preparing* is
        since when a command is made ready to be sent, 0 for none. Whether a message of the user
        waits in the session."""
        queued = queued_user_messages(view)
        status = view.status if view is not None else Idle()
        output = output_so_far(view)
        if preparing and isinstance(status, Idle):
            status, to_send, output = Busy(preparing), to_send - 1, 0
        self.show(
            replace(
                self._work,
                status=status,
                since=status.since if isinstance(status, Busy) else self._work.since,
                output=output,
                queued=to_send + len(queued),
                cancelling=isinstance(status, Busy) and status.cancelling,
                pending_requests=len(view.permissions) + len(view.questions)
                if view is not None
                else 0,
            )
        )
        return bool(queued)

    def show(self, work: Activity) -> None:
        before, self._work = self._work, work
        if work == before:
            return
        if self._timer is not None and replace(work, output=before.output) == before:
            return  # the number goes up with the next step of the clock, not with each of the loop
        self.set_class(not isinstance(work.status, Idle), "-busy")
        self._run(_step(work))
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _run(self, step: float) -> None:
        """Draw every *step* seconds from now on, 0 for not at all."""
        if step and app_of(self).animation_level == "none":
            step = CLOCK_SECONDS
        if step == self._pace:
            return
        self._pace = step
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_interval(step, self._tick) if step else None

    def _tick(self) -> None:
        if app_of(self).animation_level != "none":
            self._frame = (self._frame + 1) % len(FRAMES)
        key = self.background_key()
        since = (self._work.command or self._clock()) if key else 0.0
        self._work = replace(self._work, command=since, background=key)
        self._draw()

    def _draw(self) -> None:
        width = self.content_size.width
        if width:
            line = activity_text(self._work, self._clock(), FRAMES[self._frame], width)
            self.update(line, layout=False)
