"""Summaries of the state of MCP servers and language servers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # not loaded for the first frame
    from agent.lsp.records import LspStatus
    from agent.mcp.records import ServerStatus


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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
