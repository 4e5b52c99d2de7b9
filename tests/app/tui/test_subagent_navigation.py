"""Sub-agents in the transcript, and navigation to their sessions and back."""

from dataclasses import replace

import pytest
from textual.content import Content

from agent.records.blocks import SubtaskBlock
from agent.records.events import PermissionAsked, PermissionReplied
from agent.records.messages import Idle, Session, ToolState
from agent.records.requests import PermissionRequest
from app.session_state.live import SessionFamily
from app.session_state.view import SessionView
from app.widgets.session_bars import breadcrumbs_text
from app.widgets.transcript.transcript import Transcript
from tests.app.conftest import Running, Starter
from tests.support import records
from tests.support.model_server import ModelServer
from tests.support.script import Answer, Call, Hold, Text, answer
from tests.support.snapshots import assert_both_themes
from tests.support.transcripts import TranscriptApp, rows, say

NAMES = ("check the other readers", "look for callers of read_rows", "write the changelog")


def state(number: int) -> ToolState:
    block = SubtaskBlock(f"ses_child{number}", "general", "Look at all of them.")
    activity = ("Read src/imports/xlsx.py · 9 tool calls", "Bash rm -rf dist · 4 tool calls", "")
    return records.running("General", NAMES[number], block, output=activity[number])


def request(session_id: str = "ses_child1") -> PermissionRequest:
    return PermissionRequest(
        id="per_1",
        session_id=session_id,
        root_id=records.SESSION,
        message_id="msg_c",
        call_id="cal_1",
        agent="general",
        tool="bash",
        heading="Run this command?",
        folder="~/shop",
        blocks=(),
        needs=(),
        always=(),
        created=0.0,
    )


def three() -> SessionView:
    calls = [records.tool(f"prt_{n}", "msg_1", state(n), name="task") for n in range(3)]
    question = records.user("msg_0", "Do the other readers have this fault?")
    return SessionView(
        records.snapshot(
            question, records.open_assistant("msg_1", *calls), permissions=(request(),)
        )
    )


@pytest.mark.parametrize("width", [80, 140])
async def test_picture_of_three_sub_agents_with_one_request(width: int) -> None:
    async with TranscriptApp(three()).run_test(size=(width, 14)) as pilot:
        await pilot.pause()
        await assert_both_themes(pilot, "subagents")


async def test_the_row_shows_the_request_of_its_sub_agent() -> None:
    app = TranscriptApp(three())
    async with app.run_test(size=(80, 14)) as pilot:
        await pilot.pause()
        waits = [row for row in rows(app) if "needs you" in row]
        assert [NAMES[1] in row for row in waits] == [True]
        say(app, PermissionReplied("per_1", "ses_child1", None))
        await pilot.pause()
        assert not [row for row in rows(app) if "needs you" in row]
        say(app, PermissionAsked(request("ses_child2")))
        await pilot.pause()
        waits = [row for row in rows(app) if "needs you" in row]
        assert [NAMES[2] in row for row in waits] == [True]


async def test_a_click_on_the_row_or_enter_opens_the_session() -> None:
    app = TranscriptApp(three())
    async with app.run_test(size=(80, 14)) as pilot:
        await pilot.pause()
        row = next(y for y, text in enumerate(rows(app)) if NAMES[0] in text)
        await pilot.click(Transcript, offset=(10, row))
        app.transcript.focus()
        await pilot.press("k", "enter")
        opened = [m.session_id for m in app.messages if isinstance(m, Transcript.OpenSession)]
        assert opened == ["ses_child0", "ses_child2"]


def child(session_id: str, title: str) -> Session:
    return replace(records.session(session_id), title=title, parent_id="ses_1", agent="general")


KIN = SessionFamily(
    child("ses_b", "look for callers"),
    (records.session(),),
    (child("ses_a", "check"), child("ses_b", "look for callers"), child("ses_c", "漢字の仕事")),
)


@pytest.mark.parametrize("width", [10, 20, 40, 60, 80, 240])
def test_breadcrumbs_are_one_line_at_any_width(width: int) -> None:
    line = breadcrumbs_text(KIN, width)
    assert isinstance(line, Content)
    assert line.cell_length <= width
    if width >= 80:
        assert "Fix empty CSV import › general  look for callers" in line.plain
        assert "2 of 3" in line.plain


def test_siblings_wrap_around() -> None:
    assert KIN.sibling(1) == KIN.siblings[2]
    assert KIN.sibling(-1) == KIN.siblings[0]
    assert replace(KIN, session=KIN.siblings[2]).sibling(1) == KIN.siblings[0]
    assert replace(KIN, siblings=KIN.siblings[:1]).sibling(1) is None


class Script:
    """The parent starts three sub-agents, which answer by a word of their prompt; *hold* keeps one
    waiting."""

    def __init__(self, hold: Hold) -> None:
        self._hold = hold
        self._asked = 0

    def __call__(self, body: dict) -> Answer:
        request = str(body)
        for word in ("alpha", "beta", "gamma"):
            if f"<{word}>" in request and "Start them" not in request:
                return answer(self._hold, Text(f"report {word}"))
        self._asked += 1
        if self._asked > 1:
            return answer(Text("All three reported."))
        return answer(
            *(
                Call("task", {"description": f"task {word}", "prompt": f"<{word}>"})
                for word in ("alpha", "beta", "gamma")
            )
        )


async def test_navigation_between_sub_agents_and_back_to_the_scroll_position(
    scripted: ModelServer, start: Starter
) -> None:
    hold = Hold()
    scripted.always(Script(hold))
    async with start(size=(100, 30)) as running:
        await running.type("Start them", "enter")
        await running.until_shown("task gamma")
        live = running.app.controller.live
        assert live.session is not None
        parent = live.session.id
        children = await until_children(running, parent)
        await running.pilot.press("ctrl+x", "down")
        await running.until_shown("3 of 3")
        assert live.session.id == children[2].id
        await running.pilot.press("ctrl+x", "right")
        await running.until_shown("1 of 3")
        assert live.session.id == children[0].id
        await running.pilot.press("ctrl+x", "left")
        await running.until_shown("3 of 3")
        await running.pilot.press("ctrl+x", "up")
        await running.until(lambda: live.session is not None and live.session.id == parent)
        assert "of 3" not in running.text()
        hold.gate.set()
        await running.until_shown("All three reported.")
        await running.until_idle()
        await running.type("/subagents", "enter")
        await running.until_shown("Sub-agents")
        await running.pilot.press("enter")
        await running.until_shown("of 3")
        status = running.runtime.sessions.status
        assert live.session is not None
        assert status(live.session.id) == Idle()
        await running.pilot.press("escape")
        await running.until(lambda: live.session is not None and live.session.id == parent)


async def until_children(running: Running, parent: str) -> list[Session]:
    found: list[Session] = []
    while len(found) < 3:
        found = await running.runtime.store.children(parent)
        await running.pilot.pause()
    return found
