"""Actions on the program itself: help, palette, suspend, exit."""

import os

from app.commands.context import ActionContext
from app.commands.registry import action, actions, find
from app.screens.help import HelpScreen
from app.screens.palette import PaletteScreen
from app.toolkit.tasks import show_dialog


@action("app.help", "Keys and commands", "Program", slash=("help",), keys=("f1",))
async def show_help(context: ActionContext, argument: str) -> None:
    del argument
    await show_dialog(context.app, HelpScreen(actions(), context.keys_of))


@action("app.palette", "All commands", "Program", keys=("ctrl+p",), palette=False)
async def palette(context: ActionContext, argument: str) -> None:
    del argument
    chosen = await show_dialog(context.app, PaletteScreen(actions(), context.keys_of))
    known = find(chosen) if chosen is not None else None
    if known is None:
        return
    if known.slash and known.takes_argument:
        context.prompt.set_text(f"/{known.slash[0]} ")
    else:
        await known.run(context, "")


@action(
    "app.suspend",
    "Go to the shell; fg comes back",
    "Program",
    slash=("suspend",),
    keys=("ctrl+z",),
)
async def suspend(context: ActionContext, argument: str) -> None:
    """Suspend the program and return to the shell."""
    del argument
    if not _has_parent_shell():
        context.notify("There is no shell to go back to: the terminal runs nothing else.")
        return
    context.app.action_suspend_process()


def _has_parent_shell() -> bool:
    """Return whether the process that started this program runs in the same terminal, and can
    continue it."""
    try:
        return os.getsid(os.getppid()) == os.getsid(0)
    except OSError:
        return False  # the parent has exited


@action(
    "app.exit",
    "Leave",
    "Program",
    slash=("exit", "quit", "q"),
    keys=("<leader>q",),
    bare_words=("exit", "quit", ":q"),
)
async def leave(context: ActionContext, argument: str) -> None:
    del argument
    context.app.exit(0)
