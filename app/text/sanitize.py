"""The one place that sanitizes text from outside before it is shown.

Textual and Rich pass control characters in widget text on to the terminal. Everything that a model,
a tool, a file, a server or the user wrote goes through ``sanitize``, or through ``sanitize_ansi``
where the colors of a command's output are kept. Harmful characters stay visible as escapes, so that
the text shown is never shorter than the original.
"""

import re
from dataclasses import replace

from agent.records.frozen import frozen

TAB_WIDTH = 4

_C0 = {code: chr(0x2400 + code) for code in range(0x20) if code not in {0x09, 0x0A}}

# Control characters, lone surrogates, and characters that hide or reorder text: soft hyphen,
# zero-width and bidi controls, fillers, variation selectors, tags.
_SUSPECT = re.compile(
    "[\x00-\x08\x09\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0"
    "\ufff9-\ufffb\U000e0000-\U000e0fff]"
)

_JOINERS = "\u200c\u200d"

_ESCAPE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI
    r"|\x9b[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"  # strings
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*\Z"  # not yet complete
    r"|\x1b[ -/]*(?:[0-~]|\Z)"
)
_INTRODUCER = re.compile("[\x1b\x90\x98\x9b\x9d-\x9f]")
_SGR = re.compile(r"\x1b\[([0-9;:]*)m")


def sanitize(text: str, *, overwriting: bool = False) -> str:
    r"""Return *text* with only printable characters and line feeds.

    Control characters become their pictures (``␛``; ``␍`` where no line feed follows), characters
    that hide or reorder text become ``\u{202e}``, and tabs become spaces up to the next tab stop.
    Joiners are kept where emoji or a script needs them. With *overwriting*, for the output of
    programs, a carriage return starts its line again and only the text after the last one is kept,
    as in a terminal.
    """
    if _SUSPECT.search(text) is None:
        return text
    if "\r" in text or "\t" in text:
        lines = text.replace("\r\n", "\n").split("\n")
        text = "\n".join(_flatten(line, overwriting) for line in lines)
    return _SUSPECT.sub(_visible, text)


def sanitize_line(text: str) -> str:
    """Return *text* sanitized and on one line: line feeds become spaces (titles, paths, labels)."""
    return sanitize(text).replace("\n", " ")


def _flatten(line: str, overwriting: bool) -> str:
    if overwriting and "\r" in line:
        line = line.rstrip("\r").rsplit("\r", 1)[-1]
    return line.expandtabs(TAB_WIDTH) if "\t" in line else line


def _visible(match: re.Match[str]) -> str:
    character = match.group()
    code = ord(character)
    if code in _C0:
        return _C0[code]
    if code == 0x7F:
        return "␡"
    return character if is_needed(match.string, match.start()) else f"\\u{{{code:x}}}"


def is_needed(text: str, at: int) -> bool:
    """Return whether the character at *at* is a part of an emoji, or a joiner that its script
    needs."""
    before, after = text[at - 1 : at] if at else "", text[at + 1 : at + 2]
    if text[at] == "\ufe0f":
        return _is_pictograph(before)
    return text[at] in _JOINERS and _is_needed_joiner(before, after)


def _is_pictograph(character: str) -> bool:
    """Return whether *character* can be shown as an emoji or be next to a joiner."""
    if not character:
        return False
    code = ord(character)
    return (
        0x1F000 <= code <= 0x1FAFF
        or 0x2190 <= code <= 0x2BFF
        or code in {0x203C, 0x2049, 0x2122, 0x2139, 0x3030, 0x303D, 0x3297, 0x3299, 0xFE0F}
        or character in "#*0123456789©®"
    )


def _is_needed_joiner(before: str, after: str) -> bool:
    """Return whether a joiner between these is part of an emoji or needed by a script."""
    if not before or not after:
        return False
    if _is_pictograph(before) and _is_pictograph(after) and not before.isascii():
        return True
    return all(_needs_joiners(ord(side)) for side in before + after)


def _needs_joiners(code: int) -> bool:
    """Return whether a script has zero-width joiners: Arabic, Syriac, those of India."""
    return 0x0600 <= code <= 0x08FF or 0x0900 <= code <= 0x0DFF


@frozen
class AnsiStyle:
    """The style that SGR sequences set.

    Background colors, blinking and hidden text are not kept: they can make text unreadable.
    """

    color: str | None = None
    """The name of one of the 16 ANSI colors, or ``#rrggbb``."""
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: bool = False
    strike: bool = False


PLAIN = AnsiStyle()

_NAMES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")


