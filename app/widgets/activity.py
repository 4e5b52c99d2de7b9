"""The line above the prompt: what is running, for how long, and how to stop it."""

import time
from collections.abc import Callable
from dataclasses import field, replace
from typing import TYPE_CHECKING

from textual.content import Content
from textual.timer import Timer
from textual.widgets import Static

from agent.records.amounts import count, duration, tokens
from agent.records.frozen import frozen
from agent.records.messages import (
    AssistantMessage,
    Busy,
    Idle,
    Retry,
    Running,
    SessionStatus,
    ToolPart,
)
from app.session_state.session_facts import queued_user_messages
from app.terminal.app_of import app_of
from app.text.sanitize import sanitize

if TYPE_CHECKING:  # only for annotations
    from app.session_state.view import SessionView

FRAMES = "◐◓◑◒"
FRAME_SECONDS = 1 / 8
CLOCK_SECONDS = 1.0
SILENT_AFTER = 30.0
"""Seconds without output of the model after which the line counts them."""
OFFER_BACKGROUND_AFTER = 2.0
"""Seconds after which the line offers to move a running command to the background; most commands
are finished by then."""
ELSEWHERE = Content.assemble(
    ("◐", "$tone-accent"),
    " Another opencode-py is working here",
    ("  read-only; /fork continues in a copy", "$tone-muted"),
)
MIN_STATUS_CELLS = 20
"""Cells for what is running below which the hint how to stop it is left out."""


@frozen(kw_only=True)
class Activity:
    """The content of the line."""

    status: SessionStatus = field(default_factory=Idle)
    since: float = 0.0
    """When the turn began, in seconds since the epoch."""
    output: int = 0
    """Tokens that the model is known to have generated in the turn."""
    queued: int = 0
    """Messages of the user in the queue."""
    cancelling: bool = False
    pending_requests: int = 0
    """Permission requests and questions that wait for the user."""
    silent_since: float = 0.0
    """Seconds since the epoch, while it is the model's turn; else 0."""
    command_since: float = 0.0
    """When the running command was first seen, 0 for none."""
    agent: str = ""
    """The agent of the running turn, if the next prompt goes to another one."""
    background_key: str = ""
    """The key that would move the command to the background, "" for none."""
    elsewhere: bool = False
    """True while another program works in the session."""


def activity_text(activity: Activity, now: float, frame: str, width: int) -> Content:
    """Return one line of *width* cells at the time *now*; empty when nothing runs."""
    if activity.elsewhere:
        return ELSEWHERE.truncate(max(1, width), ellipsis=True)
    if isinstance(activity.status, Idle):
        return Content("")
    elapsed = duration(now - activity.since) if activity.since else ""
    if activity.cancelling:
        left = Content.assemble((frame, "$tone-muted"), " ", ("Stopping", "$tone-muted"))
    elif isinstance(activity.status, Retry):
        left_seconds = max(0, round(activity.status.next_at - now))
        left = Content.assemble(
            ("◆", "$tone-warn"),
            (f" Retry {activity.status.attempt} in {left_seconds}s", "$tone-warn"),
            (f"  {sanitize(activity.status.message).strip()}", "$tone-muted"),
        )
    elif activity.pending_requests:
        left = Content.assemble(("◆ Needs you", "$tone-warn"), (f"  {elapsed}", "$tone-muted"))
    elif activity.silent_since and now - activity.silent_since >= SILENT_AFTER:
        left = Content.assemble(
            (frame, "$tone-warn"),
            (
                f" Waiting for the model, silent for {duration(now - activity.silent_since)}",
                "$tone-warn",
            ),
        )
    else:
        summing = activity.status.compacting
        output = f"  ↓ {tokens(activity.output)} tokens" if activity.output and not summing else ""
        working = f" Working as {sanitize(activity.agent)}" if activity.agent else " Working"
        left = Content.assemble(
            (frame, "$tone-accent"),
            " Compacting the conversation" if summing else working,
            (f"  {elapsed}{output}", "$tone-muted"),
        )
    return _with_hints(left, activity, now, width)


def _with_hints(left: Content, activity: Activity, now: float, width: int) -> Content:
    """Return *left* with the queued messages and the keys at the right, as far as they fit."""
    queued = f"{count(activity.queued, 'message')} queued, ↑ to edit" if activity.queued else ""
    hint = "" if activity.cancelling else "esc to interrupt"
    offered = (
        activity.background_key
        and activity.command_since
        and now - activity.command_since >= OFFER_BACKGROUND_AFTER
        and hint
    )
    background_hint = f"{activity.background_key} to background" if offered else ""
    short = f"{activity.queued} queued" if activity.queued else ""
    alternatives: list[tuple[str, ...]] = [(queued, hint), (short, hint), (hint,), ()]
    if background_hint:
        alternatives[:0] = [
            (queued, background_hint, hint),
            (short, background_hint, hint),
            (background_hint, hint),
        ]
    for right in ("   ".join(part for part in parts if part) for parts in alternatives):
        gap = width - left.cell_length - len(right)
        if gap >= 2:
            return left + Content(" " * gap) + Content.styled(right, "$tone-muted")
        if right and right == hint and width - len(hint) >= MIN_STATUS_CELLS:
            # a long error message is cut, so that the hint how to stop stays visible
            left = left.truncate(width - len(hint) - 2, ellipsis=True)
            return left + Content("  ") + Content.styled(hint, "$tone-muted")
    return left.truncate(max(1, width), ellipsis=True)


