"""Actions beside the agent's work: a command of the user's own, a question in passing."""

from agent.records.errors import SessionBusy
from app.commands.context import Context
from app.commands.registry import SHELL, action
from app.screens.quick_question import QuickQuestionScreen
from app.toolkit.tasks import show_dialog


@action(SHELL, "Run a command of your own", "Prompt", slash=("shell",), argument="<command>")
async def shell(context: Context, argument: str) -> None:
    """What it prints joins the session; a ``!`` in front does the same."""
    command = argument.strip()
    if not command:
        context.tell("Write the command behind the !, such as !git status.")
        return
    live = context.live
    session = await live.ensured()
    try:
        await live.runtime.sessions.own_commands.start(session.id, command)
    except SessionBusy:
        if not context.prompt.text:
            context.prompt.set_text(f"!{command}")
        raise


@action("session.aside", "Ask in passing", "Session", slash=("btw",), argument="<question>")
async def aside(context: Context, argument: str) -> None:
    """Answered from the session; neither the question nor the answer becomes part of it."""
    session = context.live.session
    if not argument.strip():
        context.tell("Write the question behind it: /btw why was that file changed?")
    elif session is None:
        context.tell("Nothing was said yet: just ask.")
    else:
        answer = context.live.runtime.sessions.asides.ask(session.id, argument.strip())
        await show_dialog(
            context.app,
            QuickQuestionScreen(argument.strip(), answer, context.app.copy_to_clipboard),
        )
