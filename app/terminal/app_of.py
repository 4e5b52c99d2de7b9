"""A typed accessor for the app of a Textual node."""

from typing import Any

from textual.app import App
from textual.message_pump import MessagePump


def app_of(node: MessagePump) -> App[Any]:
    """Return the app that a widget or screen belongs to."""
    return node.app  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
