"""The review of a past session."""

from agent.records.messages import UserMessage
from agent.redact import secrets_of
from agent.session.review.timeline import user_text
from app.actions.transfer import export_session
from app.commands.context import ActionContext
from app.commands.registry import action
from app.screens.review.screen import ReviewChoice, ReviewScreen
from app.toolkit.tasks import show_dialog

NONE_OPEN = "No session is open: /sessions lists them, ctrl+o there reviews one."


@action(
    "session.review",
    "Review the session",
    "Session",
    slash=("history", "timeline", "rewind"),
    keys=("<leader>g",),
    argument="[id]",
)
async def history(context: ActionContext, argument: str) -> None:
    """Show the timeline of the open session, or of the one whose id is given."""
    session = context.live.session
    if not argument and session is None:
        context.notify(NONE_OPEN)
        return
    await review(context, argument or (session.id if session is not None else ""))


async def review(context: ActionContext, session_id: str, message_id: str = "") -> None:
    """Show a session read-only, then do what the user chose there."""
    screen = ReviewScreen(
        context.live.runtime,
        session_id,
        context.tasks,
        at_message=message_id,
        secrets=secrets_of(context.env),
    )
    chosen = await show_dialog(context.app, screen)
    if chosen is None:
        return
    if chosen.action == "export":
        await export_session(context, chosen.session_id)
        await review(context, chosen.session_id, chosen.message_id)
        return
    if chosen.action == "fork":
        await fork_from(context, chosen)
        return
    open_session = context.live.session
    if open_session is None or open_session.id != chosen.session_id:
        await context.live.open(chosen.session_id)
    if chosen.message_id:
        await context.paging.go_to(context.transcript, chosen.message_id)


async def fork_from(context: ActionContext, chosen: ReviewChoice) -> None:
    """Continue in a copy that ends with a response, or before a prompt, whose text is returned to
    the editor."""
    runtime = context.live.runtime
    messages = await runtime.store.messages(chosen.session_id)
    ids = [item.message.id for item in messages]
    at: str | None = chosen.message_id or None
    text = ""
    if at in ids:
        item = messages[ids.index(at)]
        if isinstance(item.message, UserMessage):
            text = user_text(item)
        else:
            following = ids.index(at) + 1
            at = ids[following] if following < len(ids) else None
    copy = await runtime.sessions.repository.fork(chosen.session_id, at)
    await context.live.open(copy.id)
    if text and not context.prompt.text:
        context.prompt.set_text(text)
    context.notify("This is a copy. The session it was made from stays as it is.")
