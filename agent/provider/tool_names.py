"""Conversion of tool names to the form that providers accept, and back."""

import re
from collections.abc import Iterable

from agent.provider.client import ToolSchema

MAX_LENGTH = 64
UNKNOWN = "unknown"


class ToolNames:
    """The unique names under which *tools* are sent: at most 64 of ``[A-Za-z0-9_-]``."""

    def __init__(self, tools: Iterable[ToolSchema] = ()) -> None:
        self._sent: dict[str, str] = {}
        self._own: dict[str, str] = {}
        for tool in tools:
            wanted = sanitize_name(tool.name)
            sent, number = wanted, 1
            while sent in self._own:
                number += 1
                sent = f"{wanted[: MAX_LENGTH - 4]}_{number}"
            self._sent[tool.name] = sent
            self._own[sent] = tool.name

    def to_wire(self, name: str) -> str:
        """Return the name at the provider of the tool or former call *name*."""
        return self._sent.get(name) or sanitize_name(name)

    def from_wire(self, sent: str) -> str:
        """Return our name of the tool that the provider calls *sent*."""
        return self._own.get(sent, sent)

    def is_sent(self, name: str) -> bool:
        """Return whether a tool is sent under *name*."""
        return name in self._own

    def can_continue(self, name: str) -> bool:
        """Return whether *name* can be the first piece of a longer name."""
        return any(sent.startswith(name) and sent != name for sent in self._own)


def sanitize_name(name: str) -> str:
    """Return *name* in the accepted alphabet. Models also call tools by impossible names."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:MAX_LENGTH] or UNKNOWN
