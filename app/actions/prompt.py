"""Actions on the prompt and its queue, shell commands of the user, quick questions."""

from agent.records.errors import OpencodePyError, SessionBusy
from agent.records.messages import Delivery, UserMessage
from app.action_registry.context import ActionContext
from app.action_registry.registry import EDIT_QUEUED, SHELL, action
from app.screens.prompt_lists import PromptsScreen, QueuedMessage, QueueScreen
from app.screens.quick_question import QuickQuestionScreen
from app.session_state.session_facts import queued_user_messages
from app.terminal.clipboard import save_clipboard_image
from app.widgets.transcript.message_lines import user_text


@action("prompt.history", "Search earlier prompts", "Prompt", keys=("ctrl+r",))
async def history(context: ActionContext, argument: str) -> None:
    prompts = context.prompt.sent_prompts
    if not prompts:
        context.notify("No prompts were sent yet.")
        return
    chosen = await context.show(PromptsScreen(prompts))
    if chosen is not None:
        if context.prompt.text.strip():
            context.prompt.stash()
            context.notify("Your prompt is stashed: press ctrl+s on an empty prompt to restore it.")
        context.prompt.set_text(prompts[int(chosen)], recalled=True)


@action("prompt.stash", "Stash or restore the prompt", "Prompt", keys=("ctrl+s",))
async def stash(context: ActionContext, argument: str) -> None:
    before = context.prompt.text
    if not context.prompt.stash():
        context.notify("Nothing to stash or restore.")
    elif before:
        context.notify("Stashed. The same key on an empty prompt restores it.")


@action(
    "prompt.editor",
    "Write the prompt in your editor",
    "Prompt",
    slash=("editor",),
    keys=("<leader>e",),
)
async def editor(context: ActionContext, argument: str) -> None:
    from app.terminal.external_editor import edit_text  # few sessions open one

    text = argument or context.prompt.expand_pastes(context.prompt.text)
    try:
        written = await edit_text(context.app, text, context.env)
    except OpencodePyError as error:
        context.notify(error.message, warning=True)
        return
    context.prompt.set_text(written)


@action("prompt.paste", "Paste text or an image", "Prompt", keys=("ctrl+v",))
async def paste(context: ActionContext, argument: str) -> None:
    """Attach an image from the clipboard; anything else is the editor's own paste."""
    if not context.live.is_ready:
        context.prompt.action_paste()
        return
    found = await save_clipboard_image(context.env, context.live.runtime.paths.data / "pasted")
    if found is None:
        context.prompt.action_paste()
    else:
        context.prompt.insert(f"@{found} ")


@action("prompt.vim", "Turn Vim keys on or off", "Prompt", slash=("vim",))
async def vim(context: ActionContext, argument: str) -> None:
    """Switch Vim keys for now; the setting ``ui.vim`` is permanent."""
    on = context.prompt.vim is None
    context.prompt.use_vim(on=on)
    context.notify("Vim keys are on: esc enters normal mode." if on else "Vim keys are off.")


@action(SHELL, "Run a shell command", "Prompt", slash=("shell",), argument="<command>")
async def shell(context: ActionContext, argument: str) -> None:
    """Run a shell command, whose output joins the session; a ``!`` in front does the same."""
    command = argument.strip()
    if not command:
        context.notify("Write the command after the !, such as !git status.")
        return
    live = context.live
    session = await live.ensure_session()
    try:
        await live.runtime.sessions.user_shell.start(session.id, command)
    except SessionBusy:
        typed = context.prompt.text
        context.prompt.set_text(f"!{command}\n{typed}" if typed else f"!{command}")
        raise


@action(
    "session.aside",
    "Ask a side question (not saved to the session)",
    "Session",
    slash=("btw",),
    argument="<question>",
)
async def quick_question(context: ActionContext, argument: str) -> None:
    """Answer a question from the session, of which neither question nor answer becomes part."""
    session = context.live.session
    if not argument.strip():
        context.notify("Write the question after it: /btw why was that file changed?")
    elif session is None:
        context.notify("The session is empty. Ask in the prompt instead.")
    else:
        answer = context.controls.aside(session.id, argument.strip())
        await context.show(
            QuickQuestionScreen(argument.strip(), answer, context.app.copy_to_clipboard),
        )


NONE_QUEUED = "No queued messages."


@action(
    "prompt.later",
    "Queue a message for after this turn",
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
        context.notify("Type a message first, or use /later <message>.")
        return
    context.prompt.remember(text)
    await context.send(context.prompt.expand_pastes(text), "follow_up")


@action("session.waiting", "Show queued messages", "Session", slash=("queue", "waiting"))
async def waiting(context: ActionContext, argument: str) -> None:
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
    chosen = await context.show(screen)
    if chosen is not None:
        await _edit(context, session_id, chosen)


@action(EDIT_QUEUED, "Edit the last queued message", "Prompt", slash=("unsend",))
async def take_back(context: ActionContext, argument: str) -> None:
    """Return the newest queued message to the prompt."""
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
        context.notify("It was already sent.")
        return
    typed = context.prompt.text
    text = user_text(item.parts)
    context.prompt.set_text(f"{text}\n{typed}" if typed.strip() else text)
