"""How the user wants things to look: one record that the app holds and widgets read.

It begins with what the settings say; actions change it while the program runs.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from textual.app import App
from textual.message_pump import MessagePump
from textual.signal import Signal
from textual.theme import Theme

from app.text.sanitize import sanitize_line
from app.theme import themes
from app.toolkit.app_of import app_of
from app.toolkit.driver import capture_mouse

if TYPE_CHECKING:  # the front end is painted before settings are read
    from agent.config.model import Config

DiffStyle = Literal["auto", "unified", "split"]
"""Old and new side by side where there is room, never, or wherever it is just possible."""

SidebarStyle = Literal["auto", "show", "hide"]
"""The sidebar on wide screens, always where there is room, or never."""


NotificationStyle = Literal["auto", "bell", "osc9", "osc777", "off"]

AUTO = "auto"
"""The name that stands for the theme of the terminal's background."""


@dataclass(frozen=True, slots=True)
class Appearance:
    """*diffs* is how diffs stand, *sidebar* when there is one, *notify* how somebody who looks
    elsewhere is told, *mouse* whether the program takes it, *title* whether the terminal's title
    is set. A look that *follows* has the theme
    for the terminal's background, *dark* or light."""

    diffs: DiffStyle = "auto"
    sidebar: SidebarStyle = "auto"
    notify: NotificationStyle = "auto"
    mouse: bool = True
    title: bool = True
    follows_terminal: bool = True
    dark: bool = True


@runtime_checkable
class HasAppearance(Protocol):
    """An app that keeps a ``Look``."""

    appearance: Appearance


def apply_appearance(app: App[int], look: Appearance) -> None:
    """Let *look* hold from now on: what is drawn is drawn again, as with another theme."""
    assert isinstance(app, HasAppearance)  # ours does
    app.appearance = look
    signal: Signal[Theme] = app.theme_changed_signal
    signal.publish(app.current_theme)


def apply_settings(app: App[int], config: "Config", folder: Path) -> list[str]:
    """Take over what the settings say of the look, with the user's themes in *folder*; returns
    a sentence for each thing that could not be."""
    from app.theme.user_themes import load_themes  # the first frame is without

    own, faults = load_themes(folder)
    for theme in own:
        app.register_theme(theme)
    name = config.theme or AUTO
    if name != AUTO and name not in app.available_themes:
        faults.append(f"There is no theme {sanitize_line(name)}. /theme lists them.")
        name = AUTO
    before, ui = appearance_of(app), config.ui
    app.animation_level = app.animation_level if ui.animations else "none"
    if ui.mouse is not before.mouse:
        capture_mouse(app, captured=ui.mouse)
    look = replace(
        before,
        diffs=ui.diffs,
        sidebar=ui.sidebar,
        notify=ui.notifications,
        mouse=ui.mouse,
        title=ui.title,
    )
    if ui.scroll_speed is not None:
        app.scroll_sensitivity_y = ui.scroll_speed
    apply_appearance(app, look)
    choose_theme(app, name)
    return faults


def choose_theme(app: App[int], name: str) -> None:
    """Use the theme *name* from now on, or the one for the terminal's background (``AUTO``)."""
    look = replace(appearance_of(app), follows_terminal=name == AUTO)
    apply_appearance(app, look)
    app.theme = themes.own_theme_for(dark=look.dark) if name == AUTO else name


def set_terminal_background(app: App[int], *, dark: bool) -> None:
    """The terminal said how its background is."""
    look = replace(appearance_of(app), dark=dark)
    apply_appearance(app, look)
    if look.follows_terminal:
        app.theme = themes.own_theme_for(dark=dark)


def appearance_of(node: MessagePump) -> Appearance:
    """The look that the app of a widget or screen keeps, the usual one where it keeps none."""
    app: object = app_of(node)
    return app.appearance if isinstance(app, HasAppearance) else Appearance()
