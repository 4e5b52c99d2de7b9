"""Recovery: closing what a crashed process left open."""

import sqlite3
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import replace

from agent.records.frozen import frozen
from agent.records.messages import (
    AssistantMessage,
    Failed,
    Message,
    Part,
    Pending,
    ReasoningPart,
    Running,
    Session,
    TextPart,
    ToolPart,
)
from agent.store import lease, queries
from agent.store.background_reports import CRASHED, background_report, queued_report
from agent.store.codec import decode_all, decode_message, decode_part, decode_session
from agent.store.writes import Written, write_records

INTERRUPTED = (
    "The program ended before this call finished, so its result is not known. "
    "It may be partly done: check before you repeat it."
)


@frozen
class RecoveryResult:
    """The sessions that were changed and the new state of their records."""

    session_ids: tuple[str, ...]
    records: tuple[Session | Message | Part, ...]
    written: Written


def recover(connection: sqlite3.Connection, own: AbstractSet[str], now: float) -> RecoveryResult:
    """End everything open in sessions that no living process holds, except those in *own*.

    Part of one write transaction, so that two processes that start together do it once.
    """
    session_ids: list[str] = []
    records: list[Session | Message | Part] = []
    for session_id in _candidates(connection):
        holder = lease.read_lease(connection, session_id)
        if session_id in own or (holder is not None and holder.is_alive(now)):
            continue
        ended = holder.heartbeat if holder is not None else 0.0
        closed = [
            *_close_messages(connection, session_id, ended),
            *_close_parts(connection, session_id, ended),
        ]
        write_records(connection, closed)
        connection.execute("DELETE FROM lease WHERE session_id = ?", (session_id,))
        if closed:
            session_ids.append(session_id)
            records += closed
    ended = _end_lost_tasks(connection, own, now)
    written = write_records(connection, ended)
    return RecoveryResult(tuple(session_ids), (*records, *ended), written)


def _candidates(connection: sqlite3.Connection) -> list[str]:
    rows = connection.execute(
        "SELECT session_id FROM message WHERE open = 1 "
        "UNION SELECT session_id FROM part WHERE open = 1 "
        "UNION SELECT session_id FROM lease"
    ).fetchall()
    return [session_id for (session_id,) in rows]


def _close_messages(
    connection: sqlite3.Connection, session_id: str, ended: float
) -> Iterable[AssistantMessage]:
    rows = connection.execute(
        "SELECT data FROM message WHERE session_id = ? AND open = 1 ORDER BY rowid", (session_id,)
    ).fetchall()
    for message in decode_all(decode_message, (data for (data,) in rows)):
        if isinstance(message, AssistantMessage):
            yield replace(message, completed=max(message.created, ended), interrupted=True)


def _close_parts(connection: sqlite3.Connection, session_id: str, ended: float) -> Iterable[Part]:
    rows = connection.execute(
        "SELECT message.created, part.data FROM part JOIN message ON message.id = part.message_id "
        "WHERE part.session_id = ? AND part.open = 1 AND message.role = 'assistant' "
        "ORDER BY message.rowid, part.id",
        (session_id,),
    ).fetchall()
    for created, data in rows:
        for part in decode_all(decode_part, (data,)):
            yield close_part(part, max(created, ended))


def _end_lost_tasks(
    connection: sqlite3.Connection, own: AbstractSet[str], now: float
) -> list[Session | Message | Part]:
    """Return the records that end the background tasks that no living process follows, except those
    of the sessions in *own*. The follower of a task holds the lease of the parent session."""
    rows = connection.execute(
        # As the index has it, word for word.
        "SELECT data FROM session WHERE CASE WHEN json_valid(data) "
        "THEN json_extract(data, '$.errand.state') END = 'running' ORDER BY rowid"
    ).fetchall()
    children = decode_all(decode_session, (data for (data,) in rows))
    return [record for child in children for record in _end_lost_task(connection, child, own, now)]


def _end_lost_task(
    connection: sqlite3.Connection, child: Session, own: AbstractSet[str], now: float
) -> Iterator[Session | Message | Part]:
    followed = [one for one in (child.id, child.parent_id) if one is not None]
    held = (lease.read_lease(connection, one) for one in followed)
    if own & {*followed} or any(each and each.is_alive(now) for each in held):
        return
    if child.background_task is None:
        return
    ended = max(child.background_task.started, child.updated)
    yield replace(
        child, background_task=replace(child.background_task, state="interrupted", ended=ended)
    )
    parent = queries.session(connection, child.parent_id or "")
    if parent is not None:
        yield from queued_report(parent, background_report(child, "interrupted", CRASHED), now)


def close_part(part: Part, ended: float) -> Part:
    """Return *part* as interrupted at about *ended*; unchanged if it is not open."""
    match part:
        case TextPart(ended=None):
            return replace(part, ended=max(part.started, ended), interrupted=True)
        case ReasoningPart(ended=None):
            return replace(part, ended=max(part.started, ended), interrupted=True)
        case ToolPart(state=Pending() as state):
            failed = Failed(
                error=INTERRUPTED, kind="interrupted", started=ended, ended=ended, raw=state.raw
            )
            return replace(part, state=failed)
        case ToolPart(state=Running() as state):
            failed = Failed(
                error=INTERRUPTED,
                kind="interrupted",
                started=state.started,
                ended=max(state.started, ended),
                input=state.input,
                label=state.label,
                blocks=state.blocks,
                output=state.output,
            )
            return replace(part, state=failed)
        case _:
            return part
