"""How the MCP servers and language servers stand, in short (spec 8, U5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the first frame needs none of it
    from agent.lsp.records import LspStatus
    from agent.mcp.records import ServerStatus


@dataclass(frozen=True, slots=True)
class McpSummary:
    """How many servers are wanted and connected; *ill* names those that need somebody."""

    wanted: int = 0
    connected: int = 0
    failing: tuple[str, ...] = ()


def mcp_summary(standings: "Sequence[ServerStatus]") -> McpSummary:
    """The short form of *standings*; those that are switched off don't count."""
    wanted = [one for one in standings if one.state != "disabled"]
    return McpSummary(
        wanted=len(wanted),
        connected=sum(one.state == "connected" for one in wanted),
        failing=tuple(one.server.name for one in wanted if one.state in {"failed", "needs auth"}),
    )


@dataclass(frozen=True, slots=True)
class LspSummary:
    """The language servers that run, each with the errors it has found; *ill* names those that
    failed."""

    running: tuple[tuple[str, int], ...] = ()
    failing: tuple[str, ...] = ()


def lsp_summary(statuses: "Sequence[LspStatus]") -> LspSummary:
    """The short form of *statuses*. One that runs in several roots counts as one."""
    found: dict[str, int] = {}
    for one in statuses:
        if one.state in {"starting", "ready"}:
            found[one.id] = found.get(one.id, 0) + one.errors
    failed = dict.fromkeys(one.id for one in statuses if one.state == "failed")
    return LspSummary(tuple(found.items()), tuple(failed))
