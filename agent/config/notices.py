"""Notices on settings, one line for each file."""

import re
from collections.abc import Collection, Iterable
from pathlib import PurePosixPath


def by_file(notices: Iterable[str], files: Collection[str]) -> tuple[str, ...]:
    """Return *notices* in order, with those on one of *files* joined, each on a line of its own.

    Markdown files of one folder that have the same fault share a line.
    """
    joined: dict[str, list[str]] = {}
    for notice in dict.fromkeys(notices):
        file = next((name for name in files if notice.startswith(f"{name}:")), "")
        joined.setdefault(file or notice, []).append(notice.removeprefix(file))
    alike: dict[tuple[str, str], list[str]] = {}
    for start, parts in joined.items():
        text = _join(parts)
        folder = str(PurePosixPath(start).parent) if start.endswith(".md") else start
        alike.setdefault((folder, text), []).append(start)
    return tuple(
        text if starts == [text] else f"{starts[0]}{_more(starts)}{text}"
        for (_, text), starts in alike.items()
    )


_LINE = re.compile(r":(\d+): ")


def _join(parts: list[str]) -> str:
    lines = [_LINE.match(part) for part in parts]
    order = sorted(range(len(parts)), key=lambda at: int(line[1]) if (line := lines[at]) else 1e9)
    parts = [parts[at] for at in order]
    rest = (_LINE.sub(r"line \1: ", part, count=1).removeprefix(": ") for part in parts[1:])
    return "\n  ".join(
        part if part.endswith((".", "?")) else f"{part}." for part in (parts[0], *rest)
    )


def _more(files: list[str]) -> str:
    return f" and {len(files) - 1} more there" if len(files) > 1 else ""
