"""Steps of tests with worktrees."""

from pathlib import Path

from app.tui.app import OpencodeApp
from tests.app.conftest import Running
from tests.support.model_server import ModelServer
from tests.support.script import Call, Text, answer


def folder_of(app: OpencodeApp) -> Path:
    return app.controller.live.runtime.directory


async def write_a_file(running: Running, scripted: ModelServer, content: str = "made\n") -> None:
    scripted.script(
        answer(Call("write", {"file_path": "made.txt", "content": content})),
        answer(Text("it is written")),
    )
    await running.type("write it", "enter")
    await running.until(lambda: not running.app.controller.on_main_screen())
    await running.pilot.press("o")
    await running.until_shown("it is written")
    await running.until_idle()
