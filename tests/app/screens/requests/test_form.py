"""The dialog of a server's form."""

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from textual.widgets import Input, Static

from agent.records.json import Json, JsonObject
from agent.records.requests import QuestionReply
from app.screens.requests.form import FieldBox, FormScreen
from tests.agent.mcp.mcp_harness import SERVERS
from tests.app.conftest import Starter
from tests.app.screens.requests.examples import FORM
from tests.support.hosting import Host, settle
from tests.support.model_server import ModelServer
from tests.support.script import Call, Text, answer
from tests.support.snapshots import SIZES, assert_both_themes, screen_text

DEFAULTS: JsonObject = {"name": "Bob", "painted": False}


def filled(**values: Json) -> QuestionReply:
    return QuestionReply(values={**DEFAULTS, **values})


def faults(host: Host) -> dict[str, str]:
    """Return the faults that are shown, by field."""
    shown: dict[str, str] = {}
    for box in host.screen.query(FieldBox):
        fault = box.query_one(".form-fault", Static)
        if fault.display:
            shown[box.form_field.name] = str(fault.visual)
    return shown


@pytest.mark.parametrize(
    ("keys", "outcome"),
    [
        (["tab", "tab", "4", "enter", "enter", "enter", "enter"], filled(legs=4, wood="oak")),
        (["tab", "tab", "4", "down", "down", "space", *["tab"] * 3, "enter"],
         filled(legs=4, wood="pine")),
        (["tab", "tab", "4", "enter", "down", "enter", "up", "space", "tab", "space", "enter"],
         filled(legs=4, wood="pine", painted=True, tools=["saw"])),
        (["ctrl+u", *"Al", "enter", *"a@b", "enter", "5", "enter", "enter", *["tab"] * 2, "enter"],
         filled(name="Al", mail="a@b", legs=5, wood="oak")),
        (["tab", "tab", "4", "tab", "space", "tab", "space", "tab", "tab", "space"],
         QuestionReply(values={"name": "Bob", "legs": 4, "wood": "oak"})),
        (["shift+tab", "enter"], QuestionReply(declined=True)),
        (["shift+tab", "space"], QuestionReply(declined=True)),
        (["escape"], QuestionReply(dismissed=True)),
        ([*"Ann", "escape"], QuestionReply(dismissed=True)),
    ],
)  # fmt: skip
async def test_every_way_to_answer(keys: list[str], outcome: QuestionReply) -> None:
    host = Host(FormScreen(FORM, grace=0))
    async with host.run_test() as pilot:
        await settle(pilot)
        await pilot.press(*keys)
        await pilot.pause()
        assert host.outcomes == [outcome]


async def test_a_form_with_faults_stays_open_and_names_each_at_its_field() -> None:
    host = Host(FormScreen(FORM, grace=0))
    async with host.run_test() as pilot:
        await settle(pilot)
        await pilot.press("ctrl+u", "A", "enter", "x", "enter", "9", *["tab"] * 3, "tab", "enter")
        await settle(pilot)
        assert host.outcomes == []
        assert faults(host) == {
            "name": "✕ at least 2 characters",
            "mail": "✕ enter it as name@example.com",
            "legs": "✕ at most 8",
            "wood": "✕ required",
        }
        assert "✕ at least 2 characters" in screen_text(host)
        await pilot.press("n", "enter", *"@y.z", "enter", "backspace", "8", "enter", "enter")
        await settle(pilot)
        assert faults(host) == {"wood": "✕ required"}
        await pilot.press("tab", "enter")
        assert host.outcomes == [filled(name="An", mail="x@y.z", legs=8, wood="oak")]


async def test_ctrl_c_cancels_the_turn_and_a_withdrawn_form_closes() -> None:
    for end, outcome in ((FormScreen.interrupt, "cancel"), (FormScreen.dismiss, None)):
        host = Host(FormScreen(FORM, grace=0))
        async with host.run_test() as pilot:
            await settle(pilot)
            assert isinstance(host.screen, FormScreen)
            end(host.screen)
            await pilot.pause()
            assert host.outcomes == [outcome]


async def test_clicks_mark_choices_and_press_buttons() -> None:
    host = Host(FormScreen(replace(FORM, fields=FORM.fields[3:]), grace=0))
    async with host.run_test(size=(80, 30)) as pilot:
        await settle(pilot)
        lists = list(host.screen.query("ChoiceList"))
        await pilot.click(lists[0], offset=(5, 1))
        await pilot.click(lists[2], offset=(5, 0))
        await pilot.click("#form-send")
        await pilot.pause()
        values = {"wood": "pine", "painted": False, "tools": ["saw"]}
        assert host.outcomes == [QuestionReply(values=values)]


async def test_the_values_reach_the_server_that_asks(
    scripted: ModelServer, start: Starter, folders: Mapping[str, str]
) -> None:
    command = [sys.executable, str(SERVERS / "raw.py"), "asks"]
    servers = {"asks": {"type": "local", "command": command}}
    settings = Path(folders["XDG_CONFIG_HOME"]) / "opencode-py/config.json"
    known = json.loads(settings.read_text())
    settings.write_text(json.dumps(known | {"mcp": servers, "permission": {"asks_*": "allow"}}))
    scripted.script(answer(Call("asks_good", {})), answer(Text("done")))
    async with start() as running:
        await running.until_shown("mcp 1")
        await running.type("go", "enter")
        await running.until_shown("What shall it be?")
        await running.pilot.press("enter", "4", *["tab"] * 4, "enter")
        await running.until_idle()
    sent = str(scripted.requests[-1].body["messages"][-1]["content"])
    assert '"action": "accept"' in sent
    assert '"wood": "oak", "legs": 4, "name": "Bob"' in sent


@pytest.mark.parametrize("size", [*SIZES, (60, 14)])
async def test_snapshots_of_a_form(size: tuple[int, int]) -> None:
    host = Host(FormScreen(FORM, grace=0))
    async with host.run_test(size=size) as pilot:
        await settle(pilot)
        await pilot.press("tab", "x", *["tab"] * 4, "enter")
        await settle(pilot)
        for line in host.screen.query(Input):
            line.cursor_blink = False
        await settle(pilot)
        await assert_both_themes(pilot, "dialog-form")


async def test_the_label_of_the_field_with_the_focus_is_marked() -> None:
    host = Host(FormScreen(FORM, grace=0))
    async with host.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        for field in (0, 1, 2, 3):
            colors = [
                box.query_one(".form-label").styles.color for box in host.screen.query(FieldBox)
            ]
            assert [at for at, color in enumerate(colors) if colors.count(color) == 1] == [field]
            await pilot.press("tab")
            await settle(pilot)
