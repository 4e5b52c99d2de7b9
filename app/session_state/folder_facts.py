"""The surroundings of a session for the status line: folder, MCP and language servers."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agent.records.frozen import frozen

if TYPE_CHECKING:  # not loaded for the first frame
    from agent.lsp.connection import LspStatus
    from agent.mcp.records import ServerStatus


@frozen
class Workspace:
    """A folder and its git status."""

    folder: str
    branch: str | None = None
    """None outside a git repository."""
    changed: int | None = None
    """The number of changed files, None outside a git repository."""


def short_folder(folder: Path, home: str) -> str:
    """Return *folder* with the home folder written as ``~``."""
    text = str(folder)
    return "~" + text[len(home) :] if home and (text + "/").startswith(home + "/") else text


def workspace_of(folder: Path, home: str, git_status: str | None, server: str = "") -> Workspace:
    """Return *folder*, on *server* if that is given, with the state that ``git_status`` shows."""
    branch, changed = parse_git_status(git_status)
    where = f" on {server.partition('://')[2]}" if server else ""
    return Workspace(f"{short_folder(folder, home)}{where}", branch, changed)


def parse_git_status(output: str | None) -> tuple[str | None, int | None]:
    """Return branch and number of changed files from ``git status --porcelain=v2 --branch``, where
    only LF ends a line."""
    if output is None:
        return None, None
    branch: str | None = None
    changed = 0
    for line in output.split("\n"):
        if line.startswith("# branch.head "):
            branch = line.removeprefix("# branch.head ")
        elif line and not line.startswith("#"):
            changed += 1
    return branch, changed


@frozen
class McpSummary:
    """The number of enabled and connected MCP servers, and those that need attention."""

    wanted: int = 0
    connected: int = 0
    failing: tuple[str, ...] = ()
    """Names of the servers that failed or need a login."""


def mcp_summary(statuses: "Sequence[ServerStatus]") -> McpSummary:
    """Return the summary of *statuses*; disabled servers do not count."""
    wanted = [one for one in statuses if one.state != "disabled"]
    return McpSummary(
        wanted=len(wanted),
        connected=sum(one.state == "connected" for one in wanted),
        failing=tuple(one.server.name for one in wanted if one.state in {"failed", "needs auth"}),
    )


@frozen
class LspSummary:
    """The language servers that run, and those that failed."""

    running: tuple[tuple[str, int], ...] = ()
    """Each server's name with the number of errors that it reports."""
    failing: tuple[str, ...] = ()
    """Names of the servers that failed."""


def lsp_summary(statuses: "Sequence[LspStatus]") -> LspSummary:
    """Return the summary of *statuses*. A server that runs in several roots counts once."""
    found: dict[str, int] = {}
    for one in statuses:
        if one.state in {"starting", "ready"}:
            found[one.id] = found.get(one.id, 0) + one.errors
    failed = dict.fromkeys(one.id for one in statuses if one.state == "failed")
    return LspSummary(tuple(found.items()), tuple(failed))
