"""Tool names as providers take them, and back (spec 5, R4)."""

import re
from collections.abc import Iterable

from agent.provider.client import ToolSchema

MAX_LENGTH = 64
UNKNOWN = "unknown"


class ToolNames:
    """The names of *tools* as they are sent: ``[A-Za-z0-9_-]``, at most 64, none twice."""

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
        """How the tool or former call *name* is called at the provider."""
        return self._sent.get(name) or sanitize_name(name)

    def from_wire(self, sent: str) -> str:
        """Our name of what the provider calls *sent*."""
        return self._own.get(sent, sent)


def sanitize_name(name: str) -> str:
    """*name* in the alphabet; models also call tools by names that no tool could have."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:MAX_LENGTH] or UNKNOWN
