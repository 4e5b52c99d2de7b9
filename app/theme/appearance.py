"""Appearance preferences: one record that the app holds and widgets read.

It starts with the defaults, takes over the settings, and is changed by actions while the program
runs.
"""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from textual.app import App
from textual.message_pump import MessagePump
from textual.signal import Signal
from textual.theme import Theme

from agent.records.frozen import frozen
from app.terminal.app_of import app_of
from app.terminal.driver import capture_mouse
from app.text.file_links import NO_LINKS, FileLinks
from app.text.sanitize import sanitize_line
from app.theme import themes

if TYPE_CHECKING:  # the first frame comes before the settings are read
    from agent.config.settings_schema import Config

DiffStyle = Literal["auto", "unified", "split"]
"""Side by side where there is enough space, never, or wherever it is possible at all."""

SidebarStyle = Literal["auto", "show", "hide"]
"""Shown on wide screens, always where there is enough space, or never."""


NotificationStyle = Literal["auto", "bell", "osc9", "osc777", "off"]

AUTO = "auto"
"""The theme name that means: follow the terminal's background."""


@frozen
class Appearance:
    """The user's preferences for the appearance of the program."""

    diffs: DiffStyle = "auto"
    sidebar: SidebarStyle = "auto"
    notify: NotificationStyle = "auto"
    """The kind of notification for a user who looks elsewhere."""
    mouse: bool = True
    title: bool = True
    follows_terminal: bool = True
    dark: bool = True
    """True if the terminal's background is dark."""
    few_colors: bool = False
    """True if the terminal has 16 colors at most."""
    files: FileLinks = NO_LINKS


@runtime_checkable
class HasAppearance(Protocol):
    """An app that holds an ``Appearance``."""

    appearance: Appearance


def apply_appearance(app: App[int], appearance: Appearance) -> None:
    """Use *appearance* from now on and redraw everything, as for another theme."""
    assert isinstance(app, HasAppearance)  # our app does
    app.appearance = appearance
    signal: Signal[Theme] = app.theme_changed_signal
    signal.publish(app.current_theme)


def apply_settings(app: App[int], config: "Config", folder: Path) -> list[str]:
    """Apply the appearance settings and the user's themes; return a notice for each fault."""
    loaded, notices = themes.load_themes(folder)
    for theme in loaded:
        app.register_theme(theme)
    name = config.theme or AUTO
    if name != AUTO and name not in app.available_themes:
        notices.append(f"There is no theme {sanitize_line(name)}. /theme lists them.")
        name = AUTO
    current, ui = appearance_of(app), config.ui
    app.animation_level = app.animation_level if ui.animations else "none"
    if ui.mouse is not current.mouse:
        capture_mouse(app, captured=ui.mouse)
    appearance = replace(
        current,
        diffs=ui.diffs,
        sidebar=ui.sidebar,
        notify=ui.notifications,
        mouse=ui.mouse,
        title=ui.title,
    )
    if ui.scroll_speed is not None:
        app.scroll_sensitivity_y = ui.scroll_speed
    apply_appearance(app, appearance)
    choose_theme(app, name)
    return notices


def choose_theme(app: App[int], name: str) -> None:
    """Use the theme *name* from now on, or with ``AUTO`` the one for the terminal's background."""
    appearance = replace(appearance_of(app), follows_terminal=name == AUTO)
    apply_appearance(app, appearance)
    app.theme = own_theme_of(appearance) if name == AUTO else name


def own_theme_of(appearance: Appearance) -> str:
    """Return the name of the theme that suits the terminal."""
    return themes.theme_for(dark=appearance.dark, few_colors=appearance.few_colors)


def set_terminal_background(app: App[int], *, dark: bool) -> None:
    """Record the terminal's background, and follow it unless a theme was chosen."""
    appearance = replace(appearance_of(app), dark=dark)
    apply_appearance(app, appearance)
    if appearance.follows_terminal:
        app.theme = own_theme_of(appearance)


def appearance_of(node: MessagePump) -> Appearance:
    """Return the appearance of the app of a widget, the default where it has none."""
    app: object = app_of(node)
    return app.appearance if isinstance(app, HasAppearance) else Appearance()
