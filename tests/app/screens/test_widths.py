"""For any text and width, no line of the transcript exceeds the page, and every screen fills its
rows exactly."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.screen import Screen

from agent.records.blocks import (
    Block,
    CodeBlock,
    ImageBlock,
    ListingBlock,
    ShellBlock,
    TableBlock,
    TextBlock,
    TodoBlock,
    TodoItem,
    ToolLabel,
)
from app.actions.program import Fact, status_text, todo_text
from app.screens.base.page import PageScreen
from app.screens.base.picker import Picker, Row
from app.screens.base.small_dialogs import ConfirmScreen, TextScreen
from app.screens.prompt_lists import PromptsScreen
from app.screens.requests.permission import PermissionScreen
from app.screens.requests.question import QuestionScreen
from app.session_state.view import SessionView
from app.theme.themes import DARK_PALETTE
from app.widgets.transcript.layout import Layout
from app.widgets.transcript.lines import Page
from tests.app.screens.requests.examples import QUESTION, request
from tests.support.hosting import Host
from tests.support.records import (
    completed,
    diff,
    failed,
    open_assistant,
    reasoning,
    running,
    snapshot,
    text_part,
    tool,
    user,
)

ODD = (
    "表の幅を測る",
    "한국어 문장입니다",
    "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd",
    "\u0645\u0631\u062d\u0628\u0627",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467",
    "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7",
    "e\u0301\u0323\u0302",
    "\u202eright to left",
    "\x1b[31mred\x07",
    "\t",
    "[bold]not[/]",
    "x" * 90,
    "https://example.org/" + "a" * 70,
    "\u200b\ufeff",
    "`code`",
    "| a | b |",
)
TEXTS = st.lists(st.one_of(st.sampled_from(ODD), st.text(max_size=8)), max_size=6).map(" ".join)
LINES = st.lists(TEXTS, max_size=5).map("\n".join)
WIDTHS = st.integers(40, 240)


def blocks(text: str) -> tuple[Block, ...]:
    """Return one block of each kind, with *text* wherever text is shown."""
    first = text.split("\n", maxsplit=1)[0]
    return (
        ShellBlock(text, text, 1, text),
        CodeBlock(first, text),
        ListingBlock((first, "b"), 2),
        TableBlock((first, "b"), ((text, first), ("c", text))),
        TodoBlock((TodoItem(first), TodoItem(text, "in_progress"))),
        ImageBlock(first, "image/png", 640, 480, 9000),
        TextBlock(text),
        TextBlock(text, markdown=True),
        diff(first or "a", f"-{first}", f"+{first}!", f" {first}"),
    )


def view(text: str) -> SessionView:
    states = [
        *(completed("Bash", text, block, note=text, facts=(text,)) for block in blocks(text)),
        failed("Edit", text, text),
        running("Bash", text, ShellBlock(text), output=text),
        replace(running("Read", text), label=ToolLabel(text, text)),
    ]
    parts = [
        reasoning("prt_0", "msg_1", text),
        text_part("prt_1", "msg_1", text),
        *(tool(f"prt_2{n:02}", "msg_1", state) for n, state in enumerate(states)),
    ]
    return SessionView(snapshot(user("msg_0", text), open_assistant("msg_1", *parts)))


@given(text=LINES, width=WIDTHS)
def test_no_line_of_the_transcript_exceeds_the_page(text: str, width: int) -> None:
    layout = Layout(view(text), Page(width, DARK_PALETTE))
    for fold in (None, True, False):
        if fold is not None:
            layout.toggle_all(reasoning=fold)
        for row in range(layout.height):
            strip = layout.line(row).strip
            assert strip.cell_length <= width, strip.text


ALL = " ".join(ODD)

SCREENS: dict[str, Callable[[], Screen[object]]] = {
    "list": lambda: Picker(ALL, [Row(text, text, ALL, ALL) for text in ODD], current=ODD[0]),
    "prompts": lambda: PromptsScreen((*ODD, "\n".join(ODD))),
    "text": lambda: TextScreen(ALL, ALL),
    "confirm": lambda: ConfirmScreen(ALL, ALL),
    "status": lambda: PageScreen(ALL, partial(status_text, [Fact("Session", ALL)])),
    "todo": lambda: PageScreen("To-do list", todo_text([TodoItem(text) for text in ODD])),
    "permission": lambda: PermissionScreen(
        replace(request(blocks=blocks("\n".join(ODD))), heading=ALL, folder=ALL), grace=0
    ),
    "question": lambda: QuestionScreen(replace(QUESTION, text=ALL, header=ALL)),
}


@pytest.mark.parametrize("name", SCREENS)
async def test_every_row_of_a_screen_is_as_wide_as_the_screen(name: str) -> None:
    host = Host(SCREENS[name])
    async with host.run_test(size=(40, 16)) as pilot:
        for size in ((40, 16), (57, 20), (80, 24), (240, 60)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            rows = host.screen._compositor.render_strips()
            assert {sum(segment.cell_length for segment in row) for row in rows} == {size[0]}
            shown = [each for each in host.screen.query("*").results() if each.display]
            assert [each for each in shown if each.region.right > size[0]] == []
