"""``/pin``."""

import re

from agent.store import queries
from tests.app.conftest import Starter
from tests.support.model_server import ModelServer
from tests.support.script import Text, answer

MARK = "pinned, kept word for word in every summary"


async def test_a_message_and_a_response_are_pinned_shown_and_unpinned(
    scripted: ModelServer, start: Starter
) -> None:
    scripted.script(answer(Text("The [door] is red.")))
    async with start() as running:
        await running.type("Which colour?", "enter")
        await running.until_idle()
        await running.type("/pin", "enter")
        await running.until_shown("Not pinned")
        await running.type("which", "enter")
        await running.until_shown("Pinned: it is kept verbatim")
        await running.until(lambda: running.text().count(MARK) == 1)
        await running.type("/pin", "enter")
        await running.until_shown("Not pinned")
        assert re.search(r"Which colour\? +you", running.text())
        await running.type("door", "enter")
        await running.until(lambda: running.text().count(MARK) == 2)
        await running.type("/unpin", "enter")
        await running.until_shown("Pin a message")
        assert "Not pinned" not in running.text()
        await running.type("door", "enter")
        await running.until(lambda: running.text().count(MARK) == 1)
        session = running.app.controller.live.session
        assert session is not None
        assert len(await running.runtime.store.read(queries.pinned_ids, session.id)) == 1


async def test_a_response_is_listed_as_plain_text(scripted: ModelServer, start: Starter) -> None:
    scripted.script(answer(Text("## Found it\n\nIt is in **`read_rows`**.")))
    async with start() as running:
        await running.type("where", "enter")
        await running.until_idle()
        await running.type("/pin", "enter")
        await running.until_shown("Found it It is in read_rows.")


async def test_pinning_without_a_session_is_refused_in_a_sentence(start: Starter) -> None:
    async with start() as running:
        await running.type("/pin", "enter")
        await running.until_shown("No session is open yet")
