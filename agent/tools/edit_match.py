"""Where an edit goes and what it writes (spec 3, E1 to E4).

The exact tier: ``old`` is found byte for byte in one place (or in all, with *replace_all*).
Line endings don't count: the search works in LF and the file's own endings come back with
the replacement. Everything else is refused with what is needed for one better try.
"""

from bisect import bisect_left
from dataclasses import dataclass

from agent.errors import ToolError
from agent.tools.edit_hint import describe_nearest

SHOWN_PLACES = 10
"""Line numbers listed when there are several matches."""


class EditRefused(ToolError):
    """No edit was made. *hint* quotes the file, so it may be kept back from the model."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message}\n{hint}" if hint else message)
        self.reason = message
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Replacement:
    """``text[start:end]`` of the file becomes *text* (offsets in characters)."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Edit:
    """The new *text* of the file, and *notes* on what was bent to make it fit."""

    text: str
    replacements: tuple[Replacement, ...]
    notes: tuple[str, ...] = ()


def apply_edit(text: str, old: str, new: str, *, replace_all: bool = False) -> Edit:
    """Replace *old* by *new* in *text* (a file's text, BOM off). Raises ``EditRefused``."""
    document = _Document(text)
    old, new = _to_lf(old), _to_lf(new)
    if not document.lf.startswith("\ufeff"):
        old, new = old.removeprefix("\ufeff"), new.removeprefix("\ufeff")
    if old == new:
        raise EditRefused("old_string and new_string are the same, so there is nothing to change.")
    if not old:
        raise EditRefused(
            "old_string is empty, but the file has content. Give the text to replace, "
            "or use the write tool to replace the whole file."
        )
    places = _places(document.lf, old, overlapping=not replace_all)
    if not places:
        raise _not_found(document.lf, old, new)
    if len(places) > 1 and not replace_all:
        raise _several(document.lf, places)
    notes: dict[str, None] = {}
    replacements: list[Replacement] = []
    for place in places:
        fitted = _fit_edges(document.lf, place, old, new, notes)
        replacements.append(document.replacement(place, old, fitted))
    changed = _rebuild(text, replacements)
    if changed == text:
        raise EditRefused("The edit would leave the file as it is, so there is nothing to change.")
    return Edit(changed, tuple(replacements), tuple(notes))


class _Document:
    """A file's text in LF, with the way back to its own line endings."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lone_cr = "\n" not in text and "\r" in text
        self.lf = text.replace("\r", "\n") if self.lone_cr else _to_lf(text)
        self._crlf: list[int] = []  # offsets in LF text of the breaks that are CRLF in the file
        if len(self.lf) != len(text):
            position = text.find("\r\n")
            while position >= 0:
                self._crlf.append(position - len(self._crlf))
                position = text.find("\r\n", position + 2)

    def replacement(self, place: int, old: str, new: str) -> Replacement:
        """The replacement in file offsets; what *old* and *new* share at their edges is left
        out, so that those lines keep the endings they have."""
        head = 0
        shorter = min(len(old), len(new))
        while head < shorter and old[head] == new[head]:
            head += 1
        tail = 0
        while tail < shorter - head and old[-1 - tail] == new[-1 - tail]:
            tail += 1
        start, end = place + head, place + len(old) - tail
        body = new[head : len(new) - tail]
        return Replacement(self._offset(start), self._offset(end), self._with_ending(body, start))

    def _offset(self, position: int) -> int:
        return position + bisect_left(self._crlf, position)

    def _with_ending(self, body: str, position: int) -> str:
        if self.lone_cr:
            return body.replace("\n", "\r")
        if not self._crlf or "\n" not in body:
            return body
        # The line that is changed tells the ending; the last one of a file may have none.
        here = self.lf.find("\n", position)
        if here < 0:
            here = self.lf.rfind("\n")
        index = bisect_left(self._crlf, here)
        is_crlf = index < len(self._crlf) and self._crlf[index] == here
        return body.replace("\n", "\r\n") if is_crlf else body


def _to_lf(text: str) -> str:
    return text.replace("\r\n", "\n")


def _places(text: str, old: str, *, overlapping: bool) -> list[int]:
    places: list[int] = []
    step = 1 if overlapping else len(old)
    position = text.find(old)
    while position >= 0:
        places.append(position)
        position = text.find(old, position + step)
    return places


def _rebuild(text: str, replacements: list[Replacement]) -> str:
    pieces: list[str] = []
    position = 0
    for replacement in replacements:
        pieces.append(text[position : replacement.start])
        pieces.append(replacement.text)
        position = replacement.end
    pieces.append(text[position:])
    return "".join(pieces)


def _fit_edges(text: str, place: int, old: str, new: str, notes: dict[str, None]) -> str:
    """*new* with the slips at its edges repaired that would glue lines or double indentation."""
    end = place + len(old)
    if new and old.endswith("\n") and not new.endswith("\n") and end < len(text):
        new += "\n"
        notes["kept the line break at the end of old_string, which new_string lacked"] = None
    if new and old.startswith("\n") and not new.startswith("\n") and place > 0:
        new = "\n" + new
        notes["kept the line break at the start of old_string, which new_string lacked"] = None
    line_start = text.rfind("\n", 0, place) + 1
    indent = text[line_start:place]
    if not indent or indent.strip(" \t") or old[:1] in " \t\n":
        return new
    return _fit_indent(indent, old, new, notes)


def _fit_indent(indent: str, old: str, new: str, notes: dict[str, None]) -> str:
    """Repair *new* for an *old* that starts right after its line's *indent*."""
    first, *rest = new.split("\n")
    bare = first.lstrip(" \t")
    if bare and first == indent + bare:
        notes["left out the indentation of new_string's first line, which the file has"] = None
        first = bare
        return "\n".join([first, *rest])
    filled = [line for line in rest if line.strip()]
    if "\n" in old or not filled or all(line.startswith(indent) for line in filled):
        return new
    if first[:1] in (" ", "\t"):
        return new
    notes["indented the further lines of new_string like the line that it replaces"] = None
    return "\n".join([first, *(indent + line if line.strip() else line for line in rest)])


def _not_found(text: str, old: str, new: str) -> EditRefused:
    if len(new.strip()) >= 8 and (place := text.find(new)) >= 0:
        line = text.count("\n", 0, place) + 1
        return EditRefused(
            f"old_string is not in the file, but new_string is (line {line}): this edit seems "
            "to be applied already. Read the file if you are not sure."
        )
    return EditRefused(
        "old_string was not found in the file. It must match the text exactly, "
        "without the line numbers of the read tool.",
        describe_nearest(text, old),
    )


def _several(text: str, places: list[int]) -> EditRefused:
    numbers: list[str] = []
    line, position = 1, 0
    for place in places[:SHOWN_PLACES]:
        line += text.count("\n", position, place)
        position = place
        numbers.append(str(line))
    more = ", …" if len(places) > SHOWN_PLACES else ""
    return EditRefused(
        f"old_string matches in {len(places)} places (lines {', '.join(numbers)}{more}). "
        "Add lines around it until it is unique, or set replace_all to change every one."
    )
