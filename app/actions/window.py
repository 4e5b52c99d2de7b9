"""Actions on what fills the model's window."""

from app.actions.session import NONE_OPEN
from app.commands import action
from app.context import Context


@action(
    "session.compact",
    "Sum the session up to make room",
    "Session",
    slash=("compact", "summarize"),
    argument="[what to keep above all]",
)
async def compact(context: Context, argument: str) -> None:
    """Nothing is deleted, and esc stops it like a turn."""
    session = context.live.session
    if session is None:
        context.tell(NONE_OPEN)
        return
    await context.live.runtime.sessions.compacting.start(session.id, argument)
