"""The dialog of the question tool."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from textual.app import App

from agent.provider.client import ModelInfo
from agent.records.messages import ToolPart
from agent.records.requests import Question, QuestionOption, QuestionReply
from agent.records.spending import SpendingCap
from agent.session.spending import Spender, cap_question
from app.plain.console import parse_question_reply
from app.screens.requests.question import QuestionScreen
from app.theme.themes import register
from app.tui.request_dialogs import RequestDialogs
from tests.app.conftest import Running, Starter, configure
from tests.app.screens.requests.examples import QUESTION
from tests.support.hosting import Host, settle
from tests.support.model_server import ModelServer
from tests.support.script import Call, Text, answer
from tests.support.snapshots import assert_both_themes, assert_pictures, screen_text


def host_of(question: Question, **more: object) -> Host:
    return Host(QuestionScreen(question, **{"grace": 0, **more}))


MODEL = ModelInfo(
    provider="anthropic", id="claude-sonnet-5-5", name="Claude Sonnet 5.5", api="anthropic"
)
SPENDER = Spender("ses_1", "ses_1", "build", MODEL)
SEVERAL = replace(QUESTION, multiple=True)
OPEN = replace(QUESTION, options=())


@pytest.mark.parametrize(
    ("question", "keys", "outcome"),
    [
        (QUESTION, ["enter"], QuestionReply(("SQLite",))),
        (QUESTION, ["down", "enter"], QuestionReply(("PostgreSQL",))),
        (QUESTION, ["down", "down", "down", "up", "enter"], QuestionReply(("PostgreSQL",))),
        (QUESTION, [*"a file", "enter"], QuestionReply((), "a file")),
        (QUESTION, [*"3 of", "enter"], QuestionReply((), "3 of")),
        (QUESTION, ["x", "backspace", "down", "enter"], QuestionReply(("PostgreSQL",))),
        (QUESTION, [*"ab c", "left", "left", "ctrl+w", "Z", "enter"], QuestionReply((), "Z c")),
        (QUESTION, ["x", "escape", "enter"], QuestionReply(("SQLite",))),
        (QUESTION, ["escape"], QuestionReply(dismissed=True)),
        (QUESTION, ["x", "escape", "escape"], QuestionReply(dismissed=True)),
        (SEVERAL, ["space", "down", "down", "space", "enter"],
         QuestionReply(("SQLite", "Neither"))),
        (SEVERAL, ["space", "space", "down", "enter"], QuestionReply(("PostgreSQL",))),
        (SEVERAL, ["space", *"too", "enter"], QuestionReply(("SQLite",), "too")),
        (OPEN, ["enter", "space", *"words", "enter"], QuestionReply((), "words")),
        (OPEN, ["escape"], QuestionReply(dismissed=True)),
    ],
)  # fmt: skip
async def test_every_way_to_answer(
    question: Question, keys: list[str], outcome: QuestionReply
) -> None:
    host = host_of(question)
    async with host.run_test() as pilot:
        await settle(pilot)
        for key in keys:
            await pilot.press({" ": "space"}.get(key, key))
        await pilot.pause()
        assert host.outcomes == [outcome]


async def test_ctrl_c_cancels_the_turn() -> None:
    host = host_of(QUESTION)
    async with host.run_test() as pilot:
        host.dialog.interrupt()
        await pilot.pause()
        assert host.outcomes == ["cancel"]


async def test_a_click_chooses() -> None:
    host = host_of(QUESTION)
    async with host.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.click("#question-options", offset=(5, 1))
        await pilot.pause()
        assert host.outcomes == [QuestionReply(("PostgreSQL",))]


@pytest.mark.parametrize("size", [(80, 24), (40, 16), (26, 10), (20, 8)])
async def test_the_answer_field_is_always_visible(size: tuple[int, int]) -> None:
    """Text and options scroll, what is typed is visible, Enter answers."""
    many = tuple(QuestionOption(f"option {n}", "why " * 20) for n in range(12))
    long = replace(QUESTION, text="long " * 800, options=many)
    host = host_of(long)
    async with host.run_test(size=size) as pilot:
        await settle(pilot)
        await pilot.press(*(["down"] * 11))
        await pilot.pause()
        assert "option 11" in screen_text(host)
        await pilot.press(*"mine")
        await pilot.pause()
        assert "mine" in screen_text(host)
        await pilot.press("enter")
        await pilot.pause()
        assert host.outcomes == [QuestionReply((), "mine")]


@pytest.mark.parametrize(
    ("name", "question"),
    [
        ("", replace(QUESTION, number=2, total=3)),
        ("-several", SEVERAL),
        ("-open", OPEN),
        ("-cap", cap_question(SPENDER, SpendingCap("session", "cost", 5.04, 5.0))),
    ],
)
async def test_pictures(name: str, question: Question) -> None:
    host = host_of(question, pending=1 if name == "-cap" else 2)
    async with host.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await assert_pictures(pilot, f"screen-question{name}")


async def test_markup_in_a_question_is_plain_text() -> None:
    asked = replace(
        QUESTION, header="Storage [/x]", options=(QuestionOption("[bold]Neither[/]", "[/y]"),)
    )
    host = host_of(asked)
    async with host.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        for text in ("Storage [/x]", "[bold]Neither[/]", "[/y]"):
            assert text in screen_text(host)


async def test_picture_of_a_narrow_screen() -> None:
    host = host_of(QUESTION, pending=2)
    async with host.run_test(size=(40, 16)) as pilot:
        await settle(pilot)
        await assert_both_themes(pilot, "screen-question")


async def test_a_withdrawn_question_closes_without_an_answer() -> None:
    replies: list[object] = []

    class Queue(App[int]):
        def on_mount(self) -> None:
            register(self)
            self.asking = RequestDialogs(
                self,
                reply=lambda *answer: replies.append(answer),
                cancel=lambda _: replies.append("cancel"),
                may_show=lambda: True,
                grace=0,
            )

    app = Queue()
    async with app.run_test() as pilot:
        app.asking.sync([QUESTION, replace(QUESTION, id="que_2", text="Second?")])
        await pilot.pause()
        assert isinstance(app.screen, QuestionScreen)
        app.asking.sync([replace(QUESTION, id="que_2", text="Second?")])
        await pilot.pause()
        assert not isinstance(app.screen, QuestionScreen)
        app.asking.sync([replace(QUESTION, id="que_2", text="Second?")])
        await pilot.pause()
        assert isinstance(app.screen, QuestionScreen)
        await pilot.press("enter")
        await pilot.pause()
        assert replies == [("que_2", QuestionReply(("SQLite",)))]


ASKS = {
    "questions": [
        {"question": "Which way?", "options": [{"label": "left"}, {"label": "right"}]},
        {"question": "How far?"},
    ]
}


def tool_part(running: Running) -> ToolPart:
    view = running.app.controller.live.view
    assert view is not None
    entry = view.entry(view.message_ids[1])
    assert entry is not None
    (part,) = [part for part in entry.parts if isinstance(part, ToolPart)]
    return part


async def test_from_the_model_to_the_answer(start: Starter, folders: Mapping[str, str]) -> None:
    async with ModelServer() as server:
        configure(folders, server)
        server.script(answer(Call("question", ASKS)), answer(Text("Going right.")))
        async with start() as running:
            await running.type("go", "enter")
            await running.until_shown("Which way?")
            await running.until_shown("1 of 2")
            assert tool_part(running).state.waiting is not None
            await running.pilot.press("down", "enter")
            await running.until_shown("How far?")
            await running.type("a mile", "enter")
            await running.until_shown("Going right.")
            await running.until_idle()
            assert tool_part(running).state.output.endswith("Answer: a mile")


async def test_opening_a_session_shows_its_open_question(
    start: Starter, folders: Mapping[str, str]
) -> None:
    """The question outlives the screen that showed it."""
    async with ModelServer() as server:
        configure(folders, server)
        server.script(answer(Call("question", ASKS)), answer(Text("Going left.")))
        async with start() as running:
            await running.type("go", "enter")
            await running.until_shown("Which way?")
            session_id = running.app.controller.live.session.id
            running.app.controller.live.close()
            await running.until_shown("From another session   go")
            await running.pilot.press("ctrl+l")
            await running.until(running.app.controller.on_main_screen)
            assert running.runtime.questions.pending()
            await running.app.controller.live.open(session_id)
            await running.until_shown("Which way?")
            await running.pilot.press("enter")
            await running.until_shown("How far?")
            await running.type("far", "enter")
            await running.until_shown("Going left.")


async def test_escape_ends_the_turn(start: Starter, folders: Mapping[str, str]) -> None:
    async with ModelServer() as server:
        configure(folders, server)
        server.script(answer(Call("question", ASKS)))
        async with start() as running:
            await running.type("go", "enter")
            await running.until_shown("close and stop")
            await running.pilot.press("escape")
            await running.until_idle()
            assert tool_part(running).state.kind == "denied"
            assert len(server.requests) == 1


async def test_ctrl_c_ends_it_as_a_cancel(start: Starter, folders: Mapping[str, str]) -> None:
    async with ModelServer() as server:
        configure(folders, server)
        server.script(answer(Call("question", ASKS)))
        async with start() as running:
            await running.type("go", "enter")
            await running.until_shown("Which way?")
            await running.pilot.press("ctrl+c")
            await running.until_idle()
            assert tool_part(running).state.kind == "aborted"


@pytest.mark.parametrize(
    ("question", "typed", "reply"),
    [
        (QUESTION, "2", QuestionReply(("PostgreSQL",))),
        (QUESTION, "4", QuestionReply(text="4")),
        (QUESTION, "1 2", QuestionReply(text="1 2")),
        (SEVERAL, "1, 3", QuestionReply(("SQLite", "Neither"))),
        (QUESTION, " a file ", QuestionReply(text="a file")),
        (OPEN, "3", QuestionReply(text="3")),
        (QUESTION, "  ", None),
    ],
)
def test_answers_on_a_line(question: Question, typed: str, reply: QuestionReply | None) -> None:
    """In ``--plain`` mode."""
    assert parse_question_reply(question.options, typed, multiple=question.multiple) == reply


async def test_accepting_a_plan_switches_the_agent(scripted: ModelServer, start: Starter) -> None:
    scripted.script(answer(Call("plan_exit", {})), answer(Text("All done.")), answer(Text("Yes.")))
    async with start() as running:
        live = running.app.controller.live
        await running.pilot.press("tab")
        await running.until(lambda: live.agent == "plan")
        await running.type("plan it", "enter")
        await running.until_shown("Carry out the plan?")
        await running.pilot.press("enter")
        await running.until_shown("All done.")
        await running.until(lambda: live.agent == "build")
        await running.until_idle()
        # The next prompt is the worker's too.
        await running.type("more", "enter")
        await running.until_shown("Yes.")
        assert live.session is not None
        assert live.session.agent == "build"
