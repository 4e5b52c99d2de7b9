"""Actions on how things look."""

from dataclasses import replace

from app.commands.context import ActionContext
from app.commands.registry import action
from app.screens.copy_mode import CopyModeScreen
from app.theme.preferences import DiffStyle, appearance_of, apply_appearance
from app.toolkit.driver import capture_mouse
from app.toolkit.tasks import show_dialog
from app.widgets.sidebar import MIN_SCREEN_WIDTH, Sidebar

_NEXT: dict[DiffStyle, DiffStyle] = {"auto": "unified", "unified": "split", "split": "auto"}
_SAID: dict[DiffStyle, str] = {
    "auto": "Diffs stand side by side where there is room.",
    "unified": "Diffs stand one line below the other.",
    "split": "Diffs stand side by side.",
}


@action("view.sidebar", "Show or hide the sidebar", "View", slash=("sidebar",), keys=("<leader>b",))
async def sidebar(context: ActionContext, argument: str) -> None:
    del argument
    shown = context.app.screen.query_one(Sidebar).display
    apply_appearance(
        context.app, replace(appearance_of(context.app), sidebar="hide" if shown else "show")
    )
    if context.app.size.width < MIN_SCREEN_WIDTH and not shown:
        context.notify(f"The sidebar needs {MIN_SCREEN_WIDTH} columns.")


@action("view.mouse", "Give the mouse to the terminal, or take it", "View", slash=("mouse",))
async def mouse(context: ActionContext, argument: str) -> None:
    """Without the mouse here, the terminal selects and copies text as in a shell."""
    del argument
    look = appearance_of(context.app)
    apply_appearance(context.app, replace(look, mouse=not look.mouse))
    capture_mouse(context.app, captured=not look.mouse)
    if look.mouse:
        context.notify("The terminal has the mouse: it selects text. /mouse takes it back.")
    else:
        context.notify("The mouse scrolls, folds and selects here again.")


@action(
    "view.diffs",
    "Diffs side by side or in one column",
    "View",
    slash=("diffs",),
    argument="[auto|unified|split]",
)
async def diffs(context: ActionContext, argument: str) -> None:
    """Take the way that is named, or the next one."""
    look = appearance_of(context.app)
    if argument not in {"", *_SAID}:
        context.notify("Say auto, unified or split.", warning=True)
        return
    named: list[DiffStyle] = [style for style in _SAID if style == argument]
    style = named[0] if named else _NEXT[look.diffs]
    apply_appearance(context.app, replace(look, diffs=style))
    context.notify(_SAID[style])


@action(
    "view.copy",
    "Mark and copy by key",
    "View",
    slash=("select", "copy-mode"),
    keys=("<leader>v", "<leader>left_square_bracket"),
)
async def copy_mode(context: ActionContext, argument: str) -> None:
    """The transcript stands still meanwhile; what is marked goes to the clipboard."""
    del argument
    view = context.live.view
    if view is None or not view.message_ids:
        context.notify("There is nothing to copy yet.")
        return
    text = await show_dialog(context.app, CopyModeScreen(view, context.transcript.reading))
    if text is not None:
        context.app.copy_to_clipboard(text)
