"""What the list of sessions shows for what is typed: titles that fit, titles that nearly do,
and sessions in which it was written. No Textual in here."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from app.screens.base.picker import MAX_ROWS, Row
from app.text.units import clock, count, day, money
from app.widgets.transcript.lines import cut

if TYPE_CHECKING:  # brings the harness
    from agent.store.listing import SessionHit, SessionListItem

ENOUGH_MATCHES = 20
"""Titles that fit from which on none are looked for that nearly do."""
MIN_SIMILARITY = 75
"""How alike a title must be to what is typed (0 to 100) to be told as one that nearly fits."""
MAX_TITLE = 24
"""Cells of a title before the words that were found in its session."""
FUZZY_FROM = 4
"""Characters below which nearly everything is alike."""


@dataclass(frozen=True, slots=True)
class SessionFilter:
    """What the list is to show."""

    typed: str = ""
    everywhere: bool = False
    archived: bool = False

    def with_text(self, text: str) -> "SessionFilter":
        return replace(self, typed=text.strip())

    def toggled(self, *, everywhere: bool = False, archived: bool = False) -> "SessionFilter":
        """With the named switches turned over."""
        return replace(
            self, everywhere=self.everywhere ^ everywhere, archived=self.archived ^ archived
        )


def session_facts(line: "SessionListItem", *, everywhere: bool) -> str:
    """The words at the right of a session's row."""
    found = [clock(line.updated), count(line.turns, "turn")]
    if line.cost is not None:
        found.append(money(line.cost))
    if everywhere:
        found.append(_folder(line))
    if line.archived:
        found.append("archived")
    return "  ".join(found)


def _folder(line: "SessionListItem") -> str:
    return line.directory.rstrip("/").rpartition("/")[2] or "/"


def session_row(line: "SessionListItem", now: float, *, everywhere: bool = False) -> Row:
    """How a session is listed at the time *now* (seconds since the epoch)."""
    return Row(
        key=line.id,
        title=line.title or "Untitled",
        note=session_facts(line, everywhere=everywhere),
        group="Pinned" if line.pinned else day(line.updated, now),
    )


def matches(line: "SessionListItem", words: Sequence[str]) -> bool:
    """Whether every word stands in the title, the folder or the id."""
    text = f"{line.title}\n{line.directory}\n{line.id}".lower()
    return all(word in text for word in words)


def session_rows(
    lines: Sequence["SessionListItem"],
    hits: Sequence["SessionHit"],
    near: Sequence["SessionListItem"],
    *,
    typed: str,
    wanted: SessionFilter,
    now: float,
) -> list[Row]:
    """The rows for what is *typed*: those that fit by day, then *near* ones, then *hits*."""
    words = typed.lower().split()
    fitting = list(islice((line for line in lines if matches(line, words)), MAX_ROWS))
    rows = [session_row(line, now, everywhere=wanted.everywhere) for line in fitting]
    shown = {line.id for line in fitting}
    for line in near:
        if line.id not in shown:
            row = session_row(line, now, everywhere=wanted.everywhere)
            rows.append(replace(row, group="Similar titles"))
            shown.add(line.id)
    return [*rows, *_written(hits, now, everywhere=wanted.everywhere)]


def _written(hits: Sequence["SessionHit"], now: float, *, everywhere: bool) -> Iterator[Row]:
    for found in hits:
        line, hit = found.session, found.hit
        when = day(line.updated, now)
        if everywhere:
            when += f"  {_folder(line)}"
        name = cut(line.title or "Untitled", MAX_TITLE)
        title = f"{name}: {' '.join(hit.snippet.split())}"
        yield Row(f"{line.id} {hit.message_id}", title, when, "Written in a message")


async def similar_titles(typed: str, lines: Sequence["SessionListItem"]) -> list["SessionListItem"]:
    """Sessions whose titles are nearly what is *typed*, the closest first."""
    words = typed.lower().split()
    fitting = islice((line for line in lines if matches(line, words)), ENOUGH_MATCHES)
    if len(typed) < FUZZY_FROM or len(list(fitting)) == ENOUGH_MATCHES:
        return []
    return await asyncio.to_thread(_closest, typed.lower(), lines)


def _closest(typed: str, lines: Sequence["SessionListItem"]) -> list["SessionListItem"]:
    from rapidfuzz import fuzz, process  # kept off the start-up path

    titles = [line.title.lower() for line in lines]
    found = process.extract(
        typed, titles, scorer=fuzz.partial_ratio, limit=10, score_cutoff=MIN_SIMILARITY
    )
    # A title much shorter than what is typed is alike only in a piece of it.
    return [lines[at] for title, _, at in found if len(title) >= len(typed) // 2]
