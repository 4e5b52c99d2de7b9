"""Schema versions: forward only, all or nothing."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from agent.bus import Bus
from agent.records.errors import StoreTooNew
from agent.records.messages import ToolPart
from agent.store import queries, search
from agent.store.database import Migration, migrate, packaged_migrations, version
from agent.store.listing import SessionScope
from agent.store.store import Store
from tests.agent.store.samples import (
    every_part,
    make_assistant,
    make_session,
    reopened,
    rows,
    start_child,
    stored_turn,
)

NEWEST = packaged_migrations()[-1].number

# Rows as each version wrote them: released versions are never changed here.
ROWS = {
    1: """
INSERT INTO session VALUES ('ses_1', '/a', NULL, 'old', 5.0, 0, 0, '{"id":"ses_1",
"directory":"/a","project":"/a","title":"old","created":4.0,"updated":5.0}');
INSERT INTO message VALUES ('msg_1', 'ses_1', 4.5, 'user', NULL, 0, '{"id":"msg_1",
"session_id":"ses_1","created":4.5,"agent":"build","model":"demo/offline","role":"user"}');
INSERT INTO part VALUES (1, 'prt_1', 'ses_1', 'msg_1', 'text', NULL, 'ended', 0, 1,
'{"id":"prt_1","session_id":"ses_1","message_id":"msg_1","text":"an old question",
"ended":4.5,"type":"text"}');
""",
    2: """
INSERT INTO session VALUES ('ses_1', '/a', NULL, 'old', 5.0, 0, 0, '{"id":"ses_1",
"directory":"/a","project":"/a","title":"old","created":4.0,"updated":5.0}');
INSERT INTO message VALUES ('msg_1', 'ses_1', 4.5, 'user', NULL, 0, '{"id":"msg_1",
"session_id":"ses_1","created":4.5,"agent":"build","model":"demo/offline","role":"user"}');
INSERT INTO part VALUES (1, 'prt_1', 'ses_1', 'msg_1', 'text', NULL, 'ended', 0, 1,
'{"id":"prt_1","session_id":"ses_1","message_id":"msg_1","text":"an old question",
"ended":4.5,"type":"text"}');
INSERT INTO part VALUES (2, 'prt_2', 'ses_1', 'msg_1', 'tool', 'bash', 'failed', 0, 0,
'{"id":"prt_2","session_id":"ses_1","message_id":"msg_1","call_id":"c","tool":"bash",
"state":{"error":"no","kind":"denied","started":1.0,"ended":2.0,"status":"failed"},
"consents":[{"answer":"reject","by":"person","at":2.0,"asked":"Run this command?",
"comment":"no","reason":""}],"type":"tool"}');
""",
}


def build(path: Path, number: int) -> None:
    """Return a database of schema version *number* with a session in it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        migrate(connection, path, packaged_migrations()[:number])
        connection.executescript(ROWS[max(n for n in ROWS if n <= number)])


def test_versions_are_numbered_from_one_without_gaps():
    assert [migration.number for migration in packaged_migrations()] == list(range(1, NEWEST + 1))


@pytest.mark.parametrize("number", range(1, NEWEST + 1))
async def test_every_earlier_version_opens_with_its_sessions(path: Path, number: int):
    build(path, number)
    store = await reopened(path)
    assert store.notices == ()
    assert [session.title for session in await store.sessions()] == ["old"]
    assert (await store.messages("ses_1"))[0].parts[0].id == "prt_1"
    assert [hit.part_id for hit in await store.read(search.find_hits, "question", 50)] == ["prt_1"]
    message = make_assistant(await store.session("ses_1"))
    await store.save(message, *every_part(message))
    await store.close()
    assert rows(path, "PRAGMA user_version") == [(NEWEST,)]


@pytest.mark.parametrize("number", range(1, NEWEST + 1))
async def test_a_record_that_is_not_json_does_not_stop_a_database_from_opening(
    path: Path, number: int
):
    """The record was written by hand or is damaged; the rest is still readable."""
    build(path, number)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(
            "INSERT INTO session SELECT 'ses_0', directory, NULL, title, updated, 0, 0, '{no' "
            "FROM session; INSERT INTO message SELECT 'msg_0', session_id, created, role, NULL, 0, "
            "'{no' FROM message; INSERT INTO part SELECT 99, 'prt_0', session_id, message_id, "
            "'text', NULL, 'ended', 0, 0, '{no' FROM part LIMIT 1;"
        )
    store = await reopened(path)
    assert [session.id for session in await store.sessions()] == ["ses_1"]
    assert [line.id for line in await store.session_list(SessionScope())] == ["ses_1"]
    assert [item.message.id for item in await store.context_messages("ses_1")] == ["msg_1"]
    assert await store.read(queries.pinned_ids, "ses_1") == frozenset()
    await store.close()


STEP = """
INSERT INTO message VALUES ('msg_2', 'ses_1', 5.5, 'assistant', 'trn_1', 0, '{"id":"msg_2",
"session_id":"ses_1","created":5.5,"parent_id":"msg_1","turn_id":"trn_1","step":1,"agent":"build",
"model":"demo/offline","completed":6.0,"cost":0.5,"usage":{"input":7,"output":3},
"role":"assistant"}');
INSERT INTO part VALUES (9, 'prt_9', 'ses_1', 'msg_2', 'tool', 'bash', 'failed', 0, 0,
'{"id":"prt_9","session_id":"ses_1","message_id":"msg_2","call_id":"c","tool":"bash",
"state":{"error":"no","kind":"denied","started":1.0,"ended":2.0,"status":"failed"},"type":"tool"}');
"""


