"""Several sessions at once: what is shown of those that are not open, and answering them."""

from dataclasses import replace
from pathlib import Path

import pytest

from agent.records.messages import Idle, Session
from agent.records.requests import PermissionReply
from app.screens.requests.permission import PermissionScreen
from app.screens.requests.question import QuestionScreen
from app.session_state.live_sessions import LiveState
from app.tui.app import OpencodeApp
from app.widgets.session_bars import LiveStrip, strip_text
from tests.app.conftest import Running, Starter
from tests.app.screens.sample_session import at_work, command_dialog
from tests.support import records
from tests.support.model_server import ModelServer
from tests.support.script import Call, Failure, Hold, Text, answer
from tests.support.snapshots import SIZES, assert_both_themes


def strip(running: Running) -> str:
    widget = running.app.controller.main.query_one(LiveStrip)
    return widget.visual.plain if widget.display else ""  # type: ignore[attr-defined]


async def begin(running: Running, text: str) -> Session:
    """Send *text* in a new session and return that."""
    await running.type("/new", "enter")
    await running.until(lambda: running.app.controller.live.view is None)
    await running.type(text, "enter")
    await running.until(lambda: running.app.controller.live.session is not None)
    session = running.app.controller.live.session
    assert session is not None
    return session


def state_of(app: OpencodeApp, session: Session) -> str:
    state = app.controller.live_sessions.find(session.id)
    return state.state if state is not None else ""


@pytest.mark.parametrize("size", [(80, 24), (140, 40)])
async def test_each_state_is_shown_while_another_session_is_open(
    scripted: ModelServer, start: Starter, size: tuple[int, int]
) -> None:
    hold, ending = Hold(), Hold()
    async with start(size=size) as running:
        scripted.script(answer(Text("begins "), hold, Text("ends")))
        working = await begin(running, "count the files")
        await running.until(hold.reached.is_set)
        scripted.script(answer(ending, Text("it is done")))
        done = await begin(running, "write the docs")
        await running.until(ending.reached.is_set)
        scripted.script(Failure(400))
        failed = await begin(running, "break it")
        await running.until(lambda: state_of(running.app, failed) == "failed")
        scripted.script(answer(Call("bash", {"command": "touch made.txt", "description": "x"})))
        asking = await begin(running, "make a file")
        await running.until(lambda: isinstance(running.app.screen, PermissionScreen))
        await running.pilot.press("ctrl+l")
        await running.type("/new", "enter")
        await running.until(lambda: running.app.controller.live.view is None)
        ending.gate.set()
        await running.until(lambda: state_of(running.app, done) == "done")
        assert [state_of(running.app, one) for one in (working, failed, asking)] == [
            *("working", "failed", "needs you")
        ]
        assert strip(running).startswith("◆ make a file")
        assert "needs you" in strip(running)
        assert "ctrl+x w next" in strip(running)
        assert "“write the docs” is done." in running.text()
        await running.pilot.press("ctrl+x", "l")
        await running.until_shown("◆ needs you")
        listed = running.text()
        for mark in ("✓ done", "✕ failed", "◐ working", "Active"):
            assert mark in listed
        hold.gate.set()
        await running.until(lambda: "◐ working" not in running.text())
        await running.pilot.press("escape")
        running.runtime.permissions.reply(
            running.app.controller.live_sessions.all[0].requests[0].id, PermissionReply("reject")
        )
        await running.until(lambda: state_of(running.app, asking) != "needs you")


async def test_a_question_of_another_session_is_answered_in_place(
    scripted: ModelServer, start: Starter
) -> None:
    hold = Hold()
    async with start(size=(80, 24)) as running:
        scripted.script(
            answer(hold, Call("bash", {"command": "touch made.txt", "description": "x"})),
            answer(Text("made")),
        )
        asking = await begin(running, "make a file")
        await running.until(hold.reached.is_set)
        await running.type("/new", "enter")
        await running.until(lambda: running.app.controller.live.view is None)
        hold.gate.set()
        await running.until(lambda: isinstance(running.app.screen, PermissionScreen))
        await running.until_shown("From another session   make a file")
        shown = "".join(running.text().replace("▌", "").split())  # the path can be wrapped
        assert f"makeafile{running.runtime.directory}" in shown
        await running.pilot.press("o")
        await running.until(lambda: state_of(running.app, asking) == "done")
        assert (running.runtime.directory / "made.txt").exists()
        assert running.app.controller.live.view is None
        assert running.app.controller.on_main_screen()


async def test_ctrl_c_in_the_dialog_of_another_session_stops_that_session(
    scripted: ModelServer, start: Starter
) -> None:
    hold, other = Hold(), Hold()
    ask = {"questions": [{"question": "Which?", "header": "Which", "options": []}]}
    async with start(size=(80, 24)) as running:
        scripted.script(answer(hold, Call("question", ask)))
        asking = await begin(running, "ask me")
        await running.until(hold.reached.is_set)
        scripted.script(answer(Text("one "), other, Text("two")))
        opened = await begin(running, "count")
        await running.until(other.reached.is_set)
        hold.gate.set()
        await running.until(lambda: isinstance(running.app.screen, QuestionScreen))
        await running.until_shown("From another session   ask me")
        await running.pilot.press("ctrl+c")
        await running.until(lambda: running.runtime.sessions.status(asking.id) == Idle())
        assert state_of(running.app, opened) == "working"
        assert strip(running) == ""  # who stopped it has seen its end
        other.gate.set()
        await running.until_idle()


