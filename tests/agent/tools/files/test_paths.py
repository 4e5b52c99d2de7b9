"""Paths and the permissions that they need."""

import errno
from pathlib import Path

import pytest

from agent.files import printable
from agent.permission.protected import is_guarded, is_secret
from agent.records.errors import ToolError
from agent.tools.files.paths import (
    edit_needs,
    missing_file_error,
    os_error_message,
    outside_need,
    read_needs,
    resolve_path,
    within,
)
from tests.agent.tools.conftest import MakeContext


@pytest.mark.parametrize(
    "path",
    [
        "/p/.env",
        "/p/.env.local",
        "/p/a/.ENV",
        "/p/server.pem",
        "/h/.ssh/config",
        "/h/.aws/credentials",
        "/h/id_ed25519",
        "/h/id_rsa.bak",
        "/h/.npmrc",
        "/h/.netrc",
        "/h/.kube/config",
        "/h/.local/share/opencode-py/auth.json",
    ],
)
def test_secret_files(path: str) -> None:
    assert is_secret(path)


@pytest.mark.parametrize(
    "path",
    [
        "/p/.env.example",
        "/p/.env.sample",
        "/p/.env.template",
        "/p/environment.py",
        "/h/id_rsa.pub",
        "/p/id_map.py",
        "/p/a.py",
        "/",
    ],
)
def test_plain_files(path: str) -> None:
    assert not is_secret(path)


@pytest.mark.parametrize(
    "path",
    [
        "/p/.git/hooks/pre-commit",
        "/p/.GIT/config",
        "/p/AGENTS.md",
        "/p/sub/claude.md",
        "/p/.opencode/agent/x.md",
        "/p/.opencode-py/config.json",
        "/p/opencode.jsonc",
        "/h/.config/opencode-py/config.json",
        "/p/.claude/settings.json",
        "/h/.local/share/opencode-py/sessions.db",
        "/p/.mcp.json",
    ],
)
def test_protected_files(path: str) -> None:
    assert is_guarded(path)


def test_a_project_called_like_the_agent_is_not_protected() -> None:
    assert not is_guarded("/home/me/opencode-py/agent/files.py")
    assert not is_guarded("/p/.gitignore")


def test_relative_paths_start_at_the_session_folder(
    make_context: MakeContext, tmp_path: Path
) -> None:
    (tmp_path / "sub").mkdir()
    ctx = make_context(tmp_path / "sub", project=tmp_path)
    target = resolve_path("../a.py", ctx)
    assert (target.shown, target.outside) == ("a.py", False)
    assert resolve_path(str(tmp_path / "b.py"), ctx).shown == "b.py"
    assert resolve_path("~", ctx).path == str(Path.home())