@pytest.mark.parametrize("number", range(1, NEWEST + 1))
async def test_earlier_usage_is_counted_and_calls_without_decisions_are_read(
    path: Path, number: int
):
    build(path, number)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(STEP)
    store = await reopened(path)
    (row,) = await store.usage_rows()
    assert (row.steps, row.turns, row.usage.input, row.cost, row.project) == (1, 1, 7, 0.5, "/a")
    (call,) = (await store.messages("ses_1"))[1].parts
    assert isinstance(call, ToolPart)
    assert call.decisions == ()
    first = (await store.messages("ses_1"))[0].parts
    comments = [c.comment for part in first if isinstance(part, ToolPart) for c in part.decisions]
    assert comments == (["no"] if number >= 2 else [])
    await store.delete_session("ses_1")
    assert await store.usage_rows() == ()
    await store.close()


AHEAD = """
INSERT INTO session VALUES ('ses_9', '/a', NULL, 'ahead', 9.0, 0, 0, '{"id":"ses_9",
"directory":"/a","project":"/a","title":"ahead","created":9.0,"updated":9.0}');
INSERT INTO message VALUES ('msg_0', 'ses_1', 1.5, 'user', 'trn_0', 0, '{"id":"msg_0",
"session_id":"ses_1","created":1.5,"agent":"build","model":"demo/offline","turn_id":"trn_0",
"role":"user"}');
"""


async def test_messages_of_an_earlier_version_are_in_the_order_in_which_they_were_stored(
    path: Path,
):
    """The clock was set back between them; the list of sessions stays as it was."""
    build(path, 4)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(AHEAD)
    store = await reopened(path)
    assert [item.message.id for item in await store.messages("ses_1")] == ["msg_1", "msg_0"]
    assert [session.id for session in await store.sessions()] == ["ses_9", "ses_1"]
    await store.update("ses_1", lambda session: replace(session, updated=2.0))
    assert [session.id for session in await store.sessions()] == ["ses_1", "ses_9"]
    await store.close()


async def test_a_newer_database_is_refused_and_left_alone(path: Path):
    store = await reopened(path)
    session, _, _ = await stored_turn(store)
    await store.close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {NEWEST + 6}")
    with pytest.raises(StoreTooNew) as caught:
        await Store.open(path, Bus())
    assert f"its schema is {NEWEST + 6}" in caught.value.message
    assert rows(path, "PRAGMA user_version") == [(NEWEST + 6,)]
    assert rows(path, "SELECT id FROM session") == [(session.id,)]
    assert not list(path.parent.glob("*damaged*"))


NEXT = Migration(NEWEST + 1, "CREATE TABLE extra (a); INSERT INTO extra VALUES (1);")


def test_a_migration_keeps_a_copy_of_the_old_database(path: Path):
    build(path, NEWEST)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        migrate(connection, path, [*packaged_migrations(), NEXT])
        assert version(connection) == NEXT.number
        assert connection.execute("SELECT a FROM extra").fetchall() == [(1,)]
    copy = path.with_name(f"{path.name}.v{NEWEST}")
    assert copy.stat().st_mode & 0o777 == 0o600
    assert rows(copy, "SELECT id FROM session") == [("ses_1",)]
    assert rows(copy, "PRAGMA user_version") == [(NEWEST,)]


async def test_a_failed_migration_has_no_effect(path: Path):
    build(path, NEWEST)
    broken = Migration(NEXT.number, f"{NEXT.sql} INSERT INTO nowhere VALUES (1);")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        with pytest.raises(sqlite3.OperationalError, match="nowhere"):
            migrate(connection, path, [*packaged_migrations(), broken])
        assert not connection.in_transaction
    await assert_untouched(path)


DYING = """
import os, sqlite3, sys
from pathlib import Path
from agent.store.listing import SessionScope
from agent.store.database import Migration, migrate, packaged_migrations
path = Path(sys.argv[1])
connection = sqlite3.connect(path, isolation_level=None)
connection.create_function("die", 0, lambda: os.kill(os.getpid(), 9))
number = packaged_migrations()[-1].number + 1
sql = "CREATE TABLE extra (a); DELETE FROM session; SELECT die();"
migrate(connection, path, [*packaged_migrations(), Migration(number, sql)])
"""


async def test_a_process_killed_while_it_migrates_leaves_the_file_usable(path: Path):
    build(path, NEWEST)
    child = await start_child(DYING, path)
    assert await child.wait() == -9
    await assert_untouched(path)


async def assert_untouched(path: Path) -> None:
    assert rows(path, "PRAGMA user_version") == [(NEWEST,)]
    assert rows(path, "SELECT count(*) FROM sqlite_schema WHERE name = 'extra'") == [(0,)]
    store = await reopened(path)
    assert [session.id for session in await store.sessions()] == ["ses_1"]
    await store.save(make_session())
    await store.close()
