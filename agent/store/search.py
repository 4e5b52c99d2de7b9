"""Full-text search over finished texts (spec 7, D1).

Three ways, until there are enough hits, each newest first: whole words (without accents,
the last one as a beginning), substrings of three or more characters by the trigram index,
and, for the short words of scripts without spaces, a scan of the newest texts.
"""

import sqlite3
from dataclasses import dataclass

from agent.store.codec import clean

SCANNED = 20_000
"""Texts that the scan for words of one or two characters looks at, newest first."""

_TRIGRAM = 3

_INDEXED = """
SELECT part.id, part.message_id, part.session_id, snippet({table}, 0, '', '', '…', {tokens})
FROM {table} JOIN part ON part.number = {table}.rowid
WHERE {table} MATCH ? ORDER BY {table}.rowid DESC LIMIT ?
"""

_WORDS = _INDEXED.format(table="part_words", tokens=16)
_TRIGRAMS = _INDEXED.format(table="part_trigrams", tokens=60)

_RECENT = """
SELECT part.id, part.message_id, part.session_id, part_text.text
FROM part JOIN part_text ON part_text.number = part.number
WHERE part.number > (SELECT coalesce(max(number), 0) - ? FROM part) AND part.indexed = 1
"""


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A part whose text matches. *snippet* is the text round the match, cut with ``…``."""

    session_id: str
    message_id: str
    part_id: str
    snippet: str


def search(connection: sqlite3.Connection, text: str, limit: int) -> list[SearchHit]:
    """Up to *limit* parts that hold every word of *text*; none for an empty text."""
    words = [word for word in clean(text).replace("\0", " ").split() if word]
    if not words or limit <= 0:
        return []
    hits: dict[str, SearchHit] = {}
    quoted = ['"' + word.replace('"', '""') + '"' for word in words]
    # The beginnings of one letter are nearly every text: too many to be of use, or fast.
    beginning = "*" if len(words[-1]) > 1 else ""
    _add(hits, connection, _WORDS, " ".join(quoted) + beginning, limit)
    if len(hits) < limit and min(map(len, words)) >= _TRIGRAM:
        _add(hits, connection, _TRIGRAMS, " ".join(quoted), limit)
    elif len(hits) < limit and not text.isascii():
        _scan(hits, connection, words, limit)
    return list(hits.values())[:limit]


def _add(
    hits: dict[str, SearchHit], connection: sqlite3.Connection, sql: str, query: str, limit: int
) -> None:
    for part_id, message_id, session_id, snippet in connection.execute(sql, (query, limit)):
        hits.setdefault(part_id, SearchHit(session_id, message_id, part_id, snippet))


def _scan(
    hits: dict[str, SearchHit], connection: sqlite3.Connection, words: list[str], limit: int
) -> None:
    conditions = " ".join("AND instr(lower(part_text.text), lower(?)) > 0" for _ in words)
    rows = connection.execute(
        f"{_RECENT} {conditions} ORDER BY part.number DESC LIMIT ?", (SCANNED, *words, limit)
    )
    for part_id, message_id, session_id, text in rows:
        hits.setdefault(
            part_id, SearchHit(session_id, message_id, part_id, _excerpt(text, words[0]))
        )


def _excerpt(text: str, word: str, around: int = 30) -> str:
    at = max(text.lower().find(word.lower()), 0)
    start, end = max(at - around, 0), at + len(word) + around
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"
