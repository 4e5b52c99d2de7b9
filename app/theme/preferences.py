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
from app.toolkit.driver import take_mouse

if TYPE_CHECKING:  # the front end is painted before settings are read
    from agent.config.model import Config

DiffStyle = Literal["auto", "unified", "split"]
"""Old and new side by side where there is room, never, or wherever it is just possible."""

SideStyle = Literal["auto", "show", "hide"]
"""The sidebar on wide screens, always where there is room, or never."""


Notify = Literal["auto", "bell", "osc9", "osc777", "off"]

AUTO = "auto"
"""The name that stands for the theme of the terminal's background."""


@dataclass(frozen=True, slots=True)
class Look:
    """*diffs* is how diffs stand, *sidebar* when there is one, *notify* how somebody who looks
    elsewhere is told, *mouse* whether the program takes it, *title* whether the terminal's title
    is set. A look that *follows* has the theme
    for the terminal's background, *dark* or light."""

    diffs: DiffStyle = "auto"
    sidebar: SideStyle = "auto"
    notify: Notify = "auto"
    mouse: bool = True
    title: bool = True
    follows: bool = True
    dark: bool = True


@runtime_checkable
class HasLook(Protocol):
    """An app that keeps a ``Look``."""

    look: Look


def show_look(app: App[int], look: Look) -> None:
    """Let *look* hold from now on: what is drawn is drawn again, as with another theme."""
    assert isinstance(app, HasLook)  # ours does
    app.look = look
    signal: Signal[Theme] = app.theme_changed_signal
    signal.publish(app.current_theme)


def wear(app: App[int], config: "Config", folder: Path) -> list[str]:
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
    before, ui = look_of(app), config.ui
    app.animation_level = app.animation_level if ui.animations else "none"
    if ui.mouse is not before.mouse:
        take_mouse(app, taken=ui.mouse)
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
    show_look(app, look)
    choose_theme(app, name)
    return faults


def choose_theme(app: App[int], name: str) -> None:
    """Use the theme *name* from now on, or the one for the terminal's background (``AUTO``)."""
    look = replace(look_of(app), follows=name == AUTO)
    show_look(app, look)
    app.theme = themes.for_ground(dark=look.dark) if name == AUTO else name


def background_told(app: App[int], *, dark: bool) -> None:
    """The terminal said how its background is."""
    look = replace(look_of(app), dark=dark)
    show_look(app, look)
    if look.follows:
        app.theme = themes.for_ground(dark=dark)


def look_of(node: MessagePump) -> Look:
    """The look that the app of a widget or screen keeps, the usual one where it keeps none."""
    app: object = app_of(node)
    return app.look if isinstance(app, HasLook) else Look()
