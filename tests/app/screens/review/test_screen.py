"""The review of a past session: timeline, filter, search, changes, the request of a step."""

import time
from dataclasses import replace

import pytest
from textual.widgets import OptionList

from agent.records.blocks import SubtaskBlock
from agent.records.context_parts import ReportPart
from agent.records.decisions import Decision
from agent.records.messages import AssistantMessage, Completed, MessageWithParts, Usage
from app.screens.review.screen import ReviewScreen
from app.widgets.transcript.transcript import Transcript
from tests.app.conftest import Running, Starter
from tests.support import records
from tests.support.snapshots import assert_both_themes
from tests.support.transcripts import history

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
ALLOWED = (
    Decision(answer="once", by="person", at=5.0, question="Make this change?", comment="fine"),
)
ASKED = replace(records.completed("Question", "Which encoding?"), output="The user answered: utf-8")
MESSAGES = (
    records.user("msg_a", "Why does the import of an empty CSV crash? Fix it and add a test."),
    step(
        "msg_b",
        records.text_part("prt_b1", "msg_b", "I will look at the reader first."),
        tool("prt_b2", "msg_b", records.completed("Read", "src/reader.py", facts=("142 lines",))),
        replace(
            tool("prt_b3", "msg_b", records.completed("Edit", "src/reader.py", DIFF), "edit"),
            decisions=ALLOWED,
        ),
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


def reported() -> MessageWithParts:
    """Return the message with a background sub-agent's report."""
    message = records.user("msg_f", "", turn="trn_2")
    part = ReportPart(
        id="prt_f1",
        session_id=SESSION,
        message_id="msg_f",
        child_id=CHILD,
        agent="explore",
        description="the other readers",
        outcome="completed",
        text="All is well.",
    )
    return MessageWithParts(replace(message.message, synthetic=True), (part,))


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


async def reviewed(running: Running, *more: MessageWithParts) -> ReviewScreen:
    """Open the review of the sample session and *more* messages, with the last turn unfolded."""
    await kept(running, *MESSAGES, *more)
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


def rows(screen: ReviewScreen, *, whole: bool = False) -> list[str]:
    """Return the rows; with *whole* also the lines below their first ones, but without those of
    turns."""
    options = screen.query_one(OptionList).options
    if whole:
        options = [option for option in options if not (option.id or "").startswith("turn ")]
        return ["\n".join(map(str.strip, str(o.prompt).split("\n"))) for o in options]
    return [str(option.prompt).split("\n")[0].strip() for option in options]


async def chosen(running: Running, words: str) -> None:
    """Highlight the row with *words*."""
    screen = running.app.screen
    assert isinstance(screen, ReviewScreen)
    at = next(n for n, row in enumerate(rows(screen)) if words in row)
    screen.query_one(OptionList).highlighted = at
    await running.pilot.pause()


@pytest.mark.parametrize("size", [(80, 24), (140, 45)])
async def test_the_timeline_next_to_the_transcript(start: Starter, size: tuple[int, int]) -> None:
    async with start(size=size) as running:
        screen = await reviewed(running)
        await running.pilot.press("up", "enter", "down", "down", "down")
        await running.until_shown("Step 1")
        assert rows(screen)[3] == "● Edit reader.py"
        await running.pilot.pause()
        await assert_both_themes(running.pilot, "screen-review")


async def test_the_filter_goes_through_the_kinds(start: Starter) -> None:
    async with start(size=(100, 30)) as running:
        screen = await reviewed(running)
        seen: dict[str, list[str]] = {}
        for name in ("tools", "errors", "edits", "questions"):
            await running.pilot.press("f")
            await running.until_shown(f"only {name}")
            seen[name] = rows(screen, whole=True)
        assert seen == {
            "tools": [
                "● Read reader.py",
                "● Edit reader.py",
                "✕ Bash pytest -q",
                "▸ ● Explore the other readers",
                "● Question Which encoding?",
            ],
            "errors": ["✕ Bash pytest -q"],
            "edits": ["● Edit reader.py"],
            "questions": [
                "● Edit reader.py\nallowed once “fine”",
                "● Question Which encoding?\nThe user answered: utf-8",
            ],
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
        await running.until_shown("Changes of the session: src/reader.py")
        await running.until_shown("next(rows, None)")
        await running.pilot.press("escape")
        await running.until_shown("2 turns")


async def test_the_request_of_a_step_is_shown_without_secrets(start: Starter) -> None:
    secret = "sk-" + "a1b2c3d4" * 4
    async with start(size=(100, 40), env={"SHOP_TOKEN": "hunter2hunter2"}) as running:
        asked = records.user("msg_a", f"Use {secret} and hunter2hunter2")
        await kept(running, asked, *MESSAGES[1:2])
        await running.app.controller.live.open(SESSION)
        await running.pilot.press("ctrl+x", "g")
        await running.until_shown("1 turn")
        await running.pilot.press("p")
        await running.until_shown("Select a step first")
        await running.pilot.press("down", "p")
        await running.until_shown("Request of step 1")
        await running.until_shown("Use [redacted] and [redacted]")
        page = running.app.screen.query_one("#page-text Static")
        assert secret not in str(page.content)


@pytest.mark.parametrize("size", [(80, 24), (140, 45)])
async def test_a_sub_agents_session_unfolds_in_place(start: Starter, size: tuple[int, int]) -> None:
    async with start(size=size) as running:
        screen = await reviewed(running)
        await running.pilot.press("up", "enter")
        await chosen(running, "Explore")
        before = rows(screen)
        await running.pilot.press("enter")
        await running.until(lambda: "│   None has the fault." in rows(screen))
        assert "▾ ● Explore the other readers" in rows(screen)
        await running.until_shown("│▌ look at them")  # in the transcript too, below its call
        await running.pilot.pause()
        await assert_both_themes(running.pilot, "screen-review-inside")
        await running.pilot.press("down", "y")
        await running.until(lambda: running.app.clipboard == "None has the fault.")
        await running.pilot.press("up", "enter")
        await running.until(lambda: rows(screen) == before)
        assert "look at them" not in running.text()


async def test_a_sub_agents_session_unfolds_below_its_report_too(start: Starter) -> None:
    """It is shown in one place at a time, in both panes: where it was unfolded last."""
    async with start(size=(140, 45)) as running:
        screen = await reviewed(running, reported())
        await running.pilot.press("up", "enter")
        await chosen(running, "Explore reports")
        assert "▸ ◇ Explore reports: the other readers" in rows(screen)
        before = rows(screen)
        await running.pilot.press("enter")
        await running.until(lambda: "│   None has the fault." in rows(screen))
        at = rows(screen).index("▾ ◇ Explore reports: the other readers")
        assert rows(screen)[at + 1] == "│   None has the fault."
        await running.until_shown("│▌ look at them")
        await chosen(running, "● Explore the other readers")
        await running.pilot.press("enter")
        await running.until(lambda: rows(screen).index("│   None has the fault.") < at)
        assert sum("None has the fault." in row for row in rows(screen)) == 1
        assert running.text().count("look at them") == 1
        await running.pilot.press("enter")
        await running.until(lambda: rows(screen) == before)


async def test_a_sub_agents_session_is_reviewed_alone(start: Starter) -> None:
    async with start(size=(100, 30)) as running:
        await reviewed(running)
        await running.pilot.press("up", "enter")
        await chosen(running, "Explore")
        await running.pilot.press("o")
        await running.until_shown("Fix empty CSV import / Fix empty CSV import")
        await running.until_shown("None has the fault.")
        await running.pilot.press("escape")
        await running.until_shown("2 turns")


async def test_j_and_k_move_and_q_closes(start: Starter) -> None:
    async with start(size=(100, 30)) as running:
        screen = await reviewed(running)
        listing = screen.query_one(OptionList)
        last = listing.highlighted
        assert last
        await running.pilot.press("k")
        assert listing.highlighted == last - 1
        await running.pilot.press("j")
        assert listing.highlighted == last
        await running.pilot.press("q")
        await running.until(running.app.controller.on_main_screen)


async def test_forking_at_a_prompt_and_at_a_step(start: Starter) -> None:
    """A fork ends before the prompt, whose text is restored, or with the step."""
    async with start(size=(100, 30)) as running:
        await reviewed(running)
        await running.pilot.press("c")
        await running.until_shown("Fork the session from here?")
        await running.pilot.press("n")
        await running.until_shown("2 turns")
        await running.pilot.press("c")
        await running.until_shown("Fork the session from here?")
        await running.pilot.press("y")
        await running.until_shown("Forked.")
        view = running.app.controller.live.view
        assert view is not None
        assert len(view.message_ids) == 3
        assert running.prompt == "Now ask me about the encoding"
        await running.app.controller.live.open(SESSION)
        await running.pilot.press("ctrl+x", "g")
        await running.until_shown("2 turns")
        await running.pilot.press("k", "enter", "j", "c")
        await running.until_shown("Fork the session from here?")
        await running.pilot.press("y")
        await running.until(
            lambda: (
                (now := running.app.controller.live.view) is not None
                and now.session_id not in {SESSION, view.session_id}
                and len(now.message_ids) == 2
            )
        )


async def test_resuming_goes_to_the_selected_message(start: Starter) -> None:
    async with start(size=(80, 24)) as running:
        await kept(running, *history(300))
        await running.pilot.press(*"/history ses_1", "enter")
        await running.until_shown("300 turns")
        screen = running.app.screen
        screen.query_one(OptionList).highlighted = 7
        await running.until_shown("question 7")
        await running.pilot.press("r")
        await running.until(running.app.controller.on_main_screen)
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


async def test_copying_a_call_includes_its_output(start: Starter) -> None:
    async with start(size=(100, 30)) as running:
        await reviewed(running)
        await running.pilot.press("down", "y")
        await running.until_shown("Sent 2 lines")
        assert running.app.clipboard == "Question Which encoding?\nThe user answered: utf-8"
        assert isinstance(ASKED, Completed)


async def test_one_change_is_copied_and_saved_as_a_patch(start: Starter) -> None:
    async with start(size=(100, 30)) as running:
        await reviewed(running)
        await running.pilot.press("up", "enter")
        await chosen(running, "Edit reader.py")
        await running.until_shown("allowed once “fine”")
        await running.pilot.press("y")
        await running.until(lambda: "--- a/src/reader.py" in running.app.clipboard)
        assert "allowed once “fine”" in running.app.clipboard
        await running.pilot.press("w")
        await running.until_shown("Save to which file?")
        await running.pilot.press("enter")
        await running.until_shown("Saved to reader.py.diff")
        patch = (running.runtime.directory / "reader.py.diff").read_text()
        assert patch == (
            "--- a/src/reader.py\n+++ b/src/reader.py\n@@ -38,1 +38,1 @@\n"
            "-    header = next(rows)\n+    header = next(rows, None)\n"
        )


async def test_a_turn_and_an_answer_are_saved_without_secrets(start: Starter) -> None:
    secret = "sk-" + "a1b2c3d4" * 4
    async with start(size=(100, 30)) as running:
        asked = records.user("msg_a", f"Use {secret}")
        answer = step("msg_b", records.text_part("prt_b1", "msg_b", f"I used {secret}."))
        await kept(running, asked, answer)
        await running.app.controller.live.open(SESSION)
        await running.pilot.press("ctrl+x", "g")
        await running.until_shown("1 turn")
        for row, name in (("Use", "turn-1.md"), ("I used", "answer.md")):
            await chosen(running, row)
            await running.pilot.press("w")
            await running.until_shown("Save to which file?")
            await running.pilot.press("enter")
            await running.until_shown(f"Saved to {name}")
            text = (running.runtime.directory / name).read_text()
            assert "I used [redacted]." in text
            assert secret not in text
        assert "> Use [redacted]" in (running.runtime.directory / "turn-1.md").read_text()
        await running.pilot.press("w")
        await running.until_shown("Save to which file?")
        await running.pilot.press("enter")
        await running.until_shown("already exists")


async def test_copying_a_response_that_came_in_pieces_copies_all_of_it(start: Starter) -> None:
    """There is one way to the last response: a response that was cut at the output limit is one
    with its continuation, and what was undone is not copied."""
    async with start(size=(100, 30)) as running:
        cut = step("msg_b", records.text_part("prt_b1", "msg_b", "The first half, "))
        assert isinstance(cut.message, AssistantMessage)
        cut = replace(cut, message=replace(cut.message, finish="length"))
        rest = step("msg_c", records.text_part("prt_c1", "msg_c", "and the second."), number=2)
        later = records.user("msg_d", "again", turn="trn_2")
        gone = step("msg_e", records.text_part("prt_e1", "msg_e", "Undone."), turn="trn_2")
        await kept(
            running, records.user("msg_a", "tell"), cut, rest, later, gone, undone_at="msg_d"
        )
        await running.app.controller.live.open(SESSION)
        await running.until_shown("and the second.")
        await running.pilot.press("ctrl+x", "y")
        await running.until(lambda: running.app.clipboard == "The first half, and the second.")


async def test_a_report_of_the_background_is_a_row_and_can_be_copied(start: Starter) -> None:
    part = records.report("msg_f", "None has it.")
    report = records.user("msg_f", "for the model", part, turn="trn_2", synthetic=True)
    async with start(size=(140, 40)) as running:
        await reviewed(running, report)
        await chosen(running, "Explore reports")
        assert "for the model" not in running.text()
        await running.pilot.press("y")
        await running.until(lambda: running.app.clipboard == "None has it.")


async def test_a_command_of_the_users_own_is_a_turn(start: Starter) -> None:
    own = tool("msg_fr", "msg_f", records.completed("Bash", "make all"), "bash")
    said = records.user("msg_f", "", own, turn="trn_3", synthetic=True)
    async with start(size=(140, 40)) as running:
        screen = await reviewed(running, said)
        await running.until(lambda: any("! make all" in row for row in rows(screen)))
        await running.until_shown("no step")


async def test_comments_on_a_past_turn_go_to_its_session(start: Starter) -> None:
    async with start(size=(100, 40)) as running:
        await reviewed(running)
        await running.pilot.press("D")
        await running.until_shown("Changes of the session: src/reader.py")
        await running.pilot.press("c")
        await running.type("And without rows?", "enter", "enter")
        await running.until_shown("address this review comment on the changes of the session.")
        await running.until_idle()
