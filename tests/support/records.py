"""Hand-made records for UI tests: sessions, messages and parts with readable ids."""

from agent.records.blocks import Block, DiffBlock, DiffLine, Hunk, ToolLabel
from agent.records.messages import (
    AssistantMessage,
    Completed,
    Failed,
    FailureKind,
    Idle,
    MessageWithParts,
    Part,
    Pending,
    ReasoningPart,
    ReportPart,
    Running,
    Session,
    SessionStatus,
    TextPart,
    ToolPart,
    ToolState,
    UserMessage,
)
from agent.session.api import SessionSnapshot

SESSION = "ses_1"
START = 1_000.0


def session(session_id: str = SESSION) -> Session:
    return Session(
        id=session_id,
        directory="/shop",
        project="/shop",
        title="Fix empty CSV import",
        created=START,
        updated=START,
    )


def snapshot(
    *messages: MessageWithParts, status: SessionStatus | None = None, **more
) -> SessionSnapshot:
    return SessionSnapshot(session=session(), messages=messages, status=status or Idle(), **more)


def user(message_id: str, text: str, *parts: Part, turn: str | None = "trn_1", **more):
    message = UserMessage(
        id=message_id,
        session_id=SESSION,
        created=START,
        agent="build",
        model="demo/offline",
        turn_id=turn,
        **more,
    )
    return MessageWithParts(message, (text_part(f"{message_id}a", message_id, text), *parts))


def assistant(message_id: str, *parts: Part, turn: str = "trn_1", **more) -> MessageWithParts:
    values = {"completed": START + 9, "finish": "stop", **more}
    message = AssistantMessage(
        id=message_id,
        session_id=SESSION,
        created=START,
        parent_id="msg_0",
        turn_id=turn,
        step=1,
        agent="build",
        model="demo/offline",
        **values,
    )
    return MessageWithParts(message, parts)


def open_assistant(message_id: str, *parts: Part, turn: str = "trn_1") -> MessageWithParts:
    """Return a step that still runs."""
    return assistant(message_id, *parts, turn=turn, completed=None, finish=None)


def text_part(part_id: str, message_id: str, text: str, *, ended: float | None = START + 2, **more):
    return TextPart(
        id=part_id,
        session_id=SESSION,
        message_id=message_id,
        text=text,
        started=START,
        ended=ended,
        **more,
    )


def reasoning(part_id: str, message_id: str, text: str, *, ended: float | None = START + 6):
    return ReasoningPart(
        id=part_id,
        session_id=SESSION,
        message_id=message_id,
        text=text,
        started=START,
        ended=ended,
    )


def tool(part_id: str, message_id: str, state: ToolState, *, name: str = "read") -> ToolPart:
    return ToolPart(
        id=part_id,
        session_id=SESSION,
        message_id=message_id,
        call_id=f"call_{part_id}",
        tool=name,
        state=state,
    )


def report(message_id: str, text: str = "", **more) -> ReportPart:
    """Return the report of a background sub-agent as a part of *message_id*."""
    values = {"outcome": "completed", "facts": ("3 tool calls",), **more}
    return ReportPart(
        id=f"{message_id}r",
        session_id=SESSION,
        message_id=message_id,
        child_id="ses_child",
        agent="explore",
        description="find the readers",
        text=text,
        **values,
    )


def pending(raw: str = "") -> Pending:
    return Pending(raw=raw)


def running(verb: str, thing: str, *blocks: Block, output: str = "", waiting: str | None = None):
    return Running(
        input={},
        label=ToolLabel(verb, thing),
        started=START,
        blocks=blocks,
        output=output,
        waiting=waiting,
    )


def completed(
    verb: str,
    thing: str,
    *blocks: Block,
    note: str = "",
    facts: tuple[str, ...] = (),
    seconds: float = 0.012,
    exit_code: int | None = None,
) -> Completed:
    return Completed(
        input={},
        label=ToolLabel(verb, thing, note),
        started=START,
        ended=START + seconds,
        output="",
        blocks=blocks,
        facts=facts,
        exit_code=exit_code,
    )


def failed(
    verb: str, thing: str, error: str, *blocks: Block, kind: FailureKind = "error", output=""
):
    return Failed(
        error=error,
        kind=kind,
        started=START,
        ended=START + 1,
        label=ToolLabel(verb, thing),
        blocks=blocks,
        output=output,
    )


def diff(path: str, *lines: str, first: int = 1) -> DiffBlock:
    """Return a diff of one hunk from lines that begin with ``+``, ``-`` or a space."""
    old = new = first
    made: list[DiffLine] = []
    for line in lines:
        sign, text = line[0], line[1:]
        if sign == "+":
            made.append(DiffLine("add", None, new, text))
            new += 1
        elif sign == "-":
            made.append(DiffLine("remove", old, None, text))
            old += 1
        else:
            made.append(DiffLine("context", old, new, text))
            old, new = old + 1, new + 1
    added = sum(line.kind == "add" for line in made)
    removed = sum(line.kind == "remove" for line in made)
    return DiffBlock(path, (Hunk(0, tuple(made)),), added, removed)
