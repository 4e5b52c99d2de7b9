"""Sessions of a program whose clock was ahead: the order of messages is not that of their ids."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from agent.records.messages import Session, TextPart, UserMessage
from tests.support.harness import Harness, open_harness
from tests.support.script import Call, Text, answer

FREE = {"permission": {"bash": "allow", "edit": "allow"}}


def move_into_the_future(home: Path) -> None:
    """Change everything stored as if the clock had been years ahead."""
    (path,) = home.rglob("*.db")
    ids = {"session": ("ses_0", "ses_f"), "message": ("msg_0", "msg_f"), "part": ("prt_0", "prt_f")}
    with closing(sqlite3.connect(path)) as connection, connection:
        for table in ids:
            data = "data"
            for old, new in ids.values():
                data = f"replace({data}, '{old}', '{new}')"
            connection.execute(f"UPDATE {table} SET data = {data}")
            for column in [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]:
                for old, new in ids.values():
                    if column == "id" or column.endswith("_id"):
                        changed = f"replace({column}, '{old}', '{new}')"
                        connection.execute(f"UPDATE {table} SET {column} = {changed}")
        connection.execute("UPDATE session SET updated = updated + 1e8")
        connection.execute("UPDATE session SET data = json_set(data, '$.updated', updated)")


async def spoiled_session(tmp_path: Path, *, file: str = "") -> str:
    """Return the id of a session with a turn that a clock ahead of time has seen."""
    async with open_harness(tmp_path, **FREE) as harness:
        calls = [answer(Call("write", {"file_path": file, "content": "one"}))] if file else []
        harness.server.script(*calls, answer(Text("ANSWER-ONE")))
        session = await harness.session()
        await harness.turn(session, "PROMPT-ONE")
    move_into_the_future(tmp_path / "home")
    return session.id.replace("ses_0", "ses_f")


async def texts(harness: Harness, session: Session) -> list[str]:
    parts = await harness.parts(session)
    return [part.text for part in parts if isinstance(part, TextPart) and not part.synthetic]


def sent(harness: Harness) -> str:
    return json.dumps(harness.server.requests[-1].body["messages"])


async def test_new_turns_follow_older_ones(tmp_path: Path) -> None:
    session_id = await spoiled_session(tmp_path)
    async with open_harness(tmp_path, **FREE) as harness:
        session = await harness.runtime.store.session(session_id)
        harness.server.script(answer(Text("ANSWER-TWO")), answer(Text("ANSWER-THREE")))
        await harness.turn(session, "PROMPT-TWO")
        await harness.turn(session, "PROMPT-THREE")
        words = ["PROMPT-ONE", "ANSWER-ONE", "PROMPT-TWO", "ANSWER-TWO", "PROMPT-THREE"]
        assert await texts(harness, session) == [*words, "ANSWER-THREE"]
        assert sorted(words, key=sent(harness).index) == words
        page = await harness.runtime.store.page(session_id, limit=2)
        assert (page.older, len(page.messages)) == (4, 2)
        snapshot = await harness.runtime.sessions.snapshot(session_id)
        shown = [item.message.id for item in snapshot.messages]
        assert shown == [item.message.id for item in await harness.messages(session)]


async def test_the_session_used_last_comes_first(tmp_path: Path) -> None:
    session_id = await spoiled_session(tmp_path)
    async with open_harness(tmp_path, **FREE) as harness:
        harness.server.script(answer(Text("other")), answer(Text("again")))
        repository = harness.runtime.sessions.repository
        other = await harness.session()
        await harness.turn(other, "something else")
        latest = await repository.latest()
        assert latest is not None
        assert latest.id == other.id
        assert [line.id for line in await repository.lines()] == [other.id, session_id]
        await harness.turn(await repository.get(session_id), "on")
        assert [line.id for line in await repository.lines()] == [session_id, other.id]
        assert [s.id for s in await repository.list(before=session_id)] == [other.id]


async def test_undo_takes_back_the_newest_turn(tmp_path: Path) -> None:
    session_id = await spoiled_session(tmp_path, file="f.txt")
    async with open_harness(tmp_path, **FREE) as harness:
        session = await harness.runtime.store.session(session_id)
        harness.server.script(
            answer(Call("bash", {"command": "echo two > f.txt; echo new > g.txt"})),
            answer(Text("ANSWER-TWO")),
            answer(Text("ANSWER-THREE")),
        )
        await harness.turn(session, "PROMPT-TWO")
        undo = harness.runtime.sessions.undo
        plan = await undo.plan(session_id)
        assert plan is not None
        assert (plan.text, plan.messages) == ("PROMPT-TWO", 3)
        assert [(file.path, file.effect) for file in plan.files] == [
            ("f.txt", "will be reverted"),
            ("g.txt", "will be deleted"),
        ]
        await undo.undo(plan, files=True, conversation=True)
        assert (harness.folder / "f.txt").read_text() == "one"
        snapshot = await harness.runtime.sessions.snapshot(session_id)
        at = snapshot.session.undone_at
        assert at == plan.message_id
        assert await undo.redo(session_id) == ()
        assert (harness.folder / "f.txt").read_text() == "two\n"
        await undo.undo(plan, files=True, conversation=True)
        await harness.turn(session, "PROMPT-THREE")
        assert await texts(harness, session) == [
            "PROMPT-ONE",
            "ANSWER-ONE",
            "PROMPT-THREE",
            "ANSWER-THREE",
        ]


async def test_a_fork_keeps_the_order(tmp_path: Path) -> None:
    session_id = await spoiled_session(tmp_path)
    async with open_harness(tmp_path, **FREE) as harness:
        session = await harness.runtime.store.session(session_id)
        harness.server.script(answer(Text("ANSWER-TWO")))
        await harness.turn(session, "PROMPT-TWO")
        messages = await harness.messages(session)
        cut = [item for item in messages if isinstance(item.message, UserMessage)][-1].message.id
        copy = await harness.runtime.sessions.repository.fork(session_id, cut)
        assert await texts(harness, copy) == ["PROMPT-ONE", "ANSWER-ONE"]
        whole = await harness.runtime.sessions.repository.fork(session_id)
        assert await texts(harness, whole) == await texts(harness, session)
