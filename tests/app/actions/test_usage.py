"""The context window: ``/compact`` and its marker, ``/context``."""

from dataclasses import replace
from functools import partial

import pytest

from agent.records.messages import CacheMiss, CompactionPart
from agent.records.usage import Usage
from agent.session.review.context_usage import ContextSource, ContextUsage
from app.screens.base.page import PageScreen
from app.screens.usage import bar, context_usage_text
from tests.app.conftest import Running, Starter
from tests.support.hosting import Host
from tests.support.model_server import ModelServer
from tests.support.script import Call, Hold, Reason, Text, Tokens, answer
from tests.support.snapshots import assert_both_themes, assert_pictures

THOUGHTS = "The reader takes the first line for granted, and an empty file has none. " * 1_600
SUMMARY = """\
## Goal
Import CSV files that are empty.

## Accomplished
- `reader.py` returns no rows for an empty file.
- The test `test_empty` passes.
"""


async def set_compaction_size(running: Running, *, after: int) -> None:
    """Set the number of tokens in the newest marker: its estimate changes with every tool."""
    view = running.app.controller.live.view
    assert view is not None
    entry = view.entry(view.message_ids[-1])
    assert entry is not None
    marker = next(part for part in entry.parts if isinstance(part, CompactionPart))
    await running.runtime.store.save(replace(marker, after=after))


@pytest.mark.parametrize("size", [(80, 24), (140, 45)])
async def test_the_marker_shows_where_the_compaction_was_and_folds_the_summary(
    scripted: ModelServer, start: Starter, size: tuple[int, int]
) -> None:
    scripted.script(
        answer(Reason(THOUGHTS), Text("It fails on the first line."), Tokens(4_000, 26_000)),
        answer(Text("Fixed, and tested."), Tokens(30_000, 30)),
        answer(Text(SUMMARY), Tokens(30_000, 60)),
    )
    async with start(size=size) as running:
        for text, shown in (("Why does it fail?", "first line"), ("Fix it", "Fixed, and")):
            await running.type(text, "enter")
            await running.until_shown(shown)
            await running.until_idle()
        await running.type("/compact the test", "enter")
        await running.until_shown("◇ Earlier messages were summarized · 30.0k")
        await running.until_idle()
        assert "Why does it fail?" in running.text(), "earlier messages stay visible"
        assert "reader.py returns" not in running.text()
        assert "▰▰" not in running.text(), "the bar shows the remaining tokens"
        await set_compaction_size(running, after=6_500)
        await running.until_shown("30.0k → 6.5k tokens")
        await assert_both_themes(running.pilot, "screen-compacted")
    assert "the test" in str(scripted.requests[-1].body)


async def test_the_activity_line_shows_the_compaction_and_esc_stops_it(
    scripted: ModelServer, start: Starter
) -> None:
    hold = Hold()
    scripted.script(answer(Text("yes")), answer(Text("## Goal"), hold))
    async with start() as running:
        await running.type("Well?", "enter")
        await running.until_idle()
        await running.type("/compact", "enter")
        await running.until_shown("Compacting the conversation")
        await running.pilot.press("escape")
        await running.until_idle()
        assert "summarised" not in running.text()
        hold.gate.set()


async def test_compacting_an_empty_session_is_refused_in_a_sentence(start: Starter) -> None:
    async with start() as running:
        await running.type("/compact", "enter")
        await running.until_shown("No session is open yet")


CONTENTS = ContextUsage(
    model="anthropic/claude-sonnet-4.5",
    used=61_240,
    measured=True,
    window=200_000,
    reserved=20_000,
    sources=(
        ContextSource("system", "built-in instructions", 1_105),
        ContextSource("system", "instruction files", 2_310),
        ContextSource("system", "environment and mode", 325),
        ContextSource("tools", "bash", 900),
        ContextSource("tools", "edit", 600),
        ContextSource("tools", "github_create_pull_request_review_with_comments_on_lines", 1_400),
        ContextSource("messages", "your messages", 4_100),
        ContextSource("messages", "responses", 9_500),
        ContextSource("messages", "reasoning", 3_000),
        ContextSource("messages", "tool calls", 6_000),
        ContextSource("output", "read", 22_000),
        ContextSource("output", "bash", 9_960),
        ContextSource("output", "grep", 40),
    ),
)