async def test_the_next_key_answers_what_was_put_aside_and_goes_to_sessions_that_ended(
    scripted: ModelServer, start: Starter
) -> None:
    hold = Hold()
    async with start(size=(80, 24)) as running:
        await running.pilot.press("ctrl+x", "w")
        await running.until_shown("No other session is active.")
        scripted.script(answer(hold, Text("it is done")))
        ended = await begin(running, "write the docs")
        await running.until(hold.reached.is_set)
        scripted.script(
            answer(Call("bash", {"command": "touch made.txt", "description": "x"})),
            answer(Text("made")),
        )
        asking = await begin(running, "make a file")
        await running.until(lambda: isinstance(running.app.screen, PermissionScreen))
        await running.pilot.press("ctrl+l")
        await running.until(running.app.controller.on_main_screen)
        hold.gate.set()
        await running.until(lambda: state_of(running.app, ended) == "done")
        await running.pilot.press("ctrl+x", "w")
        await running.until(lambda: isinstance(running.app.screen, PermissionScreen))
        await running.pilot.press("o")
        await running.until(lambda: state_of(running.app, asking) == "done")
        await running.pilot.press("ctrl+x", "w")
        await running.until_shown("it is done")
        assert strip(running) == ""


async def test_the_title_names_the_session_that_needs_the_user(
    scripted: ModelServer, start: Starter
) -> None:
    async with start(size=(80, 24)) as running:
        scripted.script(answer(Call("bash", {"command": "touch made.txt", "description": "x"})))
        await begin(running, "make a file")
        await running.until(lambda: isinstance(running.app.screen, PermissionScreen))
        await running.pilot.press("ctrl+l")
        await running.type("/new", "enter")
        await running.until(lambda: running.app.controller.live.view is None)
        assert running.app.controller.terminal._title == "◆ make a file"
        assert running.app.controller.terminal._progress == "waits"


async def test_a_session_of_another_program_is_read_only_until_it_is_idle(
    scripted: ModelServer, start: Starter
) -> None:
    hold = Hold()
    async with start(size=(80, 24)) as holder, start(size=(80, 24)) as running:
        scripted.script(answer(Text("begins "), hold, Text("and ends")))
        session = await begin(holder, "count the files")
        await holder.until(hold.reached.is_set)
        await running.pilot.press("ctrl+x", "l")
        await running.until_shown("◐ working in another opencode-py")
        await running.pilot.press("enter")
        await running.until_shown("Another opencode-py is working here")
        await running.until_shown("begins")
        await running.type("hello", "enter")
        await running.until_shown("Another opencode-py is working in this session.")
        assert running.prompt == "hello"
        hold.gate.set()
        await running.until_shown("and ends")
        await running.until(lambda: "working here" not in running.text())
        scripted.script(answer(Text("hello to you")))
        await running.pilot.press("enter")
        await running.until_shown("hello to you")
        assert len(await running.runtime.store.messages(session.id)) == 4


def states() -> list[LiveState]:
    def state(session_id: str, title: str, **more: object) -> LiveState:
        session = records.session(session_id)
        return LiveState(
            session=Session(**{**fields(session), "title": title, "cost": 0.42}), **more
        )

    busy = frozenset({"ses_a"})
    return [
        state("ses_a", "Fix empty CSV import", busy=busy, activity="Bash pytest -q tests"),
        state("ses_b", "Move the settings to one file"),
        state("ses_c", "Why is the start slow?", failed=True),
    ]


def fields(session: Session) -> dict[str, object]:
    return {name: getattr(session, name) for name in ("id", "directory", "project", "created")} | {
        "updated": session.updated
    }


def test_the_row_shortens_before_it_counts() -> None:
    wide = strip_text(states(), 140, "ctrl+x w", records.session().directory).plain
    assert wide.startswith("◐ Fix empty CSV imp…  Bash pytest -q tests  $0.42   ✓ Move the")
    assert len(wide) == 140
    assert "◐ Fix empty CSV import  Bash" in strip_text(states(), 170, "").plain
    narrow = strip_text(states(), 76, "ctrl+x w").plain
    assert narrow.startswith("◐ Fix empty CSV…   ✓ Move the sett…  done   +1")
    assert narrow.endswith("ctrl+x w next")
    assert len(strip_text(states(), 24, "ctrl+x w").plain) == 24
    assert (
        records.session().directory.rpartition("/")[2] in strip_text(states(), 200, "", "/x").plain
    )


@pytest.mark.parametrize("size", SIZES)
async def test_pictures(start: Starter, tmp_path: Path, size: tuple[int, int]) -> None:
    async with at_work(start, tmp_path, size) as running:
        main = running.app.controller.main
        main.widgets.live_strip.show(states(), "ctrl+x w", records.session().directory)
        main.prompt.cursor_blink = False
        await running.pilot.pause()
        await assert_both_themes(running.pilot, "live-sessions")


@pytest.mark.parametrize("size", SIZES)
async def test_pictures_of_a_question_from_another_session(
    start: Starter, tmp_path: Path, size: tuple[int, int]
) -> None:
    async with at_work(start, tmp_path, size) as running:
        asked = replace(command_dialog().request, session_id="ses_b", root_id="ses_b")
        source = "Move the settings to one file   ~/shop-settings"
        await running.app.push_screen(PermissionScreen(asked, grace=0.0, source=source))
        await running.pilot.pause()
        await assert_both_themes(running.pilot, "live-question")
