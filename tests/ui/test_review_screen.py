"""The review of a past session (U11, U12): timeline, filter, search, changes, what was sent."""

import time
from dataclasses import replace

import pytest
from textual.widgets import OptionList

from agent.display import SubtaskBlock
from agent.model import AssistantMessage, Completed, MessageWithParts, Usage
from app.screens.review import ReviewScreen
from app.widgets.transcript.view import Transcript
from tests.support import records
from tests.support.snapshots import assert_snapshot
from tests.support.transcripts import history
from tests.ui.conftest import Running, Starter

SESSION = records.SESSION
CHILD = "ses_child"


def step(message_id: str, *parts, turn: str = "trn_1", number: int = 1, **more) -> MessageWithParts:
    item = records.assistant(message_id, *parts, turn=turn, **more)
    assert isinstance(item.message, AssistantMessage)
    usage = Usage(input=18_200, output=310, cache_read=16_900)
    message = replace(item.message, step=number, usage=usage, cost=0.02)
    return replace(item, message=message)


def tool(part_id: str, message_id: str, state, name: str = "read"):
    return records.tool(part_id, message_id, state, name=name)


DIFF = records.diff(
    "src/reader.py", "-    header = next(rows)", "+    header = next(rows, None)", first=38
)
TASK = replace(
    records.completed("Explore", "the other readers"),
    blocks=(SubtaskBlock(CHILD, "explore", "look at them", text="None has the fault."),),
)
ASKED = replace(records.completed("Question", "Which encoding?"), output="The user answered: utf-8")
MESSAGES = (
    records.user("msg_a", "Why does the import of an empty CSV crash? Fix it and add a test."),
    step(
        "msg_b",
        records.text_part("prt_b1", "msg_b", "I will look at the reader first."),
        tool("prt_b2", "msg_b", records.completed("Read", "src/reader.py", facts=("142 lines",))),
        tool("prt_b3", "msg_b", records.completed("Edit", "src/reader.py", DIFF), "edit"),
    ),
    step(
        "msg_c",
        tool("prt_c1", "msg_c", records.failed("Bash", "pytest -q", "exit code 1"), "bash"),
        tool("prt_c2", "msg_c", TASK, "task"),
        records.text_part("prt_c3", "msg_c", "An empty file has no header."),
        number=2,
    ),
    records.user("msg_d", "Now ask me about the encoding", turn="trn_2"),
    step(
        "msg_e",
        tool("prt_e1", "msg_e", ASKED, "question"),
        records.text_part("prt_e2", "msg_e", "It is UTF-8 then."),
        turn="trn_2",
        number=1,
        error=None,
    ),
)


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


async def kept(running: Running, *items: MessageWithParts, session_id: str = SESSION, **more):
    session = replace(
        records.session(session_id),
        directory=str(running.runtime.directory),
        turns=2,
        cost=0.06,
        model="demo/offline",
        **more,
    )
    held = (r for item in items for r in (item.message, *item.parts))
    await running.runtime.store.save(session, *held)
    return session


async def reviewed(running: Running) -> ReviewScreen:
    """The review of the sample session, its last turn unfolded."""
    await kept(running, *MESSAGES)
    child = [
        replace(
            item,
            message=replace(item.message, id=f"{item.message.id}x", session_id=CHILD),
            parts=tuple(
                replace(p, id=f"{p.id}x", session_id=CHILD, message_id=f"{p.message_id}x")
                for p in item.parts
            ),
        )
        for item in (
            records.user("msg_a", "look at them"),
            records.assistant("msg_b", records.text_part("prt_b", "msg_b", "None has the fault.")),
        )
    ]
    await kept(running, *child, session_id=CHILD, parent_id=SESSION)
    await running.app.controller.live.open(SESSION)
    await running.until_shown("It is UTF-8 then.")
    await running.pilot.press("ctrl+x", "g")
    await running.until_shown("Now ask me about")
    await running.until(lambda: bool(running.app.screen.query_one(OptionList).options))
    screen = running.app.screen
    assert isinstance(screen, ReviewScreen)
    return screen


def rows(screen: ReviewScreen) -> list[str]:
    options = screen.query_one(OptionList).options
    return [str(option.prompt).split("\n")[0].strip() for option in options]


@pytest.mark.parametrize("size", [(80, 24), (140, 45)])
async def test_u11_the_timeline_beside_the_transcript(
    start: Starter, size: tuple[int, int]
) -> None:
    async with start(size=size) as running:
        screen = await reviewed(running)
        await running.pilot.press("up", "enter", "down", "down", "down")
        await running.until_shown("Step 1")
        assert rows(screen)[3] == "● Edit reader.py"
        await running.pilot.pause()
        assert_snapshot(running.app, f"screen-review-{size[0]}")