async def test_picture_of_the_context_page() -> None:
    host = Host(PageScreen("Context", partial(context_usage_text, CONTENTS)))
    async with host.run_test() as pilot:
        await assert_pictures(pilot, "screen-context")


MISSES = (
    CacheMiss(
        cause="tools",
        lost=38_000,
        cost=0.1026,
        detail="github_search added",
        at=10_233,
        was='{"name": "grep", "description": "Search files with a regular expression"}',
        now='{"name": "github_search", "description": "Search issues and pull requests"}',
    ),
    CacheMiss(cause="expired", lost=12_400, detail="12 minutes passed"),
)


async def test_picture_of_cache_misses() -> None:
    usage = Usage(61_240, 300, cache_read=23_000)
    contents = replace(CONTENTS, sources=CONTENTS.sources[:1], last=usage, misses=MISSES)
    host = Host(PageScreen("Context", partial(context_usage_text, contents)))
    async with host.run_test() as pilot:
        await assert_pictures(pilot, "screen-context-cache")


async def test_context_and_history_explain_a_missed_cache(
    scripted: ModelServer, start: Starter
) -> None:
    scripted.script(
        answer(Call("list", {}), Tokens(40_000, 10, 30_000)),
        answer(Text("done"), Tokens(41_000, 10, 0)),
    )
    async with start(size=(140, 45)) as running:
        await running.type("Well?", "enter")
        await running.until_idle()
        await running.type("/context", "enter")
        await running.until_shown("Prompt cache")
        await running.until_shown("40.0k tokens were processed again: the provider did not keep it")
        await running.pilot.press("escape")
        await running.until(running.app.controller.on_main_screen)
        await running.type("/history", "enter")
        await running.until_shown("Cache missed: 40.0k")


@pytest.mark.parametrize("width", [20, 67, 95])
def test_the_bar_fills_its_width_and_shows_every_group(width: int) -> None:
    drawn = bar(CONTENTS, width)
    assert drawn.cell_length == width
    assert {"█", "░", "▒"} == set(drawn.plain)
    unknown = replace(CONTENTS, window=None, reserved=None)
    assert set(bar(unknown, width).plain) == {"█"}
    assert all(
        line.cell_length <= width for line in context_usage_text(unknown, width).split("\n")[2:]
    )


async def test_the_command_shows_the_open_session(scripted: ModelServer, start: Starter) -> None:
    scripted.script(answer(Text("yes"), Tokens(5_000, 10)))
    async with start() as running:
        await running.type("Well?", "enter")
        await running.until_idle()
        await running.type("/context", "enter")
        await running.until_shown("5.0k of 100k tokens, 5%   as counted by the provider   model-1")
        assert "built-in instructions" in running.text()
        await running.pilot.press("escape")
        await running.until(running.app.controller.on_main_screen)


async def test_before_the_first_prompt_it_shows_the_initial_content(
    start: Starter,
) -> None:
    async with start() as running:
        await running.type("/context", "enter")
        await running.until_shown("System prompt")
        assert "built-in instructions" in running.text()
        await running.pilot.press("escape")
        await running.until(running.app.controller.on_main_screen)
        assert running.app.controller.live.session is None


async def test_closing_a_page_leaves_the_scroll_position(
    scripted: ModelServer, start: Starter
) -> None:
    async with start() as running:
        await running.type("Well?", "enter")
        await running.until_idle()
        await running.until_shown("no answer was scripted")
        main = running.app.controller.main
        before = [(widget.id, widget.region) for widget in main.query("*") if widget.id]
        await running.type("/context", "enter")
        await running.until_shown("built-in instructions")
        await running.pilot.press("escape")
        await running.until(running.app.controller.on_main_screen)
        after = [(widget.id, widget.region) for widget in main.query("*") if widget.id]
        assert after == before
