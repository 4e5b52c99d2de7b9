"""A tiny app with nothing but a transcript, sessions to show in it, and its rows."""

from dataclasses import replace

from rich.cells import set_cell_size
from textual.app import App, ComposeResult

from agent.records.blocks import ShellBlock
from agent.records.events import Event, PartDelta
from agent.records.messages import MessageWithParts, TextPart
from app.session_state.view import NO_CHANGE, SessionView
from app.theme import themes
from app.widgets.transcript.transcript import Transcript
from tests.support.records import (
    SESSION,
    START,
    assistant,
    completed,
    open_assistant,
    snapshot,
    text_part,
    tool,
    user,
)
from tests.support.snapshots import screen_text


class TranscriptApp(App[None]):
    """Shows a transcript whose clocks show *now*."""

    def __init__(self, view: SessionView | None = None, *, theme: str = themes.DARK) -> None:
        super().__init__()
        themes.register(self)
        self.theme = theme
        self.animation_level = "none"
        self.now = START + 4
        self.messages: list[object] = []
        self.transcript = Transcript(view, clock=lambda: self.now)

    def compose(self) -> ComposeResult:
        yield self.transcript

    def on_transcript_new_below(self, message: Transcript.NewBelow) -> None:
        self.messages.append(message)

    def on_transcript_earlier(self, message: Transcript.Earlier) -> None:
        self.messages.append(message)

    def on_transcript_open_session(self, message: Transcript.OpenSession) -> None:
        self.messages.append(message)


SIZE = (80, 20)
# Heights that a guess gets wrong: cells are not characters, and blank lines are not drawn.
ODD = ("表の幅を測る" * 40, "one\n\n\n\n\n\ntwo", "- a\n- b\n\n    code\n\n1. c", "")
LONG = "A sentence that is long enough to be wrapped at least once on a page of this width. " * 4


def history(count: int) -> list[MessageWithParts]:
    """Return turns of a question, a long response and a command with output."""
    held: list[MessageWithParts] = []
    for n in range(count):
        ask, reply = f"msg_{n:04}a", f"msg_{n:04}b"
        turn = f"trn_{n:04}"
        block = ShellBlock("make", "\n".join(f"out {n} {i}" for i in range(n % 30)), 0)
        held += [
            user(ask, f"question {n}", turn=turn),
            assistant(
                reply,
                text_part(f"prt_{n:04}a", reply, f"answer {n}. {LONG}\n\n{ODD[n % 4]}"),
                tool(f"prt_{n:04}b", reply, completed("Bash", "make", block, exit_code=0)),
                turn=turn,
            ),
        ]
    return held


def moved(item: MessageWithParts, session_id: str) -> MessageWithParts:
    """Return *item* as one of another session, with ids of its own."""
    message_id = f"{item.message.id}_{session_id}"
    parts = tuple(
        replace(part, id=f"{part.id}_{session_id}", session_id=session_id, message_id=message_id)
        for part in item.parts
    )
    message = replace(item.message, id=message_id, session_id=session_id)
    return MessageWithParts(message, parts)


def streaming(count: int = 30, text: str = "start") -> SessionView:
    """Return a history and a response that still streams."""
    last = open_assistant(
        "msg_9999", text_part("prt_9999", "msg_9999", text, ended=None), turn="trn_9999"
    )
    return SessionView(snapshot(*history(count), last))


def say(app: TranscriptApp, *events: Event) -> None:
    """Apply events to the view and the widget, as one frame."""
    view = app.transcript.view
    assert view is not None
    change = NO_CHANGE
    for event in events:
        change |= view.apply(event)
    app.transcript.update(change)


def grow(app: TranscriptApp, text: str) -> None:
    view = app.transcript.view
    assert view is not None
    entry = view.entry("msg_9999")
    assert entry is not None
    part = entry.parts[0]
    assert isinstance(part, TextPart)
    offset = len(part.text)
    say(app, PartDelta(SESSION, "msg_9999", "prt_9999", "text", offset, text))


def rows(app: TranscriptApp) -> list[str]:
    return screen_text(app).splitlines()


def painted(app: TranscriptApp) -> list[str]:
    """Return the rows of the transcript without its scrollbar and the hint."""
    width = app.transcript.size.width - 1
    shown = [set_cell_size(row, width).rstrip() for row in rows(app)]
    return shown + [""] * (app.transcript.size.height - len(shown))
