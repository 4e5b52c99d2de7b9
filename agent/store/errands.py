"""Work in the background, as it is stored (spec 3, S3): how its end is told to the session that it
was for, and what is left of it by a program that died."""

import sqlite3
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import replace

from agent.records.context_parts import ErrandState, ReportPart
from agent.records.ids import new_id
from agent.records.messages import Message, Part, Session, TextPart, UserMessage
from agent.records.usage import Usage
from agent.store import lease, queries
from agent.store.codec import decode_all, decode_session

CRASHED = (
    "The program ended before the sub-agent was done. It may have done a part: check, or have it "
    "go on with its session_id."
)

_ENDED: dict[ErrandState, str] = {
    "running": "is at work",
    "completed": "is done",
    "cancelled": "was stopped by the user",
    "rejected": "stopped, as the user rejected one of its calls",
    "limit_reached": "was cut short by a limit",
    "failed": "failed",
    "interrupted": "was interrupted",
}

_TOLD = (
    "<system-reminder>\nThe sub-agent {agent} that you started in the background {ended}: "
    "{description} (session_id {child}{facts}). The program tells you this, not the user, who has "
    "not seen the report.{rest}\n</system-reminder>"
)


def told_of(report: ReportPart) -> str:
    """What the model reads of *report*."""
    rest = f" {report.error}" if report.error else ""
    rest += " What it wrote last follows." if report.error and report.text else ""
    facts = "".join(f", {fact}" for fact in report.facts)
    told = _TOLD.format(
        agent=report.agent,
        ended=_ENDED[report.outcome],
        description=report.description,
        child=report.child_id,
        facts=facts,
        rest=rest,
    )
    return f"{told}\n{report.text}" if report.text else told


def waiting_report(
    parent: Session, report: ReportPart, now: float
) -> tuple[UserMessage, ReportPart, TextPart]:
    """*report* as a message that waits in *parent*; its ids are made here."""
    message = UserMessage(
        id=new_id("msg"),
        session_id=parent.id,
        created=now,
        agent=parent.agent,
        model=parent.model or "",
        effort=parent.effort,
        synthetic=True,
    )
    told = TextPart(
        id=new_id("prt"),
        session_id=parent.id,
        message_id=message.id,
        text=told_of(report),
        started=now,
        ended=now,
        synthetic=True,
    )
    placed = replace(report, id=new_id("prt"), session_id=parent.id, message_id=message.id)
    return message, placed, told


def report_of(child: Session, outcome: ErrandState, error: str = "") -> ReportPart:
    """A report on what *child* did, without a text and without a place yet."""
    return ReportPart(
        id="",
        session_id="",
        message_id="",
        child_id=child.id,
        agent=child.agent,
        description=child.title,
        outcome=outcome,
        error=error,
        usage=Usage(),
    )


def lost_errands(
    connection: sqlite3.Connection, own: AbstractSet[str], now: float
) -> list[Session | Message | Part]:
    """The records that end the errands which no living process follows, but for those of the
    sessions in *own*. Who follows one holds the lease of the session that it is for."""
    rows = connection.execute(
        # As the index has it, word for word.
        "SELECT data FROM session WHERE CASE WHEN json_valid(data) "
        "THEN json_extract(data, '$.errand.state') END = 'running' ORDER BY id"
    ).fetchall()
    children = decode_all(decode_session, (data for (data,) in rows))
    return [record for child in children for record in _ended(connection, child, own, now)]


def _ended(
    connection: sqlite3.Connection, child: Session, own: AbstractSet[str], now: float
) -> Iterator[Session | Message | Part]:
    followed = [one for one in (child.id, child.parent_id) if one is not None]
    held = (lease.read(connection, one) for one in followed)
    if own & {*followed} or any(each and each.is_alive(now) for each in held):
        return
    if child.errand is None:
        return
    ended = max(child.errand.started, child.updated)
    yield replace(child, errand=replace(child.errand, state="interrupted", ended=ended))
    parent = queries.session(connection, child.parent_id or "")
    if parent is not None:
        yield from waiting_report(parent, report_of(child, "interrupted", CRASHED), now)
