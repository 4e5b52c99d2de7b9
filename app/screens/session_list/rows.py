"""The rows of the list of sessions: matching titles, similar titles, and sessions whose messages
match. No Textual in here."""

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from agent.records.frozen import frozen
from app.screens.base.picker import MAX_ROWS, Row
from app.text.sanitize import sanitize_line
from app.text.units import clock, count, day, money
from app.widgets.transcript.lines import cut

if TYPE_CHECKING:  # imports the agent
    from agent.store.listing import SessionHit, SessionListItem

ENOUGH_MATCHES = 20
"""Matching titles from which on no similar ones are searched."""
MIN_SIMILARITY = 75
"""The similarity of a title to what is typed (0 to 100) from which it is listed as similar."""
MAX_TITLE = 24
"""Cells of a title before the text that was found in its session."""
FUZZY_FROM = 4
"""Characters below which nearly every title is similar."""


_WORKTREE = re.compile(r"/worktrees/[^/]+-[0-9a-f]{8}/([^/]+)")
"""The folder of a worktree of the program's own (``agent.runtime.worktrees``)."""


@frozen
class SessionFilter:
    """The sessions that the list is to show."""

    typed: str = ""
    everywhere: bool = False
    archived: bool = False

    def with_text(self, text: str) -> "SessionFilter":
        return replace(self, typed=text.strip())

    def toggled(self, *, everywhere: bool = False, archived: bool = False) -> "SessionFilter":
        """Return the filter with the named switches toggled."""
        return replace(
            self, everywhere=self.everywhere ^ everywhere, archived=self.archived ^ archived
        )


def session_facts(
    line: "SessionListItem", *, everywhere: bool, here: str = "", live: bool = False
) -> str:
    """Return the facts of a session in a list, those of a *live* one without its time and cost. One
    of another place of the folder *here* is shown with that place."""
    found = ["pinned"] if live and line.pinned else []  # others have a heading for it
    found += ["archived"] if line.archived else []
    if everywhere:
        found.append(_folder(line))
    elif here and line.directory != here:
        ours = _WORKTREE.search(line.directory)
        found.append(sanitize_line(f"worktree {ours[1]}" if ours else line.directory))
    turns = count(line.turns, "turn") if line.turns else ""  # its first one has not ended
    amounts = turns if live else f"{clock(line.updated)}{turns:>9}  {money(line.cost):>6}"
    return "  ".join(filter(None, [*found, amounts]))


def _folder(line: "SessionListItem") -> str:
    return line.directory.rstrip("/").rpartition("/")[2] or "/"


def session_row(
    line: "SessionListItem",
    now: float,
    *,
    everywhere: bool = False,
    here: str = "",
    state: str = "",
) -> Row:
    """Return the row of a session at the time *now* (seconds since the epoch). *state* is that of
    a live one."""
    facts = session_facts(line, everywhere=everywhere, here=here, live=bool(state))
    return Row(
        key=line.id,
        title=line.title or "Untitled",
        right=f"{state}  {facts}" if state else facts,
        group="Active" if state else "Pinned" if line.pinned else day(line.updated, now),
    )


def matches(line: "SessionListItem", words: Sequence[str]) -> bool:
    """Return whether every word occurs in the title, the folder or the id."""
    text = f"{line.title}\n{line.directory}\n{line.id}".lower()
    return all(word in text for word in words)


def session_rows(
    lines: Sequence["SessionListItem"],
    hits: Sequence["SessionHit"],
    similar: Sequence["SessionListItem"],
    *,
    typed: str,
    session_filter: SessionFilter,
    now: float,
    here: str = "",
    states: Mapping[str, str] | None = None,
) -> list[Row]:
    """Return the rows for what is *typed*: the live sessions, by their *states*, other matches by
    day, similar titles, then *hits*."""
    words, live = typed.lower().split(), list(states or {})
    fitting = list(islice((line for line in lines if matches(line, words)), MAX_ROWS))
    fitting.sort(key=lambda line: live.index(line.id) if line.id in live else len(live))

    def row_of(line: "SessionListItem") -> Row:
        state = (states or {}).get(line.id, "")
        everywhere = session_filter.everywhere
        return session_row(line, now, everywhere=everywhere, here=here, state=state)

    rows = [row_of(line) for line in fitting]
    shown = {line.id for line in fitting}
    for line in similar:
        if line.id not in shown:
            rows.append(replace(row_of(line), group="Similar titles"))
            shown.add(line.id)
    return [*rows, *_hit_rows(hits, now, everywhere=session_filter.everywhere)]


def _hit_rows(hits: Sequence["SessionHit"], now: float, *, everywhere: bool) -> Iterator[Row]:
    for found in hits:
        line, hit = found.session, found.hit
        when = day(line.updated, now)
        if everywhere:
            when += f"  {_folder(line)}"
        name = cut(line.title or "Untitled", MAX_TITLE)
        title = f"{name}: {' '.join(hit.snippet.split())}"
        yield Row(f"{line.id} {hit.message_id}", title, group="Found in messages", right=when)


async def similar_titles(typed: str, lines: Sequence["SessionListItem"]) -> list["SessionListItem"]:
    """Return sessions whose titles are similar to what is *typed*, the most similar first."""
    words = typed.lower().split()
    fitting = islice((line for line in lines if matches(line, words)), ENOUGH_MATCHES)
    if len(typed) < FUZZY_FROM or len(list(fitting)) == ENOUGH_MATCHES:
        return []
    return await asyncio.to_thread(_most_similar, typed.lower(), lines)


def _most_similar(typed: str, lines: Sequence["SessionListItem"]) -> list["SessionListItem"]:
    from rapidfuzz import fuzz, process  # kept out of start-up

    titles = [line.title.lower() for line in lines]
    found = process.extract(
        typed, titles, scorer=fuzz.partial_ratio, limit=10, score_cutoff=MIN_SIMILARITY
    )
    # A title much shorter than what is typed is similar only to a piece of it.
    return [lines[at] for title, _, at in found if len(title) >= len(typed) // 2]
