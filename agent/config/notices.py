"""Notices on settings, one line for each file."""

import re
from collections.abc import Collection, Iterable

_IDLE = re.compile(r"ha(?:s|ve) no effect|left out")


def by_file(notices: Iterable[str], files: Collection[str]) -> tuple[str, ...]:
    """Return *notices* in order; those on what has no effect in one of *files* are joined, each
    with its line. Faults to correct keep lines of their own."""
    joined: dict[str, list[str]] = {}
    for notice in notices:
        idle = _IDLE.search(notice)
        file = next((name for name in files if idle and notice.startswith(f"{name}:")), notice)
        joined.setdefault(file, []).append(notice)
    return tuple(_join(file, parts) for file, parts in joined.items())


def _join(file: str, notices: list[str]) -> str:
    if len(notices) == 1:
        return notices[0]
    rest = [re.sub(r"^:(\d+): ", r"line \1: ", n.removeprefix(file)) for n in notices[1:]]
    parts = [notices[0], *(part.removeprefix(": ") for part in rest)]
    return "; ".join(part.removesuffix(".") for part in parts) + "."
