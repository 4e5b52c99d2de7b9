"""Files that a command in a sandbox can't write, and files that it can't read."""

import os
import subprocess
from pathlib import Path

import pytest

from agent.process.sandbox import SandboxPolicy
from tests.agent.process.sandbox.conftest import Trial

LEVELS = ("read-only", "workspace-write")

WRITES = {
    "a new file": "echo x > ../outside/new",
    "an existing file": "echo x > ../outside/file",
    "appended": "echo x >> ../outside/file",
    "truncated": "python3 -c 'import os; os.truncate(\"../outside/file\", 0)'",
    "removed": "rm -rf ../outside",
    "through a link": "echo x > link/new; rm link/file",
    "through a new link": "ln -s ../outside other; echo x > other/new",
    "through a hard link": "ln ../outside/file hard; echo x > hard",
    "moved in": "mv ../outside/file here",
    "moved out": "mv file ../outside/file",
    "a folder": "mkdir ../outside/folder",
    "a socket or a pipe": "mkfifo ../outside/pipe",
    "by /proc/self/root": "echo x > /proc/self/root$PWD/../outside/new",
    "by /proc/1/root": "echo x > /proc/1/root$PWD/../outside/new",
    "by /proc/PID/cwd": "echo x > /proc/$$/cwd/../outside/new",
    "by a descriptor": "exec 7< ../outside/file; echo x > /proc/self/fd/7",
    "by a mount": "mkdir m; mount --bind ../outside m; echo x > m/new",
    "remounted": "mount -o remount,bind,rw /; echo x > ../outside/new",
    "in a namespace": "unshare -Urm sh -c 'mount -o remount,bind,rw /; echo x > ../outside/new'",
    "the project moved": "cd ..; mv project outside/; mv project other",
    "the surroundings": "cd ..; mv outside gone; mv secret project/",
}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("script", WRITES.values(), ids=WRITES.keys())
def test_nothing_outside_is_written(trial: Trial, script: str, level: str) -> None:
    before = trial.state()
    trial.sh(script, level)
    assert trial.state() == before


ATTRIBUTES = {
    "mode": "chmod 777 ../outside/file . file",
    "time": "touch -d 2001-01-01 ../outside/file file",
    "attribute": "setfattr -n user.x -v y file ../outside/file",
}


@pytest.mark.parametrize("script", ATTRIBUTES.values(), ids=ATTRIBUTES.keys())
def test_read_only_changes_no_attributes(trial: Trial, script: str) -> None:
    files = (trial.outside / "file", trial.project / "file")
    before = [(file.stat().st_mode, file.stat().st_mtime_ns) for file in files]
    trial.sh(script, "read-only")
    assert [(file.stat().st_mode, file.stat().st_mtime_ns) for file in files] == before
    assert not any(os.listxattr(file) for file in files)


def test_read_only_writes_its_temporary_folder_alone(trial: Trial) -> None:
    before = sorted(trial.project.rglob("*"))
    script = 'echo x > new; echo y > "$TMPDIR/y" && cat "$TMPDIR/y" && echo "$TMPDIR" >&2'
    lines = trial.sh(script, "read-only").splitlines()
    assert "y" in lines
    assert sorted(trial.project.rglob("*")) == before
    assert not Path(lines[-1], "y").exists()


def test_each_read_only_command_gets_a_fresh_folder(trial: Trial) -> None:
    script = 'ls -A "$TMPDIR"; echo x > "$TMPDIR/left"'
    assert trial.sh(script, "read-only") + trial.sh(script, "read-only") == ""


@pytest.mark.parametrize("level", LEVELS)
def test_system_folders_are_not_written(trial: Trial, level: str) -> None:
    name = trial.base.name + str(os.getpid())
    places = ("/dev/shm", "/proc", "/sys", "/sys/fs/cgroup", "/run", "/etc", "/usr", "/var/tmp")
    trial.sh(
        "; ".join(f"echo x > {place}/{name}; mkdir {place}/d{name}" for place in places), level
    )
    if level == "workspace-write" and trial.sandbox.name == "landlock":
        places = places[1:]  # semaphores of workers are shared there
        Path("/dev/shm", name).unlink()
        Path("/dev/shm", f"d{name}").rmdir()
    for place in places:
        assert not Path(place, name).exists()
        assert not Path(place, f"d{name}").exists()


@pytest.mark.parametrize("level", LEVELS)
def test_settings_of_the_kernel_are_not_written(trial: Trial, level: str) -> None:
    # A value that is there already: where the sandbox fails, nothing is harmed.
    script = 'v=$(cat /proc/sys/vm/swappiness); echo "$v" > /proc/sys/vm/swappiness && echo written'
    assert "written" not in trial.sh(script, level)


