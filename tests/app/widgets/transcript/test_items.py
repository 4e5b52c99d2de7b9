"""Folding, selection, and the appearance of each kind of message."""

from dataclasses import replace

from textual.geometry import Offset
from textual.selection import Selection

from agent.records.blocks import CodeBlock, ShellBlock
from agent.records.messages import Busy, ErrorInfo, RetryPart, SubtaskPart
from app.session_state.view import SessionView
from app.widgets.transcript.transcript import Transcript
from tests.support.records import (
    SESSION,
    assistant,
    completed,
    failed,
    open_assistant,
    reasoning,
    snapshot,
    text_part,
    tool,
    user,
)
from tests.support.snapshots import assert_pictures, screen_text
from tests.support.transcripts import SIZE, TranscriptApp, rows


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
    """A key toggles all reasoning."""
    parts = [reasoning(f"prt_{n}", "msg_1", f"title {n}\n\nbody {n}") for n in range(3)]
    read = completed("Read", "a.py", CodeBlock("a.py", "one\n"))
    view = SessionView(snapshot(assistant("msg_1", *parts, tool("prt_9", "msg_1", read))))
    app = TranscriptApp(view)
    async with app.run_test(size=(80, 40)) as pilot:
        app.transcript.toggle_all(reasoning=True)
        await pilot.pause()
        assert screen_text(app).count("body") == 3
        assert "1  one" not in screen_text(app)
        app.transcript.toggle_all(reasoning=False)
        app.transcript.toggle_all(reasoning=True)
        await pilot.pause()
        assert "body" not in screen_text(app)
        assert "1  one" in screen_text(app)


async def test_a_change_after_a_refusal_stays_in_the_transcript() -> None:
    note = RetryPart(
        id="prt_1",
        session_id=SESSION,
        message_id="msg_1",
        attempt=1,
        error=ErrorInfo("invalid_request", "acme: at most 50 images"),
        created=1.0,
        change="13 attached files are no longer sent.",
    )
    tried = replace(note, id="prt_0", change="", error=ErrorInfo("network", "cut off"))
    text = text_part("prt_2", "msg_1", "done")
    app = TranscriptApp(SessionView(snapshot(assistant("msg_1", tried, note, text))))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        shown = screen_text(app)
    assert "13 attached files are no longer sent. acme: at most 50 images" in shown
    assert "cut off" not in shown


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
    """The copy is the source, not the screen."""
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


async def test_a_mouse_selection_over_wide_characters() -> None:
    """Offsets are characters, columns are cells."""
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
    """In a prompt, a response, a label, output and an error."""
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


async def test_messages_and_markers() -> None:
    """A snapshot of every kind of message."""
    overloaded = (
        "Anthropic is overloaded. Send the message again, or choose another model (/model)."
    )
    broken = assistant("msg_5", error=ErrorInfo("overloaded", overloaded))
    listing = "The importer reads these formats: CSV with commas, CSV with semicolons, TSV,"
    cut = assistant("msg_6", text_part("prt_6", "msg_6", listing), finish="length")
    begun = text_part("prt_7", "msg_7", "I'll add a test for each of them, first for")
    stopped = assistant("msg_7", begun, interrupted=True)
    thought = "**Reading the tests**\n\nThere is one for `csv`, none for `tsv`."
    thinking = reasoning("prt_8", "msg_8", thought, ended=None)
    app = TranscriptApp(
        SessionView(
            snapshot(
                user(
                    "msg_1", "Which formats does the importer read?\nAnd which of them have a test?"
                ),
                broken,
                cut,
                stopped,
                open_assistant("msg_8", thinking),
                user("msg_9", "Then do the same for the exporter", turn=None, delivery="follow_up"),
                queued=("msg_9",),
                status=Busy(0.0),
            )
        )
    )
    async with app.run_test() as pilot:
        await assert_pictures(pilot, "transcript-messages", rows=40)


async def test_snapshot_of_markdown() -> None:
    source = (
        "# Heading\n\nText with **bold**, *italic* and `code`.\n\n- one\n- two\n  - nested\n"
        "- [x] done\n\n1. first\n2. second\n\n> A quote.\n\n```python\ndef f(x):\n"
        '    # why\n    return f"{x}" + 1\n```\n\n| file | lines | 説明 |\n|---|--:|---|\n'
        "| reader.py | 142 | 読む |\n| writer.py | 7 | 書く |\n\n---\n\n"
        "See [the docs](https://example.org/docs)."
    )
    app = TranscriptApp(SessionView(snapshot(assistant("m", text_part("p", "m", source)))))
    async with app.run_test() as pilot:
        await assert_pictures(pilot, "transcript-markdown", rows=40)


async def test_an_interruption_is_not_shown_as_an_error() -> None:
    """The stored error is for the model; the user reads that the response was interrupted."""
    aborted = ErrorInfo("aborted", "Interrupted")
    stopped = assistant("msg_2", finish=None, error=aborted, interrupted=True)
    app = TranscriptApp(SessionView(snapshot(user("msg_1", "go"), stopped)))
    async with app.run_test(size=(60, 12)) as pilot:
        await pilot.pause()
        assert "⊘ Interrupted" in screen_text(app)
        assert "✕" not in screen_text(app)
