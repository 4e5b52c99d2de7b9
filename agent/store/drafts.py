"""The comments of reviews that are not sent yet."""

import dataclasses
import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from agent.records.json import encodable
from agent.records.review_comment import ReviewComment

_FIELDS = frozenset(field.name for field in dataclasses.fields(ReviewComment))


def draft(connection: sqlite3.Connection, scope: str, title: str) -> tuple[ReviewComment, ...]:
    """Return the comments on the changes *title* of *scope*, a folder or a session."""
    row = connection.execute(
        "SELECT comments FROM review_draft WHERE scope = ? AND title = ?",
        (encodable(scope), encodable(title)),
    ).fetchone()
    return tuple(map(_comment, json.loads(row[0]))) if row is not None else ()


def save_draft(
    connection: sqlite3.Connection, scope: str, title: str, comments: Sequence[ReviewComment]
) -> None:
    """Replace the comments on the changes *title* of *scope*."""
    key = (encodable(scope), encodable(title))
    if not comments:
        connection.execute("DELETE FROM review_draft WHERE scope = ? AND title = ?", key)
        return
    data = json.dumps([dataclasses.asdict(each) for each in comments], ensure_ascii=False)
    connection.execute(
        "INSERT OR REPLACE INTO review_draft (scope, title, comments) VALUES (?, ?, ?)",
        (*key, encodable(data)),
    )


def _comment(stored: dict[str, Any]) -> ReviewComment:
    # A newer version can have stored more.
    given = {name: value for name, value in stored.items() if name in _FIELDS}
    made = ReviewComment(**given)
    return dataclasses.replace(made, quoted=tuple(made.quoted))
