"""Snapshots that no session needs are removed; those that an undo needs never are."""

import asyncio
import os
import shutil
import time
from pathlib import Path

import pytest

from agent.session.snapshots.pruning import (
    MAX_AGE,
    folder_name,
    is_due,
    prune_project,
    remove_orphans,
)
from agent.session.snapshots.snapshots import Snapshots
from agent.store import queries
from tests.agent.session.snapshots.places import place
from tests.support.harness import open_harness
from tests.support.script import Call, Text, answer

LATER = MAX_AGE + 3600


@pytest.fixture
async def snapshots(tmp_path: Path):
    (tmp_path / "project").mkdir()
    made = Snapshots(tmp_path / "snapshots", str(tmp_path / "project"))
    yield made
    await made.close()


async def taken(snapshots: Snapshots, file: Path, text: str) -> str:
    await asyncio.to_thread(file.write_text, text)
    tree = await snapshots.take()
    assert tree is not None
    return tree


def age(folder: Path, seconds: float) -> None:
    """Have everything in *folder* be older."""
    then = time.time() - seconds
    for path in (folder, *folder.rglob("*")):
        os.utime(path, (then, then))


async def test_what_no_session_needs_is_removed(snapshots: Snapshots, tmp_path: Path) -> None:
    file, git = tmp_path / "project/a.txt", place(tmp_path)
    one, two, three = [await taken(snapshots, file, text) for text in ("one", "two", "three")]
    blobs = [change.after for change in await snapshots.changes(one, two)]
    assert is_due(git, time.time())
    assert await prune_project(git, [two], time.time() + LATER)
    assert not is_due(git, time.time())
    assert await snapshots.changes(two, three), "the current files are needed too"
    assert await snapshots.content(blobs[0]) == "two"
    assert await snapshots.changes(one, two) == ()
    file.write_text("changed")
    assert await snapshots.restore(two, ("a.txt",)) == ()
    assert file.read_text() == "two"
    again = await taken(snapshots, file, "one")
    assert [change.path for change in await snapshots.changes(two, again)] == ["a.txt"]


async def test_what_is_young_stays(snapshots: Snapshots, tmp_path: Path) -> None:
    file, git = tmp_path / "project/a.txt", place(tmp_path)
    one, two = [await taken(snapshots, file, text) for text in ("one", "two")]
    assert await prune_project(git, [], time.time())
    assert await snapshots.changes(one, two), "a turn that is not stored yet can need it"


async def test_another_instance_keeps_the_files_of_its_index(
    snapshots: Snapshots, tmp_path: Path
) -> None:
    file, git = tmp_path / "project/a.txt", place(tmp_path)
    await taken(snapshots, file, "one")
    other = Snapshots(tmp_path / "snapshots", str(tmp_path / "project"))
    first = await other.take()
    await taken(snapshots, file, "two")
    file.write_text("one")
    assert await prune_project(git, [], time.time() + LATER)
    assert first is not None
    assert await other.take() is not None
    assert await other.restore(first, ("a.txt",)) == ()
    await other.close()


async def test_a_snapshot_that_is_gone_is_no_obstacle(snapshots: Snapshots, tmp_path: Path) -> None:
    git = place(tmp_path)
    tree = await taken(snapshots, tmp_path / "project/a.txt", "one")
    assert await prune_project(git, ["4" * 40, tree], time.time() + LATER)
    assert await snapshots.nested_repositories(tree) == ()


async def test_folders_of_projects_without_sessions_are_removed(
    snapshots: Snapshots, tmp_path: Path
) -> None:
    await taken(snapshots, tmp_path / "project/a.txt", "one")
    folder, used = tmp_path / "snapshots", place(tmp_path)
    for name in ("gone", "kept", "new"):
        shutil.copytree(used, folder / folder_name(name), ignore=shutil.ignore_patterns("index-*"))
    for name in ("gone", "kept"):
        age(folder / folder_name(name), LATER)
    age(used, LATER)
    await asyncio.to_thread(remove_orphans, folder, [], time.time())
    assert len([*folder.iterdir()]) == 4, "a new database says nothing about the others"
    await asyncio.to_thread(remove_orphans, folder, ["kept"], time.time())
    left = {path.name for path in folder.iterdir()}
    assert left == {used.name, folder_name("kept"), folder_name("new")}, "it is in use, or young"


async def test_the_undo_of_a_session_needs_its_snapshots(tmp_path: Path) -> None:
    async with open_harness(tmp_path, permission={"*": "allow"}) as harness:
        write = Call("write", {"file_path": "a.txt", "content": "new"})
        harness.server.script(
            answer(write), answer(Text("done")), answer(write), answer(Text("done"))
        )
        kept, deleted = await harness.session(), await harness.session()
        await harness.turn(kept, "go")
        await harness.turn(deleted, "go")
        await harness.runtime.sessions.delete(deleted.id)
        store, project = harness.runtime.store, str(harness.runtime.project)
        assert await store.read(queries.projects) == [project]
        needed = await store.read(queries.snapshot_trees, project)
        patches = [p for p in await harness.parts(kept) if p.type == "patch"]
        assert needed == {tree for part in patches for tree in (part.base, part.tree)}
