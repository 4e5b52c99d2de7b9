"""U1 to U4, TUI-SCROLL, TUI-PERF: the widget, driven in a tiny app."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import set_cell_size
from textual.geometry import Offset
from textual.selection import Selection

from agent.display import CodeBlock, ShellBlock
from agent.events import (
    Event,
    MessageRemoved,
    MessageUpdated,
    PartDelta,
    PartUpdated,
    QueueChanged,
)
from agent.model import ErrorInfo, MessageWithParts, SubtaskPart, UserMessage
from app import themes
from app.state import NOTHING, SessionView
from app.themes import DARK_TONES
from app.widgets.transcript.layout import CACHED, NEAR, Layout
from app.widgets.transcript.lines import Page
from app.widgets.transcript.tools import Moment
from app.widgets.transcript.view import Transcript
from tests.support.records import (
    SESSION,
    assistant,
    completed,
    failed,
    open_assistant,
    pending,
    reasoning,
    running,
    session,
    snapshot,
    text_part,
    tool,
    user,
)
from tests.support.snapshots import assert_snapshot, screen_text
from tests.support.transcripts import TranscriptApp

SIZE = (80, 20)
# Heights that a guess gets wrong: cells are not characters, and blank lines are not drawn.
ODD = ("表の幅を測る" * 40, "one\n\n\n\n\n\ntwo", "- a\n- b\n\n    code\n\n1. c", "")
LONG = "A sentence that is long enough to be wrapped at least once on a page of this width. " * 4


def history(count: int) -> list[MessageWithParts]:
    """Turns of a question, a long answer and a command with output."""
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


def streaming(count: int = 30, text: str = "start") -> SessionView:
    """A history and an answer that still comes."""
    last = open_assistant(
        "msg_9999", text_part("prt_9999", "msg_9999", text, ended=None), turn="trn_9999"
    )
    return SessionView(snapshot(*history(count), last))


def say(app: TranscriptApp, *events: Event) -> None:
    """Let events reach the view and the widget, as one frame."""
    view = app.transcript.view
    assert view is not None
    change = NOTHING
    for event in events:
        change |= view.apply(event)
    app.transcript.update(change)


def grow(app: TranscriptApp, text: str) -> None:
    view = app.transcript.view
    assert view is not None
    entry = view.entry("msg_9999")
    assert entry is not None
    offset = len(entry.parts[0].text)
    say(app, PartDelta(SESSION, "msg_9999", "prt_9999", "text", offset, text))


def rows(app: TranscriptApp) -> list[str]:
    return screen_text(app).splitlines()


def painted(app: TranscriptApp) -> list[str]:
    """The rows of the transcript without its scrollbar and the hint."""
    width = app.transcript.size.width - 1
    shown = [set_cell_size(row, width).rstrip() for row in rows(app)]
    return shown + [""] * (app.transcript.size.height - len(shown))


async def test_sticks_to_the_bottom_while_text_comes() -> None:
    """U3."""
    app = TranscriptApp(streaming())
    async with app.run_test(size=SIZE) as pilot:
        for n in range(30):
            grow(app, f"\n\nparagraph {n}")
            await pilot.pause()
            assert any(f"paragraph {n}" in row for row in rows(app)[-4:])
        assert app.transcript.following
        assert app.messages == []


async def test_the_line_that_is_read_never_moves() -> None:
    """U3, V10: neither text below nor a tool that grows above moves it."""
    view = streaming()
    say_tool = tool("prt_0029b", "msg_0029b", running("Bash", "make", ShellBlock("make")))
    app = TranscriptApp(view)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("pageup", "pageup")
        await pilot.pause()
        before = painted(app)[:-1]
        for n in range(30):
            grow(app, f"\n\nparagraph {n}")
            await pilot.pause()
            assert painted(app)[:-1] == before
        assert not app.transcript.following
        state = replace(say_tool.state, output="\n".join("x" * n for n in range(9)))
        for part in (say_tool, replace(say_tool, state=state)):
            top = painted(app)[0]
            say(app, PartUpdated(part))
            await pilot.pause()
            assert painted(app)[0] == top
        await pilot.press("end")
        await pilot.pause()
        assert app.transcript.following
        grow(app, "\n\nlast words")
        await pilot.pause()
        assert any("last words" in row for row in rows(app)[-4:])


async def test_scrolling_up_shows_every_line_once() -> None:
    """U4: guessed heights are corrected without moving what is read."""
    view = SessionView(snapshot(*history(25)))
    layout = Layout(view, Page(SIZE[0] - 1, DARK_TONES))
    for index in range(len(layout.items)):
        layout.lay(index)
    wanted = [layout.line(row).strip.text.rstrip() for row in range(layout.height)]
    app = TranscriptApp(view)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        seen = painted(app)
        while app.transcript.scroll_offset.y > 0:
            old, position = painted(app), app.transcript.scroll_offset.y
            await pilot.press("up")
            await pilot.pause()
            new = painted(app)
            assert new[1:] == old[:-1], position
            seen.insert(0, new[0])
        assert seen == wanted


async def test_new_below_is_counted_told_and_shown() -> None:
    """U3."""
    app = TranscriptApp(streaming())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("pageup")
        grow(app, "\n\nmore")
        await pilot.pause()
        assert "1 new below" in rows(app)[-1]
        say(app, PartUpdated(tool("prt_9999b", "msg_9999", pending())))
        await pilot.pause()
        assert "2 new below" in rows(app)[-1]
        await pilot.click(Transcript, offset=(SIZE[0] - 8, SIZE[1] - 1))
        await pilot.pause()
        assert app.transcript.following
        assert "new below" not in screen_text(app)
    counts = [m.count for m in app.messages if isinstance(m, Transcript.NewBelow)]
    assert counts == [1, 2, 0]


async def test_a_rebuilt_view_keeps_place_and_folds() -> None:
    """L16: after a gap the same session is shown again from a new snapshot."""
    view = streaming()
    app = TranscriptApp(view)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("pageup", "pageup")
        await pilot.pause()
        before = painted(app)
        app.transcript.show(SessionView(view.snapshot()))
        await pilot.pause()
        assert painted(app) == before
        other = replace(snapshot(user("msg_1", "hello")), session=session("ses_2"))
        app.transcript.show(SessionView(other))
        await pilot.pause()
        assert rows(app)[2].strip("▌ ") == "hello"
        app.transcript.show(None)
        await pilot.pause()
        assert screen_text(app).strip() == ""


async def test_resize_and_theme_redraw_from_the_source() -> None:
    """NARROW, V22: nothing is left of the old width, and nothing breaks at 20x8."""
    app = TranscriptApp(streaming(5))
    async with app.run_test(size=SIZE) as pilot:
        for width, height in ((20, 8), (8, 3), (140, 45), SIZE):
            await pilot.resize_terminal(width, height)
            grow(app, " more")
            await pilot.pause()
            assert app.transcript.following
        whole = painted(app)
        app.theme = themes.LIGHT
        await pilot.pause()
        assert painted(app) == whole


async def test_fewer_than_100_widgets_whatever_the_length() -> None:
    """U4."""
    app = TranscriptApp(streaming(500))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        assert len(list(app.screen.walk_children())) < 10


async def test_what_is_off_screen_is_not_laid_out() -> None:
    """U4, Q1: opening a long session costs one page."""
    view = SessionView(snapshot(*history(500)))
    layout = Layout(view, Page(80, DARK_TONES))
    assert not any(item.lines for item in layout.items)
    app = TranscriptApp(view)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        await pilot.press("home")
        await pilot.pause()
        assert "question 0" in screen_text(app)
        assert app.transcript.scroll_offset.y == 0


def test_lines_far_from_what_is_seen_are_dropped() -> None:
    """Q1: memory stays flat; heights stay known."""
    layout = Layout(SessionView(snapshot(*history(600))), Page(80, DARK_TONES))
    for index in range(len(layout.items)):
        layout.lay(index)
    height = layout.height
    layout.trim(0, 20)
    assert sum(item.lines is not None for item in layout.items) <= 20 + NEAR + 1 < CACHED
    assert layout.height == height


async def test_click_and_key_fold_and_unfold() -> None:
    read = completed("Read", "a.py", CodeBlock("a.py", "one\ntwo\n"))
    part = reasoning("prt_1", "msg_1", "**why**\n\nbecause")
    view = SessionView(snapshot(assistant("msg_1", part, tool("prt_2", "msg_1", read))))
    app = TranscriptApp(view)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        assert "Thought for 6s  why" in screen_text(app)
        await pilot.click(Transcript, offset=(6, 3))
        await pilot.pause()
        assert "1  one" in screen_text(app)
        await pilot.click(Transcript, offset=(6, 3))
        await pilot.press("k", "k", "enter")
        await pilot.pause()
        assert "because" in screen_text(app)
        assert "1  one" not in screen_text(app)
        assert rows(app)[1].startswith("›")


async def test_switches_fold_all() -> None:
    """U1: a key toggles all reasoning."""
    parts = [reasoning(f"prt_{n}", "msg_1", f"title {n}\n\nbody {n}") for n in range(3)]
    read = completed("Read", "a.py", CodeBlock("a.py", "one\n"))
    view = SessionView(snapshot(assistant("msg_1", *parts, tool("prt_9", "msg_1", read))))
    app = TranscriptApp(view)
    async with app.run_test(size=(80, 40)) as pilot:
        app.transcript.toggle_reasoning()
        await pilot.pause()
        assert screen_text(app).count("body") == 3
        assert "1  one" not in screen_text(app)
        app.transcript.toggle_details()
        app.transcript.toggle_reasoning()
        await pilot.pause()
        assert "body" not in screen_text(app)
        assert "1  one" in screen_text(app)


async def test_a_sub_session_opens_by_click() -> None:
    part = SubtaskPart(
        id="prt_1",
        session_id=SESSION,
        message_id="msg_1",
        agent="general",
        description="look around",
        prompt="",
        child_id="ses_child",
    )
    app = TranscriptApp(SessionView(snapshot(assistant("msg_1", part))))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("k", "enter")
        await pilot.pause()
    assert [m.session_id for m in app.messages if isinstance(m, Transcript.OpenSession)] == [
        "ses_child"
    ]


async def test_selected_text_is_copied_without_gutter() -> None:
    """V22: the copy is the source, not the screen."""
    text = (
        "First paragraph that is so long that it has to be wrapped on a page of eighty.\n\n- item"
    )
    app = TranscriptApp(
        SessionView(snapshot(assistant("msg_1", text_part("prt_1", "msg_1", text))))
    )
    async with app.run_test(size=(40, 20)) as pilot:
        await pilot.pause()
        app.screen.selections = {app.transcript: Selection(Offset(0, 1), Offset(39, 6))}
        await pilot.pause()
        assert app.screen.get_selected_text() == text.replace("- item", "• item")
        app.screen.selections = {app.transcript: Selection(Offset(8, 1), Offset(17, 1))}
        assert app.screen.get_selected_text() == "paragraph"


async def test_a_selection_stays_on_its_text_when_heights_are_corrected() -> None:
    app = TranscriptApp(SessionView(snapshot(*history(40))))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        y = app.transcript.scroll_offset.y
        app.screen.selections = {app.transcript: Selection(Offset(0, y + 4), Offset(70, y + 6))}
        held = app.screen.get_selected_text()
        assert held
        for _ in range(6):
            await pilot.press("pageup")
            await pilot.pause()
        assert app.screen.selections[app.transcript].start != Offset(0, y + 4)
        assert app.screen.get_selected_text() == held


async def test_a_mouse_selection_over_wide_characters() -> None:
    """WIDE-CHARS: offsets are characters, columns are cells."""
    part = text_part("prt_1", "msg_1", "表の幅 and more")
    app = TranscriptApp(SessionView(snapshot(assistant("msg_1", part))))
    async with app.run_test(size=(40, 20)) as pilot:
        await pilot.pause()
        await pilot.mouse_down(Transcript, offset=(2, 1))
        await pilot.hover(Transcript, offset=(6, 1))
        await pilot.mouse_up(Transcript, offset=(6, 1))
        await pilot.pause()
        assert app.screen.get_selected_text() == "表の幅"
        assert screen_text(app).splitlines()[1].startswith("  表の幅 and more")


async def test_markup_and_escapes_are_shown_as_written() -> None:
    """V01, U21: in a prompt, an answer, a label, output and an error."""
    evil = "[/] [bold [red]x[/blue] \x1b]52;c;x\x07"
    shell = completed("Bash", evil, ShellBlock("x", f"{evil}\n[/x]"))
    parts = (
        text_part("prt_1", "msg_2", evil),
        tool("prt_2", "msg_2", shell),
        tool("prt_3", "msg_2", failed("Read", "[/b].txt", evil)),
    )
    ended = assistant("msg_2", *parts, error=ErrorInfo("network", f"[/red] {evil}"))
    app = TranscriptApp(SessionView(snapshot(user("msg_1", evil), ended)))
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        shown = screen_text(app)
        assert shown.count("[/] [bold [red]x[/blue]") == 6
        assert "[/x]" in shown
        assert "[/b].txt" in shown
        assert "\x1b" not in shown
        assert "\x07" not in shown


async def test_queued_messages_are_last_until_taken_up() -> None:
    """L3: shown as queued, then where their turn is."""
    first = user("msg_1", "do it")
    waiting = user("msg_3", "and that too", turn=None)
    app = TranscriptApp(
        SessionView(
            snapshot(first, assistant("msg_2", text_part("prt_2", "msg_2", "step one")), waiting,
                     queued=("msg_3",))
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


async def test_clock_runs_only_while_something_runs() -> None:
    """Q1: no timer when nothing moves."""
    app = TranscriptApp(streaming(1))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        assert not _clock_runs(app)
        part = tool("prt_9999b", "msg_9999", running("Bash", "make", ShellBlock("make")))
        say(app, PartUpdated(part))
        assert _clock_runs(app)
        say(app, PartUpdated(replace(part, state=replace(part.state, waiting="per_1"))))
        assert not _clock_runs(app)
        say(app, PartUpdated(part))
        say(app, PartUpdated(replace(part, state=completed("Bash", "make"))))
        assert not _clock_runs(app)


def _clock_runs(app: TranscriptApp) -> bool:
    timer = app.transcript._timer
    assert timer is not None
    return timer._active.is_set()


def test_a_tick_changes_only_the_row_of_the_tool() -> None:
    part = tool("prt_1", "msg_1", running("Bash", "make", ShellBlock("make"), output="a\nb"))
    layout = Layout(SessionView(snapshot(open_assistant("msg_1", part))), Page(80, DARK_TONES))
    layout.lay(0)
    before = list(layout.items[0].lines or [])
    layout.moment = Moment(1_065.0, 1)
    (item,) = layout.running
    assert layout.tick(item)
    after = item.lines or []
    assert "1m 5s  esc to stop" in after[0].strip.text
    assert after[1:] == before[1:]


async def test_messages_and_markers() -> None:
    """U1, U2: every kind of message, as an approved picture."""
    broken = assistant("msg_5", error=ErrorInfo("overloaded", "The provider is overloaded."))
    cut = assistant("msg_6", text_part("prt_6", "msg_6", "cut"), finish="length")
    stopped = assistant("msg_7", text_part("prt_7", "msg_7", "I will"), interrupted=True)
    thinking = reasoning("prt_8", "msg_8", "**Looking** at it\n\nIt may be `x`.", ended=None)
    app = TranscriptApp(
        SessionView(
            snapshot(
                user("msg_1", "First line\nsecond line"),
                broken,
                cut,
                stopped,
                open_assistant("msg_8", thinking),
                user("msg_9", "Also the exporter", turn=None, delivery="follow_up"),
                queued=("msg_9",),
            )
        )
    )
    async with app.run_test(size=(80, 40)) as pilot:
        await pilot.pause()
        assert_snapshot(app, "transcript-messages")


async def test_markdown_picture() -> None:
    source = (
        "# Heading\n\nText with **bold**, *italic* and `code`.\n\n- one\n- two\n  - nested\n"
        "- [x] done\n\n1. first\n2. second\n\n> A quote.\n\n```python\ndef f(x):\n"
        '    # why\n    return f"{x}" + 1\n```\n\n| file | lines | 説明 |\n|---|--:|---|\n'
        "| reader.py | 142 | 読む |\n| writer.py | 7 | 書く |\n\n---\n\n"
        "See [the docs](https://example.org/docs)."
    )
    app = TranscriptApp(SessionView(snapshot(assistant("m", text_part("p", "m", source)))))
    async with app.run_test(size=(100, 40)) as pilot:
        await pilot.pause()
        assert_snapshot(app, "transcript-markdown")


PAGE = Page(60, DARK_TONES)


def drawn(layout: Layout) -> list[str]:
    for index in range(len(layout.items)):
        layout.lay(index)
    return [layout.line(row).strip.text for row in range(layout.height)]


def _events() -> Sequence[Event]:
    """A turn as it comes: two tools, text that grows, a message that is queued."""
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


@settings(max_examples=60, deadline=None)
@given(frames=st.lists(st.integers(1, 6), min_size=1, max_size=20), odd=st.integers(0, 1))
def test_live_and_late_are_drawn_the_same(frames: list[int], odd: int) -> None:
    """A3: one render path, however events fell into frames and whatever was laid out."""
    view = SessionView(snapshot(user("msg_1", "go")))
    live = Layout(view, PAGE)
    events = list(_events())
    for count in [*frames, len(events)]:
        change = NOTHING
        for event in events[:count]:
            change |= view.apply(event)
        events = events[count:]
        live.update(change)
        if count % 2 == odd:
            assert drawn(live) == drawn(Layout(SessionView(view.snapshot()), PAGE))
    assert drawn(live) == drawn(Layout(SessionView(view.snapshot()), PAGE))


@pytest.mark.parametrize("name", ["msg_0", "msg_2", "msg_5"])
def test_older_and_late_messages_find_their_place(name: str) -> None:
    view = SessionView(snapshot(user("msg_1", "one"), user("msg_4", "four"), complete=False))
    live = Layout(view, PAGE)
    drawn(live)
    live.update(view.prepend((user(name, f"this is {name}"),), complete=True))
    assert drawn(live) == drawn(Layout(view, PAGE))
