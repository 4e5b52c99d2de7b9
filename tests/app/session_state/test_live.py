"""The open session, and what other programs do in it."""

from collections.abc import Mapping
from pathlib import Path

from textual.events import AppFocus

from agent.runtime.runtime import open_runtime
from agent.session.api import PromptInput
from tests.app.conftest import Starter
from tests.support.model_server import ModelServer
from tests.support.script import Text, answer


async def test_what_another_program_did_is_shown(
    scripted: ModelServer, start: Starter, folders: Mapping[str, str], work: Path
) -> None:
    async with start() as running:
        scripted.script(answer(Text("first answer")))
        await running.type("first", "enter")
        await running.until_shown("first answer")
        await running.until_idle()
        session = running.app.controller.live.session
        assert session is not None
        other = await open_runtime(work, env=folders)
        try:
            scripted.script(answer(Text("second answer")), answer(Text("third answer")))
            await other.sessions.prompt(session.id, PromptInput(text="second"))
            await other.sessions.wait(session.id)
            assert "second answer" not in running.text()
            running.app.post_message(AppFocus())
            await running.until_shown("second answer")
            await other.sessions.prompt(session.id, PromptInput(text="third"))
            await other.sessions.wait(session.id)
        finally:
            await other.close()
        scripted.script(answer(Text("fourth answer")))
        await running.type("fourth", "enter")
        await running.until_shown("fourth answer")
        assert "third answer" in running.text()