def sanitize_ansi(text: str) -> list[list[tuple[str, AnsiStyle]]]:
    """Return the lines of a command's output as styled spans: of escapes, colors are kept."""
    if _INTRODUCER.search(text) is None:
        shown = sanitize(text, overwriting=True)
        return [[(line, PLAIN)] if line else [] for line in shown.split("\n")]
    kept = _ESCAPE.sub(lambda match: match.group() if _SGR.fullmatch(match.group()) else "", text)
    lines: list[list[tuple[str, AnsiStyle]]] = []
    style = PLAIN
    for raw in kept.replace("\r\n", "\n").split("\n"):
        spans: list[tuple[str, AnsiStyle]] = []
        returned = False
        # The split alternates text and codes; a carriage return drops the text before it.
        for index, piece in enumerate(_SGR.split(raw)):
            if index % 2:
                style = _apply_codes(style, piece)
                continue
            if piece and (returned or "\r" in piece.rstrip("\r")):
                spans.clear()
            returned = piece.endswith("\r") or (returned and not piece)
            if shown := sanitize(piece, overwriting=True):
                spans.append((shown, style))
        lines.append(spans)
    return lines


def without_colors(text: str) -> str:
    """Return *text* sanitized, without the codes that only style it."""
    return "\n".join("".join(part for part, _ in line) for line in sanitize_ansi(text))


def _apply_codes(style: AnsiStyle, codes: str) -> AnsiStyle:
    """Return *style* after *codes*. A code with colons has its parameters in itself: ``4:3`` is a
    curly underline, ``38:2::255:0:0`` a color whose color space is left empty."""
    numbers: list[int] = []
    for code in codes.split(";"):
        number, *parameters = (int(digits[:9] or 0) for digits in code.split(":"))
        if not parameters:
            numbers.append(number)
            continue
        style, numbers = _apply_numbers(style, numbers), []
        if number == 38:
            space = 1 if parameters[0] == 2 and len(parameters) > 4 else 0
            color, _ = _extended_color([parameters[0], *parameters[1 + space :]], 0)
            style = replace(style, color=color)
        elif number not in {48, 58}:
            off = number == 4 and parameters[0] == 0
            style = _apply_code(style, 24 if off else number)
    return _apply_numbers(style, numbers)


def _apply_numbers(style: AnsiStyle, numbers: list[int]) -> AnsiStyle:
    index = 0
    while index < len(numbers):
        number = numbers[index]
        index += 1
        if number in {38, 48, 58}:
            color, index = _extended_color(numbers, index)
            style = replace(style, color=color) if number == 38 else style
        else:
            style = _apply_code(style, number)
    return style


def _apply_code(style: AnsiStyle, number: int) -> AnsiStyle:
    if number == 0:
        return PLAIN
    if number == 22:
        return replace(style, bold=False, dim=False)
    if (field := _SWITCHES.get(number)) is not None:
        name, on = field
        values = {"bold": style.bold, "dim": style.dim, "italic": style.italic}
        values |= {"underline": style.underline, "strike": style.strike, name: on}
        return AnsiStyle(style.color, **values)
    if 30 <= number <= 37:
        return replace(style, color=_NAMES[number - 30])
    if 90 <= number <= 97:
        return replace(style, color=f"bright_{_NAMES[number - 90]}")
    return replace(style, color=None) if number == 39 else style


_SWITCHES = {
    1: ("bold", True),
    2: ("dim", True),
    3: ("italic", True),
    4: ("underline", True),
    9: ("strike", True),
    21: ("underline", True),  # double
    23: ("italic", False),
    24: ("underline", False),
    29: ("strike", False),
}


def _extended_color(numbers: list[int], index: int) -> tuple[str | None, int]:
    """Return the color of a ``38;5;n`` or ``38;2;r;g;b`` sequence and the index after it."""
    kind = numbers[index] if index < len(numbers) else None
    if kind == 5 and index + 1 < len(numbers):
        return _indexed_color(numbers[index + 1] & 0xFF), index + 2
    if kind == 2 and index + 3 < len(numbers):
        red, green, blue = (value & 0xFF for value in numbers[index + 1 : index + 4])
        return f"#{red:02x}{green:02x}{blue:02x}", index + 4
    return None, len(numbers)


def _indexed_color(number: int) -> str:
    """Return a color of the 256-color table."""
    if number < 8:
        return _NAMES[number]
    if number < 16:
        return f"bright_{_NAMES[number - 8]}"
    if number < 232:
        levels = (0, 95, 135, 175, 215, 255)
        cube = number - 16
        red, green, blue = levels[cube // 36], levels[cube // 6 % 6], levels[cube % 6]
        return f"#{red:02x}{green:02x}{blue:02x}"
    level = 8 + 10 * (number - 232)
    return f"#{level:02x}{level:02x}{level:02x}"
