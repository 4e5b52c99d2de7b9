"""Every dialog closes only once, whatever is typed after the answer."""

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.content import Content
from textual.events import Key
from textual.geometry import Region
from textual.screen import ModalScreen

import app.screens
from app.action_registry.registry import actions
from app.screens.base.dialog import Dialog
from app.screens.base.page import PageScreen
from app.screens.base.picker import Picker, Row
from app.screens.base.small_dialogs import (
    LETTER_NEEDED,
    ApiKeyScreen,
    ConfirmScreen,
    ErrorScreen,
    TextScreen,
)
from app.screens.help import HelpScreen, PaletteScreen
from app.screens.requests.permission import PermissionScreen
from tests.app.conftest import Starter
from tests.app.screens.requests.examples import request
from tests.support.hosting import Host, settle
from tests.support.snapshots import screen_text


@pytest.mark.parametrize(
    "dialog",
    [
        lambda: ConfirmScreen("Sure?"),
        lambda: TextScreen("Name?"),
        lambda: PermissionScreen(request(), grace=0),
    ],
)
async def test_closing_a_dialog_twice_leaves_the_screen_below(
    dialog: Callable[[], Dialog[object]],
) -> None:
    host = Host(dialog(), below=True)
    async with host.run_test() as pilot:
        await pilot.pause()
        host.dialog.dismiss("first")
        host.dialog.dismiss("second")
        await pilot.pause()
        assert host.outcomes == ["first"]
        assert host.screen.name == "below"


async def test_enter_in_a_confirmation_shows_that_a_letter_is_needed() -> None:
    host = Host(ConfirmScreen("Sure?"))
    async with host.run_test() as pilot:
        await pilot.press("enter")
        await settle(pilot)
        assert host.outcomes == []
        assert LETTER_NEEDED in screen_text(host)
        await pilot.press("y")
        await settle(pilot)
        assert host.outcomes == [True]


class Watched(Host):
    """Records the position of the dialog's *box* in each frame."""

    def __init__(self, shown: Dialog[object], box: str) -> None:
        super().__init__(shown)
        self._box = box
        self.stood: list[Region] = []

    def post_display_hook(self) -> None:
        if self.screen is self.shown and (found := self.screen.query(self._box)):
            self.stood.append(found.first().region)


@pytest.mark.parametrize(
    ("dialog", "box"),
    [
        (lambda: ConfirmScreen("Sure?"), ".dialog"),
        (lambda: HelpScreen(actions(), lambda _: ("ctrl+x y",)), "#help"),
        (lambda: PermissionScreen(request(), grace=0), "#ask"),
    ],
)
@pytest.mark.parametrize("size", [(80, 24), (200, 50), (40, 12)])
async def test_a_dialog_is_in_its_final_place_from_the_first_frame(
    dialog: Callable[[], Dialog[object]], box: str, size: tuple[int, int]
) -> None:
    host = Watched(dialog(), box)
    async with host.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.pause()
        assert len(set(host.stood) - {Region()}) == 1, host.stood


async def test_keys_typed_after_the_answer_close_nothing_else() -> None:
    host = Host(PermissionScreen(request(), grace=0), below=True)
    async with host.run_test() as pilot:
        await pilot.pause()
        for key in ("o", "o", "escape"):  # all of them before the screen has gone
            host.dialog.post_message(_key(key))
        await pilot.pause()
        await pilot.pause()
        assert len(host.outcomes) == 1
        assert host.screen.name == "below"


def _key(key: str) -> Key:
    return Key(key, key if len(key) == 1 else None)


LONG = "a sentence that goes on and on, word after word, " * 6
ALL: dict[str, Callable[[], Dialog[object]]] = {
    "confirm": lambda: ConfirmScreen(LONG),
    "text": lambda: TextScreen("Name?"),
    "key": lambda: ApiKeyScreen("Anthropic", "Create keys at platform.claude.com", LONG),
    "error": lambda: ErrorScreen(LONG, "~/log/opencode-py.log"),
    "permission": lambda: PermissionScreen(request(), grace=0),
    "picker": lambda: Picker("Models", [Row(str(n), LONG, LONG, right="$1") for n in range(40)]),
    "page": lambda: PageScreen("Context", Content(LONG)),
    "help": lambda: HelpScreen(actions(), lambda _: ("ctrl+x y",)),
    "palette": lambda: PaletteScreen(actions(), lambda _: ("ctrl+x y",)),
}


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("size", [(99, 30), (80, 24), (40, 16), (100, 30)])
async def test_below_100_columns_a_dialog_fills_the_width(name: str, size: tuple[int, int]) -> None:
    """No part of the screen is left next to it, and all of it is visible."""
    host = Host(ALL[name](), below=True)
    async with host.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.pause()
        box = next(iter(host.dialog.children)).region
        assert (box.x == 0 and box.width == size[0]) is (size[0] < 100)
        assert box.height <= size[1]
        for widget in host.dialog.query("*"):
            if widget.display and widget.region:
                assert widget.region.right <= box.right, widget


def test_every_modal_screen_is_a_dialog() -> None:
    found = []
    for module in pkgutil.iter_modules(app.screens.__path__, "app.screens."):
        for _, kind in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if issubclass(kind, ModalScreen) and kind.__module__.startswith("app."):
                found.append(kind)
    assert len(found) > 10
    assert [kind.__name__ for kind in found if not issubclass(kind, Dialog)] == []


async def test_refusing_trust_and_pressing_enter_at_once_works(start: Starter, work: Path) -> None:
    """Like a user who types a first prompt before the trust question is visible."""
    (work / "AGENTS.md").write_text("Be kind.\n")
    async with start(ready=False) as running:
        await running.until_shown("Do you trust")
        for key in ("n", "enter", "enter"):
            running.app.screen.post_message(_key(key))
        await running.until_ready()
        await running.type("list", "enter")
        await running.until_shown("List")