def test_paths_as_results_show_them_are_found(make_context: MakeContext, tmp_path: Path) -> None:
    """Results are relative to the project, the session may be in a folder below."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.py").touch()
    ctx = make_context(tmp_path / "sub", project=tmp_path)
    assert resolve_path("sub/a.py", ctx).path == str(tmp_path / "sub" / "a.py")
    assert resolve_path("sub/new.py", ctx).path == str(tmp_path / "sub" / "sub" / "new.py")


def test_bad_paths_are_sentences(make_context: MakeContext) -> None:
    for bad in ("", "  ", "a\0b"):
        with pytest.raises(ToolError):
            resolve_path(bad, make_context())


def test_a_sibling_with_the_same_prefix_is_outside(
    make_context: MakeContext, tmp_path: Path
) -> None:
    project = tmp_path / "app"
    project.mkdir()
    target = resolve_path(f"{project}-old/x", make_context(project))
    assert target.outside
    assert not within("/a/bc", "/a/b")
    (need,) = outside_need(target)
    assert (need.permission, need.pattern, need.always) == (
        "external_directory",
        f"{tmp_path}/app-old/*",
        f"{tmp_path}/app-old/*",
    )


def test_a_link_out_of_the_project_is_outside(make_context: MakeContext, tmp_path: Path) -> None:
    project = tmp_path / "app"
    project.mkdir()
    (tmp_path / "other").mkdir()
    (project / "link").symlink_to("../other")
    target = resolve_path("link/x.txt", make_context(project))
    assert target.outside
    external, need = edit_needs(target)
    assert external.pattern == f"{tmp_path}/other/*"
    assert need.pattern == f"{tmp_path}/other/x.txt"
    assert need.aliases == ("link/x.txt",)


def test_dots_after_a_link_are_resolved_as_the_system_does(
    make_context: MakeContext, tmp_path: Path
) -> None:
    project = tmp_path / "app"
    (tmp_path / "other" / "deep").mkdir(parents=True)
    project.mkdir()
    (project / "link").symlink_to("../other/deep")
    target = resolve_path("link/../x", make_context(project))
    assert target.real == str(tmp_path / "other" / "x")
    assert target.outside


def test_needs_of_reading(make_context: MakeContext, tmp_path: Path) -> None:
    ctx = make_context(tmp_path)
    (need,) = read_needs(resolve_path("src/a.py", ctx))
    assert (need.pattern, need.always, need.default_action) == ("src/a.py", "src/*", "allow")
    (secret,) = read_needs(resolve_path(".env", ctx))
    assert (secret.pattern, secret.always, secret.default_action) == (".env", ".env", "ask")
    assert secret.reason
    (tmp_path / "innocent.txt").symlink_to(".env")
    (linked,) = read_needs(resolve_path("innocent.txt", ctx))
    assert (linked.pattern, linked.default_action) == (".env", "ask")


def test_needs_of_editing(make_context: MakeContext, tmp_path: Path) -> None:
    ctx = make_context(tmp_path)
    (need,) = edit_needs(resolve_path("src/a.py", ctx))
    assert (need.pattern, need.always, need.default_action, need.strict) == (
        "src/a.py",
        "src/a.py",
        "ask",
        "",
    )
    (guarded,) = edit_needs(resolve_path("AGENTS.md", ctx))
    assert guarded.always is None
    assert guarded.strict == "guarded"
    assert guarded.reason


def test_errors_of_the_system_are_sentences() -> None:
    error = os_error_message(OSError(errno.ENOSPC, "x"), "a.txt", "written")
    assert str(error) == ("a.txt cannot be written: the disk is full. The file was left as it was.")
    assert "permission is denied" in str(
        os_error_message(PermissionError(errno.EACCES, "x"), "a", "read")
    )


def test_near_names_are_suggested_inside_the_project_only(
    make_context: MakeContext, tmp_path: Path
) -> None:
    project = tmp_path / "app"
    project.mkdir()
    (project / "settings.py").touch()
    (tmp_path / "passwords.txt").touch()
    ctx = make_context(project)
    assert "settings.py" in str(missing_file_error(resolve_path("setings.py", ctx)))
    assert "passwords" not in str(
        missing_file_error(resolve_path("../password.txt", ctx))
    ).removeprefix(str(tmp_path / "password.txt"))


def test_names_that_are_not_utf8_become_printable() -> None:
    assert printable("a\udcff") == "a\ufffd"
    assert printable("größe") == "größe"


def test_the_permission_for_a_link_names_its_target(
    make_context: MakeContext, tmp_path: Path
) -> None:
    project = tmp_path / "app"
    project.mkdir()
    (tmp_path / "other").mkdir()
    (project / "link").symlink_to("../other")
    (need,) = outside_need(resolve_path("link/x.txt", make_context(project)))
    assert need.shown == f"{tmp_path}/other/x.txt"
    assert need.reason == "link/x.txt leads outside the project"


@pytest.mark.parametrize("path", ["/x.txt", "~/x.txt", "../x.txt", "../../x.txt"])
def test_always_is_not_offered_for_too_wide_a_folder(
    make_context: MakeContext, tmp_path: Path, path: str
) -> None:
    """Never the root, the home folder or what holds the project."""
    project = tmp_path / "below" / "app"
    project.mkdir(parents=True)
    (need,) = outside_need(resolve_path(path, make_context(project)))
    assert need.always is None
