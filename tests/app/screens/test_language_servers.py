"""``/lsp``: the language servers and formatters."""

import json
import sys
from pathlib import Path

from tests.app.conftest import Starter
from tests.support.lsp import PATIENCE, SCRIPT


async def test_servers_and_formatters_are_listed_and_can_be_restarted(
    start: Starter, folders: dict[str, str], work: Path
) -> None:
    server = {"command": [sys.executable, SCRIPT, "good"], "extensions": [".tiny"]}
    formatter = {"command": ["true", "$FILE"], "extensions": [".tiny"]}
    folder = Path(folders["XDG_CONFIG_HOME"]) / "opencode-py"
    folder.mkdir()
    settings = {"lsp": {"tiny": server}, "formatter": {"calm": formatter}}
    (folder / "config.json").write_text(json.dumps(settings))
    (work / "a.tiny").write_text("ERROR\n")
    async with start() as running:
        await running.type("/lsp", "enter")
        await running.until_shown("○ tiny  starts with the first .tiny file")
        await running.until_shown("calm")
        await running.pilot.press("escape")
        found = await running.runtime.code.servers.diagnostics((str(work / "a.tiny"),), PATIENCE)
        assert found
        await running.type("/lsp", "enter")
        await running.until_shown("● tiny")
        await running.until_shown("1 error")
        running_now = running.app.controller.main.status.status.languages.running
        assert running_now == (("tiny", 1),)
        await running.pilot.press("ctrl+r")
        await running.until(lambda: running.runtime.code.servers.statuses == ())


async def test_without_servers_the_screen_explains_how_to_add_one(start: Starter) -> None:
    async with start(env={"PATH": "/nowhere"}) as running:
        await running.type("/lsp", "enter")
        await running.until_shown("No language server is running")
        await running.until_shown("No formatters are enabled")
