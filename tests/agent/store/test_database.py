"""Several processes on one database file, and files that cannot be written."""

import asyncio
import stat
import tempfile
from pathlib import Path

import pytest

from agent.bus import Bus
from agent.records.errors import StoreUnavailable
from agent.store.store import Store
from tests.agent.store.samples import (
    make_assistant,
    make_session,
    make_text,
    reopened,
    rows,
    start_child,
    stored_turn,
)

WRITER = """
import asyncio, sys
from dataclasses import replace
from pathlib import Path
from agent.bus import Bus
from agent.records.messages import Completed
from agent.records.blocks import ToolLabel
from agent.store.store import Store
from tests.agent.store.samples import make_assistant, make_session, make_text, make_tool

async def main(path, turns):
    store = await Store.open(path, Bus())
    assert store.notices == ()
    session = make_session(title="child")
    await store.save(session)
    assert await store.acquire_lease(session.id)
    for turn in range(turns):
        message = make_assistant(session, completed=1.0)
        await store.save(message)
        store.stage(text := make_text(message))
        for _ in range(50):
            store.append(text.id, "text", "word ")
        await store.flush()
        done = Completed(input={}, label=ToolLabel("Run"), started=1, ended=2, output="x" * 200_000)
        await store.save(replace(text, text="done", ended=2.0), make_tool(message, done))
        assert len(await store.messages(session.id)) == turn + 1
    await store.release_lease(session.id)
    await store.close()

asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
"""


async def test_processes_write_at_once_on_an_empty_folder(path: Path):
    """No process sees a locked database, and nothing is lost."""
    processes, turns = 6, 5
    children = [await start_child(WRITER, path, turns) for _ in range(processes)]
    assert await asyncio.gather(*(child.wait() for child in children)) == [0] * processes
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]
    store = await reopened(path)
    assert store.notices == ()
    sessions = await store.sessions()
    assert len(sessions) == processes
    for session in sessions:
        messages = await store.messages(session.id)
        assert [len(entry.parts) for entry in messages] == [2] * turns
    await store.close()


async def test_reads_do_not_wait_for_another_process_that_writes(store: Store, path: Path):
    session, _, _ = await stored_turn(store)
    code = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
connection.execute("UPDATE session SET title = 'held'")
print("locked", flush=True)
sys.stdin.readline()
connection.execute("COMMIT")
print("done", flush=True)
sys.stdin.readline()
"""
    child = await start_child(code, path)
    assert child.stdin is not None
    assert child.stdout is not None
    assert await child.stdout.readline() == b"locked\n"
    saving = asyncio.create_task(store.save(make_session()))
    assert await store.session(session.id) == session
    assert len(await store.messages(session.id)) == 1
    assert not saving.done()
    before = child.stdin
    before.write(b"go\n")
    assert await child.stdout.readline() == b"done\n"
    await saving
    assert len(await store.sessions()) == 2
    child.stdin.close()
    assert await child.wait() == 0


async def test_writes_of_another_process_are_noticed(store: Store, path: Path):
    session, _, _ = await stored_turn(store)
    first = await store.foreign_version()
    await store.save(make_assistant(session))
    assert await store.foreign_version() == first
    other = await reopened(path)
    await other.save(make_assistant(session))
    await other.close()
    assert await store.foreign_version() != first


async def test_two_stores_see_each_other(store: Store, path: Path):
    other = await reopened(path)
    session, message, _ = await stored_turn(store)
    store.stage(text := make_text(message, "so far"))
    await store.flush()
    assert (await other.messages(session.id))[0].parts == (text,)
    await other.close()


async def test_files_are_private(store: Store, path: Path):
    await store.save(make_session())
    assert mode(path.parent) == 0o700
    files = {file.name: mode(file) for file in path.parent.iterdir()}
    assert {path.name, f"{path.name}-wal", f"{path.name}-shm"} <= set(files)
    assert set(files.values()) == {0o600}


def open_to_others(path: Path) -> None:
    path.chmod(0o644)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_a_file_that_others_can_read_is_made_private(path: Path):
    await (await reopened(path)).close()
    open_to_others(path)
    await (await reopened(path)).close()
    assert mode(path) == 0o600


async def test_a_folder_that_cannot_be_created_gives_one_sentence(tmp_path: Path):
    """A path under a regular file fails for root too."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreUnavailable) as caught:
        await Store.open(tmp_path / "file" / "sessions.db", Bus())
    assert "cannot be opened" in caught.value.message
    assert "OPENCODE_PY_DATA" in caught.value.message
    assert "\n" not in caught.value.message


async def test_a_folder_in_place_of_the_file_gives_one_sentence(path: Path):
    path.mkdir(parents=True)  # noqa: ASYNC240 - nothing else runs in this test
    with pytest.raises(StoreUnavailable, match="cannot be opened"):
        await Store.open(path, Bus())


FULL_DISK = """
import asyncio, resource, sys
from pathlib import Path
from agent.bus import Bus
from agent.records.errors import StoreUnavailable
from agent.records.events import Notice
from agent.store.store import Store
from tests.agent.store.samples import make_text, stored_turn

async def main(path):
    bus = Bus()
    store = await Store.open(path, bus)
    session, message, _ = await stored_turn(store)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, hard))
    saved = []
    try:
        while True:
            part = make_text(message, "x" * 50_000, ended=1.0)
            await store.save(part)
            saved.append(part.id)
    except StoreUnavailable as error:
        print(error)
    with bus.subscribe(lambda event: isinstance(event, Notice)) as notices:
        store.stage(text := make_text(message, "y" * 900_000))
        assert await notices.wait()
        assert notices.drain()[0].level == "error"
    assert (await store.messages(session.id))[0].parts[-1] == text
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    await store.flush()
    await store.close()
    store = await Store.open(path, Bus())
    assert store.notices == (), store.notices
    parts = (await store.messages(session.id))[0].parts
    assert [part.id for part in parts] == [*saved, text.id]
    await store.close()

asyncio.run(main(Path(sys.argv[1])))
"""


async def test_a_full_disk_is_reported_and_nothing_is_lost_once_there_is_space():
    """A limit on the size of the process's files acts as the full disk."""
    with tempfile.TemporaryDirectory() as folder:
        child = await start_child(FULL_DISK, Path(folder) / "sessions.db")
        output, _ = await child.communicate()
        assert child.returncode == 0
        assert "full" in output.decode()
