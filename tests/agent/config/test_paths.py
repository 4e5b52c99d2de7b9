"""The folders of the program, and folders that cannot be used."""

import os
import stat

import pytest

from agent.config.paths import Paths, display_path, ensure_folder
from agent.records.errors import ConfigError


def test_xdg_folders_are_used(tmp_path):
    env = {
        "XDG_CONFIG_HOME": str(tmp_path / "c"),
        "XDG_DATA_HOME": str(tmp_path / "d"),
        "XDG_CACHE_HOME": str(tmp_path / "x"),
        "XDG_STATE_HOME": str(tmp_path / "s"),
    }
    paths = Paths.find(env)
    assert paths.config == tmp_path / "c" / "opencode-py"
    assert paths.data == tmp_path / "d" / "opencode-py"
    assert paths.cache == tmp_path / "x" / "opencode-py"
    assert paths.log == tmp_path / "s" / "opencode-py" / "log"


def test_own_variables_win_and_logs_move_along(tmp_path):
    env = {
        "HOME": str(tmp_path),
        "OPENCODE_PY_DATA": "~/mine",
        "OPENCODE_PY_CONFIG_DIR": str(tmp_path / "cfg"),
        "XDG_DATA_HOME": "/elsewhere",
    }
    paths = Paths.find(env)
    assert paths.data == tmp_path / "mine"
    assert paths.config == tmp_path / "cfg"
    assert paths.cache.is_relative_to(paths.data)
    assert paths.log.is_relative_to(paths.data)


def test_relative_xdg_folders_are_ignored():
    assert Paths.find({"XDG_CONFIG_HOME": "relative"}).config.is_absolute()


def test_only_ensure_folder_creates_folders_which_are_private(tmp_path):
    paths = Paths.find({"OPENCODE_PY_DATA": str(tmp_path / "a" / "b")})
    assert not (tmp_path / "a").exists()
    ensure_folder(paths.log)
    for folder in (tmp_path / "a", paths.data, paths.log):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert ensure_folder(paths.log) == paths.log


def test_a_file_in_place_of_a_folder_is_an_error_in_a_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(ConfigError, match="OPENCODE_PY_DATA"):
            ensure_folder(folder)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_an_unwritable_folder_is_an_error_in_a_sentence(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(ConfigError, match="cannot be"):
            ensure_folder(tmp_path)
        with pytest.raises(ConfigError, match="cannot be made"):
            ensure_folder(tmp_path / "below")
    finally:
        tmp_path.chmod(0o700)


def test_paths_are_shown_relative_to_home(tmp_path):
    env = {"HOME": str(tmp_path)}
    assert display_path(tmp_path / "a" / "b", env) == "~/a/b"
    assert display_path(tmp_path.parent, env) == str(tmp_path.parent)