def output_so_far(view: "SessionView | None") -> int:
    """Return the tokens generated in the newest turn by the steps whose usage is known; the
    streaming step is not estimated."""
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


def other_agent(view: "SessionView | None", agent: str) -> str:
    """Return the agent of the newest turn, if it is another one than *agent*; else ""."""
    for message_id in reversed(view.message_ids if view is not None and agent else []):
        entry = view.entry(message_id) if view is not None else None
        if entry is not None and entry.message.turn_id is not None:  # not queued
            return entry.message.agent if entry.message.agent != agent else ""
    return ""


def is_models_turn(view: "SessionView") -> bool:
    """Return whether the model speaks next: a turn runs and none of its tools does."""
    if isinstance(view.status, Idle) or not view.message_ids:
        return False
    entry = view.entry(view.message_ids[-1])
    return entry is not None and not any(
        isinstance(part, ToolPart) and isinstance(part.state, Running) for part in entry.parts
    )


def _redraw_interval(activity: Activity) -> float:
    """Return the seconds after which the line changes, 0 for never. A line that waits for the user
    or a retry only counts."""
    match activity.status:
        case Idle():
            return 0.0
        case Retry():
            return CLOCK_SECONDS
        case Busy():
            return (
                CLOCK_SECONDS
                if activity.pending_requests and not activity.cancelling
                else FRAME_SECONDS
            )


class ActivityLine(Static):
    """Shows an ``Activity``. Its timer runs only while something moves."""

    def __init__(self, *, id: str | None = None, clock: Callable[[], float] = time.time) -> None:
        super().__init__("", id=id, markup=False)
        self._activity = Activity()
        self._clock = clock
        self._frame = 0
        self._timer: Timer | None = None
        self._interval = 0.0
        self.background_key: Callable[[], str] = str
        """Returns the key that would move a command to the background now, "" for none."""

    @property
    def activity(self) -> Activity:
        return self._activity

    def show_stopping(self) -> None:
        """Show that the turn is being stopped, before the agent has confirmed it."""
        self.show(replace(self._activity, cancelling=True))

    def note_output(self, *, models_turn: bool) -> None:
        """Restart the count of silence, if the model speaks next."""
        silent = self._clock() if models_turn else 0.0
        self._activity = replace(self._activity, silent_since=silent)

    def note_output_of(self, view: "SessionView") -> None:
        """Restart the count of silence for the session of *view*."""
        self.note_output(models_turn=is_models_turn(view))

    def show_session(
        self, view: "SessionView | None", to_send: int, preparing: float = 0.0, agent: str = ""
    ) -> bool:
        """Show the activity of *view* and return whether messages of the user are queued in it.

        *to_send* prompts wait to be sent; *preparing* is the time since when a command is prepared
        for sending, 0 for none. *agent* would get the next prompt.
        """
        queued = queued_user_messages(view)
        status = view.status if view is not None else Idle()
        output = output_so_far(view)
        if preparing and isinstance(status, Idle):
            status, to_send, output = Busy(preparing), to_send - 1, 0
        self.show(
            replace(
                self._activity,
                status=status,
                since=status.since if isinstance(status, Busy) else self._activity.since,
                output=output,
                queued=to_send + len(queued),
                agent=other_agent(view, agent),
                elsewhere=view is not None and view.elsewhere,
                cancelling=isinstance(status, Busy) and status.cancelling,
                pending_requests=len(view.permissions) + len(view.questions)
                if view is not None
                else 0,
            )
        )
        return bool(queued)

    def show(self, activity: Activity) -> None:
        before, self._activity = self._activity, activity
        if activity == before:
            return
        if self._timer is not None and replace(activity, output=before.output) == before:
            return  # the number is updated with the next clock tick, not for each step
        self.set_class(activity.elsewhere or not isinstance(activity.status, Idle), "-busy")
        self._set_interval(_redraw_interval(activity))
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _set_interval(self, step: float) -> None:
        """Redraw every *step* seconds from now on, 0 for not at all."""
        if step and app_of(self).animation_level == "none":
            step = CLOCK_SECONDS
        if step == self._interval:
            return
        self._interval = step
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_interval(step, self._tick) if step else None

    def _tick(self) -> None:
        if app_of(self).animation_level != "none":
            self._frame = (self._frame + 1) % len(FRAMES)
        key = self.background_key()
        since = (self._activity.command_since or self._clock()) if key else 0.0
        self._activity = replace(self._activity, command_since=since, background_key=key)
        self._draw()

    def _draw(self) -> None:
        width = self.content_size.width
        if width:
            line = activity_text(self._activity, self._clock(), FRAMES[self._frame], width)
            self.update(line, layout=False)
