"""Actions on the view: sidebar, mouse, diffs, copying, folding, theme."""

import asyncio
from dataclasses import replace
from pathlib import Path

from app.action_registry.context import ActionContext
from app.action_registry.registry import action
from app.screens.copy_mode import CopyModeScreen
from app.screens.theme import ThemeScreen
from app.terminal.driver import capture_mouse
from app.terminal.tasks import show_dialog
from app.theme.appearance import AUTO, DiffStyle, appearance_of, apply_appearance, choose_theme
from app.widgets.sidebar import MIN_SCREEN_WIDTH, Sidebar

_NEXT: dict[DiffStyle, DiffStyle] = {"auto": "unified", "unified": "split", "split": "auto"}
_NOTICES: dict[DiffStyle, str] = {
    "auto": "Diffs are shown side by side where there is room.",
    "unified": "Diffs are shown in one column.",
    "split": "Diffs are shown side by side.",
}


@action("view.sidebar", "Show or hide the sidebar", "View", slash=("sidebar",), keys=("<leader>b",))
async def sidebar(context: ActionContext, argument: str) -> None:
    shown = context.app.screen.query_one(Sidebar).display
    apply_appearance(
        context.app, replace(appearance_of(context.app), sidebar="hide" if shown else "show")
    )
    if context.app.size.width < MIN_SCREEN_WIDTH and not shown:
        context.notify(f"The sidebar needs {MIN_SCREEN_WIDTH} columns.")


@action("view.mouse", "Turn mouse capture on or off", "View", slash=("mouse",))
async def mouse(context: ActionContext, argument: str) -> None:
    """Turn mouse capture on or off back. Without the mouse here, the terminal selects
    and copies text as in a shell."""
    look = appearance_of(context.app)
    apply_appearance(context.app, replace(look, mouse=not look.mouse))
    capture_mouse(context.app, captured=not look.mouse)
    if look.mouse:
        context.notify("Mouse capture is off: the terminal selects text. /mouse turns it on.")
    else:
        context.notify("Mouse capture is on: the mouse scrolls, folds and selects.")


@action(
    "view.diffs",
    "Show diffs side by side or in one column",
    "View",
    slash=("diffs",),
    argument="[auto|unified|split]",
)
async def diffs(context: ActionContext, argument: str) -> None:
    """Use the given style of diffs, or the next one."""
    look = appearance_of(context.app)
    if argument not in {"", *_NOTICES}:
        context.notify("Use auto, unified or split.", warning=True)
        return
    named: list[DiffStyle] = [style for style in _NOTICES if style == argument]
    style = named[0] if named else _NEXT[look.diffs]
    apply_appearance(context.app, replace(look, diffs=style))
    context.notify(_NOTICES[style])


@action(
    "view.copy",
    "Select and copy with the keyboard",
    "View",
    slash=("select", "copy-mode"),
    keys=("<leader>v", "<leader>left_square_bracket"),
)
async def copy_mode(context: ActionContext, argument: str) -> None:
    """Mark text by key and copy it. The transcript does not scroll meanwhile."""
    view = context.live.view
    if view is None or not view.message_ids:
        context.notify("Nothing to copy yet.")
        return
    text = await context.show(CopyModeScreen(view, context.transcript.reading))
    if text is not None:
        context.app.copy_to_clipboard(text)


@action(
    "view.browse",
    "Select rows to expand or open them",
    "View",
    slash=("browse",),
    keys=("ctrl+o",),
)
async def browse(context: ActionContext, argument: str) -> None:
    """Let the keyboard go through the rows of the transcript."""
    view = context.live.view
    if view is None or not view.message_ids:
        context.notify("Nothing to open yet.")
    else:
        context.browse()


@action("view.thinking", "Show or fold the reasoning", "View", slash=("thinking",))
async def thinking(context: ActionContext, argument: str) -> None:
    context.transcript.toggle_all(reasoning=True)


@action("view.details", "Show or fold tool output", "View", slash=("details",))
async def details(context: ActionContext, argument: str) -> None:
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
        await asyncio.to_thread(_save_theme, context.live.runtime.paths.config, chosen)


def _save_theme(folder: Path, theme: str) -> None:
    from agent.permission.saved_rules import save_setting  # rarely needed

    save_setting(folder, ("theme",), theme)
