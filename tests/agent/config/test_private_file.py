"""Files that only their owner can read, changed by several instances at once."""

import stat
import threading
from pathlib import Path

import pytest

from agent.config.private_file import PrivateFile
from agent.records.errors import StoreUnavailable


def test_only_the_owner_can_read_the_file_and_its_folder(tmp_path: Path) -> None:
    file = PrivateFile(tmp_path / "data" / "kept.json", "The login")
    assert file.read() == {}
    with file.edit() as whole:
        whole["a"] = 1
    assert file.read() == {"a": 1}
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.path.parent.stat().st_mode) == 0o700


def test_concurrent_changes_are_all_kept(tmp_path: Path) -> None:
    """Each would have read before the other writes, if it did not wait for the lock."""
    path = tmp_path / "kept.json"

    def work(who: str) -> None:
        file = PrivateFile(path, "The login")
        for number in range(20):
            with file.edit() as whole:
                whole[f"{who}{number}"] = number

    workers = [threading.Thread(target=work, args=(who,)) for who in "abcd"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(PrivateFile(path, "The login").read()) == 80
    assert sorted(p.name for p in tmp_path.iterdir()) == ["kept.json", "kept.lock"]


def test_an_exception_leaves_the_file_unchanged(tmp_path: Path) -> None:
    file = PrivateFile(tmp_path / "kept.json", "The login")
    with file.edit() as whole:
        whole["a"] = 1

    def change() -> None:
        with file.edit() as whole:
            whole["a"] = 2
            raise KeyError

    with pytest.raises(KeyError):
        change()
    assert file.read() == {"a": 1}


def test_a_failed_write_is_an_error_in_a_sentence(tmp_path: Path) -> None:
    file = PrivateFile(tmp_path / "kept.json", "The login")
    file.path.mkdir()
    with (
        pytest.raises(StoreUnavailable, match=r"The login cannot be stored in .*kept\.json: "),
        file.edit(),
    ):
        pass


@pytest.mark.parametrize("text", ["", "[]", "{", "\xff"])
def test_an_unreadable_file_is_an_empty_object(tmp_path: Path, text: str) -> None:
    path = tmp_path / "kept.json"
    path.write_text(text, "latin-1")
    assert PrivateFile(path, "The login").read() == {}
