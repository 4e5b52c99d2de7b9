"""Records to store, and child processes that use a store of their own."""

import asyncio
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from agent.bus import Bus
from agent.records.blocks import (
    CodeBlock,
    DiffBlock,
    DiffLine,
    Hunk,
    ImageBlock,
    ListingBlock,
    ShellBlock,
    TableBlock,
    TextBlock,
    TodoBlock,
    TodoItem,
    ToolLabel,
)
from agent.records.context_parts import ContextPart, ReportPart
from agent.records.decisions import Decision
from agent.records.ids import new_id
from agent.records.messages import (
    AgentPart,
    AssistantMessage,
    CompactionPart,
    Completed,
    ErrorInfo,
    Failed,
    FilePart,
    Part,
    PatchPart,
    Pending,
    ReasoningPart,
    RetryPart,
    Running,
    Session,
    StepFinishPart,
    StepStartPart,
    SubtaskPart,
    TextPart,
    ToolPart,
    Usage,
    UserMessage,
)
from agent.store.store import Store

ROOT = Path(__file__).parents[3]


def make_session(**fields) -> Session:
    given = {"id": new_id("ses"), "directory": "/desk/a", "project": "/desk", "title": "A title"}
    return Session(**(given | {"created": 10.0, "updated": 10.0} | fields))


def make_user(session: Session, **fields) -> UserMessage:
    given = {"id": new_id("msg"), "session_id": session.id, "created": 11.0}
    return UserMessage(**(given | {"agent": "build", "model": "demo/offline"} | fields))


def make_assistant(session: Session, **fields) -> AssistantMessage:
    given = {"id": new_id("msg"), "session_id": session.id, "created": 12.0, "step": 1}
    given |= {"parent_id": "msg_0", "turn_id": "trn_0", "agent": "build", "model": "demo/offline"}
    return AssistantMessage(**(given | fields))


def own(message: UserMessage | AssistantMessage) -> dict[str, str]:
    """Return the ids that every part has."""
    return {"id": new_id("prt"), "session_id": message.session_id, "message_id": message.id}


def make_text(message: UserMessage | AssistantMessage, text: str = "", **fields) -> TextPart:
    return TextPart(**(own(message) | {"text": text, "started": 13.0} | fields))


def make_tool(message: AssistantMessage, state) -> ToolPart:
    return ToolPart(**own(message), call_id=new_id("cal"), tool="bash", state=state)


BLOCKS = (
    DiffBlock(
        "a.py",
        (Hunk(0, (DiffLine("context", 1, 1, "x"), DiffLine("add", None, 2, "é\t"))),),
        1,
        0,
        "move",
        "b.py",
        3,
    ),
    ShellBlock("ls", "a\nb", 1, "killed"),
    CodeBlock("a.py", "x = 1", 7, "python"),
    ListingBlock(("a", "b"), 40),
    TodoBlock((TodoItem("do it", "in_progress", "high"),)),
    TableBlock(("k", "v"), (("1", "2"), ("3", "4"))),
    ImageBlock("a.png", "image/png", 3, 4, 99),
    TextBlock("**x**", markdown=True),
)

INPUT = {"command": "ls", "n": [1, 2.5, None, True, {"deep": "ü"}]}
LABEL = ToolLabel("Run", "ls", "+1")

STATES = (
    Pending(raw='{"comm'),
    Running(input=INPUT, label=LABEL, started=1.5, blocks=BLOCKS, output="tail", waiting="per_1"),
    Completed(
        input=INPUT,
        label=LABEL,
        started=1.5,
        ended=2.5,
        output="all of it",
        blocks=BLOCKS,
        facts=("2 lines", "cut"),
        exit_code=0,
        spill="/tmp/x",
        attached=("sub/AGENTS.md 0a",),
        compacted=3.0,
    ),
    Failed(
        error="no such file",
        kind="aborted",
        started=1.0,
        ended=2.0,
        input=INPUT,
        raw="{",
        label=LABEL,
        blocks=BLOCKS,
        output="so far",
        spill="/tmp/y",
        compacted=3.0,
    ),
)


DECISIONS = (
    Decision(answer="allow", by="rule", at=5.0, reason="allowed by bash `ls` (global)"),
    Decision(answer="reject", by="person", at=6.0, question="Run it?", comment="not this one"),
    Decision(answer="once", by="person", at=7.0, sandbox="workspace-write", network=True),
)


def every_part(message: AssistantMessage) -> list[Part]:
    """Return one part of every kind, and one tool call in every state, with no field at its
    default."""
    opaque = {"signature": "abc", "items": [1, {"a": None}]}
    return [
        make_text(
            message,
            "hällo",
            ended=2.0,
            synthetic=True,
            ignored=True,
            interrupted=True,
            mark="compaction_continue",
        ),
        ReasoningPart(
            **own(message),
            text="hm",
            started=1.0,
            ended=2.0,
            field_name="reasoning_content",
            opaque=opaque,
            interrupted=True,
        ),
        *(make_tool(message, state) for state in STATES),
        ToolPart(
            **own(message),
            call_id="c",
            tool="read",
            state=STATES[2],
            opaque=opaque,
            decisions=DECISIONS,
        ),
        FilePart(**own(message), mime="image/png", path="/a.png", data="AAAA"),
        StepStartPart(**own(message), snapshot="abc"),
        StepFinishPart(
            **own(message),
            finish="tool-calls",
            finish_raw="tool_use",
            usage=Usage(1, 2, 3, 4, 5),
            cost=0.25,
            snapshot="def",
        ),
        PatchPart(**own(message), base="abc", files=("a", "b")),
        CompactionPart(
            **own(message),
            summary="sum",
            auto=True,
            tail_start_id="msg_1",
            pins="# Kept",
            before=9_000,
            after=2_000,
            model="demo/offline",
            usage=Usage(1, 2, 3, 4, 5),
            cost=0.5,
        ),
        SubtaskPart(**own(message), agent="general", description="d", prompt="p", child_id="ses_1"),
        RetryPart(**own(message), attempt=2, error=ErrorInfo("network", "cut"), created=5.0),
        AgentPart(**own(message), name="explore"),
        ContextPart(**own(message), block="b", reminder="r", facts={"date": "2026-07-21"}),
        ReportPart(
            **own(message),
            child_id="ses_1",
            agent="general",
            description="d",
            outcome="failed",
            text="**r**",
            error="no",
            facts=("1 tool call",),
            usage=Usage(1, 2),
            cost=0.5,
        ),
    ]


async def stored_turn(store: Store, *parts: Callable[[AssistantMessage], Part]):
    """Save a session with one open step that contains *parts*."""
    session = make_session()
    message = make_assistant(session)
    made = [make(message) for make in parts]
    await store.save(session, message, *made)
    return session, message, made


async def reopened(path: Path) -> Store:
    return await Store.open(path, Bus())


def rows(path: Path, sql: str, *values) -> list[tuple]:
    """Return rows as another process reads them from the file."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql, values).fetchall()


async def start_child(code: str, *arguments: str | Path) -> asyncio.subprocess.Process:
    """Start a Python process that runs *code* in this checkout, with its output on a pipe."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        code,
        *map(str, arguments),
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
