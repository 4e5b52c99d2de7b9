"""How the user wants things to look: one record that the app holds and widgets read.

It begins with what the settings say; actions change it while the program runs.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from textual.app import App
from textual.message_pump import MessagePump
from textual.signal import Signal
from textual.theme import Theme

from app.typed import app_of

if TYPE_CHECKING:  # the front end is painted before settings are read
    from agent.config.model import Config

DiffStyle = Literal["auto", "unified", "split"]
"""Old and new side by side where there is room, never, or wherever it is just possible."""

SideStyle = Literal["auto", "show", "hide"]
"""The sidebar on wide screens, always where there is room, or never."""


@dataclass(frozen=True, slots=True)
class Look:
    """*diffs* is how diffs stand, *sidebar* when there is one."""

    diffs: DiffStyle = "auto"
    sidebar: SideStyle = "auto"


@runtime_checkable
class HasLook(Protocol):
    """An app that keeps a ``Look``."""

    look: Look


def show_look(app: App[int], look: Look) -> None:
    """Let *look* hold from now on: what is drawn is drawn again, as with another theme."""
    assert isinstance(app, HasLook)  # noqa: S101 - ours does
    app.look = look
    signal: Signal[Theme] = app.theme_changed_signal
    signal.publish(app.current_theme)


def wear(app: App[int], config: "Config") -> None:
    """Take over what the settings say of the look."""
    if config.theme is not None and config.theme in app.available_themes:
        app.theme = config.theme
    show_look(app, Look(diffs=config.ui.diffs, sidebar=config.ui.sidebar))


def look_of(node: MessagePump) -> Look:
    """The look that the app of a widget or screen keeps, the usual one where it keeps none."""
    app: object = app_of(node)
    return app.look if isinstance(app, HasLook) else Look()
