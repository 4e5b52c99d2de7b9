"""The strictest tier: ``old_string`` stands in the file byte for byte, in LF (spec 3, E1)."""

from agent.tools.edit_match.document import Document
from agent.tools.edit_match.keys import blind
from agent.tools.edit_match.records import Edit, EditRefused, Replacement, rebuild
from agent.tools.edit_match.wording import several

MIN_REPEATED = 8
"""Characters, white space aside, that an addition must have to be taken for one made before."""


def apply_exact(document: Document, old: str, new: str, *, replace_all: bool) -> Edit | None:
    """The edit where *old* is literally, None if it is nowhere. Raises ``EditRefused``."""
    places = find_places(document.lf, old, overlapping=not replace_all)
    if not places:
        return None
    if len(places) > 1 and not replace_all:
        raise several([document.line_at(place) for place in places])
    if not replace_all:
        _check_repeated(document, places[0], old, new)
    notes: dict[str, None] = {}
    replacements: list[Replacement] = []
    for place in places:
        fitted = fit_edges(document.lf, place, old, new, notes)
        replacements += document.exact(place, old, fitted)
    text = rebuild(document.text, replacements)
    return Edit(text, tuple(replacements), len(places), tuple(notes))


def find_places(text: str, old: str, *, overlapping: bool) -> list[int]:
    """The offsets at which *old* stands in *text*."""
    places: list[int] = []
    step = 1 if overlapping else len(old)
    position = text.find(old)
    while position >= 0:
        places.append(position)
        position = text.find(old, position + step)
    return places


def _check_repeated(document: Document, place: int, old: str, new: str) -> None:
    """Refuse an addition to *old* that stands there already: models repeat edits."""
    offset = new.find(old)
    if offset < 0 or len(blind(new)) - len(blind(old)) < MIN_REPEATED:
        return
    start = place - offset
    if start >= 0 and document.lf.startswith(new, start):
        raise EditRefused(
            f"new_string is in the file already (line {document.line_at(start)}), so this edit "
            "seems to be applied already. To add the same text once more, give an old_string "
            "that reaches past it."
        )


def fit_edges(text: str, place: int, old: str, new: str, notes: dict[str, None]) -> str:
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
    if "\n" in old or not filled or first[:1] in (" ", "\t"):
        return new
    # A line after an open bracket stands deeper than the bracket's line.
    opened = first.rstrip().endswith(("(", "[", "{", ":"))
    deep = all(line.startswith(indent) for line in filled)
    if deep and not (
        opened and filled[0].startswith(indent) and filled[0][len(indent)] not in " \t"
    ):
        return new
    notes["indented the further lines of new_string like the line that it replaces"] = None
    return "\n".join([first, *(indent + line if line.strip() else line for line in rest)])
