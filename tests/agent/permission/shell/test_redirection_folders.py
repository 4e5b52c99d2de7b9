"""The folder in which bash performs each redirection, compared with a real bash."""

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from agent.permission.shell.analysis import analyze

BUDGET = 6_000 if os.environ.get("CANCEL_POINTS") == "0" else 150
"""Lines that are generated."""

FOLDERS = ("a", "b", "a/b", "b/a", "a/b/a")
MOVES = ("cd a", "cd b", "cd ..", "cd a/b", "pushd b", "c''d a", "cd a || cd b", "command cd b")
ACTIONS = ("echo x", "true", "x=1", "[[ -n x ]]", "((1))", "false", "! true", "cat < /dev/null")
SIMPLE = ("{} > {}", "{} 2> {}", "> {1} {0}", "{} >> {} 2>&1", "{} &> {}")
COMPOUND = (
    "{{ {}; }} > {}",
    "({}) > {}",
    "if {}; then echo y; fi > {}",
    "for i in 1; do {}; done > {}",
    "while {}; do break; done > {}",
    "case x in x) {};; esac > {}",
)
JOINS = ("{} && {}", "{}; {}", "{} || {}", "{} | {}", "{} & {}", "! {} && {}", "({}); {}")
HEREDOCS = (
    "cat <<E > {} && {}\nx\nE",
    "cat <<E | cat > {}; {}\nx\nE",
    "{1} && cat > {0} <<E\nx\nE",
)


class Lines:
    """Makes random lines; each redirection has a file name of its own."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.files = 0

    def name(self) -> str:
        self.files += 1
        return f"f{self.files}"

    def part(self, depth: int) -> str:
        kind = self.random.randrange(8) if depth else self.random.randrange(3)
        if kind == 0:
            return self.random.choice(MOVES)
        if kind in (1, 2):
            action = self.random.choice(ACTIONS)
            if action in ("x=1", "! true", "[[ -n x ]]", "((1))"):
                return f"{action} > {self.name()}" if action[0] in "[(" else action
            return self.random.choice(SIMPLE).format(action, self.name())
        if kind == 3:
            return self.random.choice(COMPOUND).format(self.part(depth - 1), self.name())
        left, right = self.part(depth - 1), self.part(depth - 1)
        if "\n" in left:
            return left
        return self.random.choice(JOINS).format(left, right)

    def line(self) -> str:
        if self.random.random() < 0.15:
            line = self.random.choice(HEREDOCS).format(self.name(), self.part(1))
            return line if line.count("\n") == 2 else self.part(2)
        return self.part(3)


def written(folder: Path, line: str) -> set[str]:
    """Return the files that a real bash makes."""
    for name in FOLDERS:
        (folder / name).mkdir(parents=True)
    subprocess.run(
        ["bash", "--noprofile", "--norc", "-c", f"{line}\nwait"],
        cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False,
    )  # fmt: skip
    found = {str(path) for path in folder.parent.rglob("f[0-9]*") if path.is_file()}
    shutil.rmtree(folder.parent)
    return found


def test_each_file_that_bash_writes_is_an_edit(tmp_path: Path) -> None:
    lines = Lines(20)
    files = 0
    for number in range(BUDGET):
        folder = tmp_path / "x" / str(number) / "p"
        line = lines.line()
        for name in FOLDERS:
            (folder / name).mkdir(parents=True, exist_ok=True)
        found = analyze(line, directory=str(folder), project=str(folder), home="/home/u")
        shutil.rmtree(folder)
        expected = written(folder, line)
        files += len(expected)
        if not found.problem:
            unknown = any(need.strict == "unknown" for need in found.needs)
            missed = {os.path.realpath(path) for path in expected} - set(found.edits)
            assert unknown or not missed, line
    assert files > BUDGET // 2


@pytest.mark.parametrize(
    ("line", "edits"),
    [
        ("cd src && echo x > f", "src/f"),
        ("cd src > f && echo x", "f"),
        ("cd src && x | tee ../build.log", ""),
        ("cd src && cd lib && echo x > f > g", "src/lib/f src/lib/g"),
        ("(cd src && echo x) > f", "f"),
        ("(cd src; echo x > f); echo y > g", "src/f g"),
        ("{ cd src; echo x; } > f; echo y > g", "f src/g"),
        ("cd src && cat <<E > f && echo y > g\nx\nE", "src/f src/g"),
        ("cd src && cat <<E | cat > f\nx\nE", "src/f"),
        ("cd src | cat > f; echo x > g", "f g"),
        ("cd src & echo x > f", "f"),
        ("> f && cd src && > g", "f src/g"),
        ("cd src && ! echo x > f", "src/f"),
        ("cd src && cat <<< x > f", "src/f"),
        ("cat <<<'x'>f", "f"),
        ("cat <<<'x'y'z'>f 2>g", "f g"),
        ("cat <<< 'a'b > f", "f"),
        ("cd src && for i in a; do echo x; done > f", "src/f"),
        ("cd src && if cd lib; then echo x; fi > f", "src/f"),
        ("time cd src && echo x > f", "src/f"),
        ("coproc cd src; echo x > f", "f"),
        ("cd src; cd ..; echo x > f", "f"),
    ],
)
def test_a_redirection_follows_the_folder(line: str, edits: str, tmp_path: Path) -> None:
    (tmp_path / "src" / "lib").mkdir(parents=True)
    found = analyze(line, directory=str(tmp_path), project=str(tmp_path), home="/home/u")
    assert [path.removeprefix(f"{tmp_path}/") for path in found.edits] == edits.split()
    assert not found.externals
    assert not found.problem


def test_a_guarded_file_is_found_after_a_change_of_folder() -> None:
    found = analyze(
        "cd .git/hooks && echo x > post-commit", directory="/srv/p", project="/srv/p", home="/h"
    )
    assert [need.strict for need in found.needs if need.permission == "edit"] == ["guarded"]


def test_a_folder_that_does_not_exist_may_not_have_been_entered(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    where = str(tmp_path)

    def outside(line: str) -> bool:
        return bool(analyze(line, directory=where, project=where, home="/home/u").externals)

    assert not outside("cd src; cat ../x")
    assert outside("cd nowhere; cat ../x")
    assert outside("cd src other; cat ../x")
    assert outside("rm -r src; cd src; cat ../x")
    assert outside("cd src; cat ../../x")
