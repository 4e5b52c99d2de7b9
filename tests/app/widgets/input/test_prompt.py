"""The prompt editor."""

import pytest
from textual import events
from textual.app import App, ComposeResult

from app.theme.themes import register
from app.widgets.input.prompt import Prompt


class Host(App[None]):
    def __init__(self) -> None:
        super().__init__()
        register(self)
        self.sent: list[str] = []

    def compose(self) -> ComposeResult:
        yield Prompt()

    def on_prompt_submitted(self, event: Prompt.Submitted) -> None:
        self.sent.append(event.text)
        self.prompt.take_text()
        event.handled()

    @property
    def prompt(self) -> Prompt:
        return self.query_one(Prompt)


@pytest.fixture
def host() -> Host:
    return Host()


async def test_enter_sends_and_newline_keys_do_not(host: Host) -> None:
    async with host.run_test() as pilot:
        await pilot.press("a", "ctrl+j", "b", "shift+enter", "c", "alt+enter", "d", "enter")
        await pilot.pause()
        assert host.sent == ["a\nb\nc\nd"]


async def test_a_backslash_before_enter_makes_a_line(host: Host) -> None:
    async with host.run_test() as pilot:
        await pilot.press("a", "backslash", "enter", "b", "enter")
        await pilot.pause()
        assert host.sent == ["a\nb"]


async def test_a_paste_is_one_unit_whatever_its_line_ends(host: Host) -> None:
    """One prompt with three lines, sent once by Enter."""
    async with host.run_test() as pilot:
        host.prompt.post_message(events.Paste("a\r\nb\rc"))
        await pilot.pause()
        await pilot.press("enter")
        await pilot.pause()
        assert host.sent == ["a\nb\nc"]


async def test_up_shows_older_prompts_with_the_same_beginning(host: Host) -> None:
    async with host.run_test() as pilot:
        host.prompt.set_history(["fix two", "read x", "fix one"])
        await pilot.press("f", "i", "up")
        assert host.prompt.text == "fix two"
        await pilot.press("up")
        assert host.prompt.text == "fix one"
        await pilot.press("up")
        assert host.prompt.text == "fix one"
        await pilot.press("down", "down")
        assert host.prompt.text == "fi"


async def test_up_inside_a_text_of_several_lines_moves_the_cursor_first(host: Host) -> None:
    async with host.run_test() as pilot:
        host.prompt.set_history(["older"])
        host.prompt.set_text("one\ntwo")
        await pilot.press("up")
        assert host.prompt.text == "one\ntwo"
        assert host.prompt.cursor_location[0] == 0


async def test_remembered_prompts_come_once_and_newest_first(host: Host) -> None:
    async with host.run_test() as pilot:
        for text in ("a", "b", "a", "  "):
            host.prompt.remember(text)
        await pilot.press("up")
        assert host.prompt.text == "a"
        await pilot.press("up")
        assert host.prompt.text == "b"


async def test_it_grows_with_its_text_and_shows_markup_literally(host: Host) -> None:
    """Typed text is never read as markup."""
    async with host.run_test(size=(40, 12)) as pilot:
        host.prompt.styles.height = "auto"
        host.prompt.styles.max_height = 10
        host.prompt.set_text("[/] [red\n" * 4)
        await pilot.pause()
        assert host.prompt.size.height == 5


async def test_wide_characters_are_deleted_as_a_whole(host: Host) -> None:
    async with host.run_test() as pilot:
        host.prompt.set_text("こんにちは")
        await pilot.press("left", "backspace")
        assert host.prompt.text == "こんには"
        host.prompt.set_text("は👩‍👩‍👧e\u0301é")
        await pilot.press("left", "backspace", "left", "right", "backspace")
        assert host.prompt.text == "はé"
        host.prompt.set_text("は👩‍👩‍👧é")
        await pilot.press("left", "left", "delete")
        assert host.prompt.text == "はé"


async def test_ctrl_d_leaves_only_an_empty_prompt(host: Host) -> None:
    left: list[object] = []
    async with host.run_test(message_hook=lambda m: left.append(type(m).__name__)) as pilot:
        host.prompt.set_text("ab")
        host.prompt.move_cursor((0, 0))
        await pilot.press("ctrl+d")
        assert host.prompt.text == "b"
        assert "Leave" not in left
        host.prompt.set_text("")
        await pilot.press("ctrl+d")
        await pilot.pause()
        assert "Leave" in left
