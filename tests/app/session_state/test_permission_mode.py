"""Permission modes: cycled with shift+tab and always shown."""

import json
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from agent.records.requests import PermissionMode
from app.session_state.permission_mode import PermissionModeCycle
from app.widgets.status import Status, status_text
from tests.app.conftest import Running, Starter, configure
from tests.support.harness import MODEL
from tests.support.model_server import ModelServer
from tests.support.script import Call, Hold, Text, answer

AGENTS = ("build", "plan", "review")


def test_the_cycle_goes_through_plan_and_back_to_the_agent_before() -> None:
    modes = PermissionModeCycle()
    agent, mode = "review", "ask"
    seen: list[tuple[str, str]] = []
    for _ in range(4):
        step = modes.advance(agent, mode, AGENTS)
        agent, mode = step.agent, step.mode
        seen.append((mode, agent))
    assert seen == [
        ("accept edits", "review"),
        ("ask", "plan"),
        ("ask", "review"),
        ("accept edits", "review"),
    ]


def test_without_a_plan_agent_there_is_no_plan_mode() -> None:
    modes = PermissionModeCycle()
    assert modes.names(["build"]) == ("ask", "accept edits", "judge", "auto")
    assert modes.advance("build", "accept edits", ["build"]).mode == "ask"


def test_a_mode_is_set_by_name_and_a_plan_agent_in_auto_is_not_the_plan_mode() -> None:
    modes = PermissionModeCycle()
    assert modes.advance("build", "ask", AGENTS, wanted="auto").mode == "auto"
    step = modes.advance("plan", "auto", AGENTS)
    assert (step.mode, step.agent) == ("ask", "build")


@pytest.mark.parametrize("mode", ["ask", "accept edits", "judge", "auto"])
@pytest.mark.parametrize("width", [30, 80, 140])
def test_the_status_line_always_has_the_mode(mode: PermissionMode, width: int) -> None:
    status = Status(model="x/model", mode=mode, branch="main", context=900, limit=1000, cost=1.0)
    line = status_text(status, width)
    assert mode in line.plain
    assert line.cell_length <= width


async def status(running: Running, shown: str) -> None:
    await running.until(lambda: shown in running.text().rstrip().splitlines()[-1])


async def test_shift_tab_cycles_and_the_status_line_follows(start: Starter) -> None:
    async with start() as running:
        service = running.runtime.permissions
        await status(running, "ask")
        for shown, mode in (
            ("accept edits", "accept edits"),
            ("plan", "ask"),
            ("ask", "ask"),
        ):
            await running.pilot.press("shift+tab")
            await status(running, shown)
            assert service.mode == mode
        assert running.app.controller.live.agent == "build"


async def test_auto_of_the_command_line_is_shown_and_can_be_left(start: Starter) -> None:
    async with start(mode="auto") as running:
        await status(running, "auto")
        await running.type("/mode ask", "enter")
        await status(running, "ask")
        assert running.runtime.permissions.mode == "ask"
        await running.type("/mode none", "enter")
        await running.until_shown("The modes are")


async def test_auto_is_confirmed_once_and_shown_in_the_color_of_warnings(start: Starter) -> None:
    async with start() as running:
        permissions = running.runtime.permissions
        await status(running, "ask")
        await running.type("/mode auto", "enter")
        await running.until_shown("Run everything without asking?")
        await running.pilot.press("n")
        await running.until(running.app.controller.on_main_screen)
        assert permissions.mode == "ask"
        await running.type("/mode auto", "enter")
        await running.until_shown("Run everything without asking?")
        await running.pilot.press("y")
        await status(running, "auto")
        await running.pilot.press("shift+tab")
        await status(running, "ask")
        await running.type("/mode auto", "enter")
        await status(running, "auto")
        assert permissions.mode == "auto"
    tones = {str(span.style) for span in status_text(Status(mode="auto"), 80).spans}
    assert "$tone-warn" in tones


async def test_mode_without_a_name_opens_a_list(start: Starter) -> None:
    async with start() as running:
        await status(running, "ask")
        await running.type("/mode", "enter")
        await running.until_shown("Permission mode")
        for shown in ("accept edits", "plan", "auto", "reads and plans"):
            assert shown in running.text()
        await running.pilot.press("down", "enter")
        await status(running, "accept edits")


async def test_a_running_turn_shows_its_agent_once_another_one_is_chosen(
    start: Starter, scripted: ModelServer
) -> None:
    hold = Hold()
    scripted.script(answer(Text("begun"), hold), answer(Text("planned"), Hold()))
    async with start() as running:
        await running.type("go", "enter")
        await running.until_shown("begun")
        assert "Working as" not in running.text()
        await running.pilot.press("shift+tab", "shift+tab")
        await running.until_shown("Working as build")
        hold.gate.set()
        await running.until_idle()
        await running.type("next", "enter")
        await running.until_shown("planned")
        assert "Working as" not in running.text()
        await running.pilot.press("escape")


async def test_reopening_a_folder_keeps_the_mode(start: Starter) -> None:
    async with start(mode="auto") as running:
        await running.pilot.press("shift+tab")
        await status(running, "ask")
        before = running.runtime
        await running.type("/trust", "enter")
        await running.until(lambda: not running.app.controller.on_main_screen())
        await running.pilot.press("y")
        await running.until(lambda: running.runtime is not before)
        assert running.runtime.permissions.mode == "ask"


async def test_accept_edits_mode_allows_an_edit(
    start: Starter, scripted: ModelServer, work: Path
) -> None:
    scripted.script(
        answer(Call("write", {"file_path": "new.txt", "content": "one\n"})),
        answer(Call("bash", {"command": "touch other.txt"})),
        answer(Text("As you wish.")),
    )
    async with start() as running:
        await running.pilot.press("shift+tab")
        await status(running, "accept edits")
        await running.type("write it", "enter")
        await running.until_shown("Run this command?")
        assert (work / "new.txt").read_text() == "one\n"
        await running.pilot.press("o")
        await running.until_shown("As you wish.")
        assert (work / "other.txt").exists()


@pytest.mark.parametrize("size", [(80, 24), (140, 45)])
async def test_the_judge_is_chosen_by_name_and_its_verdicts_are_shown(
    start: Starter, folders: Mapping[str, str], size: tuple[int, int]
) -> None:
    steps = [Call("bash", {"command": "mkdir one"}), Call("bash", {"command": "mkdir two"})]
    verdicts = [("allow", "The user asked for it."), ("ask", "Nobody asked for two.")]

    def script(body: dict):
        if "You judge one tool call" not in str(body["messages"][0]):
            return answer(steps.pop(0) if steps else Text("done"))
        word, reason = verdicts.pop(0)
        return answer(Text(json.dumps({"verdict": word, "reason": reason})))

    async with ModelServer() as server, AsyncExitStack() as stack:
        configure(folders, server, judge_model=MODEL)
        server.always(script)
        running = await stack.enter_async_context(start(size=size))
        await running.type("/mode judge", "enter")
        await status(running, "judge")
        assert running.runtime.permissions.mode == "judge"
        await running.type("make a folder", "enter")
        await running.until(lambda: "suggests asking: Nobody asked for two" in running.text())
        await running.pilot.press("o")
        await running.until(lambda: "done" in running.text())
        shown = running.text()
        assert "allowed by model-1: The user asked for it" in shown
        assert "allowed once" in shown
        assert "(model-1 suggests asking: Nobody asked for two)" in " ".join(shown.split())
        await running.pilot.press("shift+tab")
        await status(running, "ask")
