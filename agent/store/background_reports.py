"""Reports of background tasks, as they are stored for the model of the parent session."""

from dataclasses import replace

from agent.records.background import BackgroundTaskState
from agent.records.context_parts import ReportPart
from agent.records.ids import new_id
from agent.records.messages import Session, TextPart, UserMessage
from agent.records.reminders import reminder
from agent.records.usage import Usage

CRASHED = (
    "The program ended before the sub-agent was done. It may be partly done: check, or "
    "continue it with its session_id."
)

_STATE_PHRASES: dict[BackgroundTaskState, str] = {
    "running": "is working",
    "completed": "is done",
    "cancelled": "was stopped by the user",
    "rejected": "stopped, as the user rejected one of its calls",
    "limit_reached": "was cut short by a limit",
    "failed": "failed",
    "interrupted": "was interrupted",
}

_REPORT_NOTICE = (
    "The sub-agent {agent} that you started in the background {ended}: {description} (session_id "
    "{child}{facts}). This message comes from the program, not from the user, who has not seen the "
    "report.{rest}"
)


def report_text(report: ReportPart) -> str:
    """Return the text of *report* for the model."""
    rest = f" {report.error}" if report.error else ""
    rest += " What it wrote last follows." if report.error and report.text else ""
    facts = "".join(f", {fact}" for fact in report.facts)
    filled = _REPORT_NOTICE.format(
        agent=report.agent,
        ended=_STATE_PHRASES[report.outcome],
        description=report.description,
        child=report.child_id,
        facts=facts,
        rest=rest,
    )
    notice = reminder(filled)
    return f"{notice}\n{report.text}" if report.text else notice


def queued_report(
    parent: Session, report: ReportPart, now: float, text: str = ""
) -> tuple[UserMessage, ReportPart, TextPart]:
    """Return *report* as a queued message of *parent*, with new ids; the model reads *text*, by
    default that of a sub-agent's report."""
    message = UserMessage(
        id=new_id("msg"),
        session_id=parent.id,
        created=now,
        agent=parent.agent,
        model=parent.model or "",
        effort=parent.effort,
        synthetic=True,
    )
    notice = TextPart(
        id=new_id("prt"),
        session_id=parent.id,
        message_id=message.id,
        text=text or report_text(report),
        started=now,
        ended=now,
        synthetic=True,
    )
    placed = replace(report, id=new_id("prt"), session_id=parent.id, message_id=message.id)
    return message, placed, notice


def background_report(child: Session, outcome: BackgroundTaskState, error: str = "") -> ReportPart:
    """Return a report on *child* without text and without a place."""
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
