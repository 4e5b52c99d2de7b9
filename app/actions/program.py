"""Actions on the view and on the program itself."""

from app.commands import action, actions
from app.context import Context
from app.screens.help import HelpScreen
from app.screens.theme import ThemeScreen
from app.tasks import ask


@action("view.thinking", "Show or fold the reasoning", "View", slash=("thinking",))
async def thinking(context: Context, argument: str) -> None:
    del argument
    context.transcript.toggle_all(reasoning=True)


@action("view.details", "Show or fold tool output", "View", slash=("details",))
async def details(context: Context, argument: str) -> None:
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
async def theme(context: Context, argument: str) -> None:
    app = context.app
    names = sorted(app.available_themes)
    if argument and argument not in names:
        context.tell(f"There is no theme {argument}. /theme lists them.", warning=True)
    elif argument:
        app.theme = argument
    else:
        await ask(app, ThemeScreen(names, current=app.theme))


@action("app.help", "Keys and commands", "Program", slash=("help",), keys=("f1",))
async def show_help(context: Context, argument: str) -> None:
    del argument
    await ask(context.app, HelpScreen(actions(), context.keys_of))


@action("app.palette", "All commands", "Program", keys=("ctrl+p",), palette=False)
async def palette(context: Context, argument: str) -> None:
    del argument
    context.app.action_command_palette()


@action(
    "app.exit",
    "Leave",
    "Program",
    slash=("exit", "quit", "q"),
    keys=("<leader>q",),
    words=("exit", "quit", ":q"),
)
async def leave(context: Context, argument: str) -> None:
    del argument
    context.app.exit(0)
