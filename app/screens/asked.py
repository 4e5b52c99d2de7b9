"""What the permission dialog says beside the thing itself: verdicts, reach, the offer (M6)."""

import re
import unicodedata
from collections.abc import Iterator

from textual.content import Content

from agent.display import ShellBlock
from agent.questions import JudgedNeed, PermissionRequest
from app.clean import clean, clean_line

LONGEST = 240
"""Characters of one part of a command; all of it stands in the command above."""

MIMICS = 4
"""Characters that look like ASCII ones of which the dialog tells the name."""

_WORD = re.compile(r"\w+")
_ASCII_LETTER = re.compile(r"[A-Za-z]")
_MIMICKING = ("cyrillic ", "greek ", "armenian ")


def need_rows(needs: tuple[JudgedNeed, ...]) -> Content:
    """One line for each part of the call: verdict, what, why."""
    shown = [_bounded(clean_line(judged.need.shown or judged.need.pattern)) for judged in needs]
    width = min(34, max((Content(text).cell_length for text in shown), default=0)) + 3

    def lines() -> Iterator[Content]:
        for judged, text in zip(needs, shown, strict=True):
            tone = {"allow": "$tone-ok", "ask": "$tone-warn", "deny": "$tone-err"}[judged.action]
            if judged.need.destructive:
                tone = "$tone-err"
            pad = " " * max(2, width - Content(text).cell_length)
            reason = clean_line(judged.reason or judged.need.reason)
            program, space, rest = text.partition(" ")
            marked = (program, tone if judged.need.destructive else "")
            yield Content.assemble(
                (judged.action.ljust(6), tone), marked, space + rest, pad, (reason, "$tone-muted")
            )

    return Content("\n").join(list(lines()))


def _bounded(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST - 40]} … ({len(text):,} characters, whole above)"


def reach(request: PermissionRequest, home: str) -> Content:
    """Where the call reaches: paths outside the project, the folder, how much text it is, and
    what in it only looks like ASCII."""
    outside = [
        clean_line(judged.need.shown or judged.need.pattern)
        for judged in request.needs
        if judged.need.permission == "external_directory"
    ]
    folder = clean_line(request.folder)
    if home and (folder == home or folder.startswith(home + "/")):
        folder = "~" + folder[len(home) :]
    parts = [("outside  ", "$tone-muted"), ", ".join(outside) or "none"]
    parts += [("      folder  ", "$tone-muted"), folder]
    commands = [block.command for block in request.blocks if isinstance(block, ShellBlock)]
    if commands:
        text = "\n".join(commands)
        lines = text.count("\n") + 1
        parts += [("      lines  ", "$tone-muted"), str(lines)]
        if len(text) > 400:
            parts += [("      characters  ", "$tone-muted"), f"{len(text):,}"]
        if mimics := look_alikes(text):
            told = [f"{clean(char)} {_name(char)}" for char in mimics[:MIMICS]]
            more = [f"and {len(mimics) - MIMICS} more"] if len(mimics) > MIMICS else []
            parts += [("\nlooks like ASCII  ", "$tone-warn"), ", ".join((*told, *more))]
    return Content.assemble(*parts)


def look_alikes(text: str) -> tuple[str, ...]:
    """Characters of *text* that can be taken for ASCII ones, each once: those that are a form
    of one (a wide letter, a no-break space), and Cyrillic, Greek or Armenian letters in one word
    with ASCII letters."""
    if text.isascii():
        return ()
    found = [c for c in text if ord(c) > 0x7F and unicodedata.normalize("NFKC", c).isascii()]
    for word in _WORD.findall(text):
        if _ASCII_LETTER.search(word):
            found += [c for c in word if _name(c).startswith(_MIMICKING)]
    return tuple(dict.fromkeys(found))


def _name(char: str) -> str:
    return unicodedata.name(char, f"U+{ord(char):04X}").lower()


def offer(request: PermissionRequest) -> Content:
    """Exactly what "always" would allow."""
    if not request.always:
        return Content.styled("Always is not offered for this.", "$tone-muted")
    patterns = [
        clean_line(pattern if permission == request.tool else f"{permission}: {pattern}")
        for permission, pattern in request.always
    ]
    return Content.assemble(
        ("Always would allow  ", "$tone-muted"),
        ("\n                    ").join(patterns),
        ("   for this session", "$tone-muted"),
    )
