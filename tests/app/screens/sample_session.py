"""The sample session of the snapshots: a real store on ``~/shop`` and dialogs about it."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from agent.permission.programs.possible_effects import RUNS_PROJECT
from agent.records.blocks import DiffBlock, ShellBlock
from agent.records.messages import ToolPart, Usage
from agent.records.requests import EvaluatedNeed, PermissionNeed, PermissionRequest
from app.screens.requests.permission import PermissionScreen
from tests.app.conftest import Running, Starter
from tests.support import records
from tests.support.git import make_repository

KEYS = {"ANTHROPIC_API_KEY": "sk-ant-1234567890"}
MODEL = "anthropic/claude-sonnet-5-5"


@asynccontextmanager
async def opened(
    start: Starter,
    tmp_path: Path,
    size: tuple[int, int],
    theme: str = "",
    *,
    keys: Mapping[str, str] = MappingProxyType({}),
    repository: bool = False,
) -> AsyncIterator[Running]:
    """The app on ``~/shop``; *keys* are variables with keys of providers. A *repository* has the
    branch ``main`` and three changed files."""
    (tmp_path / "shop").mkdir(exist_ok=True)
    (tmp_path / "shop" / "README.md").write_text("# A shop\n")
    if repository and not (tmp_path / "shop" / ".git").exists():
        make_repository(tmp_path / "shop")
        for name in ("README.md", "reader.py", "test_reader.py"):
            (tmp_path / "shop" / name).write_text("# Changed\n")
    env = {"HOME": str(tmp_path), "TZ": "UTC", **keys}
    async with start(directory=tmp_path / "shop", size=size, env=env) as running:
        if theme:
            running.app.theme = theme
        if not keys:
            await running.until_shown("demo/offline")
        running.app.controller.main.prompt.cursor_blink = False
        yield running


@asynccontextmanager
async def at_work(
    start: Starter,
    tmp_path: Path,
    size: tuple[int, int],
    *,
    parts: Sequence[ToolPart] = (),
    **more: Any,
) -> AsyncIterator[Running]:
    """The app with the session of the sketches, in a repository and with a real model."""
    async with opened(start, tmp_path, size, keys=KEYS, repository=True, **more) as running:
        await show_session(running, MODEL, parts=parts)
        await running.until_shown("+3")
        yield running


DIFF = records.diff(
    "src/imports/reader.py",
    " def read_rows(path: Path) -> Iterator[Row]:",
    "-    header = next(rows)",
    "+    header = next(rows, None)",
    "+    if header is None:",
    "+        return",
    first=38,
)


MESSAGES = (
    records.user("msg_a", "Why does the import of an empty CSV crash? Fix it and add a test."),
    records.assistant(
        "msg_b",
        records.reasoning("prt_b1", "msg_b", "The reader yields nothing, so header is unbound."),
        records.text_part("prt_b2", "msg_b", "I will look at the reader first."),
        records.tool(
            "prt_b3",
            "msg_b",
            records.completed("Read", "src/imports/reader.py", facts=("142 lines",)),
        ),
        records.tool(
            "prt_b4",
            "msg_b",
            records.completed("Grep", '"DictReader" in src', facts=("5 matches",), seconds=0.018),
            name="grep",
        ),
    ),
    records.assistant(
        "msg_c",
        records.tool(
            "prt_c1",
            "msg_c",
            records.completed("Edit", "src/imports/reader.py", DIFF, note="+3 −1", seconds=0.031),
            name="edit",
        ),
        records.tool(
            "prt_c2",
            "msg_c",
            records.completed(
                "Bash",
                "pytest tests/test_reader.py -q",
                ShellBlock("pytest tests/test_reader.py -q", "..............\n14 passed", 0),
                seconds=4,
            ),
            name="bash",
        ),
    ),
    records.assistant(
        "msg_d",
        records.text_part(
            "prt_d1",
            "msg_d",
            "An empty file has no header row, so `next(rows)` raised `StopIteration`.\n\n"
            "- `read_rows` now yields nothing for it\n- the new test covers a file of 0 bytes",
        ),
        usage=Usage(input=68_200, output=310, cache_read=65_800),
    ),
)


TEST_EDIT = records.tool(
    "prt_c1b",
    "msg_c",
    records.completed(
        "Edit",
        "tests/test_reader.py",
        records.diff(
            "tests/test_reader.py",
            "+def test_an_empty_file_has_no_rows(tmp_path: Path) -> None:",
            '+    (tmp_path / "empty.csv").touch()',
            '+    assert list(read_rows(tmp_path / "empty.csv")) == []',
            first=61,
        ),
        note="+3",
        seconds=0.024,
    ),
    name="edit",
)
"""The test that was asked for: shown only where the picture has enough rows."""


async def show_session(
    running: Running,
    model: str = "demo/offline",
    cost: float = 0.42,
    parts: Sequence[ToolPart] = (),
) -> None:
    """Seed the session of the sketches, with more *parts* in its third message, and open it."""
    store = running.runtime.store
    session = replace(
        records.session(),
        directory=str(running.runtime.directory),
        usage=Usage(input=18_200, output=310, cache_read=16_900),
        cost=cost,
        turns=1,
        model=model,
    )
    await store.save(session)
    for item in MESSAGES:
        await store.save(replace(item.message, model=model), *item.parts)
    await store.save(*parts)
    await running.app.controller.live.open(session.id)
    await running.until_shown("the new test covers")


def dialog(heading: str, block: ShellBlock | DiffBlock, *needs: EvaluatedNeed) -> PermissionScreen:
    request = PermissionRequest(
        id="per_1",
        session_id=records.SESSION,
        root_id=records.SESSION,
        message_id="msg_c",
        call_id="cal_1",
        agent="build",
        tool="bash" if isinstance(block, ShellBlock) else "edit",
        heading=heading,
        folder="~/shop",
        blocks=(block,),
        needs=needs,
        always=(("bash", "npm run build *"),)
        if isinstance(block, ShellBlock)
        else (("edit", block.path),),
        created=0.0,
    )
    return PermissionScreen(request, pending=3, grace=0.0)


def command_dialog() -> PermissionScreen:
    return dialog(
        "Run this command?",
        ShellBlock("cd frontend && npm run build 2>&1 | tee ../build.log\nrm -rf dist"),
        EvaluatedNeed(PermissionNeed("bash", "cd frontend"), "allow", "only reads"),
        EvaluatedNeed(PermissionNeed("bash", "npm run build"), "ask", RUNS_PROJECT),
        EvaluatedNeed(PermissionNeed("bash", "tee ../build.log"), "ask", "writes build.log"),
        EvaluatedNeed(
            PermissionNeed("bash", "rm -rf dist", destructive=True),
            "ask",
            "can delete or overwrite data",
        ),
    )


def edit_dialog() -> PermissionScreen:
    return dialog(
        "Change this file?",
        DIFF,
        EvaluatedNeed(PermissionNeed("edit", "src/imports/reader.py"), "ask", "writes this file"),
    )
