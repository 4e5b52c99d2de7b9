"""The three-way merge: base ``old_string``, ours the file, theirs ``new_string``.

A line that the model did not change keeps the file's bytes. A line that it removed goes from
the file, if it is really that line. A line that it added or changed is written with the
file's indentation. Anything ambiguous is refused.
"""

from collections.abc import Sequence

from agent.records.frozen import frozen
from agent.tools.edit_match.block import Block, LineMatch, ThreeWay, first_line, last_line
from agent.tools.edit_match.document import (
    Document,
    Edit,
    EditRefused,
    Replacement,
    Splice,
    rebuild,
)
from agent.tools.edit_match.indent import choose_reindent, is_only_old_misindented
from agent.tools.edit_match.lines import (
    DASHES,
    INVISIBLE,
    PLAIN,
    QUOTES,
    SPACES,
    compact_key,
    indentation,
    match_lines,
    strip_line,
)
from agent.tools.edit_match.refusals import quote_lines


@frozen
class MergeResult:
    """The lines to write, and notes on tolerated differences."""

    splices: tuple[Splice, ...]
    notes: tuple[str, ...]


def merge_blocks(
    document: Document, blocks: Sequence[Block], old: Sequence[str], new: Sequence[str], note: str
) -> Edit:
    """Return the edit of each of *blocks*; *note* says how they were found, "" if exactly.

    Raises ``EditRefused``, which quotes the block.
    """
    replacements: list[Replacement] = []
    notes = {note: None} if note else {}
    for block in blocks:
        try:
            merged = merge_block(document, block, old, new)
        except EditRefused as refused:
            lines = first_line(block), last_line(block) + 1
            hint = quote_lines(document.lines, *lines, "The place meant")
            raise EditRefused(refused.reason, hint) from None
        replacements += [document.to_replacement(splice) for splice in merged.splices]
        notes |= dict.fromkeys(merged.notes)
    text = rebuild(document.text, replacements)
    return Edit(text, tuple(replacements), len(blocks), tuple(notes))


def merge_block(
    document: Document, block: Block, old: Sequence[str], new: Sequence[str]
) -> MergeResult:
    """Merge the edit from *old* to *new* into *block*. Raises ``EditRefused`` when in doubt."""
    sides = ThreeWay(document, block, old, new)
    keys = [compact_key(line) for line in old], [compact_key(line) for line in new]
    only_old = is_only_old_misindented(sides, match_lines(*keys))
    base = [sides.text_of.get(n, line) if only_old else line for n, line in enumerate(old)]
    pairs = match_lines(*keys, lambda i, j: base[i].rstrip() == new[j].rstrip())
    kept = [(i, j) for i, j in pairs if _is_unchanged(sides, i, j, only_old=only_old)]
    texts, notes = _new_lines(sides, kept, dict(pairs), only_old=only_old)
    splices = _build_splices(sides, kept, texts)
    return MergeResult(splices, (*notes, *_note_on_differing_lines(sides, kept)))


def _note_on_differing_lines(sides: ThreeWay, kept: Sequence[tuple[int, int]]) -> tuple[str, ...]:
    """Return a note on the lines that stay although old_string has others there, or none."""
    lines = sides.document.lines
    numbers = [sides.line_of[i] for i, _ in kept if sides.match_of[i] is not LineMatch.SAME]
    numbers += [
        link.line
        for link in sides.block
        if link.old is None and link.line is not None and lines[link.line].strip()
    ]
    if not numbers:
        return ()
    shown = ", ".join(str(number + 1) for number in sorted(numbers))
    return (f"kept as in the file, though old_string differs there: line {shown}",)


