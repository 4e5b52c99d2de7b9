"""What is known of language servers, and what they say."""

from dataclasses import dataclass, field
from typing import Literal

from agent.records.json import JsonObject

Severity = Literal["error", "warning", "information", "hint"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "information", "hint")

LspState = Literal["starting", "ready", "failed", "ended"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSpec:
    """A kind of server. *extensions* are the ends of its files' names; *markers* are files by
    which the root of its project is found, nearest first.

    *runs_project*: it loads code from the project it looks at (a compiler in its
    ``node_modules``, build scripts), so it is started only where a setting asks for it.
    """

    id: str
    command: tuple[str, ...]
    extensions: tuple[str, ...]
    markers: tuple[str, ...] = ()
    runs_project: bool = False
    env: dict[str, str] = field(default_factory=dict[str, str])
    initialization: JsonObject = field(default_factory=dict)

    def takes(self, path: str) -> bool:
        return path.endswith(self.extensions)


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing that a server says of a file; *line* and *column* count from 1."""

    severity: Severity
    line: int
    column: int
    message: str
    source: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a file: *line* and *column* count from 1; *name* is what stands there."""

    path: str
    line: int
    column: int
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LspStatus:
    """One server as it is shown. *reason* tells why it failed or ended; *files* counts those
    that it has open, *errors* what it has found in them."""

    id: str
    root: str
    state: LspState
    reason: str = ""
    files: int = 0
    errors: int = 0
