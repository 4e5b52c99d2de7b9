"""What Textual leaves without a type, typed once."""

from typing import Any

from textual.app import App
from textual.message_pump import MessagePump


def app_of(node: MessagePump) -> App[Any]:
    """The app that a widget or screen belongs to."""
    return node.app  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
