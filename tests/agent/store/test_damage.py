"""A damaged file is moved aside and reported, never deleted."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from agent.records.errors import StoreUnavailable
from agent.store import database
from tests.agent.store.samples import make_session, make_text, reopened, rows, stored_turn


def zeros(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(8192)
        file.write(bytes(4096))


def new_header(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"not a database!!")


def garbage(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 200)


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def cut_short(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(20_000)


def unclean_end(path: Path) -> None:
    path.write_bytes(b"what an unclean end left")


def content(path: Path) -> bytes:
    return path.read_bytes()


def kept_files(path: Path) -> Iterator[Path]:
    """Return the files that were moved aside, without their logs."""
    return (file for file in path.parent.glob("*damaged*") if file.name[-4:-3] != "-")


@pytest.mark.parametrize("spoil", [zeros, new_header, garbage, emptied, cut_short])
async def test_a_damaged_file_is_kept_under_another_name(path: Path, spoil: Callable[[Path], None]):
    store = await reopened(path)
    await stored_turn(store, lambda message: make_text(message, "lost", ended=1.0))
    await store.close()
    spoil(path)
    spoiled = content(path)
    store = await reopened(path)
    kept = next(kept_files(path))
    assert content(kept) == spoiled
    assert len(store.notices) == 1
    assert str(kept) in store.notices[0]
    await store.save(session := make_session())
    assert await store.sessions() == [session]
    await store.close()
    store = await reopened(path)
    assert store.notices == ()
    assert await store.sessions() == [session]
    await store.close()


async def test_the_log_of_a_damaged_file_is_kept_with_it(path: Path):
    path.parent.mkdir(parents=True)
    emptied(path)
    unclean_end(path.with_name(f"{path.name}-wal"))
    store = await reopened(path)
    (kept,) = path.parent.glob("*damaged*-wal")
    assert content(kept) == b"what an unclean end left"
    await store.close()


async def test_two_damaged_files_in_one_second_are_both_kept(path: Path):
    for _ in range(3):
        path.parent.mkdir(parents=True, exist_ok=True)
        garbage(path)
        await (await reopened(path)).close()
    assert len(list(kept_files(path))) == 3


async def test_an_intact_file_is_left_alone(path: Path):
    store = await reopened(path)
    session, _, _ = await stored_turn(store)
    await store.close()
    store = await reopened(path)
    assert store.notices == ()
    assert await store.session(session.id) == session
    await store.close()
    assert not list(path.parent.glob("*damaged*"))


async def test_damage_while_running_is_one_sentence_and_repaired_at_the_next_start(path: Path):
    store = await reopened(path)
    session, _, _ = await stored_turn(store, lambda m: make_text(m, "lost", ended=1.0))
    await store.close()
    (page,) = rows(path, "SELECT rootpage FROM sqlite_schema WHERE name = 'part_session'")[0]
    store = await reopened(path)
    with path.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(bytes(4096))
    with pytest.raises(StoreUnavailable, match=r"is damaged\. Restart opencode-py"):
        await store.messages(session.id)
    await store.close()
    assert path.with_name(f"{path.name}.check").exists()
    store = await reopened(path)
    assert len(store.notices) == 1
    assert not path.with_name(f"{path.name}.check").exists()
    await store.close()


def test_a_large_file_is_fully_checked_only_after_a_mark(path: Path):
    """The other tests cover the check of a small file; a large one gets a quick check."""
    path.parent.mkdir(parents=True)
    database.open_writer(path, []).close()
    (page,) = rows(path, "SELECT rootpage FROM sqlite_schema WHERE name = 'part_session'")[0]
    with path.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(bytes(4096))
        file.truncate(database.MAX_FULLY_CHECKED + 4096)
    notices: list[str] = []
    database.open_writer(path, notices).close()
    assert notices == []
    database.mark_damaged(path)
    database.open_writer(path, notices).close()
    assert len(notices) == 1


def test_only_broken_content_counts_as_damage(tmp_path: Path):
    with (
        closing(sqlite3.connect(tmp_path / "a.db")) as connection,
        pytest.raises(sqlite3.Error) as caught,
    ):
        connection.execute("SELECT * FROM nowhere")
    assert not database.is_damage(caught.value)
