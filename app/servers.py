"""How the MCP servers stand, in short (spec 8, U5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the first frame needs none of it
    from agent.mcp.records import Standing


@dataclass(frozen=True, slots=True)
class Servers:
    """How many servers are wanted and connected; *ill* names those that need somebody."""

    wanted: int = 0
    connected: int = 0
    ill: tuple[str, ...] = ()


def servers_of(standings: "Sequence[Standing]") -> Servers:
    """The short form of *standings*; those that are switched off don't count."""
    wanted = [one for one in standings if one.state != "disabled"]
    return Servers(
        wanted=len(wanted),
        connected=sum(one.state == "connected" for one in wanted),
        ill=tuple(one.server.name for one in wanted if one.state in {"failed", "needs auth"}),
    )
