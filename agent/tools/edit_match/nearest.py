"""The block of a file that looks most like what an edit searched, for its refusal (E4)."""

from collections import Counter
from collections.abc import Sequence

from agent.tools.edit_match.keys import blind

MAX_SHOWN = 20
"""Lines of the file quoted in a refusal."""

MAX_LINES = 100_000
"""Lines of a file up to which the nearest block is searched."""


def visible(line: str) -> str:
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
    keys = [blind(line) for line in lines]
    goal = [blind(line) for line in wanted]
    start = _by_votes(keys, goal)
    if start is None:
        start = _by_likeness(keys, goal)
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
    quoted = "\n".join(f"{n + 1}: {visible(lines[n])}" for n in range(start, end))
    cut = "\n…" if stop - start > MAX_SHOWN else ""
    return (
        f"{reason}, lines {start + 1}–{end} (→ is a tab, · a space at a line's end):\n{quoted}{cut}"
    )


def _by_votes(keys: list[str], goal: list[str]) -> int | None:
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


def _by_likeness(keys: list[str], goal: list[str]) -> int | None:
    """The start of the block whose line is most like the longest line of *goal*."""
    index = max(range(len(goal)), key=lambda n: len(goal[n]))
    if not goal[index]:
        return None
    # Loaded only when an edit did not fit.
    from rapidfuzz import fuzz, process  # kept off the start-up path

    hit = process.extractOne(goal[index], keys, scorer=fuzz.ratio, score_cutoff=55)
    return None if hit is None else max(0, hit[2] - index)
