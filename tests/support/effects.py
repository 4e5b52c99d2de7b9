"""A prepared folder in which command lines are run with bash, and what each of them changed.

The folder has what a hostile project could hold: data that is shell code, files named like options,
programs named like common ones, links to secrets and elsewhere, a repository with a monitor.
"""

import contextlib
import os
import shutil
import signal
import stat
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.hostile_repositories import plain

SECRET = "s3cr3t-marker"
"""Stands in the files that no line may print: ``.env``, and all that is outside the project."""
RAN = "planted-code-ran"
"""Printed by each program that must never run, and the name of the file that it leaves."""

LIMIT = 5.0
"""Seconds for a line, in which nothing waits for input."""

TRIPWIRES = (
    "hit", "wget", "ssh", "nc", "ruby", "php", "vi", "vim", "nano", "ed", "ex", "emacs",
    "npm", "npx", "pip", "gpg", "sudo", "mail", "curl", "perl",
    "lesspipe", "dbus-launch", "xdg-open",
)  # fmt: skip
PLANTED = ("hit", "ls", "cat", "git", "sort", "less", "echo", "true", "x.sh", "sub/git", "sub/ls")
INFORMATION = "--version|-v|-V|--help|-h|version|help"

FILES: Mapping[str, str] = {
    "a.txt": "one\ntwo o\nline a b\n",
    "data.txt": "a[$(touch M)]\n$(touch M)\ntouch M\n`hit`\n; hit\n-oM\n.env\n",
    "list.txt": "a.txt\ndata.txt\n.env\n",
    "b.json": '{"a": 1, "b": [1, 2]}\n',
    "c.csv": "a[$(touch M)],2\n3,4\n",
    "main.py": "import os\nopen('M', 'w').close()\n",
    "Makefile": "x := $(shell touch M)\nall:\n\ttouch M\n",
    "x.js": "require('fs').writeFileSync('M', '')\n",
    "x.sed": "w M\n",
    "x.awk": 'BEGIN { system("touch M") }\n',
    "x.jq": "$ENV\n",
    "README.md": "# Read me\n",
    "sp ace.txt": "space\n",
    "sub/d.txt": "d\n",
    "sub/e.txt": "e 1\n",
    "-oz": "option\n",
    "--pre=sh": "option\n",
    "-exec": "option\n",
    "touch M": "name\n",
    "$(touch M)": "name\n",
    "a[$(touch M)]": "name\n",
    "new\nline": "name\n",
    ".env": f"PASSWORD={SECRET}\n",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """One line that was run."""

    code: int | None
    """The exit code; None if the time was up."""
    output: str
    effects: tuple[str, ...]
    """Everything that it did besides printing what may be printed."""


class EffectFolder:
    """The folder with the project, the home and the temporary folder of each line."""

    def __init__(self, base: Path) -> None:
        self.base = base.resolve()
        self.world = self.base / "world"
        self.project = self.world / "parent" / "project"
        self.home = self.world / "home"
        self.temporary = self.world / "tmp"
        self._programs = self.base / "programs"
        self._marks = self.base / "marks"
        self._original = self.base / "original"
        for folder in (self._programs, self._marks):
            folder.mkdir()
        for name in TRIPWIRES:
            self._plant(self._programs / name)
        self._fill()
        shutil.copytree(self.world, self._original, symlinks=True)
        self._before = self._state()

    def environment(self, more: Mapping[str, str]) -> dict[str, str]:
        """Return the variables of a line: *more*, then those of this folder."""
        path = more.get("PATH", os.environ["PATH"])
        wrapper, _, rest = path.partition(os.pathsep)
        return {
            **more,
            "PATH": os.pathsep.join((wrapper, str(self._programs), rest)),
            "HOME": str(self.home),
            "TMPDIR": str(self.temporary),
        }

    def run(
        self,
        line: str,
        env: Mapping[str, str],
        wrap: Callable[[tuple[str, ...]], tuple[str, ...]] = lambda argv: argv,
    ) -> Outcome:
        """Run *line* with bash in the project; then repair what it changed."""
        code, output = _run(wrap(("bash", "--noprofile", "--norc", "-c", line)), self.project, env)
        effects = list(self._changes())
        if SECRET in output:
            effects.append("printed a secret")
        if RAN in output or any(self._marks.iterdir()):
            effects.append("ran planted code")
        if effects:
            self._restore()
        return Outcome(code, output, tuple(effects))

    def _plant(self, program: Path) -> None:
        program.parent.mkdir(exist_ok=True)
        program.write_text(
            f"#!/bin/sh\ncase $1 in {INFORMATION}) exit 0 ;; esac\n"
            f": > {self._marks}/mark\necho {RAN[:3]}''{RAN[3:]}\n"
        )
        program.chmod(0o755)

    def _fill(self) -> None:
        for folder in (self.project / "sub", self.home / ".ssh", self.temporary, self._elsewhere):
            folder.mkdir(parents=True)
        for name, text in FILES.items():
            (self.project / name).write_text(text)
        (self.project / os.fsdecode(b"caf\xe9\xff")).write_text("odd\n")
        (self.project / "lnk").symlink_to(".env")
        (self.project / "sub" / "up.txt").symlink_to("../.env")
        (self.project / "out").symlink_to(self._elsewhere)
        os.link(self.project / "a.txt", self.project / "sub" / "hard.txt")
        for place in (
            self.project.parent / "outside.txt",
            self.home / "notes.txt",
            self.home / ".ssh" / "id_rsa",
            self._elsewhere / "outside.txt",
            self.temporary / "t",
        ):
            place.write_text(f"{SECRET}\n")
        for name in PLANTED:
            self._plant(self.project / name)
        subprocess.run(["tar", "cf", "t.tar", "a.txt"], cwd=self.project, check=True)
        (self.project / ".gitignore").write_text(".env\nlnk\nsub/up.txt\nout\n")
        for repository in (self.project / "inner", self.project):
            self._commit(repository)

    @property
    def _elsewhere(self) -> Path:
        return self.world / "elsewhere"

    def _commit(self, repository: Path) -> None:
        repository.mkdir(exist_ok=True)
        (repository / "g.txt").write_text("one\n")
        plain(repository, "init", "-q", "-b", "main")
        plain(repository, "add", "g.txt")
        if repository == self.project:
            plain(repository, "add", "a.txt", "data.txt", "sub/d.txt", ".gitignore")
        plain(repository, "commit", "-qm", "first")
        (repository / "g.txt").write_text("two\n")
        run = str(self.project / "hit")
        for key in ("core.fsmonitor", "diff.external", "core.pager", "alias.st", "core.sshCommand"):
            plain(repository, "config", key, f"!{run}" if key == "alias.st" else run)
        plain(repository, "config", "filter.x.clean", run)
        plain(repository, "config", "diff.x.textconv", run)
        (repository / ".gitattributes").write_text("*.txt filter=x diff=x\n")
        hook = repository / ".git" / "hooks" / "post-index-change"
        hook.parent.mkdir(exist_ok=True)
        self._plant(hook)

    def _state(self) -> dict[str, tuple[int, ...]]:
        found: dict[str, tuple[int, ...]] = {}
        waiting = [str(self.world)]
        while waiting:
            for entry in os.scandir(waiting.pop()):
                status = entry.stat(follow_symlinks=False)
                # The last one changes with all else, and no program can set it.
                found[entry.path] = (status.st_mode, status.st_size, status.st_ctime_ns)
                if stat.S_ISDIR(status.st_mode):
                    waiting.append(entry.path)
        return found

    def _changes(self) -> Iterator[str]:
        after = self._state()
        for path in sorted(self._before.keys() | after.keys()):
            old, new = self._before.get(path), after.get(path)
            name = os.path.relpath(path, self.project)
            if old != new:
                kind = "created" if old is None else "removed" if new is None else "changed"
                yield f"{kind} {name}"

    def _restore(self) -> None:
        for mark in self._marks.iterdir():
            mark.unlink()
        for entry in self.world.iterdir():
            shutil.rmtree(entry)
        shutil.copytree(self._original, self.world, symlinks=True, dirs_exist_ok=True)
        (self.project / "sub" / "hard.txt").unlink()
        os.link(self.project / "a.txt", self.project / "sub" / "hard.txt")
        self._before = self._state()


def _run(argv: tuple[str, ...], folder: Path, env: Mapping[str, str]) -> tuple[int | None, str]:
    process = subprocess.Popen(
        argv,
        cwd=folder,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    code: int | None = None
    output = b""
    try:
        output, _ = process.communicate(timeout=LIMIT)
        code = process.returncode
    except subprocess.TimeoutExpired as error:
        output = error.output or b""
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    return code, output.decode(errors="replace")
