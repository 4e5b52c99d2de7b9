"""The refusals that several tiers share, as sentences for the model (spec 3, E4)."""

import re
from collections import Counter
from collections.abc import Sequence

from agent.tools.edit_match.block import find_blocks, first_line
from agent.tools.edit_match.document import Document, EditRefused
from agent.tools.edit_match.lines import LineKeys, compact_key, split_text

MAX_LISTED = 10
"""Line numbers listed when there are several matches."""

ONE_LINE_NOTE = "matched but for one line"
"""The note on a success by the loosest measure."""

MIN_APPLIED = 8
"""Characters, white space aside, of a new_string that is known again."""

_PLACEHOLDER = re.compile(
    r"(?i)(\.\.\.|…).*\b(code|rest|lines|unchanged|existing|omitted|remain\w*)\b"
    r"|\brest of (the )?(code|file|function|class|method)\b|\bexisting code\b"
)


def match_note(measure: str) -> str:
    """The note on a success by a measure that is not the strictest, none for that one."""
    return f"matched without regard to {measure}" if measure else ""


def ambiguous_match(lines: Sequence[int], measure: str = "") -> EditRefused:
    """old_string fits at all of *lines* (from 1), compared without regard to *measure*."""
    numbers = ", ".join(map(str, lines[:MAX_LISTED]))
    more = ", …" if len(lines) > MAX_LISTED else ""
    but = f", {measure} aside," if measure else ""
    return EditRefused(
        f"old_string matches{but} in {len(lines)} places (lines {numbers}{more}). "
        "Add lines around it until it is unique, or set replace_all to change every one."
    )


def check_applied(document: Document, new: str) -> None:
    """Refuse an edit whose result is there already: models repeat edits."""
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
    """old_string is nowhere: why that may be, and the nearest text."""
    left_out = next((line for line in old.split("\n") if _PLACEHOLDER.search(line)), None)
    why = (
        f"the line {left_out.strip()[:80]!r} stands for text that it leaves out. Give all lines"
        if left_out is not None and left_out not in document.lf
        else "it must match the text exactly, without the line numbers of the read tool"
    )
    return EditRefused(
        f"old_string was not found in the file: {why}.", describe_nearest(document.lf, old)
    )


MAX_SHOWN = 20
"""Lines of the file quoted in a refusal."""

MAX_LINES = 100_000
"""Lines of a file up to which the nearest block is searched."""


def show_whitespace(line: str) -> str:
    """*line* with tabs as ``→`` and spaces at its end as ``·``, so that they can be told apart."""
    bare = line.rstrip(" ")
    shown = (bare + "·" * (len(line) - len(bare))).replace("\t", "→")
    return shown if len(shown) <= 200 else shown[:200] + "…"


def describe_nearest(text: str, old: str) -> str:
    """What is in the file where *old* was probably meant, or nothing if nothing is near.

    Both in LF. Numbers are lines from 1.
    """
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
        "The same text is there with other white space (tabs, spaces or indentation)"
        if same
        else "The nearest text"
    )
    return quote_lines(lines, start, start + len(goal), reason)


def quote_lines(lines: Sequence[str], start: int, stop: int, reason: str) -> str:
    """Lines *start* to *stop* (from 0) with their numbers, tabs visible."""
    end = min(len(lines), stop, start + MAX_SHOWN)
    quoted = "\n".join(f"{n + 1}: {show_whitespace(lines[n])}" for n in range(start, end))
    cut = "\n…" if stop - start > MAX_SHOWN else ""
    return (
        f"{reason}, lines {start + 1}–{end} (→ is a tab, · a space at a line's end):\n{quoted}{cut}"
    )


def _most_shared_lines(keys: list[str], goal: list[str]) -> int | None:
    """The start of the block that shares most lines with *goal*, white space aside."""
    wanted: dict[str, list[int]] = {}
    for index, key in enumerate(goal):
        if key:
            wanted.setdefault(key, []).append(index)
    frequency = Counter(key for key in keys if key in wanted)
    votes: Counter[int] = Counter()
    for number, key in enumerate(keys):
        if key in wanted and frequency[key] * len(wanted[key]) <= 1_000:
            for index in wanted[key]:
                # A long line says more than a bracket that is everywhere.
                votes[number - index] += 1 + min(len(key), 40)
    if not votes:
        return None
    start, _ = max(votes.items(), key=lambda item: (item[1], -item[0]))
    return max(0, start)


def _most_similar_line(keys: list[str], goal: list[str]) -> int | None:
    """The start of the block whose line is most like the longest line of *goal*."""
    index = max(range(len(goal)), key=lambda n: len(goal[n]))
    if not goal[index]:
        return None
    # Loaded only when an edit did not fit.
    from rapidfuzz import fuzz, process  # kept off the start-up path

    hit = process.extractOne(goal[index], keys, scorer=fuzz.ratio, score_cutoff=55)
    return None if hit is None else max(0, hit[2] - index)