async def test_the_filter_goes_through_the_kinds(start: Starter) -> None:
    async with start(size=(100, 30)) as running:
        screen = await reviewed(running)
        seen: dict[str, list[str]] = {}
        for name in ("tools", "errors", "edits", "questions"):
            await running.pilot.press("f")
            await running.until_shown(f"only {name}")
            seen[name] = [row for row in rows(screen) if row[0] not in "▾▸"]
        assert seen == {
            "tools": [
                "● Read reader.py",
                "● Edit reader.py",
                "✕ Bash pytest -q",
                "● Explore the other readers",
                "● Question Which encoding?",
            ],
            "errors": ["✕ Bash pytest -q"],
            "edits": ["● Edit reader.py"],
            "questions": ["● Question Which encoding?"],
        }
        await running.pilot.press("f")
        await running.until(lambda: "only" not in running.text())


async def test_search_goes_from_hit_to_hit(start: Starter) -> None:
    async with start(size=(100, 30)) as running:
        await reviewed(running)
        await running.pilot.press("slash")
        await running.type("reader", "enter")
        await running.until_shown("1 of 4, n next")
        await running.pilot.press("n", "n")
        await running.until_shown("3 of 4, n next")
        await running.pilot.press("n", "N")
        await running.until_shown("3 of 4")
        await running.pilot.press("slash", "escape", "slash")
        await running.pilot.press("ctrl+u")
        await running.type("zebra", "enter")
        await running.until_shown("is not in this session")


async def test_changes_of_a_turn_and_of_the_session(start: Starter) -> None:
    async with start(size=(100, 30)) as running:
        await reviewed(running)
        await running.pilot.press("d")
        await running.until_shown("No file was changed")
        await running.pilot.press("D")
        await running.until_shown("Changes of the session   1 file  +1 −1")
        await running.until_shown("next(rows, None)")
        await running.pilot.press("escape")
        await running.until_shown("2 turns")


async def test_what_was_sent_is_shown_without_secrets(start: Starter) -> None:
    secret = "sk-" + "a1b2c3d4" * 4
    async with start(size=(100, 40), env={"SHOP_TOKEN": "hunter2hunter2"}) as running:
        asked = records.user("msg_a", f"Use {secret} and hunter2hunter2")
        await kept(running, asked, *MESSAGES[1:2])
        await running.app.controller.live.open(SESSION)
        await running.pilot.press("ctrl+x", "g")
        await running.until_shown("1 turn")
        await running.pilot.press("q")
        await running.until_shown("Choose a step")
        await running.pilot.press("down", "q")
        await running.until_shown("Request of step 1")
        await running.until_shown("Use [redacted] and [redacted]")
        page = running.app.screen.query_one("#page-text Static")
        assert secret not in str(page.content)


async def test_u12_a_sub_agents_session_opens_below_its_call(start: Starter) -> None:
    async with start(size=(100, 30)) as running:
        screen = await reviewed(running)
        await running.pilot.press("up", "enter")
        place = next(n for n, row in enumerate(rows(screen)) if "Explore" in row)
        screen.query_one(OptionList).highlighted = place
        await running.pilot.press("enter")
        await running.until_shown("Fix empty CSV import / Fix empty CSV import")
        await running.until_shown("None has the fault.")
        await running.pilot.press("escape")
        await running.until_shown("2 turns")


async def test_d6_a_copy_from_a_prompt_and_from_a_step(start: Starter) -> None:
    """Before a prompt, whose words come back; or with the step it ends with."""
    async with start(size=(100, 30)) as running:
        await reviewed(running)
        await running.pilot.press("k")
        await running.until_shown("This is a copy.")
        view = running.app.controller.live.view
        assert view is not None
        assert len(view.message_ids) == 3
        assert running.prompt == "Now ask me about the encoding"
        await running.app.controller.live.open(SESSION)
        await running.pilot.press("ctrl+x", "g")
        await running.until_shown("2 turns")
        await running.pilot.press("up", "enter", "down", "k")
        await running.until(
            lambda: (
                (now := running.app.controller.live.view) is not None
                and now.session_id not in {SESSION, view.session_id}
                and len(now.message_ids) == 2
            )
        )


async def test_resume_goes_to_the_place(start: Starter) -> None:
    async with start(size=(80, 24)) as running:
        await kept(running, *history(300))
        await running.pilot.press(*"/history ses_1", "enter")
        await running.until_shown("300 turns")
        screen = running.app.screen
        screen.query_one(OptionList).highlighted = 7
        await running.until_shown("question 7")
        await running.pilot.press("r")
        await running.until(running.app.controller.at_main)
        await running.until_shown("answer 7.")


async def test_narrow_shows_one_side_at_a_time(start: Starter) -> None:
    async with start(size=(45, 20)) as running:
        screen = await reviewed(running)
        assert not screen.query_one(Transcript).size
        await running.pilot.press("tab")
        await running.until_shown("It is UTF-8 then.")
        assert not screen.query_one(OptionList).size
        await running.pilot.press("escape")
        await running.until(lambda: bool(screen.query_one(OptionList).size))


async def test_copy_takes_a_call_with_what_it_gave(start: Starter) -> None:
    async with start(size=(100, 30)) as running:
        await reviewed(running)
        await running.pilot.press("down", "y")
        await running.until_shown("Sent 2 lines")
        assert running.app.clipboard == "Question Which encoding?\nThe user answered: utf-8"
        assert isinstance(ASKED, Completed)
