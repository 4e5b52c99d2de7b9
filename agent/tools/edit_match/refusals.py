"""The refusals that several tiers share, as sentences for the model, with the nearest text."""

import re
from collections import Counter
from collections.abc import Sequence

from agent.tools.edit_match.block import find_blocks, first_line
from agent.tools.edit_match.document import Document, EditRefused
from agent.tools.edit_match.lines import LineKeys, compact_key, split_text

MAX_LISTED = 10
"""Line numbers listed when there are several matches."""

ONE_LINE_NOTE = "matched except for one line"
"""The note on a match by the loosest tier."""

MIN_APPLIED = 8
"""Characters, without whitespace, of a new_string that is recognized in the file."""

_PLACEHOLDER = re.compile(
    r"(?i)(\.\.\.|…).*\b(code|rest|lines|unchanged|existing|omitted|remain\w*)\b"
    r"|\brest of (the )?(code|file|function|class|method)\b|\bexisting code\b"
)


def match_note(ignored: str) -> str:
    """Return the note on a match that ignored differences, "" for an exact one."""
    return f"matched after ignoring differences in {ignored}" if ignored else ""


def ambiguous_match(lines: Sequence[int], ignored: str = "") -> EditRefused:
    """Return the refusal of an old_string that matches at all of *lines* (from 1), *ignored* being
    the differences that the comparison ignored."""
    numbers = ", ".join(map(str, lines[:MAX_LISTED]))
    more = ", …" if len(lines) > MAX_LISTED else ""
    but = f", {ignored} aside," if ignored else ""
    return EditRefused(
        f"old_string matches{but} in {len(lines)} places (lines {numbers}{more}). "
        "Add lines around it until it is unique, or set replace_all to change every one."
    )


def check_applied(document: Document, new: str) -> None:
    """Refuse an edit whose result is in the file already: models repeat edits."""
    keys = LineKeys(split_text(new))
    if sum(map(len, keys.compact)) < MIN_APPLIED:
        return
    place = document.lf.find(new)
    found = None if place >= 0 else find_blocks(document, keys, overlapping=True)
    if place < 0 and found is None:
        return
    line = document.line_at(place) if found is None else first_line(found.blocks[0]) + 1
    raise EditRefused(
        f"old_string is not in the file, but new_string is (line {line}): this edit seems "
        "to be applied already. Read the file if you are not sure."
    )


def not_found_error(document: Document, old: str) -> EditRefused:
    """Return the refusal of an old_string that is not found: the likely reason and the nearest
    text."""
    left_out = next((line for line in old.split("\n") if _PLACEHOLDER.search(line)), None)
    why = (
        f"the line {left_out.strip()[:80]!r} is a placeholder for omitted text. Give all lines"
        if left_out is not None and left_out not in document.lf
        else "it must match the text exactly, without the line numbers of the read tool"
    )
    return EditRefused(
        f"old_string was not found in the file: {why}.", describe_nearest(document.lf, old)
    )


MAX_SHOWN = 20
"""Lines of the file quoted in a refusal."""

MAX_LINES = 100_000
"""Lines of the largest file in which the nearest text is searched."""


def show_whitespace(line: str) -> str:
    """Return *line* with tabs as ``→`` and trailing spaces as ``·``."""
    bare = line.rstrip(" ")
    shown = (bare + "·" * (len(line) - len(bare))).replace("\t", "→")
    return shown if len(shown) <= 200 else shown[:200] + "…"


def describe_nearest(text: str, old: str) -> str:
    """Return the text of the file that is nearest to *old*, with line numbers from 1; "" for a file
    that is too large. Both are in LF."""
    if text.count("\n") > MAX_LINES:
        return ""
    lines, wanted = text.split("\n"), old.strip("\n").split("\n")
    keys = [compact_key(line) for line in lines]
    goal = [compact_key(line) for line in wanted]
    start = _most_shared_lines(keys, goal)
    if start is None:
        start = _most_similar_line(keys, goal)
    if start is None:
        return "Nothing in the file is like it: read the file again."
    same = keys[start : start + len(goal)] == goal
    reason = (
        "The same text is there with other whitespace (tabs, spaces or indentation)"
        if same
        else "The nearest text"
    )
    return quote_lines(lines, start, start + len(goal), reason)


def quote_lines(lines: Sequence[str], start: int, stop: int, reason: str) -> str:
    """Return lines *start* to *stop* (from 0) with their numbers, whitespace visible."""
    end = min(len(lines), stop, start + MAX_SHOWN)
    quoted = "\n".join(f"{n + 1}: {show_whitespace(lines[n])}" for n in range(start, end))
    cut = "\n…" if stop - start > MAX_SHOWN else ""
    return (
        f"{reason}, lines {start + 1}–{end} (→ is a tab, · a space at a line's end):\n{quoted}{cut}"
    )


def _most_shared_lines(keys: list[str], goal: list[str]) -> int | None:
    """Return the start of the block that shares most lines with *goal*, ignoring whitespace."""
    wanted: dict[str, list[int]] = {}
    for index, key in enumerate(goal):
        if key:
            wanted.setdefault(key, []).append(index)
    frequency = Counter(key for key in keys if key in wanted)
    votes: Counter[int] = Counter()
    for number, key in enumerate(keys):
        if key in wanted and frequency[key] * len(wanted[key]) <= 1_000:
            for index in wanted[key]:
                # A long line counts more than a bracket that occurs everywhere.
                votes[number - index] += 1 + min(len(key), 40)
    if not votes:
        return None
    start, _ = max(votes.items(), key=lambda item: (item[1], -item[0]))
    return max(0, start)


def _most_similar_line(keys: list[str], goal: list[str]) -> int | None:
    """Return the start of the block whose line is most similar to the longest line of *goal*."""
    index = max(range(len(goal)), key=lambda n: len(goal[n]))
    if not goal[index]:
        return None
    # Loaded only when an edit did not fit.
    from rapidfuzz import fuzz, process  # kept off the start-up path

    hit = process.extractOne(goal[index], keys, scorer=fuzz.ratio, score_cutoff=55)
    return None if hit is None else max(0, hit[2] - index)
