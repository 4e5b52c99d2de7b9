"""The origins of the lines of memory files."""

import sqlite3
from collections.abc import Mapping

from agent.records.json import encodable
from agent.records.memory import MemoryOrigin


def origins(connection: sqlite3.Connection, file: str) -> dict[str, MemoryOrigin]:
    """Return the origins of the lines of *file* (its absolute path), by their text."""
    rows = connection.execute(
        "SELECT line, source, created, session_id, edited FROM memory_line WHERE file = ?",
        (encodable(file),),
    )
    return {
        line: MemoryOrigin(source, created, session_id, bool(edited))
        for line, source, created, session_id, edited in rows
    }


def save_origins(
    connection: sqlite3.Connection, file: str, lines: Mapping[str, MemoryOrigin]
) -> None:
    connection.executemany(
        "INSERT OR REPLACE INTO memory_line (file, line, source, created, session_id, edited) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        [
            (encodable(file), encodable(line), o.source, o.created, o.session_id, o.edited)
            for line, o in lines.items()
        ],
    )
