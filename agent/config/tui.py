"""opencode's ``tui.json`` in the form of our settings (spec 10, K3)."""

from collections.abc import Mapping

from agent.config.jsonc import KeyPath
from agent.records.json import Json, JsonObject

_PLUGINS = "plugins written for opencode cannot run here; those in Python go into plugins/"
_BELL = "sounds are the terminal's bell"

UNSUPPORTED_TUI_KEYS: Mapping[KeyPath, str] = {
    ("plugin",): _PLUGINS,
    ("plugin_enabled",): _PLUGINS,
    ("prompt",): "the prompt grows with its text, up to a part of the screen",
    ("scroll_acceleration",): "each turn of the wheel scrolls as far as scroll_speed says",
    ("attention", "volume"): _BELL,
    ("attention", "sound_pack"): _BELL,
    ("attention", "sounds"): _BELL,
}
"""Keys without effect here, with the reason."""

_DIFFS: Mapping[str, str] = {"auto": "auto", "stacked": "unified"}

_KNOWN = frozenset(
    {
        "theme",
        "keybinds",
        "leader_timeout",
        "attention",
        "scroll_speed",
        "diff_style",
        "mouse",
        *(str(path[0]) for path in UNSUPPORTED_TUI_KEYS),
    }
)

_KEYS: Mapping[str, str] = {
    "return": "enter",
    "esc": "escape",
    "pgup": "pageup",
    "pgdn": "pagedown",
}
"""Keys that are spelled another way there."""


def from_tui(raw: JsonObject) -> tuple[JsonObject, list[tuple[KeyPath, str]]]:
    """The settings that a ``tui.json`` stands for, and what of it has no effect, with the reason.

    A file without any known key is another program's: it says nothing.
    """
    if not _KNOWN & set(raw):
        return {}, []
    made: JsonObject = {}
    left: list[tuple[KeyPath, str]] = []
    for path, reason in UNSUPPORTED_TUI_KEYS.items():
        parent: Json = raw if len(path) == 1 else raw.get(str(path[0]))
        if isinstance(parent, dict) and path[-1] in parent:
            left.append((path, reason))
    unknown = (key for key in raw if key not in _KNOWN and key != "$schema")
    left += [((key,), "there is no such setting here") for key in unknown]
    if "theme" in raw:
        made["theme"] = raw["theme"]
    if "keybinds" in raw:
        made["keybinds"] = _keybinds(raw["keybinds"], left)
    if ui := _ui(raw):
        made["ui"] = ui
    return made, left


def _ui(raw: JsonObject) -> JsonObject:
    ui: JsonObject = {key: raw[key] for key in ("leader_timeout", "scroll_speed") if key in raw}
    if "mouse" in raw:
        ui["mouse"] = raw["mouse"]
    if "diff_style" in raw:
        style = raw["diff_style"]
        ui["diffs"] = _DIFFS.get(style, style) if isinstance(style, str) else style
    attention = raw.get("attention")
    if isinstance(attention, dict) and isinstance(attention.get("enabled"), bool):
        ui["notifications"] = _way(attention)
    return ui


def _way(attention: JsonObject) -> str:
    """How the user is called: by a notification, a sound, both or not at all."""
    wanted = attention["enabled"] is True
    seen = wanted and attention.get("notifications") is not False
    heard = wanted and attention.get("sound") is not False
    if seen and heard:
        return "auto"
    return "osc9" if seen else "bell" if heard else "off"


def _keybinds(given: Json, left: list[tuple[KeyPath, str]]) -> Json:
    if not isinstance(given, dict):
        return given
    keys: JsonObject = {}
    for name, value in given.items():
        spelled = _spelled(value)
        if spelled is None:
            left.append((("keybinds", name), "keys are written as text, with commas between them"))
        else:
            keys[name] = spelled
    return keys


def _spelled(value: Json) -> str | None:
    """The keys of one action as a file of ours has them, None for what is none."""
    match value:
        case False | None:
            return "none"
        case str():
            return ",".join(_key(key) for key in value.split(","))
        case list():
            texts = [_spelled(each) for each in value]
            return None if None in texts else ",".join(text for text in texts if text)
        case {"key": str(key)}:
            marks = [m for m in ("ctrl", "alt", "shift", "super") if value.get(m) is True]
            led = "<leader>" if value.get("leader") is True else ""
            return led + "+".join([*marks, _key(key)])
        case _:
            return None


def _key(key: str) -> str:
    """*key* in Textual's spelling."""
    led = "<leader>" if key.strip().lower().startswith("<leader>") else ""
    *marks, last = key.strip()[len(led) :].split("+") if key.strip()[len(led) :] else [""]
    return led + "+".join([*marks, _KEYS.get(last.lower(), last)])