def _new_lines(
    sides: ThreeWay, kept: Sequence[tuple[int, int]], pairs: dict[int, int], *, only_old: bool
) -> tuple[list[str], tuple[str, ...]]:
    """Return the lines of new as they are written, and notes on the repairs."""
    fixed = {j for _, j in kept}
    moved = {j: i for i, j in pairs.items() if j not in fixed}
    changed = [n for n, line in enumerate(sides.new) if n not in fixed and line.strip()]
    reindent = choose_reindent(sides, changed, _replaced_lines(sides, kept), only_old=only_old)
    cleaned, notes = _clean_changed_lines(sides, changed)
    texts = list(sides.new)
    for n in changed:
        i = moved.get(n)
        text = cleaned[n].lstrip()
        if (
            i is not None
            and i in sides.text_of
            and strip_line(sides.new[n]) == strip_line(sides.old[i])
        ):
            text = _merge_line_end(sides.old[i], sides.text_of[i], sides.new[n])
        texts[n] = reindent.indent_of(n, indentation(sides.new[n])) + text
    return texts, (*reindent.notes, *notes)


def _replaced_lines(sides: ThreeWay, kept: Sequence[tuple[int, int]]) -> dict[int, int]:
    """Return the line of old that each line of new replaces, where that is one line."""
    found: dict[int, int] = {}
    i = j = 0
    for a, b in [*kept, (len(sides.old), len(sides.new))]:
        if a - i == b - j:
            found |= {j + n: i + n for n in range(a - i)}
        i, j = a + 1, b + 1
    return found


def _merge_line_end(old: str, line: str, new: str) -> str:
    """Return the file's *line* without indentation. Its trailing whitespace changes if the model
    changed it, but not if only old_string differs there."""
    was, is_, wanted = (text[len(text.rstrip()) :] for text in (old, line, new))
    return line.strip() + (wanted if was == is_ else is_)


def _is_unchanged(sides: ThreeWay, i: int, j: int, *, only_old: bool) -> bool:
    """Return whether line *j* of new is line *i* of old: then the file's line stays."""
    old, new = sides.old[i], sides.new[j]
    line = sides.text_of.get(i, old)
    if not new.strip():
        return True
    if indentation(new) != indentation(line if only_old else old):
        return False
    return (
        strip_line(new) in (strip_line(old), strip_line(line))
        and _merge_line_end(old, line, new) == line.lstrip()
    )


_TYPOGRAPHIC_KINDS = (QUOTES, DASHES, SPACES | INVISIBLE, {"…": "..."})


def _clean_changed_lines(
    sides: ThreeWay, changed: Sequence[int]
) -> tuple[dict[int, str], tuple[str, ...]]:
    """Return the *changed* lines of new (by number) without malformations that old_string has too,
    and notes on the repairs.

    If old_string has typographic quotes, dashes or odd spaces where the file has plain ones, or
    trailing whitespace where the file has none, the model does not want the same in a changed
    line of new_string either, unless such lines have the plain form too.
    """
    both = [(sides.old[old], text) for old, text in sides.text_of.items() if sides.old[old].strip()]
    lines = {n: sides.new[n] for n in changed}
    notes: tuple[str, ...] = ()
    table = _plain_characters(both, "".join(lines.values()))
    if table:
        mapping = str.maketrans(table)
        lines = {n: line.translate(mapping) for n, line in lines.items()}
        notes = ("typographic characters became plain ones, as the file has them",)
    if any(old != old.rstrip() and text == text.rstrip() for old, text in both):
        lines = {n: line.rstrip() for n, line in lines.items()}
    return lines, notes


def _plain_characters(both: Sequence[tuple[str, str]], written: str) -> dict[str, str]:
    """Return the plain forms of typographic characters in *written*, judged by pairs of a line of
    old and the file's."""
    if written.isascii():
        return {}
    table: dict[str, str] = {}
    for kind in _TYPOGRAPHIC_KINDS:
        differing = [(old, text) for old, text in both if set(kind) & (set(old) - set(text))]
        genuine = {char for _, text in both for char in text if char in kind}
        if not differing:
            continue
        for char in set(kind) & set(written) - genuine:
            plain = PLAIN[char]
            if kind is DASHES and any(char in old and "--" in text for old, text in differing):
                plain = "--"
            if not plain.strip() or plain not in written:
                table[char] = plain
    return table


