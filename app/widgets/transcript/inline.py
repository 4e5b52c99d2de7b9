"""Inline markdown: emphasis, code, links. Everything comes out as plain styled text."""

import re
from typing import TYPE_CHECKING

from rich.text import Text

from app.text.sanitize import sanitize, sanitize_line
from app.theme.themes import Palette

if TYPE_CHECKING:
    from markdown_it.token import Token

_DEFINITION = re.compile(r"^ {0,3}\[[^\]\n]+\]:", re.MULTILINE)

_ATTRIBUTES = {
    "strong_open": "bold",
    "em_open": "italic",
    "s_open": "strike",
}


def has_reference_definitions(source: str) -> bool:
    """Whether *source* may define link targets that text before it uses."""
    return _DEFINITION.search(source) is not None


def inline_text(
    tokens: "list[Token]", tones: Palette, *, tone: str = "text", bold: bool = False
) -> Text:
    """The text of an inline token's children; line breaks stay line feeds."""
    attributes: list[str] = ["bold"] if bold else []
    targets: list[tuple[str, int]] = []
    text = Text(style=tones.style(tone))
    code = "accent" if tone == "text" else "muted"
    for token in tokens:
        kind = token.type
        if kind in _ATTRIBUTES:
            attributes.append(_ATTRIBUTES[kind])
        elif kind in {"strong_close", "em_close", "s_close"}:
            attributes.pop()
        elif kind in {"softbreak", "hardbreak"}:
            text.append("\n")
        elif kind == "code_inline":
            style = tones.style(code, attributes=" ".join(attributes))
            text.append(sanitize_line(token.content), style)
        elif kind == "link_open":
            targets.append((sanitize_line(str(token.attrGet("href") or "")), len(text)))
            attributes.append("underline")
        elif kind == "link_close":
            attributes.pop()
            _target(text, *targets.pop(), tones)
        elif kind == "image":
            alt, target = (
                sanitize_line(token.content),
                sanitize_line(str(token.attrGet("src") or "")),
            )
            text.append(f"{alt} " if alt else "", tones.style(tone))
            text.append(f"({target})", tones.style("faint"))
        else:
            text.append(sanitize(token.content), tones.style(tone, attributes=" ".join(attributes)))
    return text


def _target(text: Text, target: str, start: int, tones: Palette) -> None:
    """Say where a link goes, unless its text says so already."""
    shown = text.plain[start:]
    if target and target.removeprefix("mailto:") != shown:
        text.append(f" ({target})", tones.style("faint"))
