"""Text fields handle keys in their order and move by graphemes."""

import pytest
from textual import events
from textual.app import App, ComposeResult

from app.widgets.input.field import GraphemeArea, TextField, grapheme_boundaries

FAMILY, ACCENTED, FLAG = (
    "\U0001f469\u200d\U0001f469\u200d\U0001f467",
    "e\u0301",
    "\U0001f1e9\U0001f1ea",
)


class Host(App[None]):
    def compose(self) -> ComposeResult:
        yield TextField()


async def test_keys_of_one_read_are_handled_in_order() -> None:
    app = Host()
    async with app.run_test() as pilot:
        for key in ("a", "b", "backspace", "c", "left", "x", "home", "y"):
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        await pilot.pause()
        assert app.query_one(TextField).value == "yaxc"


class Both(App[None]):
    """The field of the dialogs and the editor of the prompt."""

    def compose(self) -> ComposeResult:
        yield TextField()
        yield GraphemeArea()


@pytest.mark.parametrize("whole", [FAMILY, ACCENTED, FLAG, "表"])
@pytest.mark.parametrize("keys", [("left", "delete"), ("backspace",), ("shift+left", "backspace")])
async def test_a_grapheme_is_deleted_as_a_whole(whole: str, keys: tuple[str, ...]) -> None:
    """In dialogs as in the prompt."""
    app = Both()
    async with app.run_test() as pilot:
        line, area = app.query_one(TextField), app.query_one(GraphemeArea)
        line.value = area.text = f"a{whole}"
        for widget in (line, area):
            widget.focus()
            await pilot.press("end", *keys)
        assert (line.value, area.text) == ("a", "a")


@pytest.mark.parametrize("whole", [FAMILY, ACCENTED, FLAG])
async def test_the_cursor_moves_over_a_whole_grapheme(whole: str) -> None:
    app = Host()
    async with app.run_test() as pilot:
        line = app.query_one(TextField)
        line.value = f"{whole}b"
        await pilot.press("home", "right", "x", "left", "left", "y", "shift+right", "delete")
        assert line.value == "yxb"


def test_two_flags_are_two_graphemes() -> None:
    assert grapheme_boundaries(f"{FLAG}{FLAG}x{FLAG}") == [0, 2, 4, 5, 7]
