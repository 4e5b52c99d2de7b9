"""The activity line above the prompt always says how to stop."""

import asyncio
from dataclasses import replace

import pytest
from textual.app import App, ComposeResult
from textual.content import Content

from agent.records.messages import Busy, Retry
from app.theme import themes
from app.widgets.activity import Activity, ActivityLine, activity_text

LONG = "the provider's own words, which go on and on and on and on and on and on and on"


@pytest.mark.parametrize("width", [60, 80, 140])
def test_a_long_error_message_is_cut_before_the_hint_how_to_stop(width: int) -> None:
    work = Activity(status=Retry(2, LONG, 9.0), since=1.0)
    line = activity_text(work, 5.0, "◐", width)
    assert line.cell_length == width
    assert line.plain.endswith("esc to interrupt")
    assert "Retry 2 in 4s" in line.plain


def test_silence_of_the_model_is_counted_from_30_seconds_on() -> None:
    work = Activity(status=Busy(1.0), since=1.0, silent_since=10.0)
    assert "Working" in activity_text(work, 39.0, "◐", 80).plain
    assert "silent for 41s" in activity_text(work, 51.0, "◐", 80).plain
    assert "Working" in activity_text(replace(work, silent_since=0.0), 51.0, "◐", 80).plain


def test_a_long_command_can_be_moved_to_the_background() -> None:
    """It is offered after a while, next to the hint how to stop, which has precedence."""
    work = Activity(
        status=Busy(1.0), since=1.0, command_since=10.0, background_key="ctrl+b", queued=2
    )
    assert "background" not in activity_text(work, 11.0, "◐", 80).plain
    assert activity_text(work, 12.0, "◐", 100).plain.endswith(
        "2 messages queued, ↑ to edit   ctrl+b to background   esc to interrupt"
    )
    middle = activity_text(work, 12.0, "◐", 60).plain
    assert middle.endswith(" ctrl+b to background   esc to interrupt")
    assert activity_text(work, 12.0, "◐", 40).plain.endswith(" esc to interrupt")
    assert "background" not in activity_text(replace(work, cancelling=True), 12.0, "◐", 80).plain


def test_while_stopping_there_is_no_hint_how_to_stop() -> None:
    line = activity_text(Activity(status=Busy(1.0), since=1.0, cancelling=True), 5.0, "◐", 80)
    assert "Stopping" in line.plain
    assert "interrupt" not in line.plain


class LineApp(App[None]):
    def __init__(self) -> None:
        super().__init__()
        themes.register(self)
        self.theme = themes.DARK

    def compose(self) -> ComposeResult:
        yield ActivityLine(clock=lambda: 5.0)


async def test_tokens_are_updated_with_the_next_tick_of_the_clock() -> None:
    """Each step of the loop adds some; other changes are shown at once."""
    app = LineApp()
    async with app.run_test(size=(80, 5)) as pilot:
        line = app.query_one(ActivityLine)

        def shown() -> str:
            assert isinstance(line.content, Content)
            return line.content.plain

        line.show(Activity(status=Busy(1.0), since=1.0))
        assert "Working" in (before := shown())
        line.show(replace(line.activity, output=500))
        assert shown() == before
        async with asyncio.timeout(30):
            while "500 tokens" not in shown():
                await pilot.pause()
        line.show(replace(line.activity, output=600, queued=1))
        assert "600 tokens" in shown()
        assert "1 message queued" in shown()


def test_queued_messages_are_counted_in_a_few_words_where_there_is_little_room() -> None:
    work = Activity(status=Busy(1.0), since=1.0, output=2_100, queued=1)
    assert "1 message queued, ↑ to edit   esc" in activity_text(work, 32.0, "◐", 100).plain
    assert "  1 queued   esc to interrupt" in activity_text(work, 32.0, "◐", 76).plain
