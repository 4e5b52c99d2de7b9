"""Interrupted snapshots: the next one is complete all the same."""

import asyncio
import fnmatch
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agent.files.disk import TEMPORARY_GLOB, temporary_path
from agent.session.snapshots.snapshots import Snapshots, install
from tests.agent.session.snapshots.places import place


@pytest.fixture
async def snapshots(tmp_path: Path):
    (tmp_path / "project").mkdir()
    made = Snapshots(tmp_path / "snapshots", str(tmp_path / "project"))
    yield made
    await made.close()


async def covers(snapshots: Snapshots, file: Path) -> bool:
    """Return whether the next snapshots contain a change of *file*."""
    before = await snapshots.take()
    await asyncio.to_thread(file.write_text, "new")
    after = await snapshots.take()
    assert snapshots.unavailable_reason == ""
    assert before is not None
    assert after is not None
    return [change.path for change in await snapshots.changes(before, after)] == [file.name]


@pytest.mark.parametrize("ticks", range(0, 300, 15))
async def test_a_cancelled_snapshot_does_not_block_the_next(
    snapshots: Snapshots, tmp_path: Path, ticks: int
) -> None:
    """Esc during a project's first snapshot does not disable undo."""
    work = asyncio.create_task(snapshots.take())
    for _ in range(ticks):
        await asyncio.sleep(0)
    work.cancel()
    await asyncio.wait([work])
    assert await covers(snapshots, tmp_path / "project" / "made")
    names = {path.name for path in (tmp_path / "snapshots").iterdir()}
    assert names == {place(tmp_path).name}


async def test_a_lock_of_a_killed_git_is_removed(snapshots: Snapshots, tmp_path: Path) -> None:
    await snapshots.take()
    [index] = place(tmp_path).glob("index-*")
    index.with_name(f"{index.name}.lock").touch()
    assert await covers(snapshots, tmp_path / "project" / "made")


async def test_an_incomplete_folder_is_created_again(snapshots: Snapshots, tmp_path: Path) -> None:
    place(tmp_path).mkdir(parents=True)
    (place(tmp_path) / "config.lock").touch()
    assert await covers(snapshots, tmp_path / "project" / "made")


async def test_leftovers_of_a_killed_program_are_removed(
    snapshots: Snapshots, tmp_path: Path
) -> None:
    left = place(tmp_path).with_name(f"{place(tmp_path).name}.new-999999999")
    left.mkdir(parents=True)
    assert await covers(snapshots, tmp_path / "project" / "made")
    assert not left.exists()


@pytest.mark.parametrize("half_made", [False, True])
async def test_many_instances_that_start_at_once_have_one_folder(
    tmp_path: Path, half_made: bool
) -> None:
    """The second instance uses the existing folder, and files of the first stay."""
    project = tmp_path / "project"
    project.mkdir()
    if half_made:
        place(tmp_path).mkdir(parents=True)
        (place(tmp_path) / "config.lock").touch()
    many = [Snapshots(tmp_path / "snapshots", str(project)) for _ in range(12)]
    first = await asyncio.gather(*(one.take() for one in many))
    assert [one.unavailable_reason for one in many] == [""] * 12
    await asyncio.to_thread((project / "made").write_text, "new")
    later = await asyncio.gather(*(one.take() for one in many))
    assert len({*first}) == len({*later}) == 1
    for one, before, after in zip(many, first, later, strict=True):
        assert before is not None
        assert after is not None
        assert [change.path for change in await one.changes(before, after)] == ["made"]
        await one.close()
    assert [path.name for path in (tmp_path / "snapshots").iterdir()] == [place(tmp_path).name]


def test_one_folder_never_replaces_another(tmp_path: Path) -> None:
    git, starts = tmp_path / "git", 8

    def start(new: Path, together: threading.Barrier) -> int:
        together.wait()
        install(new, git)
        return git.stat().st_ino

    for number in range(40):
        shutil.rmtree(git, ignore_errors=True)
        (git / "half" / "made").mkdir(parents=True)
        news = [tmp_path / f"git.new-{number}-{one}" for one in range(starts)]
        for new in news:
            new.mkdir()
        together = threading.Barrier(starts)
        with ThreadPoolExecutor(starts) as pool:
            assert len(set(pool.map(start, news, [together] * starts))) == 1


@pytest.mark.parametrize("again", [False, True])
async def test_the_programs_own_data_is_not_in_snapshots(tmp_path: Path, again: bool) -> None:
    """A setting can put it there; it changes all the time, and undo would revert it."""
    project = tmp_path / "project"
    data = project / "own [data]"
    data.mkdir(parents=True)
    for number in range(1 + again):
        made = Snapshots(data / "snapshots", str(project))
        begun = time.time()
        before = await made.take()
        await asyncio.to_thread((data / "sessions.db").write_text, f"new {number}")
        await asyncio.to_thread((project / "file").write_text, f"new {number}")
        after = await made.take()
        assert before is not None
        assert after is not None
        assert [change.path for change in await made.changes(before, after)] == ["file"]
        assert made.oversized_files(begun - 60) == ()
        await made.close()


async def test_a_temporary_file_of_another_call_is_not_a_change(
    tmp_path: Path, snapshots: Snapshots
) -> None:
    """Two turns that write at once saw each other's temporary files, and undo reported a file that
    never existed."""
    project = tmp_path / "project"
    before = await snapshots.take()
    writing = temporary_path(project / "other.txt")
    await asyncio.to_thread(writing.write_text, "half of it")
    assert fnmatch.fnmatch(writing.name, TEMPORARY_GLOB)
    during = await snapshots.take()
    await asyncio.to_thread(writing.rename, project / "other.txt")
    after = await snapshots.take()
    assert before is not None
    assert during is not None
    assert after is not None
    assert await snapshots.changes(before, during) == ()
    assert [each.path for each in await snapshots.changes(during, after)] == ["other.txt"]


async def test_an_inaccessible_folder_ends_no_turn(tmp_path: Path, snapshots: Snapshots) -> None:
    place(tmp_path).parent.mkdir()
    place(tmp_path).write_text("no folder")
    assert await snapshots.take() is None
    assert snapshots.unavailable_reason.startswith("The snapshot folder cannot be written")
