"""Appearance preferences: themes, the terminal's background, the mouse, notifications, color and
motion."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from rich.segment import Segment
from textual.color import Color

from app.startup.launch import LaunchOptions, load_runtime
from app.terminal.key_parser import TerminalBackground, colorfgbg_is_dark, is_dark
from app.theme.appearance import appearance_of, set_terminal_background
from app.theme.themes import DARK, DARK_PALETTE, LIGHT, OWN_PALETTES, load_themes, palette_of
from app.tui.app import OpencodeApp
from app.tui.notifier import notify_sequence
from tests.app.conftest import Running, Starter
from tests.app.screens.sample_session import show_session


def settings(folders: Mapping[str, str], **values: object) -> Path:
    folder = Path(folders["XDG_CONFIG_HOME"]) / "opencode-py"
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(values))
    return folder


def test_a_theme_from_a_file_changes_the_colors_that_it_names(tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text('{"ground": "#101010", "added-word": "#004400"}')
    (tmp_path / "pale.json").write_text(json.dumps({"base": LIGHT, "accent": "#aa0000"}))
    themes, faults = load_themes(tmp_path)
    assert faults == []
    assert [theme.name for theme in themes] == ["mine", "pale"]
    mine, pale = (palette_of(theme) for theme in themes)
    assert (mine.ground, mine.added_word, mine.text) == ("#101010", "#004400", DARK_PALETTE.text)
    assert (pale.accent, pale.ground, pale.dark) == ("#aa0000", OWN_PALETTES[LIGHT].ground, False)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "it is not valid JSON"),
        ("[]", "it is not an object of colors"),
        ('{"grund": "#000000"}', "there is no tone grund"),
        ('{"text": "red"}', "text is not a color such as #rrggbb"),
        ('{"text": 7}', "text is not a color such as #rrggbb"),
        ('{"base": "nord"}', "its base is not one of"),
        ('{"base": ["x"]}', "its base is not one of"),
        (" " * 70_000, "it is larger than 64 KB"),
    ],
)
def test_an_invalid_theme_file_is_reported_and_the_others_are_loaded(
    tmp_path: Path, text: str, why: str
) -> None:
    (tmp_path / "bad.json").write_text(text)
    (tmp_path / "good.json").write_text("{}")
    (tmp_path / "none.json").mkdir()
    themes, faults = load_themes(tmp_path)
    assert [theme.name for theme in themes] == ["good"]
    assert why in faults[0]
    assert "bad.json" in faults[0]
    assert "none.json" in faults[1]


async def test_the_settings_select_the_users_theme(
    start: Starter, folders: Mapping[str, str]
) -> None:
    folder = settings(folders, theme="mine")
    (folder / "themes").mkdir()
    (folder / "themes" / "mine.json").write_text('{"ground": "#123456"}')
    (folder / "themes" / "broken.json").write_text("{")
    async with start() as running:
        assert running.app.theme == "mine"
        assert running.app.screen.styles.background == Color.parse("#123456")
        await running.until_shown("broken.json was ignored")


async def test_an_unknown_theme_is_reported(start: Starter, folders: Mapping[str, str]) -> None:
    settings(folders, theme="[/nowhere]")
    async with start() as running:
        await running.until_shown("There is no theme [/nowhere]")
        assert running.app.theme == DARK


def notices(running: Running, *, dark: bool) -> None:
    running.app.post_message(TerminalBackground(dark=dark))


async def test_without_a_theme_the_terminals_background_decides(start: Starter) -> None:
    async with start() as running:
        assert running.app.theme == DARK
        notices(running, dark=False)
        await running.until(lambda: running.app.theme == LIGHT)
        await running.type("/theme nord", "enter")
        await running.until(lambda: running.app.theme == "nord")
        notices(running, dark=True)
        await running.until(lambda: appearance_of(running.app).dark)
        assert running.app.theme == "nord"
        await running.type("/theme auto", "enter")
        await running.until(lambda: running.app.theme == DARK)


async def test_the_first_frame_takes_the_terminals_hint(start: Starter) -> None:
    async with start(env={"COLORFGBG": "0;15"}, ready=False) as running:
        assert running.app.theme == LIGHT


async def test_the_picker_previews_themes_and_keeps_the_chosen_one(
    start: Starter, folders: Mapping[str, str]
) -> None:
    folder = settings(folders, snapshot=True)
    async with start() as running:
        await running.type("/theme", "enter")
        await running.until_shown("light or dark, like the terminal")
        await running.type("dracula")
        await running.until(lambda: running.app.theme == "dracula")
        await running.pilot.press("escape")
        await running.until(lambda: running.app.theme == DARK)
        await running.type("/theme", "enter")
        await running.until_shown("light or dark, like the terminal")
        await running.type("dracula", "enter")
        await running.until(lambda: "dracula" in (folder / "config.json").read_text())
        kept = json.loads((folder / "config.json").read_text())
        assert kept == {"snapshot": True, "theme": "dracula"}


def test_dark_and_light() -> None:
    assert is_dark("00", "00", "00")
    assert is_dark("0e0e", "1111", "1616")
    assert not is_dark("f", "f", "f")
    assert [colorfgbg_is_dark(text) for text in ("", "15;0", "0;15", "0;default;7", "x")] == [
        True,
        True,
        False,
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("way", "sequence"),
    [
        ("auto", "\x1b]9;done; now\x07\x07"),
        ("bell", "\x07"),
        ("osc9", "\x1b]9;done; now\x07"),
        ("osc777", "\x1b]777;notify;opencode-py;done, now\x07"),
        ("off", ""),
    ],
)
def test_notification_styles(way, sequence: str) -> None:
    assert notify_sequence("done;\nnow", way) == sequence


def test_inside_tmux_a_notification_goes_to_the_terminal_around_it() -> None:
    assert notify_sequence("x", "osc9", tmux=True) == "\x1bPtmux;\x1b\x1b]9;x\x07\x1b\\"
    assert notify_sequence("x", "off", tmux=True) == ""


async def test_the_mouse_is_released_and_captured_again(
    start: Starter, folders: Mapping[str, str]
) -> None:
    settings(folders, ui={"mouse": False, "notifications": "osc777"})
    async with start() as running:
        assert (appearance_of(running.app).mouse, appearance_of(running.app).notify) == (
            False,
            "osc777",
        )
        await running.type("/mouse", "enter")
        await running.until_shown("Mouse capture is on")
        await running.type("/mouse", "enter")
        await running.until_shown("Mouse capture is off")
        assert not appearance_of(running.app).mouse


async def test_opencodes_tui_settings_and_variables_are_applied(
    start: Starter, folders: Mapping[str, str], work: Path
) -> None:
    file = work.parent / "tui.json"
    file.write_text('{"scroll_speed": 5, "keybinds": {"session_compact": "<leader>c"}}')
    env = {"OPENCODE_TUI_CONFIG": str(file)}
    async with start(env=env) as running:
        assert running.app.scroll_sensitivity_y == 5
        assert running.app.controller.actions.keys.after_leader["c"] == "session.compact"
        assert running.app.controller.terminal.restore_sequence()
    async with start(env={**env, "OPENCODE_DISABLE_TERMINAL_TITLE": "1"}) as running:
        assert not running.app.controller.terminal.restore_sequence()


async def test_animations_are_off_where_the_settings_say_so(
    start: Starter, folders: Mapping[str, str]
) -> None:
    settings(folders, ui={"animations": False})
    async with start() as running:
        await show_session(running)
        assert running.app.animation_level == "none"


async def test_no_color_means_none(start: Starter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with start() as running:
        await show_session(running)
        strips = running.app.screen._compositor.render_strips()
        colors = {
            color.triplet
            for strip in strips
            for segment in strip.apply_filter(running.app._filters[0], Color(0, 0, 0))
            if segment.style
            for color in (segment.style.color, segment.style.bgcolor)
            if color is not None and color.triplet is not None
        }
        assert colors
        assert all(max(color) - min(color) <= 1 for color in colors)


@pytest.mark.parametrize(
    ("env", "few"),
    [
        ({"TERM": "xterm"}, True),
        ({"TERM": "linux", "COLORTERM": ""}, True),
        ({"TERM": "xterm", "COLORTERM": "truecolor"}, False),
        ({"TERM": "screen-256color"}, False),
        ({"TERM": "xterm-kitty"}, False),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, True),
        ({"NO_COLOR": ""}, False),
        ({}, False),
    ],
)
def test_a_terminal_with_few_colors_gets_its_own(env: dict[str, str], few: bool) -> None:
    app = OpencodeApp(LaunchOptions(directory=Path()), env, load_runtime)
    assert app.current_theme.ansi is few
    set_terminal_background(app, dark=False)
    assert app.theme == ("ansi-light" if few else LIGHT)


def test_without_color_there_are_not_even_grays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = OpencodeApp(LaunchOptions(directory=Path()), {"NO_COLOR": "1"}, load_runtime)
    row = [Segment("Deny", palette_of(app.current_theme).style("err", attributes="bold"))]
    for line_filter in app.get_line_filters():
        row = line_filter.apply(row, Color(0, 0, 0))
    (shown,) = row
    assert shown.style is not None
    assert shown.style.bold
    assert shown.style.color is not None
    assert shown.style.color.is_default
