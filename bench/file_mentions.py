"""Naming a file in a very large project, with @ or a glob."""

import asyncio
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median

from agent.files import FileTracker
from agent.records.errors import PermissionRejected
from agent.records.requests import PermissionNeed, PermissionReply
from agent.tools.core.tool import ToolContext
from agent.tools.glob import GlobArgs, GlobTool
from bench.streaming import LETTERS
from bench.table import Row, median_and_p95, ms, to_loop
from bench.testbed import Testbed, settle, watch
from tests.support.terminal import Terminal

FILES = 100_000
FOLDERS = 2_000
TRIES = 8
FIRST = 300_000
"""Files, in folders of 100; one is named before they are all listed."""

ROUNDS = 5
WORDS = ("reader", "writer", "session", "model", "prompt", "screen", "token", "config")


def mention_latency(testbed: Testbed) -> list[Row]:
    """Measure from a key to its echo, and from the last key of a name to the file, with a warm
    list."""
    project = testbed.project.with_name("many")
    for path in _paths(project):
        path.touch()
    with replace(testbed, project=project).ready(used=False) as terminal:
        terminal.send("@find0")
        terminal.sees(b"xyz0")
        settle(terminal)
        found = [_found(terminal, number) for number in range(1, TRIES)]
        echo = [_echoed(terminal, number) for number in range(len(LETTERS))]
    return [
        to_loop(
            f"key echo while naming one of {FILES:,} files", median_and_p95(echo), median(echo), 1.5
        ),
        to_loop("the file is offered", median_and_p95(found), median(found), 7.5),
    ]


def mention_and_glob(testbed: Testbed) -> list[Row]:
    """Measure from the last key to the file with nothing listed before, and a full glob."""
    project = testbed.project.with_name("untold")
    for number in range(FIRST // 100):
        (project / f"folder{number}").mkdir(parents=True)
        for name in range(100):
            (project / f"folder{number}" / f"file{name}").touch()
    for number in range(ROUNDS):
        (project / f"folder{number}" / f"needle{number}.py").touch()
    offered: list[float] = []
    for number in range(ROUNDS):
        with replace(testbed, project=project).ready(used=False) as terminal:
            terminal.send("see ")
            settle(terminal)
            pressed = time.monotonic()
            terminal.send(f"@needle{number}")
            offered.append(terminal.sees(b"/needle%d.py" % number) - pressed)
    globbed = [asyncio.run(_globbed(project, number)) for number in range(ROUNDS)]
    walked = min(_walked(project) for _ in range(ROUNDS))
    told = f"os.walk {ms(walked)}"
    return [
        Row(
            f"the first file offered of {FIRST:,}",
            median_and_p95(offered),
            told,
            median(offered) / walked,
            1,
        ),
        Row(
            f"a glob in {FIRST:,} files",
            median_and_p95(globbed),
            told,
            median(globbed) / walked,
            2,
        ),
    ]


def _walked(project: Path) -> float:
    begun = time.monotonic()
    for _ in os.walk(project):
        pass
    return time.monotonic() - begun


async def _globbed(project: Path, number: int) -> float:
    context = ToolContext(
        session_id="ses_1", root_id="ses_1", message_id="msg_1", call_id="call_1", agent="build",
        directory=str(project), project=str(project), files=FileTracker(),
        progress=lambda _: None, ask=_refused,
    )  # fmt: skip
    tool = GlobTool()
    begun = time.monotonic()
    plan = await tool.prepare(GlobArgs(pattern=f"**/needle{number}.py"), context)
    result = await tool.execute(plan, None, context)
    assert "1 file" in result.facts, result
    return time.monotonic() - begun


async def _refused(needs: tuple[PermissionNeed, ...], heading: str) -> PermissionReply:
    raise PermissionRejected(f"{heading} {needs}")


def _paths(project: Path) -> Iterator[Path]:
    """Create files in folders up to three levels deep, a few with unique names."""
    for number in range(FILES):
        place = number % FOLDERS
        parts = [
            f"{WORDS[(place >> bits) % 8]}{place % 40}" for bits in range(0, 3 * (place % 4), 3)
        ]
        folder = project.joinpath(*parts)
        if number < FOLDERS:
            folder.mkdir(parents=True, exist_ok=True)
        yield folder / f"{WORDS[number % 8]}_{WORDS[number // 8 % 8]}{number}.py"
    yield from (project / f"find{number}xyz{number}.py" for number in range(TRIES))


def _found(terminal: Terminal, number: int) -> float:
    """Return the seconds from the last letter of a name to its row in the list."""
    terminal.send("\x15")
    watch(terminal, 0.3)
    terminal.send("@find")
    watch(terminal, 0.4)
    pressed = time.monotonic()
    terminal.send(str(number))
    return terminal.sees(b"xyz%d" % number) - pressed


def _echoed(terminal: Terminal, number: int) -> float:
    """Return the seconds from a letter to its echo while the previous letters are still being
    searched: no name contains them, so all names are scanned."""
    if number % 8 == 0:
        terminal.send("\x15")
        watch(terminal, 0.3)
        terminal.send("@r")
    watch(terminal, 0.03 + number * 7 % 23 / 1000)
    pressed = time.monotonic()
    terminal.send(LETTERS[number])
    return terminal.sees(LETTERS[number].encode()) - pressed