def test_the_project_is_written(trial: Trial) -> None:
    script = (
        "echo new > file && mkdir -p a/b && mv file a/b/ && ln a/b/file hard && rm -r a && cat hard"
    )
    assert trial.sh(script) == "new\n"


def test_devices_and_pipes_are_written(trial: Trial) -> None:
    script = "echo x > /dev/null && echo y > /dev/stdout && head -c 2 /dev/zero | wc -c"
    for level in LEVELS:
        assert trial.sh(script, level).split() == ["y", "2"]


PROTECTED = {
    "written": "echo x >> .git/config; echo x > AGENTS.md",
    "replaced": "echo x > new; mv new .git/config; echo x > new; mv new AGENTS.md",
    "removed": "rm -f .git/config",
    "linked": "ln -sf /tmp .git/hooks; ln -s file AGENTS.md; ln file .git/config",
    "created": "mkdir -p .git/hooks; echo x > .git/hooks/pre-commit",
    "parent moved": "mv .git old; mkdir -p .git/hooks; echo x > .git/config",
    "parent removed": "rm -rf .git; mkdir -p .git/hooks; echo x > .git/config",
    "parent linked": "mv .git old; ln -s old .git; echo x > .git/config",
    "another name": "ln .git/config other; echo x > other",
    "by git": "git init .; git config user.name x",
}


@pytest.mark.parametrize("script", PROTECTED.values(), ids=PROTECTED.keys())
def test_protected_paths_stay(trial: Trial, script: str) -> None:
    if not trial.sandbox.protects:
        pytest.skip("Landlock cannot exclude a path inside a writable folder")
    trial.sh(script)
    git = trial.project / ".git"
    assert git.is_dir()
    assert (git / "config").read_text() == "[core]\n"
    assert not list((git / "hooks").glob("*"))
    assert not (trial.project / "AGENTS.md").is_file()


def test_the_file_of_a_worktree_stays(trial: Trial) -> None:
    if not trial.sandbox.protects:
        pytest.skip("Landlock cannot exclude a path inside a writable folder")
    (trial.project / ".git" / "config").unlink()
    (trial.project / ".git").rmdir()
    (trial.project / ".git").write_text("gitdir: elsewhere\n")
    trial.sh("mv .git old; rm -f .git; mkdir -p .git/hooks; echo x > .git")
    assert (trial.project / ".git").read_text() == "gitdir: elsewhere\n"


def test_missing_protected_paths_leave_no_trace(trial: Trial) -> None:
    trial.sh("true")
    assert not (trial.project / "AGENTS.md").exists()
    assert not (trial.project / ".git" / "hooks").exists()


READS = {
    "a file": "cat ../outside/token",
    "in a folder": "cat ../secret/key",
    "through a link": "cat to-key",
    "through a new link": "ln -s ../secret l; cat l/key",
    "through a hard link": "ln ../secret/key hard; ln ../outside/token h2; cat hard h2",
    "moved": "mv ../secret here; mv ../outside o; cat here/key o/token",
    "copied": "cp -r ../secret ../outside .; cat secret/key outside/token",
    "by /proc/self/root": "cat /proc/self/root$PWD/../secret/key",
    "by /proc/1/root": "cat /proc/1/root$PWD/../secret/key /proc/1/cwd/../outside/token",
    "uncovered": "umount ../secret ../outside/token; cat ../secret/key ../outside/token",
    "in a namespace": "unshare -Urm sh -c 'umount ../secret; cat ../secret/key'",
    "executed": "sh ../secret/key; . ../secret/key",
}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("script", READS.values(), ids=READS.keys())
def test_hidden_files_are_not_read(trial: Trial, script: str, level: str) -> None:
    assert "S3CRET" not in trial.sh(script, level)


def test_everything_else_is_read(trial: Trial) -> None:
    for level in LEVELS:
        assert trial.sh("cat ../outside/file file link/file", level) == "outside\ntext\noutside\n"


@pytest.mark.parametrize("level", LEVELS)
def test_a_project_inside_a_hidden_folder_is_open(trial: Trial, level: str) -> None:
    inside = trial.secret / "project"
    inside.mkdir()
    (inside / "file").write_text("text\n")
    policy = SandboxPolicy(
        "read-only" if level == "read-only" else "workspace-write",
        writable=(str(inside),),
        protected=(str(trial.secret / "key"),),
        hidden=(str(trial.secret),),
    )
    argv = trial.sandbox.wrap(
        ("/bin/sh", "-c", "cat file ../key; echo x > new"), policy, str(inside)
    )
    done = subprocess.run(argv, cwd=inside, capture_output=True, text=True, check=False)
    assert done.stdout == "text\n"
    assert (inside / "new").exists() == (level == "workspace-write")
