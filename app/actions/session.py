"""Actions on sessions."""

from agent.records.messages import MessageWithParts
from agent.session.subagents.subagents import last_response
from app.actions.review import review
from app.commands.context import ActionContext
from app.commands.registry import action
from app.screens.base.confirm import ConfirmScreen
from app.screens.base.text_input import TextScreen
from app.screens.sessions.screen import SessionsScreen
from app.session.view import SessionView
from app.toolkit.tasks import show_dialog

NONE_OPEN = "No session is open yet: send a prompt first."


@action("session.new", "New session", "Session", slash=("new", "clear"), keys=("<leader>n",))
async def new(context: ActionContext, argument: str) -> None:
    """Start an empty session; a running turn of the one before continues."""
    context.live.close()
    if argument:
        await context.live.send(argument)


@action(
    "session.list",
    "Sessions",
    "Session",
    slash=("sessions", "resume", "continue"),
    keys=("<leader>l",),
)
async def sessions(context: ActionContext, argument: str) -> None:
    """List the sessions, or open the one whose id is given."""
    live = context.live
    if argument:
        await live.open(argument)
        return
    current = live.session.id if live.session is not None else None
    screen = SessionsScreen(live.runtime, current=current, tasks=context.tasks)
    chosen = await show_dialog(context.app, screen)
    if chosen is None:
        return
    session_id, _, message_id = chosen.partition(" ")
    if screen.open_mode == "review":
        await review(context, session_id, message_id)
        return
    if screen.open_mode == "fork":
        await open_copy(context, session_id)
        return
    if session_id != current:
        await live.open(session_id)
    if message_id:
        await context.paging.go_to(context.transcript, message_id)


async def open_copy(context: ActionContext, session_id: str, at_message: str | None = None) -> None:
    """Continue in a copy of a session: all of it, or what is before *at_message*."""
    copy = await context.live.runtime.sessions.repository.fork(session_id, at_message)
    await context.live.open(copy.id)
    context.notify("This is a copy. The session it was made from stays as it is.")


@action("session.rename", "Rename the session", "Session", slash=("rename",), argument="[title]")
async def rename(context: ActionContext, argument: str) -> None:
    session = context.live.session
    if session is None:
        context.notify(NONE_OPEN)
        return
    title = argument or await show_dialog(
        context.app, TextScreen("Name this session", session.title)
    )
    if title:
        await context.live.runtime.sessions.repository.rename(session.id, title)


@action("session.fork", "Go on in a copy of the session", "Session", slash=("fork",))
async def fork(context: ActionContext, argument: str) -> None:
    del argument
    session = context.live.session
    if session is None:
        context.notify(NONE_OPEN)
        return
    await open_copy(context, session.id)


@action("session.delete", "Delete the session", "Session", slash=("delete",))
async def delete(context: ActionContext, argument: str) -> None:
    del argument
    session = context.live.session
    if session is None:
        context.notify(NONE_OPEN)
        return
    question = ConfirmScreen(f"Delete “{session.title or 'Untitled'}”?", "It is removed for good.")
    if await show_dialog(context.app, question):
        await context.live.runtime.sessions.delete(session.id)


@action("session.copy", "Copy the last answer", "Session", slash=("copy",), keys=("<leader>y",))
async def copy_answer(context: ActionContext, argument: str) -> None:
    del argument
    text = last_response(visible_messages(context.live.view))
    if text:
        context.app.copy_to_clipboard(text)
    else:
        context.notify("There is no answer to copy yet.")


def visible_messages(view: SessionView | None) -> list[MessageWithParts]:
    """Return the messages that are on the screen, without those that were undone."""
    if view is None:
        return []
    entries = (view.entry(message_id) for message_id in view.message_ids)
    return [MessageWithParts(entry.message, tuple(entry.parts)) for entry in entries if entry]
