"""Titles that the small model writes."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agent.records.events import SessionUpdated
from agent.records.messages import Session
from agent.records.tool_facts import Answering
from tests.support.harness import MODEL, Harness, open_harness
from tests.support.model_server import Request
from tests.support.script import Failure, Hold, Piece, Reason, Text, Tokens, answer

DONE = answer(Text("done"), Tokens(prompt=100, completion=10))


@asynccontextmanager
async def harness_with_titles(
    tmp_path: Path, titles: list, small_model: str | None = MODEL
) -> AsyncIterator[Harness]:
    """Open a runtime whose server sends *titles* to title requests and "done" to all others."""

    def script(body: dict):
        asks = "You name conversations" in json.dumps(body["messages"][0])
        return titles.pop(0) if asks else DONE

    async with open_harness(tmp_path, small_model=small_model) as harness:
        harness.server.always(script)
        yield harness


async def renamed(harness: Harness, session: Session, title: str) -> Session:
    event = await harness.until(
        lambda e: (
            isinstance(e, SessionUpdated)
            and e.session.id == session.id
            and e.session.title == title
        )
    )
    assert isinstance(event, SessionUpdated)
    return event.session


async def test_the_small_model_names_a_session_by_its_first_prompt(tmp_path: Path) -> None:
    given = answer(Text('"Fix the CSV import"\nignored'), Tokens(prompt=50, completion=5))
    async with harness_with_titles(tmp_path, [given]) as harness:
        session = await harness.session()
        await harness.turn(session, "please help: the import of a CSV crashes")
        await renamed(harness, session, "Fix the CSV import")
        await harness.turn(session, "and again")
        asked = [r.body for r in harness.server.requests if "tools" not in r.body]
        assert len(asked) == 1
        assert "the import of a CSV crashes" in json.dumps(asked[0]["messages"])
        stored = await harness.runtime.store.session(session.id)
        assert stored.title == "Fix the CSV import"
        assert stored.usage.input == 250


async def test_a_failure_leaves_the_title_as_it_was(tmp_path: Path) -> None:
    async with harness_with_titles(tmp_path, [Failure(500), answer(Text("Second"))]) as harness:
        session = await harness.session()
        await harness.turn(session, "first words")
        other = await harness.session()
        await harness.turn(other, "other words")
        await renamed(harness, other, "Second")
        assert (await harness.runtime.store.session(session.id)).title == "first words"


async def test_a_name_that_the_user_gave_stays(tmp_path: Path) -> None:
    hold = Hold()
    async with harness_with_titles(
        tmp_path, [answer(hold, Text("Theirs"), Tokens(prompt=7))]
    ) as harness:
        session = await harness.session()
        await harness.turn(session, "first words")
        await hold.reached.wait()
        await harness.runtime.sessions.repository.rename(session.id, "Mine")
        hold.gate.set()
        await harness.until(
            lambda e: isinstance(e, SessionUpdated) and e.session.usage.input == 107
        )
        assert (await harness.runtime.store.session(session.id)).title == "Mine"


async def test_closing_does_not_wait_for_a_title(tmp_path: Path) -> None:
    hold = Hold()
    async with harness_with_titles(tmp_path, [answer(hold, Text("late"))]) as harness:
        session = await harness.session()
        await harness.turn(session, "first words")
        await hold.reached.wait()
    hold.gate.set()
    assert session.id


@pytest.mark.parametrize(
    ("given", "title"),
    [
        ((Reason("hm"),), "first words"),
        ((Text("<think>x</think>"),), "first words"),
        ((Text("<think>it never ends"),), "first words"),
        ((Text("<think>a\nb</think>\n\nThe CSV import"),), "The CSV import"),
        ((Text("the user wants a title</think>The CSV import"),), "The CSV import"),
        ((Text("###\n"),), "first words"),
        ((Text("[/] <b>\n" + "long words\n" * 200),), "[/] <b"),
    ],
)
async def test_a_title_is_a_line_without_thoughts(
    tmp_path: Path, given: tuple[Piece, ...], title: str
) -> None:
    """After an invalid title the first words of the prompt stay; the next session is named as
    usual."""
    async with harness_with_titles(tmp_path, [answer(*given), answer(Text("Second"))]) as harness:
        session = await harness.session()
        assert (await harness.turn(session, "first words")).outcome == "completed"
        other = await harness.session()
        await harness.turn(other, "other words")
        await renamed(harness, other, "Second")
        assert (await harness.runtime.store.session(session.id)).title == title


def title_requests(harness: Harness) -> list[Request]:
    return [r for r in harness.server.requests if "tools" not in r.body]


async def test_the_model_of_an_own_server_names_a_session_after_its_first_turn(
    tmp_path: Path,
) -> None:
    async with harness_with_titles(tmp_path, [answer(Text("Fix the import"))], None) as harness:
        session = await harness.session()
        await harness.turn(session, "the import crashes")
        await renamed(harness, session, "Fix the import")
        await harness.turn(session, "and again")
        kinds = ["tools" in request.body for request in harness.server.requests]
        assert kinds == [True, False, True]
        assert len(title_requests(harness)) == 1


async def test_a_turn_cancels_the_title_that_an_own_server_writes(tmp_path: Path) -> None:
    """It is requested again after that turn."""
    hold = Hold()
    titles = [answer(hold, Text("Never read")), answer(Text("Second try"))]
    async with harness_with_titles(tmp_path, titles, None) as harness:
        session = await harness.session()
        await harness.turn(session, "first words")
        await hold.reached.wait()
        assert (await harness.turn(session, "go on")).outcome == "completed"
        await renamed(harness, session, "Second try")
        await title_requests(harness)[0].closed.wait()


async def test_an_own_server_that_writes_no_title_is_not_asked_again(tmp_path: Path) -> None:
    async with harness_with_titles(
        tmp_path, [Failure(400), answer(Text("Second"))], None
    ) as harness:
        session = await harness.session()
        await harness.turn(session, "first words")
        other = await harness.session()
        await harness.turn(other, "other words")
        await renamed(harness, other, "Second")
        await harness.turn(session, "and again")
        assert len(title_requests(harness)) == 2
        assert (await harness.runtime.store.session(session.id)).title == "first words"


@pytest.mark.parametrize(("small_model", "answering"), [("none", "text"), (None, "none")])
async def test_titles_can_be_off_and_a_run_without_a_user_ends_with_its_turn(
    tmp_path: Path, small_model: str | None, answering: Answering
) -> None:
    async with open_harness(tmp_path, small_model=small_model, answering=answering) as harness:
        harness.server.always(DONE)
        await harness.turn(await harness.session(), "first words")
        # The tasks for titles begin before the harness sees the end of the turn.
        assert "title" not in {task.get_name() for task in asyncio.all_tasks()}
