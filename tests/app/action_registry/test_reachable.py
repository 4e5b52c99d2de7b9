"""Everything can be reached without a mouse and in a plain terminal, such as screen or tmux over
ssh: one without the kitty protocol. Such a terminal sends what is in Textual's table of sequences,
and what is printed on the keys."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator

import pytest
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.binding import Binding
from textual.dom import DOMNode
from textual.keys import KEY_ALIASES, _character_to_key

import app.actions
import app.screens
import app.widgets
from app.action_registry import keymap
from app.action_registry.registry import Action, actions
from app.terminal.driver import ALT_ENTER
from app.tui.app import OpencodeApp
from app.widgets.input.prompt import NEWLINE_KEYS

PRINTED = {_character_to_key(chr(code)) for code in range(0x20, 0x7F)}
SENT = {
    str(getattr(key, "value", key))
    for sequence, keys in ANSI_SEQUENCES_KEYS.items()
    if not sequence.endswith("u") and isinstance(keys, tuple)
    for key in keys
}
META = {f"alt+{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"}
"""The Esc before the letter, which the parser joins to one key."""

PLAIN = PRINTED | SENT | META | {"left_square_bracket"}


def plain(key: str) -> bool:
    """Return whether a plain terminal sends *key* or an alias of it."""
    return bool({key, *KEY_ALIASES.get(key, ())} & PLAIN)


@pytest.mark.parametrize("action", actions(), ids=lambda action: action.id)
def test_each_action_can_be_run_without_a_special_key(action: Action) -> None:
    by_name = bool(action.slash) or action.palette
    assert by_name or any(plain(key) for key in action.keys)


@pytest.mark.parametrize("action", actions(), ids=lambda action: action.id)
def test_each_default_key_can_be_sent_by_a_plain_terminal(action: Action) -> None:
    for key in action.keys:
        assert plain(key.removeprefix("<leader>")), key


def test_the_leader_the_palette_and_the_fixed_keys_are_plain() -> None:
    palette = next(one for one in actions() if one.id == "app.palette")
    for key in (keymap.LEADER, *palette.keys, *keymap.FIXED):
        assert plain(key), key


def test_a_new_line_can_be_typed_without_shift_enter() -> None:
    """Ctrl+J is the byte of a line feed; Alt+Enter an Esc before Enter."""
    assert "ctrl+j" in NEWLINE_KEYS
    assert plain("ctrl+j")
    assert "\x1b\r" in ALT_ENTER


def test_keys_of_the_kitty_protocol_are_not_plain() -> None:
    assert not plain("shift+enter")
    assert not plain("ctrl+shift+p")


def bound() -> Iterator[tuple[str, Binding]]:
    """Return our own bindings of screens and widgets, without those of their base classes."""
    yield from ((OpencodeApp.__name__, each) for each in bindings(OpencodeApp))
    for package in (app.screens, app.widgets):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            loaded = importlib.import_module(module.name)
            for name, node in inspect.getmembers(loaded, inspect.isclass):
                if issubclass(node, DOMNode) and node.__module__ == module.name:
                    yield from ((name, each) for each in bindings(node))


def bindings(node: type[DOMNode]) -> Iterator[Binding]:
    for each in node.__dict__.get("BINDINGS", ()):
        yield each if isinstance(each, Binding) else Binding(*each)


def test_each_binding_of_a_screen_has_a_plain_key() -> None:
    found = list(bound())
    assert len(found) > 40
    hidden = [
        (name, each.key)
        for name, each in found
        if not any(plain(key.strip()) for key in each.key.split(","))
    ]
    assert hidden == []
