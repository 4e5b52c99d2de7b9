"""Actions on the view and on the program itself."""

import asyncio
import os
from pathlib import Path

from app.commands.context import ActionContext
from app.commands.registry import action, actions, find
from app.screens.help import HelpScreen
from app.screens.palette import PaletteScreen
from app.screens.theme import ThemeScreen
from app.theme.preferences import AUTO, appearance_of, choose_theme
from app.toolkit.tasks import show_dialog


@action("view.thinking", "Show or fold the reasoning", "View", slash=("thinking",))
async def thinking(context: ActionContext, argument: str) -> None:
    del argument
    context.transcript.toggle_all(reasoning=True)


@action("view.details", "Show or fold tool output", "View", slash=("details",))
async def details(context: ActionContext, argument: str) -> None:
    del argument
    context.transcript.toggle_all(reasoning=False)


@action(
    "view.theme",
    "Choose the theme",
    "View",
    slash=("theme", "themes"),
    keys=("<leader>t",),
    argument="[name]",
)
async def theme(context: ActionContext, argument: str) -> None:
    app = context.app
    names = sorted(app.available_themes)
    if argument and argument not in (AUTO, *names):
        context.notify(f"There is no theme {argument}. /theme lists them.", warning=True)
        return
    chosen = argument
    if not argument:
        current = AUTO if appearance_of(app).follows_terminal else app.theme
        chosen = await show_dialog(app, ThemeScreen(names, current=current)) or ""
    if chosen:
        choose_theme(app, chosen)
        await asyncio.to_thread(_keep, context.live.runtime.paths.config, chosen)


def _keep(folder: Path, theme: str) -> None:
    from agent.permission.saved_rules import save_setting  # needed by few

    save_setting(folder, ("theme",), theme)


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
    """The program stands still meanwhile."""
    del argument
    if not _shell_behind():
        context.notify("There is no shell to go back to: the terminal runs nothing else.")
        return
    context.app.action_suspend_process()


def _shell_behind() -> bool:
    """Whether what started this program is in its terminal, to go on and to bring it back."""
    try:
        return os.getsid(os.getppid()) == os.getsid(0)
    except OSError:
        return False  # it has ended


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
