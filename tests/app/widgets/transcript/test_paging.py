"""Long sessions are loaded a page at a time, and the visible lines do not move."""

import random
from dataclasses import replace

import pytest
from textual.pilot import Pilot

from agent.records.events import MessageRemoved, MessageUpdated
from agent.records.messages import MessageWithParts, TextPart
from app.session_state.view import KEPT_MESSAGES, MAX_MESSAGES, SessionView
from app.widgets.transcript.transcript import Transcript
from tests.app.conftest import Starter
from tests.support import records
from tests.support.records import SESSION, snapshot
from tests.support.transcripts import TranscriptApp, grow, history, painted, say, streaming

PAGE = 100


class Paged:
    """A session whose last page is loaded, and the pages before it."""

    def __init__(self, turns: int) -> None:
        self.messages = history(turns)
        self.left = self.messages[:-PAGE]
        held = self.messages[-PAGE:]
        self.app = TranscriptApp(SessionView(snapshot(*held, older=len(self.left))))

    @property
    def requests(self) -> int:
        """Return how often a page was requested since the last one was loaded."""
        return sum(isinstance(message, Transcript.Earlier) for message in self.app.messages)

    def load(self) -> None:
        """Pass the next page to the transcript."""
        self.app.messages.clear()
        page, self.left = self.left[-PAGE:], self.left[:-PAGE]
        view = self.app.transcript.view
        assert view is not None
        self.app.transcript.update(view.prepend(tuple(page), len(self.left)))


async def settle(pilot: Pilot[object]) -> None:
    await pilot.pause()
    await pilot.pause()


async def test_the_previous_page_is_requested_near_the_top() -> None:
    paged = Paged(150)
    async with paged.app.run_test(size=(80, 20)) as pilot:
        await settle(pilot)
        assert paged.requests == 0
        assert paged.app.transcript.virtual_size.height > 2_000  # unloaded pages have rows too
        while paged.requests == 0:
            assert paged.app.transcript.scroll_offset.y > 0
            await pilot.press("pageup")
            await settle(pilot)
        requests = paged.requests
        say(paged.app, MessageUpdated(replace(paged.messages[-1].message, error=None)))
        await settle(pilot)
        assert paged.requests == requests  # not again by itself


@pytest.mark.parametrize("seed", range(4))
async def test_the_visible_lines_stay_while_pages_are_loaded(seed: int) -> None:
    """Also while a response streams below."""
    chance = random.Random(seed)
    paged = Paged(150)
    async with paged.app.run_test(size=(80, 20)) as pilot:
        await settle(pilot)
        seen: list[list[str]] = []
        while paged.left or paged.app.transcript.scroll_offset.y > 0:
            for _ in range(chance.randint(1, 5)):
                await pilot.press(chance.choice(["pageup", "pageup", "up"]))
            await settle(pilot)
            if paged.requests and paged.left:
                before = painted(paged.app)
                paged.load()
                await settle(pilot)
                after = painted(paged.app)
                # Rows of unloaded pages get their content; all others stay in place.
                loaded = (
                    max((n for n, row in enumerate(before) if "earlier mess" in row), default=-1)
                    + 1
                )
                loaded = len(before) if not any(before[loaded:]) else loaded
                assert after[loaded:] == before[loaded:]
            seen.append(painted(paged.app))
        assert any("question 0" in row for row in seen[-1])


async def test_every_message_is_seen_once_in_order_on_the_way_up() -> None:
    paged = Paged(120)
    numbers: list[int] = []
    async with paged.app.run_test(size=(80, 20)) as pilot:
        await settle(pilot)
        while True:
            for row in reversed(painted(paged.app)):
                words = row.split()
                if "question" in words and words[-1].isdigit() and int(words[-1]) not in numbers:
                    numbers.append(int(words[-1]))
            if not paged.left and paged.app.transcript.scroll_offset.y == 0:
                break
            await pilot.press("pageup")
            await settle(pilot)
            if paged.requests and paged.left:
                paged.load()
                await settle(pilot)
    assert numbers == list(range(119, -1, -1))


