"""Actions on the prompt: history, stash, editor, paste, Vim keys, shell commands, quick
questions."""

from agent.records.errors import OpencodePyError, SessionBusy
from app.commands.context import ActionContext
from app.commands.registry import SHELL, action
from app.screens.prompts import PromptsScreen
from app.screens.quick_question import QuickQuestionScreen
from app.toolkit.tasks import show_dialog


@action("prompt.history", "Search the prompts sent before", "Prompt", keys=("ctrl+r",))
async def history(context: ActionContext, argument: str) -> None:
    del argument
    prompts = context.prompt.sent_prompts
    if not prompts:
        context.notify("No prompt was sent yet.")
        return
    chosen = await show_dialog(context.app, PromptsScreen(prompts))
    if chosen is not None:
        if context.prompt.text.strip():
            context.prompt.stash()
            context.notify("What you were typing is put aside: ctrl+s on an empty prompt.")
        context.prompt.set_text(prompts[int(chosen)], recalled=True)


@action("prompt.stash", "Put the prompt aside, or bring it back", "Prompt", keys=("ctrl+s",))
async def stash(context: ActionContext, argument: str) -> None:
    del argument
    before = context.prompt.text
    if not context.prompt.stash():
        context.notify("There is nothing to put aside, and nothing was.")
    elif before:
        context.notify("Put aside. The same key on an empty prompt brings it back.")


@action(
    "prompt.editor",
    "Write the prompt in your editor",
    "Prompt",
    slash=("editor",),
    keys=("<leader>e",),
)
async def editor(context: ActionContext, argument: str) -> None:
    from app.toolkit.external_editor import edit_text  # few sessions open one

    text = argument or context.prompt.expand_pastes(context.prompt.text)
    try:
        written = await edit_text(context.app, text, context.env)
    except OpencodePyError as error:
        context.notify(error.message, warning=True)
        return
    context.prompt.set_text(written)


@action("prompt.paste", "Paste, an image too", "Prompt", keys=("ctrl+v",))
async def paste(context: ActionContext, argument: str) -> None:
    """Attach an image from the clipboard; anything else is the editor's own paste."""
    from app.toolkit.clipboard_images import save_clipboard_image  # rarely needed

    del argument
    if not context.live.is_ready:
        context.prompt.action_paste()
        return
    found = await save_clipboard_image(context.env, context.live.runtime.paths.data / "pasted")
    if found is None:
        context.prompt.action_paste()
    else:
        context.prompt.insert(f"@{found} ")


@action("prompt.vim", "Vim's keys in the prompt, on or off", "Prompt", slash=("vim",))
async def vim(context: ActionContext, argument: str) -> None:
    """Switch Vim keys for now; the setting ``ui.vim`` is permanent."""
    del argument
    on = context.prompt.vim is None
    context.prompt.use_vim(on=on)
    context.notify("Vim's keys are on: esc for normal mode." if on else "Vim's keys are off.")


@action(SHELL, "Run a command of your own", "Prompt", slash=("shell",), argument="<command>")
async def shell(context: ActionContext, argument: str) -> None:
    """Run a shell command, whose output joins the session; a ``!`` in front does the same."""
    command = argument.strip()
    if not command:
        context.notify("Write the command behind the !, such as !git status.")
        return
    live = context.live
    session = await live.ensure_session()
    try:
        await live.runtime.sessions.user_shell.start(session.id, command)
    except SessionBusy:
        if not context.prompt.text:
            context.prompt.set_text(f"!{command}")
        raise


@action("session.aside", "Ask in passing", "Session", slash=("btw",), argument="<question>")
async def quick_question(context: ActionContext, argument: str) -> None:
    """Answer a question from the session; neither the question nor the answer becomes part of
    it."""
    session = context.live.session
    if not argument.strip():
        context.notify("Write the question behind it: /btw why was that file changed?")
    elif session is None:
        context.notify("Nothing was said yet: just ask.")
    else:
        answer = context.live.runtime.sessions.quick_questions.ask(session.id, argument.strip())
        await show_dialog(
            context.app,
            QuickQuestionScreen(argument.strip(), answer, context.app.copy_to_clipboard),
        )
