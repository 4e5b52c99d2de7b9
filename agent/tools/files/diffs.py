"""The diff of one file, as a block with hunks that can be applied one by one.

Only the part between the common beginning and the common end is compared line by line, so
a small change of a very large file is cheap.
"""

import difflib
from typing import Literal

from agent.records.blocks import DiffBlock, DiffLine, Hunk, MissingNewline
from agent.records.frozen import frozen

CONTEXT = 3
"""Unchanged lines around a change."""

MAX_LINES = 2_000
"""Lines of a diff that are displayed; the rest is counted as omitted."""

MAX_WIDTH = 2_000
"""Characters of a line that are displayed."""

MAX_COMPARED = 20_000
"""Changed lines up to which lines are compared; beyond, the diff is one replacement."""

NO_NEWLINE = " (no newline at end of file)"

_STEP = 65_536

Change = Literal["modify", "create", "delete", "move"]


@frozen
class Span:
    """The change of one hunk in character offsets: ``old[a:b]`` becomes ``new[c:d]``."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


@frozen
class FileDiff:
    """The *block* for display, and the *spans* of all hunks, by hunk index."""

    block: DiffBlock
    spans: tuple[Span, ...]


@frozen
class _Side:
    """The lines (with endings) of the changed window of a text, from line number *first*;
    *offsets* has one more entry than *lines*."""

    lines: list[str]
    offsets: list[int]
    first: int


def make_diff(path: str, old: str, new: str, change: Change = "modify") -> FileDiff:
    """Return the change from *old* to *new*, texts with their line endings and without BOM."""
    head, tail = _common_ends(old, new)
    before, after = _window(old, head, tail), _window(new, head, tail)
    groups = _groups(before.lines, after.lines)
    # Line endings are shown only if they differ.
    ends = {line.endswith("\r\n") for line in before.lines + after.lines if line.endswith("\n")}
    keep_cr = len(ends) > 1
    hunks: list[Hunk] = []
    spans: list[Span] = []
    added = removed = shown = omitted = 0
    for index, group in enumerate(groups):
        lines = _diff_lines(group, before, after, keep_cr=keep_cr)
        added += sum(line.kind == "add" for line in lines)
        removed += sum(line.kind == "remove" for line in lines)
        room = max(0, MAX_LINES - shown)
        omitted += max(0, len(lines) - room)
        if room:
            _, _, b, _, d = group[-1]
            ends = sides_without_newline(before.lines[:b], after.lines[:d])
            missing_newline = ends if len(lines) <= room else ""
            hunks.append(Hunk(index, tuple(lines[:room]), missing_newline))
            shown += min(room, len(lines))
        changed = [code for code in group if code[0] != "equal"]
        spans.append(
            Span(
                before.offsets[changed[0][1]],
                before.offsets[changed[-1][2]],
                after.offsets[changed[0][3]],
                after.offsets[changed[-1][4]],
            )
        )
    block = DiffBlock(path, tuple(hunks), added, removed, change, omitted=omitted)
    return FileDiff(block, tuple(spans))


def apply_hunks(old: str, new: str, diff: FileDiff, accepted: frozenset[int]) -> str:
    """Return *old* with only the *accepted* hunks of *diff* applied."""
    pieces: list[str] = []
    position = 0
    for index, span in enumerate(diff.spans):
        pieces.append(old[position : span.old_start])
        if index in accepted:
            pieces.append(new[span.new_start : span.new_end])
        else:
            pieces.append(old[span.old_start : span.old_end])
        position = span.old_end
    pieces.append(old[position:])
    return "".join(pieces)


def change_note(block: DiffBlock) -> str:
    """Return the counts as the note of a label: ``+4 −2``."""
    return f"+{block.added} −{block.removed}"


def _common_ends(old: str, new: str) -> tuple[int, int]:
    """Return the lengths of the common beginning and of the common end, which do not overlap."""
    shorter = min(len(old), len(new))
    head = 0
    while head < shorter and old[head : head + _STEP] == new[head : head + _STEP]:
        head += _STEP
    head = min(head, shorter)
    while head < shorter and old[head] == new[head]:
        head += 1
    room, tail = shorter - head, 0
    while tail + _STEP <= room and _tail_step(old, tail) == _tail_step(new, tail):
        tail += _STEP
    while tail < room and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return head, tail


def _tail_step(text: str, tail: int) -> str:
    end = len(text) - tail
    return text[end - _STEP : end]


def _window(text: str, head: int, tail: int) -> _Side:
    """Return the changed lines of *text* with context: whole lines around ``text[head:-tail]``."""
    start = text.rfind("\n", 0, head) + 1
    for _ in range(CONTEXT + 1):
        if start == 0:
            break
        start = text.rfind("\n", 0, start - 1) + 1
    end = len(text) - tail
    for _ in range(CONTEXT + 2):
        end = text.find("\n", end) + 1
        if end == 0:
            end = len(text)
            break
    lines = split_lines(text[start:end])
    offsets = [start]
    for line in lines:
        offsets.append(offsets[-1] + len(line))
    return _Side(lines, offsets, text.count("\n", 0, start) + 1)


def split_lines(text: str) -> list[str]:
    """Return lines with their endings; only LF ends a line, unlike ``str.splitlines``."""
    lines = text.split("\n")
    last = lines.pop()
    result = [line + "\n" for line in lines]
    if last:
        result.append(last)
    return result


_Code = tuple[str, int, int, int, int]


def _groups(before: list[str], after: list[str]) -> list[list[_Code]]:
    """Return opcodes grouped in hunks: changes with touching context are one hunk."""
    if len(before) + len(after) > MAX_COMPARED:
        codes = _coarse_opcodes(before, after)
    else:
        matcher = difflib.SequenceMatcher(None, before, after, autojunk=len(before) > 2_000)
        codes = [(tag, a, b, c, d) for tag, a, b, c, d in matcher.get_opcodes()]
    groups: list[list[_Code]] = []
    current: list[_Code] = []
    for code in codes:
        tag, a, b, c, d = code
        if tag != "equal":
            current.append(code)
            continue
        if current:
            stop = min(b, a + CONTEXT)
            if b - a <= 2 * CONTEXT and code is not codes[-1]:
                current.append(code)
                continue
            current.append(("equal", a, stop, c, c + stop - a))
            groups.append(current)
        start = max(a, b - CONTEXT)
        current = [("equal", start, b, d - (b - start), d)]
    if any(code[0] != "equal" for code in current):
        groups.append(current)
    return groups


def _coarse_opcodes(before: list[str], after: list[str]) -> list[_Code]:
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    room = min(len(before), len(after)) - head
    while tail < room and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    b, d = len(before) - tail, len(after) - tail
    codes: list[_Code] = [
        ("equal", 0, head, 0, head),
        ("replace", head, b, head, d),
        ("equal", b, len(before), d, len(after)),
    ]
    return [code for code in codes if code[1] < code[2] or code[3] < code[4]]


def _diff_lines(
    group: list[_Code], before: _Side, after: _Side, *, keep_cr: bool
) -> list[DiffLine]:
    result: list[DiffLine] = []
    for tag, a, b, c, d in group:
        if tag == "equal":
            result.extend(
                DiffLine(
                    "context",
                    before.first + a + n,
                    after.first + c + n,
                    _display_line(before.lines[a + n], keep_cr=keep_cr),
                )
                for n in range(b - a)
            )
            continue
        # A missing last newline is marked only where the two sides differ in it.
        mark = (
            _ends_with_newline(before.lines[a:b]) != _ends_with_newline(after.lines[c:d])
            and a < b
            and c < d
        )
        for n in range(a, b):
            text = _display_line(before.lines[n], keep_cr=keep_cr, mark=mark)
            result.append(DiffLine("remove", before.first + n, None, text))
        for n in range(c, d):
            text = _display_line(after.lines[n], keep_cr=keep_cr, mark=mark)
            result.append(DiffLine("add", None, after.first + n, text))
    return result


def sides_without_newline(old: list[str], new: list[str]) -> MissingNewline:
    """Return which of two sides, lists of lines with their endings, have no last newline."""
    bare_old, bare_new = not _ends_with_newline(old), not _ends_with_newline(new)
    return "both" if bare_old and bare_new else "old" if bare_old else "new" if bare_new else ""


def _ends_with_newline(lines: list[str]) -> bool:
    return not lines or lines[-1].endswith("\n")


def is_whole(block: DiffBlock) -> bool:
    """Return whether a diff shows all that changes: no lines are omitted, and none is cut."""
    lines = (line for hunk in block.hunks for line in hunk.lines)
    return not block.omitted and all(len(line.text) <= MAX_WIDTH for line in lines)


def _display_line(line: str, *, keep_cr: bool, mark: bool = False) -> str:
    text = line.removesuffix("\n")
    if not keep_cr:
        text = text.removesuffix("\r")
    if len(text) > MAX_WIDTH:
        text = text[:MAX_WIDTH] + "…"
    # Bytes that are invalid in the file's encoding must not leave the process as surrogates.
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text + NO_NEWLINE if mark and not line.endswith("\n") else text
