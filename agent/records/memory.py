"""The origins of lines in a project's memory file."""

from typing import Literal

from agent.records.frozen import frozen

MemorySource = Literal["agent", "user"]
"""The author of a line: the agent proposed it and the user accepted it, or the user typed it."""


@frozen
class MemoryOrigin:
    """The origin of a line."""

    source: MemorySource
    created: float
    session_id: str = ""
    """The session that it was proposed or typed in; "" for none."""
    edited: bool = False
    """True if the user changed what the agent proposed."""


@frozen
class MemoryLine:
    """A line of the memory file. Without an *origin* it was written by hand or elsewhere."""

    text: str
    origin: MemoryOrigin | None = None
    title: str = ""
    """The title of the origin's session, "" if that is gone."""
