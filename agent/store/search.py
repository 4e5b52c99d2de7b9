"""Full-text search over finished texts.

Several searches run until there are enough hits, each newest first: whole words (without accents),
substrings of three or more characters by the trigram index, the last word as a prefix, and, where a
word is shorter, a scan of the newest texts.

The first two stop at the last hit that is wanted. A prefix search reads all its hits, so it comes
when the others have shown that there are few. Only hits that are shown get an excerpt, which costs
the most.
"""

import sqlite3
from collections.abc import Sequence

from agent.records.frozen import frozen
from agent.records.json import encodable

MAX_SCANNED = 20_000
"""Texts that the scan for words of one or two characters reads, newest first."""

_TRIGRAM = 3

_FOUND = """
SELECT part.number, part.id, part.message_id, part.session_id
FROM {table} JOIN part ON part.number = {table}.rowid
WHERE {table} MATCH ? ORDER BY {table}.rowid DESC LIMIT ?
"""

# The plus keeps each row from being a search of its own.
_EXCERPTS = """
SELECT rowid, snippet({table}, 0, '', '', '…', {tokens}) FROM {table}
WHERE {table} MATCH ? AND +rowid IN ({numbers}) ORDER BY rowid DESC LIMIT {count}
"""

_TOKENS = {"part_words": 16, "part_trigrams": 60}

_RECENT = """
SELECT part.number, part.id, part.message_id, part.session_id, part_text.text
FROM part JOIN part_text ON part_text.number = part.number
WHERE part.number > (SELECT coalesce(max(number), 0) - ? FROM part) AND part.indexed = 1
"""


@frozen
class SearchHit:
    """A part whose text matches."""

    session_id: str
    message_id: str
    part_id: str
    snippet: str
    """The text around the match, cut with ``…``."""


@frozen
class RawHit:
    """A hit without an excerpt. *table* and *query* are its source; *snippet* is set where it is
    already known."""

    number: int
    session_id: str
    message_id: str
    part_id: str
    table: str = ""
    query: str = ""
    snippet: str = ""


def find_hits(connection: sqlite3.Connection, text: str, limit: int) -> list[RawHit]:
    """Return up to *limit* parts that contain every word of *text*; none for an empty text."""
    words = [word for word in encodable(text).replace("\0", " ").split() if word]
    if not words or limit <= 0:
        return []
    hits: dict[int, RawHit] = {}
    query = " ".join('"' + word.replace('"', '""') + '"' for word in words)
    _add(hits, connection, "part_words", query, limit)
    if len(hits) < limit and min(map(len, words)) >= _TRIGRAM:
        _add(hits, connection, "part_trigrams", query, limit)
    # The beginnings of one or two letters are nearly every text: too many to be of use, or fast.
    if len(hits) < limit and len(words[-1]) >= _TRIGRAM:
        _add(hits, connection, "part_words", f"{query}*", limit)
    if len(hits) < limit and min(map(len, words)) < _TRIGRAM:
        _scan(hits, connection, words, limit)
    return list(hits.values())[:limit]


def with_excerpts(connection: sqlite3.Connection, found: Sequence[RawHit]) -> list[SearchHit]:
    """Return *found* with the text around each match, in the same order."""
    texts: dict[int, str] = {hit.number: hit.snippet for hit in found if not hit.table}
    for table, query in dict.fromkeys((hit.table, hit.query) for hit in found if hit.table):
        numbers = [hit.number for hit in found if (hit.table, hit.query) == (table, query)]
        sql = _EXCERPTS.format(
            table=table,
            tokens=_TOKENS[table],
            numbers=", ".join(map(str, numbers)),
            count=len(numbers),
        )
        texts.update(connection.execute(sql, (query,)).fetchall())
    return [
        SearchHit(hit.session_id, hit.message_id, hit.part_id, texts.get(hit.number, ""))
        for hit in found
    ]


def _add(
    hits: dict[int, RawHit], connection: sqlite3.Connection, table: str, query: str, limit: int
) -> None:
    for number, part_id, message_id, session_id in connection.execute(
        _FOUND.format(table=table), (query, limit)
    ):
        hits.setdefault(number, RawHit(number, session_id, message_id, part_id, table, query))


def _scan(
    hits: dict[int, RawHit], connection: sqlite3.Connection, words: list[str], limit: int
) -> None:
    conditions = " ".join("AND instr(lower(part_text.text), lower(?)) > 0" for _ in words)
    rows = connection.execute(
        f"{_RECENT} {conditions} ORDER BY part.number DESC LIMIT ?", (MAX_SCANNED, *words, limit)
    )
    for number, part_id, message_id, session_id, text in rows:
        snippet = _excerpt(text, words[0])
        hits.setdefault(number, RawHit(number, session_id, message_id, part_id, snippet=snippet))


def _excerpt(text: str, word: str, around: int = 30) -> str:
    at = max(text.lower().find(word.lower()), 0)
    start, end = max(at - around, 0), at + len(word) + around
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"
