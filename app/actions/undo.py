"""Undo and redo."""

from app.commands.context import ActionContext
from app.commands.registry import action
from app.screens.undo import UndoScreen
from app.text.sanitize import sanitize_line
from app.toolkit.tasks import show_dialog

NOTHING = "There is nothing to take back."


@action(
    "session.undo", "Take back the last message", "Session", slash=("undo",), keys=("<leader>u",)
)
async def undo(context: ActionContext, argument: str) -> None:
    """Undo the last message with its file changes; its text returns to the prompt."""
    del argument
    session = context.live.session
    if session is None:
        context.notify(NOTHING)
        return
    service = context.live.runtime.sessions.undo
    plan = await service.plan(session.id)
    if plan is None:
        context.notify(NOTHING)
        return
    choice = await show_dialog(context.app, UndoScreen(plan))
    if choice is None:
        return
    failed = await service.undo(
        plan, files=choice.files, conversation=choice.conversation, overwrite=choice.overwrite
    )
    if choice.conversation:
        context.prompt.set_text(plan.text)
    _notify_failed(context, failed)
    if not failed:
        context.notify("Taken back. /redo brings it back, until you send the next message.")


@action(
    "session.redo",
    "Bring back what was taken back",
    "Session",
    slash=("redo",),
    keys=("<leader>r",),
)
async def redo(context: ActionContext, argument: str) -> None:
    del argument
    session = context.live.session
    failed = (
        await context.live.runtime.sessions.undo.redo(session.id) if session is not None else None
    )
    if failed is None:
        context.notify("There is nothing to bring back.")
        return
    _notify_failed(context, failed)


def _notify_failed(context: ActionContext, failed: tuple[str, ...]) -> None:
    if failed:
        names = ", ".join(sanitize_line(path) for path in failed[:5])
        more = f" and {len(failed) - 5} more" if len(failed) > 5 else ""
        context.notify(f"These files could not be changed: {names}{more}.", warning=True)
