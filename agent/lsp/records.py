"""Records of language servers and of their results."""

from dataclasses import field
from typing import Literal

from agent.records.frozen import frozen
from agent.records.json import JsonObject

Severity = Literal["error", "warning", "information", "hint"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "information", "hint")

LspState = Literal["starting", "ready", "failed", "ended"]


@frozen(kw_only=True)
class ServerSpec:
    """A known or configured language server."""

    id: str
    command: tuple[str, ...]
    extensions: tuple[str, ...]
    """Ends of the names of its files."""
    markers: tuple[str, ...] = ()
    """Files that mark the root of a project."""
    runs_project: bool = False
    """True if it runs code of the project that it looks at, such as a compiler in ``node_modules``
    or build scripts. Such a server starts only where a setting asks for it."""
    env: dict[str, str] = field(default_factory=dict[str, str])
    initialization: JsonObject = field(default_factory=dict)

    def handles(self, path: str) -> bool:
        return path.endswith(self.extensions)


@frozen
class Diagnostic:
    """One diagnostic of a file; *line* and *column* count from 1."""

    severity: Severity
    line: int
    column: int
    message: str
    source: str = ""
    code: str = ""


@frozen
class Location:
    """A position in a file: *line* and *column* count from 1."""

    path: str
    line: int
    column: int
    name: str = ""
    """The symbol at this position, if known."""


@frozen(kw_only=True)
class LspStatus:
    """The status of one server."""

    id: str
    root: str
    state: LspState
    reason: str = ""
    """The reason why it failed or ended."""
    files: int = 0
    """The number of files that it has open."""
    errors: int = 0
    """The number of errors that it has found in them."""
