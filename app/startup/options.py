"""What the command line asked the user interface to do: plain facts, cheap to import."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchOptions:
    """The arguments of ``opencode-py [folder]`` (spec 11, F1).

    *resume* opens the latest session of the folder; *session* names one; *fork* copies
    whichever of the two was opened instead of writing on in it. *prompt* is sent at once.
    """

    directory: Path
    model: str | None = None
    agent: str | None = None
    effort: str | None = None
    prompt: str | None = None
    resume: bool = False
    session: str | None = None
    fork: bool = False
    auto: bool = False
    plain: bool = False
