"""The user's own slash commands and agents on the screen."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from app.action_registry.registry import find_by_slash
from app.screens.base.picker import Picker
from app.screens.help import HelpScreen
from tests.app.conftest import Running, Starter
from tests.support.model_server import ModelServer
from tests.support.processes import gone, pids_in
from tests.support.script import Text, answer


def folder(folders: Mapping[str, str]) -> Path:
    return Path(folders["XDG_CONFIG_HOME"]) / "opencode-py"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def last_user(server: ModelServer) -> str:
    return str([m for m in server.requests[-1].body["messages"] if m["role"] == "user"][-1])


async def known(running: Running, name: str) -> None:
    await running.until(lambda: find_by_slash(name) is not None)


async def test_a_command_is_listed_expanded_and_sent(
    scripted: ModelServer, folders: Mapping[str, str], start: Starter
) -> None:
    write(folder(folders) / "commands/git/fix.md", "---\ndescription: Fix an issue\n---\nMend $1.")
    scripted.script(answer(Text("Mended.")))
    async with start() as running:
        await known(running, "git/fix")
        await running.type("/git")
        await running.until_shown("Fix an issue")
        # It wants an argument: enter puts its name there, and sends it once more is typed.
        await running.pilot.press("enter")
        await running.until(lambda: running.prompt == "/git/fix ")
        await running.type("12", "enter")
        await running.until_idle()
        await running.until_shown("/git/fix 12")
        await running.until_shown("Mended.")
        assert "Mend 12." in last_user(scripted)


async def test_commands_are_in_the_palette_and_the_help(
    scripted: ModelServer, folders: Mapping[str, str], start: Starter
) -> None:
    write(folder(folders) / "commands/tidy.md", "---\ndescription: Tidy up\n---\nTidy.")
    async with start(size=(100, 60)) as running:
        await known(running, "tidy")
        await running.type("/help", "enter")
        await running.until(lambda: isinstance(running.app.screen, HelpScreen))
        await running.pilot.press("end")
        await running.until_shown("Tidy up")
        await running.pilot.press("escape")
        await running.until(running.app.controller.on_main_screen)
        await running.pilot.press("ctrl+p")
        await running.type("tidy")
        await running.until_shown("/tidy   Tidy up")


async def test_several_lines_can_follow_and_a_taken_name_is_reported(
    scripted: ModelServer, folders: Mapping[str, str], start: Starter
) -> None:
    write(folder(folders) / "commands/note.md", "Note:")
    write(folder(folders) / "commands/new.md", "Never.")
    write(folder(folders) / "commands/init.md", "My own init.")
    scripted.script(answer(Text("Noted.")), answer(Text("Begun.")))
    async with start() as running:
        await running.until_shown("/new is taken")
        await running.type("/note one", "ctrl+j")
        await running.type("two", "enter")
        await running.until_idle()
        assert "Note:\\n\\none\\ntwo" in last_user(scripted)
        await running.type("/init", "enter")
        await running.until_shown("Begun.")
        assert "My own init." in last_user(scripted)
    assert find_by_slash("note") is None


async def test_a_refused_command_returns_to_the_prompt(
    scripted: ModelServer, folders: Mapping[str, str], start: Starter
) -> None:
    write(folder(folders) / "commands/state.md", "State: !`rm -rf x`")
    async with start() as running:
        await known(running, "state")
        await running.type("/state", "enter")
        await running.until_shown("rm -rf x")
        await running.pilot.press("r")
        await running.until_shown("was not sent")
        assert running.prompt == "/state"
        assert not scripted.requests


ANYTHING = {"OPENCODE_PERMISSION": '{"bash": "allow", "edit": "allow"}'}


@pytest.mark.parametrize("key", ["ctrl+c", "escape"])
async def test_stopping_a_command_ends_its_processes(
    scripted: ModelServer, folders: Mapping[str, str], start: Starter, work: Path, key: str
) -> None:
    line = "sleep 1000 & echo $$ $! > pids; wait"
    write(folder(folders) / "commands/slow.md", f"State: !`{line}`")
    # In a sandbox a command sees other numbers of its processes.
    outside = {"OPENCODE_CONFIG_CONTENT": '{"bash": {"sandbox": "off"}}'}
    async with start(env=ANYTHING | outside) as running:
        await known(running, "slow")
        await running.type("/slow", "enter")
        await running.until(lambda: bool(pids_in(work / "pids", 2)))
        await running.until_shown("esc to interrupt")
        await running.pilot.press(key)
        await running.until_shown("Nothing was sent")
        await running.until(lambda: all(map(gone, pids_in(work / "pids", 2))))
        assert running.prompt == "/slow"
        assert "esc to interrupt" not in running.text()
        assert running.app.is_running
        assert not scripted.requests
        # The next prompt is sent as usual.
        scripted.script(answer(Text("Hello.")))
        await running.pilot.press("ctrl+u")
        await running.type("hi", "enter")
        await running.until_shown("Hello.")


async def test_a_command_that_waits_for_permission_can_be_stopped(
    scripted: ModelServer, folders: Mapping[str, str], start: Starter
) -> None:
    write(folder(folders) / "commands/state.md", "State: !`rm -rf x`")
    async with start() as running:
        await known(running, "state")
        await running.type("/state", "enter")
        await running.until_shown("rm -rf x")
        await running.pilot.press("ctrl+c")
        await running.until_shown("Nothing was sent")
        await running.until(running.app.controller.on_main_screen)
        assert not running.runtime.permissions.pending()


async def test_a_projects_commands_need_trust(
    scripted: ModelServer, start: Starter, work: Path
) -> None:
    write(work / ".opencode/command/theirs.md", "---\ndescription: Of theirs\n---\nTheirs.")
    async with start(ready=False) as running:
        await running.until_shown("Do you trust this folder?")
        await running.until_shown("commands")
        await running.pilot.press("n")
        await running.until_ready()
        await known(running, "review")
        assert find_by_slash("theirs") is None
        await running.type("/trust", "enter")
        await running.until_shown("This folder is not trusted")
        await running.pilot.press("y")
        await known(running, "theirs")


async def test_an_agents_own_model_is_used_only_with_it(
    scripted: ModelServer, folders: Mapping[str, str], start: Starter
) -> None:
    write(
        folder(folders) / "agents/deep.md",
        "---\ndescription: Thinks long\nmode: primary\nmodel: scripted/other\ncolor: '#ff8800'\n"
        "---\nThink.",
    )
    async with start() as running:
        live = running.app.controller.live
        assert live.model == "scripted/model-1"
        await running.pilot.press("tab", "tab")
        await running.until(lambda: live.agent == "deep")
        await running.until_shown("other")
        assert live.model == "scripted/other"
        box = running.app.screen.query_one("#prompt-box")
        assert box.styles.border_left[1].hex == "#FF8800"
        await running.pilot.press("tab")
        await running.until(lambda: live.agent == "build")
        await running.until(lambda: live.model == "scripted/model-1")
        assert box.styles.border_left[1].hex != "#FF8800"


async def test_the_picker_shows_the_source_of_each_agent(
    scripted: ModelServer, folders: Mapping[str, str], start: Starter
) -> None:
    write(folder(folders) / "agents/look.md", "---\ndescription: Looks\nmode: subagent\n---\nLook.")
    async with start(size=(120, 30)) as running:
        await running.type("/agents", "enter")
        await running.until(lambda: isinstance(running.app.screen, Picker))
        await running.until_shown("agents/look.md")
        await running.until_shown("built in")
        await running.type("look.md", "enter")
        await running.until(lambda: running.prompt == "@look ")


async def test_sub_agents_are_completed_after_an_at_sign(
    scripted: ModelServer, start: Starter
) -> None:
    scripted.script(answer(Text("Found.")))
    async with start() as running:
        await running.type("find it @expl")
        await running.until_shown("Read-only")
        await running.pilot.press("enter")
        await running.until(lambda: running.prompt == "find it @explore ")
        await running.pilot.press("enter")
        await running.until_idle()
        await running.until_shown("asked  @explore")
        assert "mentioned the sub-agent explore" in last_user(scripted)


async def test_a_plugins_theme_can_be_chosen_and_an_invalid_one_is_reported(
    scripted: ModelServer, folders: Mapping[str, str], start: Starter
) -> None:
    write(
        folder(folders) / "plugins/looks.py",
        "def register(plugin):\n"
        "    plugin.theme('sea', {'primary': '#5aa9e6', 'background': '#0b1d2a'})\n"
        "    plugin.theme('mud', {'primary': 'no colour'})\n",
    )
    async with start() as running:
        await running.until_shown("The theme mud is ignored")
        await running.type("/theme sea", "enter")
        await running.until(lambda: running.app.theme == "sea")
        assert running.app.current_theme.dark
