"""The names by which models know the tools of servers (spec 10, X3)."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

_OTHER = re.compile(r"[^A-Za-z0-9_-]")


def plain(name: str) -> str:
    """*name* in the alphabet that every provider takes."""
    return _OTHER.sub("_", name) or "_"


def name_tools(
    tools: Iterable[tuple[str, str]], builtin: Callable[[str], bool]
) -> Mapping[tuple[str, str], str]:
    """The name of each ``(server, tool)``: ``server_tool``.

    What would mean a tool that is *builtin* gets ``mcp_`` in front. Where two would have one
    name, neither gets it, whoever was there first: a rule on it was made for one of them. They
    are told apart by two underscores, and by a number if that is not enough.
    """
    wanted = {key: f"{plain(key[0])}_{plain(key[1])}" for key in sorted(set(tools))}
    wanted = {key: f"mcp_{name}" if builtin(name) else name for key, name in wanted.items()}
    for joint in ("__", "___"):
        times = Counter(wanted.values())
        for key, name in list(wanted.items()):
            if times[name] > 1:
                wanted[key] = f"{plain(key[0])}{joint}{plain(key[1])}"
    used: set[str] = set()
    for key, name in wanted.items():
        number, unique = 1, name
        while unique in used or builtin(unique):
            number += 1
            unique = f"{name}_{number}"
        used.add(unique)
        wanted[key] = unique
    return wanted
