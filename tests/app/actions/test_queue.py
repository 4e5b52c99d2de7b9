"""Messages that are queued while a turn runs."""

from agent.records.messages import UserMessage
from tests.app.conftest import Running, Starter
from tests.support.model_server import ModelServer
from tests.support.script import Hold, Text, answer


async def queued(running: Running, *texts: str) -> None:
    controller = running.app.controller
    for text in texts:
        controller.sender.send(text)
    live = controller.live
    await running.until(lambda: live.view is not None and len(live.view.queued) == len(texts))


def user_messages(running: Running) -> list[tuple[str, str]]:
    """Return text and delivery of each message of the user."""
    view = running.app.controller.live.view
    assert view is not None
    found: list[tuple[str, str]] = []
    for message_id in view.message_ids:
        entry = view.entry(message_id)
        if entry is not None and isinstance(entry.message, UserMessage):
            text = "".join(part.text for part in entry.parts if part.type == "text")
            found.append((text, entry.message.delivery))
    return found


async def slow(running: Running) -> None:
    await running.type("stream 5000 words", "enter")
    await running.until(lambda: running.app.controller.live.busy)


async def test_up_on_an_empty_prompt_edits_the_newest_queued_message(start: Starter) -> None:
    async with start() as running:
        await slow(running)
        await queued(running, "first", "second")
        await running.until_shown("2 messages queued")
        await running.pilot.press("up")
        await running.until(lambda: running.prompt == "second")
        await running.pilot.press("ctrl+u", "up")
        await running.until(lambda: running.prompt == "first")
        view = running.app.controller.live.view
        assert view is not None
        assert view.queued == ()
        await running.pilot.press("escape")
        await running.until_idle()
        assert [text for text, _ in user_messages(running)] == ["stream 5000 words"]
        assert running.prompt == "first"


async def test_the_list_edits_removes_and_shows_delivery(start: Starter) -> None:
    async with start() as running:
        await slow(running)
        await queued(running, "one", "two", "three")
        await running.type("/queue", "enter")
        await running.until_shown("Queued messages")
        await running.pilot.press("ctrl+d")
        await running.until(lambda: len(user_messages(running)) == 3)
        await running.pilot.press("tab")
        await running.until_shown("when this turn ends")
        await running.pilot.press("down", "enter")
        await running.until(lambda: running.prompt == "three")
        assert user_messages(running) == [
            ("stream 5000 words", "steer"),
            ("two", "follow_up"),
        ]
        await running.pilot.press("escape")
        await running.until(lambda: not running.app.controller.live.busy)


async def test_a_message_for_later_is_sent_at_the_end_of_the_turn(
    start: Starter, scripted: ModelServer
) -> None:
    """The user chooses the time; a follow-up does not steer the running turn."""
    hold = Hold()
    scripted.script(answer(hold, Text("first answer")), answer(Text("second answer")))
    async with start() as running:
        await running.type("begin", "enter")
        await hold.reached.wait()
        await running.type("and then this")
        await running.pilot.press("ctrl+x", "f")
        await running.until_shown("queued, sent when this turn ends")
        hold.gate.set()
        await running.until_idle()
        await running.until_shown("second answer")
        assert user_messages(running)[-1] == ("and then this", "follow_up")
    assert len(scripted.requests) == 2


async def test_later_sends_at_once_without_a_turn(start: Starter) -> None:
    async with start() as running:
        await running.type("/later list", "enter")
        await running.until_idle()
        assert user_messages(running)[0][0] == "list"


async def test_queued_messages_are_kept_when_the_turn_is_cancelled(start: Starter) -> None:
    async with start() as running:
        await slow(running)
        await queued(running, "list")
        await running.pilot.press("escape")
        await running.until(lambda: not running.app.controller.live.busy)
        await running.pilot.press("up")
        await running.until(lambda: running.prompt == "list")


async def test_queued_messages_show_when_they_are_sent(
    start: Starter, scripted: ModelServer
) -> None:
    """Once the turn is stopped nothing picks them up; they are sent with the next message."""
    hold = Hold()
    scripted.script(answer(hold, Text("never heard")), answer(Text("both were read")))
    async with start() as running:
        await running.type("begin", "enter")
        await hold.reached.wait()
        await queued(running, "think of the tests")
        await running.until_shown("queued, sent at the next step")
        await running.pilot.press("escape")
        await running.until_shown("not sent; will be sent with your next message, ↑ to edit")
        assert "at the next step" not in running.text()
        await running.type("/queue", "enter")
        await running.until_shown("Queued messages")
        await running.until_shown("with your next message")
        assert "send now or later" not in running.text()
        await running.pilot.press("escape")
        await running.type("go on", "enter")
        await running.until_shown("both were read")
        await running.until_idle()
        assert "not sent" not in running.text()
        assert [text for text, _ in user_messages(running)] == [
            "begin",
            "think of the tests",
            "go on",
        ]