def _build_splices(
    sides: ThreeWay, kept: Sequence[tuple[int, int]], texts: Sequence[str]
) -> tuple[Splice, ...]:
    """Return the splices that replace everything between the *kept* pairs (old, new) by the
    *texts* of new's lines there. Raises ``EditRefused`` for lines that old_string does not
    show."""
    splices: list[Splice] = []
    i = j = 0
    for a, b in [*kept, (len(sides.old), len(texts))]:
        if i < a or j < b:
            _check_neighbors(sides, (i - 1, a), texts[j:b])
            splice = _build_splice(sides, range(i, a), list(texts[j:b]))
            if splice is not None:
                splices.append(splice)
        i, j = a + 1, b + 1
    return tuple(splices)


def _check_neighbors(sides: ThreeWay, neighbors: tuple[int, int], added: Sequence[str]) -> None:
    """Refuse to add a line next to the same line of old_string if the file has another line there:
    it is ambiguous which of the two is kept and which is new."""
    keys = {compact_key(line) for line in added if line.strip()}
    for n in neighbors:
        if not 0 <= n < len(sides.old) or compact_key(sides.old[n]) not in keys:
            continue
        if n not in sides.line_of or sides.match_of[n] is not LineMatch.SAME:
            raise EditRefused(
                f"The line {sides.old[n].strip()[:80]!r} is not in the file there, and the edit "
                "adds the same line beside it. Repeat the edit with the text as it is."
            )


def _build_splice(sides: ThreeWay, old: range, added: list[str]) -> Splice | None:
    """Return the splice that replaces lines *old* of old_string by *added*."""
    _check_removed(sides, old)
    lines = sides.document.lines
    first, stop = _region(sides, old)
    gone = [sides.line_of[n] for n in old if n in sides.line_of]
    unseen = [n for n in range(first, stop) if n not in gone]
    filled = next((n for n in unseen if lines[n].strip()), None)
    if filled is not None:
        raise EditRefused(
            f"Line {filled + 1} of the file lies where the edit changes lines, but old_string "
            "does not show it. Give old_string with every line."
        )
    if not gone:
        return _insertion(first, stop, added)
    start, end = gone[0], gone[-1] + 1
    # Blank lines that old_string lacks and new_string has are in the file already.
    added = added[min(start - first, _leading_blanks(added)) :]
    added = added[: len(added) - min(stop - end, _leading_blanks(added[::-1]))]
    if len(added) == len(gone):
        for n in range(start, end):
            if n in unseen:
                added.insert(n - start, lines[n])
    return Splice(start, end, tuple(added))


def _insertion(first: int, stop: int, added: list[str]) -> Splice | None:
    """Return the splice that inserts *added*; lines *first* to *stop* are blank, and old_string
    does not show them."""
    unseen = stop - first
    lead = min(unseen, _leading_blanks(added))
    added = added[lead:]
    trail = 0 if lead else min(unseen, _leading_blanks(added[::-1]))
    added = added[: len(added) - trail]
    return Splice(stop - trail, stop - trail, tuple(added)) if added else None


def _leading_blanks(lines: Sequence[str]) -> int:
    """Return the number of blank lines at the start of *lines*."""
    return next((n for n, line in enumerate(lines) if line.strip()), len(lines))


def _check_removed(sides: ThreeWay, old: range) -> None:
    for n in old:
        line = sides.old[n]
        if not line.strip():
            continue
        if n not in sides.line_of:
            raise EditRefused(
                f"The edit replaces the line {line.strip()[:80]!r}, which is not there in the "
                "file. Read the lines around it and repeat the edit with the text as it is."
            )
        if sides.match_of[n] is LineMatch.DIFFERENT:
            raise EditRefused(
                f"The edit replaces the line {line.strip()[:80]!r}, but the file has another "
                f"one there (line {sides.line_of[n] + 1}). Repeat the edit with the text as it is."
            )


def _region(sides: ThreeWay, old: range) -> tuple[int, int]:
    """Return the range of the file's lines between the kept lines on both sides of *old*."""
    before = [sides.line_of[n] + 1 for n in range(old.start) if n in sides.line_of]
    after = [sides.line_of[n] for n in range(old.stop, len(sides.old)) if n in sides.line_of]
    return (before[-1] if before else sides.first), (after[0] if after else sides.stop)
