"""Live events are drawn exactly like a session that is loaded later."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.records.blocks import ShellBlock
from agent.records.events import (
    Event,
    MessageRemoved,
    MessageUpdated,
    PartDelta,
    PartUpdated,
    QueueChanged,
)
from agent.records.messages import Busy, UserMessage
from app.session_state.view import NO_CHANGE, SessionView
from app.theme.themes import DARK_PALETTE
from app.widgets.transcript.layout import Layout
from app.widgets.transcript.lines import Page
from app.widgets.transcript.tool_calls import Moment
from tests.support.records import (
    SESSION,
    assistant,
    completed,
    open_assistant,
    pending,
    running,
    snapshot,
    text_part,
    tool,
    user,
)
from tests.support.snapshots import screen_text
from tests.support.transcripts import (
    SIZE,
    TranscriptApp,
    rows,
    say,
)


async def test_queued_messages_are_last_until_they_are_sent() -> None:
    """They are shown as queued, then where their turn is."""
    first = user("msg_1", "do it")
    waiting = user("msg_3", "and that too", turn=None)
    app = TranscriptApp(
        SessionView(
            snapshot(first, assistant("msg_2", text_part("prt_2", "msg_2", "step one")), waiting,
                     queued=("msg_3",), status=Busy(0.0))
        )
    )  # fmt: skip
    async with app.run_test(size=(80, 30)) as pilot:
        step = open_assistant("msg_4", text_part("prt_4", "msg_4", "step two", ended=None))
        say(app, MessageUpdated(step.message), PartUpdated(step.parts[0]))
        await pilot.pause()
        assert "queued, sent at the next step" in screen_text(app)
        assert screen_text(app).index("step two") < screen_text(app).index("and that too")
        assert isinstance(waiting.message, UserMessage)
        taken = replace(waiting.message, turn_id="trn_1", steered=True)
        say(app, MessageUpdated(taken), QueueChanged(SESSION, ()))
        await pilot.pause()
        assert "queued" not in screen_text(app)
        assert screen_text(app).index("step two") > screen_text(app).index("and that too")


async def test_removed_message_goes_away() -> None:
    app = TranscriptApp(SessionView(snapshot(user("msg_1", "one"), user("msg_2", "two"))))
    async with app.run_test(size=SIZE) as pilot:
        say(app, MessageRemoved(SESSION, "msg_1"))
        await pilot.pause()
        assert "one" not in screen_text(app)
        assert rows(app)[2].strip("▌ ") == "two"


def test_a_clock_tick_changes_only_the_row_of_the_tool() -> None:
    part = tool("prt_1", "msg_1", running("Bash", "make", ShellBlock("make"), output="a\nb"))
    layout = Layout(SessionView(snapshot(open_assistant("msg_1", part))), Page(80, DARK_PALETTE))
    layout.lay_out(0)
    before = list(layout.items[0].lines or [])
    layout.moment = Moment(1_065.0, 1)
    (item,) = layout.running
    assert layout.update_clock(item)
    after = item.lines or []
    assert "1m 5s  esc to stop" in after[0].strip.text
    assert after[1:] == before[1:]


PAGE = Page(60, DARK_PALETTE)


def drawn(layout: Layout) -> list[str]:
    for index in range(len(layout.items)):
        layout.lay_out(index)
    return [layout.line(row).strip.text for row in range(layout.height)]


def _events() -> Sequence[Event]:
    """Yield a turn as it arrives: two tools, growing text, a message that is queued."""
    step = open_assistant("msg_2")
    part = text_part("prt_1", "msg_2", "", ended=None)
    texts = ["# A", "\n\n- b", "\n- c", "\n\nd", "\n```\ncode", "\n```\n"]
    call = tool("prt_2", "msg_2", pending())
    later = user("msg_3", "wait", turn=None)
    made: list[Event] = [MessageUpdated(step.message), PartUpdated(part)]
    offset = 0
    for text in texts:
        made.append(PartDelta(SESSION, "msg_2", "prt_1", "text", offset, text))
        offset += len(text)
    made += [
        PartUpdated(text_part("prt_1", "msg_2", "".join(texts))),
        PartUpdated(call),
        PartDelta(SESSION, "msg_2", "prt_2", "raw", 0, '{"command": "ls"}'),
        MessageUpdated(later.message),
        PartUpdated(later.parts[0]),
        QueueChanged(SESSION, ("msg_3",)),
        PartUpdated(replace(call, state=running("Bash", "ls", ShellBlock("ls"), output="a\nb"))),
        PartUpdated(replace(call, state=completed("Bash", "ls", ShellBlock("ls", "a\nb", 0)))),
        MessageUpdated(assistant("msg_2").message),
        MessageRemoved(SESSION, "msg_3"),
    ]
    return made


@settings(max_examples=60)
@given(frames=st.lists(st.integers(1, 6), min_size=1, max_size=20), odd=st.integers(0, 1))
def test_live_and_loaded_sessions_are_drawn_the_same(frames: list[int], odd: int) -> None:
    """There is one render path, however events fell into frames and whatever was laid out."""
    view = SessionView(snapshot(user("msg_1", "go")))
    live = Layout(view, PAGE)
    events = list(_events())
    for count in [*frames, len(events)]:
        change = NO_CHANGE
        for event in events[:count]:
            change |= view.apply(event)
        events = events[count:]
        live.update(change)
        if count % 2 == odd:
            assert drawn(live) == drawn(Layout(SessionView(view.snapshot()), PAGE))
    assert drawn(live) == drawn(Layout(SessionView(view.snapshot()), PAGE))


@pytest.mark.parametrize("name", ["msg_0", "msg_2", "msg_5"])
def test_older_and_late_messages_find_their_place(name: str) -> None:
    view = SessionView(snapshot(user("msg_1", "one"), user("msg_4", "four"), older=1))
    live = Layout(view, PAGE)
    drawn(live)
    live.update(view.prepend((user(name, f"this is {name}"),), older=0))
    assert drawn(live) == drawn(Layout(view, PAGE))
