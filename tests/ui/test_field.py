"""A line to type in takes its keys in their order (U7)."""

from textual import events
from textual.app import App, ComposeResult

from app.widgets.field import Field


class Host(App[None]):
    def compose(self) -> ComposeResult:
        yield Field()


async def test_keys_that_come_at_once_work_in_their_order() -> None:
    app = Host()
    async with app.run_test() as pilot:
        for key in ("a", "b", "backspace", "c", "left", "x", "home", "y"):
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        await pilot.pause()
        assert app.query_one(Field).value == "yaxc"
