"""A patch changes all of its files or none."""

import stat
from pathlib import Path

import pytest

from agent.files import FileStepFailed, PutFile, RemoveFile, change_all


def state(folder: Path) -> dict[str, tuple[bytes, int, int]]:
    return {
        str(path.relative_to(folder)): (
            path.read_bytes(),
            stat.S_IMODE(path.stat().st_mode),
            path.stat().st_mtime_ns,
        )
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("fails_at", range(5))
def test_a_failure_in_any_step_leaves_everything_unchanged(tmp_path: Path, fails_at: int) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text(name)
    (tmp_path / "b").chmod(0o751)
    (tmp_path / "taken").write_text("mine")
    before = state(tmp_path)
    steps = [
        PutFile(str(tmp_path / "a"), b"other"),
        RemoveFile(str(tmp_path / "b")),
        PutFile(str(tmp_path / "deep" / "er" / "new"), b"new", create=True, mode=0o700),
        PutFile(str(tmp_path / "c"), b"other"),
    ]
    steps.insert(fails_at, PutFile(str(tmp_path / "taken"), b"x", create=True))
    with pytest.raises(FileStepFailed) as raised:
        change_all(steps)
    assert raised.value.path == str(tmp_path / "taken")
    assert raised.value.not_restored == ()
    assert state(tmp_path) == before
    assert not (tmp_path / "deep").exists()


def test_all_steps_run_and_nothing_is_left_over(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").write_text("b")
    stamps = change_all(
        [
            PutFile(str(tmp_path / "a"), b"other"),
            RemoveFile(str(tmp_path / "b")),
            PutFile(str(tmp_path / "n"), b"n", create=True, mode=0o640),
        ]
    )
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "a": "other",
        "n": "n",
    }
    assert stat.S_IMODE((tmp_path / "n").stat().st_mode) == 0o640
    assert stamps[str(tmp_path / "a")].size == 5
