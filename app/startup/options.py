"""The options of the command line for the user interface, cheap to import."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchOptions:
    """The arguments of ``opencode-py [folder]``."""

    directory: Path
    model: str | None = None
    agent: str | None = None
    effort: str | None = None
    prompt: str | None = None
    """A prompt to send at once."""
    resume: bool = False
    """Open the latest session of the folder."""
    session: str | None = None
    """The id of the session to open."""
    fork: bool = False
    """Open a copy of that session instead of continuing it."""
    auto: bool = False
    plain: bool = False