async def test_home_goes_to_the_first_message() -> None:
    paged = Paged(150)
    async with paged.app.run_test(size=(80, 20)) as pilot:
        await settle(pilot)
        await pilot.press("home")
        await settle(pilot)
        while paged.left:
            assert paged.requests
            paged.load()
            await settle(pilot)
        assert paged.app.transcript.scroll_offset.y == 0
        assert any("question 0" in row for row in painted(paged.app))
        assert not any("earlier mess" in row for row in painted(paged.app))
        await pilot.press("end")
        await settle(pilot)
        assert paged.app.transcript.following


async def test_scrolling_cancels_going_to_the_first_message() -> None:
    paged = Paged(150)
    async with paged.app.run_test(size=(80, 20)) as pilot:
        await settle(pilot)
        await pilot.press("home")
        await settle(pilot)
        await pilot.press("end")
        await settle(pilot)
        before = painted(paged.app)
        paged.load()
        await settle(pilot)
        assert painted(paged.app) == before
        assert paged.app.transcript.following


async def test_streaming_continues_while_the_history_is_read() -> None:
    """Neither new rows below nor pages above move the visible lines."""
    view = streaming(60)
    older = history(20)
    view.older = len(older)
    app = TranscriptApp(view)
    async with app.run_test(size=(80, 20)) as pilot:
        await settle(pilot)
        for _ in range(6):
            await pilot.press("pageup")
        await settle(pilot)
        before = painted(app)
        for n in range(10):
            grow(app, f"\n\nparagraph {n}")
            await settle(pilot)
        pages = [
            MessageWithParts(replace(m.message, id=f"msg_000{n}_"), ()) for n, m in enumerate(older)
        ]
        app.transcript.update(view.prepend(tuple(pages), 0))
        await settle(pilot)
        assert painted(app)[:-1] == before[:-1]  # the last row has the hint


def test_events_for_pages_that_are_not_loaded_are_ignored() -> None:
    """Late changes to them are in the page when it is loaded."""
    view = SessionView(snapshot(*history(3), older=5))
    early = history(1)[0].message
    view.older = 5
    assert not view.apply(MessageUpdated(replace(early, id="msg_0")))
    assert view.message_ids[0] == "msg_0000a"
    assert not view.apply(MessageRemoved(SESSION, "msg_0"))
    assert view.older == 4
    assert not view.stale


async def test_a_session_of_1000_messages_can_be_read_from_its_first(start: Starter) -> None:
    async with start(size=(80, 24)) as running:
        store = running.runtime.store
        session = replace(records.session(), directory=str(running.runtime.directory), turns=500)
        await store.save(session)
        held = history(500)
        for at in range(0, len(held), 100):
            records_of = [r for m in held[at : at + 100] for r in (m.message, *m.parts)]
            await store.save(*records_of)
        await running.app.controller.live.open(session.id)
        view = running.app.controller.live.view
        assert view is not None
        assert view.older == 600
        await running.until_shown("answer 499")
        transcript = running.app.controller.main.transcript
        transcript.scroll_home()
        await running.until(lambda: not view.older)
        await running.until_shown("question 0")
        assert len(view.message_ids) == 1_000
        assert transcript.scroll_offset.y == 0
        # read again after missed events, nothing that was loaded is lost, nor the place
        await running.app.controller.live.open(session.id)
        again = running.app.controller.live.view
        assert again is not None
        assert again is not view
        assert len(again.message_ids) == 1_000
        await running.until_shown("question 0")
        assert isinstance(held[0].parts[0], TextPart)


async def test_unloading_messages_above_moves_nothing_and_they_are_requested_again() -> None:
    """While the newest messages are read, messages far above are unloaded."""
    whole = history(MAX_MESSAGES // 2 + 10)
    app = TranscriptApp(SessionView(snapshot(*whole)))
    async with app.run_test(size=(80, 20)) as pilot:
        await settle(pilot)
        before = painted(app)
        view = app.transcript.view
        assert view is not None
        view.trim()
        assert len(view.message_ids) == KEPT_MESSAGES
        say(app, MessageUpdated(whole[-1].message))
        await settle(pilot)
        assert painted(app) == before
        assert app.transcript.following
        await pilot.press("home")
        await settle(pilot)
        assert any(isinstance(message, Transcript.Earlier) for message in app.messages)
