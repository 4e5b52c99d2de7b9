"""Steps of tests that type: keys that come at once, and what was sent."""

from textual import events

from agent.records.messages import UserMessage
from app.widgets.transcript.message_lines import user_text
from tests.app.conftest import Running


def messages(running: Running) -> list[str]:
    """Return the user's messages of the open session."""
    view = running.app.controller.live.view
    entries = [view.entry(message_id) for message_id in view.message_ids] if view else []
    users = [entry for entry in entries if entry and isinstance(entry.message, UserMessage)]
    return [user_text(entry.parts) for entry in users]


def press_at_once(running: Running, *keys: str) -> None:
    """Press *keys* without waiting for what each of them does, as a fast typist."""
    for key in keys:
        name = {"/": "slash", "?": "question_mark", " ": "space"}.get(key, key)
        running.app.post_message(events.Key(name, key if len(key) == 1 else None))
