"""Actions on messages that are queued while a turn runs."""

from agent.records.messages import Delivery, UserMessage
from app.commands.context import ActionContext
from app.commands.registry import EDIT_QUEUED, action
from app.screens.queue import QueuedMessage, QueueScreen
from app.session.summary import queued_user_messages
from app.toolkit.tasks import show_dialog
from app.widgets.transcript.messages import user_text

NONE_QUEUED = "No message waits."


@action(
    "prompt.later",
    "Send when this turn ends",
    "Prompt",
    slash=("later", "followup"),
    keys=("<leader>f",),
    argument="[message]",
)
async def later(context: ActionContext, argument: str) -> None:
    """Send a message, the argument or what is in the prompt, at the end of the turn. Without a turn
    it is sent at once, like any prompt."""
    text = argument or context.prompt.take_text()
    if not text.strip():
        context.notify("Type the message first, or write it behind /later.")
        return
    context.prompt.remember(text)
    await context.send(context.prompt.expand_pastes(text), "follow_up")


@action("session.waiting", "Messages that wait", "Session", slash=("queue", "waiting"))
async def waiting(context: ActionContext, argument: str) -> None:
    del argument
    found = queued_messages(context)
    if not found:
        context.notify(NONE_QUEUED)
        return

    session_id = found[0][0]
    queues = context.live.runtime.queues

    async def drop(message_id: str) -> bool:
        return await queues.remove(session_id, message_id) is not None

    async def deliver(message_id: str, delivery: Delivery) -> bool:
        return await queues.deliver(session_id, message_id, delivery)

    listed = [one for _, one in found]
    screen = QueueScreen(
        listed,
        status=context.live.runtime.sessions.status(session_id),
        tasks=context.tasks,
        drop=drop,
        deliver=deliver,
    )
    chosen = await show_dialog(context.app, screen)
    if chosen is not None:
        await _edit(context, session_id, chosen)


@action(EDIT_QUEUED, "Edit the message that waits", "Prompt", slash=("unsend",))
async def take_back(context: ActionContext, argument: str) -> None:
    """Return the newest queued message to the prompt."""
    del argument
    found = queued_messages(context)
    if found:
        session_id, newest = found[-1]
        await _edit(context, session_id, newest.id)
    else:
        context.notify(NONE_QUEUED)


def queued_messages(context: ActionContext) -> list[tuple[str, QueuedMessage]]:
    """Return the queued messages of the open session, oldest first, each with its session's id."""
    view = context.live.view
    found: list[tuple[str, QueuedMessage]] = []
    for message_id in queued_user_messages(view):
        entry = view.entry(message_id) if view is not None else None
        if entry is not None and isinstance(entry.message, UserMessage):
            one = QueuedMessage(message_id, user_text(entry.parts), entry.message.delivery)
            found.append((entry.message.session_id, one))
    return found


async def _edit(context: ActionContext, session_id: str, message_id: str) -> None:
    """Remove a message from the queue and put its text before what is being typed."""
    item = await context.live.runtime.queues.remove(session_id, message_id)
    if item is None:
        context.notify("It was taken up already.")
        return
    typed = context.prompt.text
    text = user_text(item.parts)
    context.prompt.set_text(f"{text}\n{typed}" if typed.strip() else text)
