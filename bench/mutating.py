"""``python -m bench.mutating [group…] [--last DIGITS]``: do the tests notice a changed line?

mutmut changes one thing at a time in the modules of each group and runs the tests that reach
it; a change that no test notices *survives*. It works in a copy of the tracked files, since it
rewrites what it mutates. A whole run takes hours: ``--last 37`` tries only the mutants whose
number in their function ends in 3 or 7, which is a fifth of them and the same one each time.
The cases beside the checkout are left out, so that the score is what any clone would get. A
survivor in which nothing but the words of a message changed is no fault and is not counted:
tests are not to pin sentences.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.__main__ import show
from bench.row import Row

BOUND = 0.85
"""Share of the changes that the tests must notice, in each group (the project's own figure)."""
CAUGHT = frozenset({1, 3, 36, 24, 152, 255, -24, -9, -11})
"""mutmut's exit codes for a failing test, an endless run and a crash."""

GROUP_SETTINGS = """
[tool.mutmut]
source_paths = ["agent"]
only_mutate = {modules}
also_copy = ["app", "bench", "docs", "snapshots", "opencode_py.py", "AGENTS.md", "CONTRIBUTING.md"]
pytest_add_cli_args = ["-p", "no:xdist"]
pytest_add_cli_args_test_selection = {tests}
use_git_change_detection = false
track_dependencies = false
"""


@dataclass(frozen=True, slots=True)
class Group:
    """Modules, and the tests that are to hold them; both as paths from the top."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]


GROUPS = {
    "rules": Group(
        tuple(
            f"agent/permission/{name}.py"
            for name in ("rules", "saving", "service", "arity", "naming", "protected", "trust")
        ),
        ("tests/permission",),
    ),
    "shell": Group(
        (
            "agent/permission/shell_*.py",
            "agent/permission/bash.py",
            "agent/permission/readonly.py",
            "agent/permission/wrappers.py",
            "agent/permission/carriers.py",
            "agent/permission/git_commands.py",
            "agent/permission/project_*.py",
            "agent/permission/findings.py",
            "agent/permission/embedded.py",
            "agent/permission/interpreters.py",
        ),
        tuple(
            f"tests/permission/test_{name}.py"
            for name in (
                "bash",
                "bash_attacks",
                "bash_denied",
                "bash_lines",
                "bash_secrets",
                "everyday",
                "fetching",
                "git_reading",
                "judging",
                "trust",
            )
        ),
    ),
    "edit": Group(
        ("agent/tools/edit_match/*.py", "agent/tools/editing.py", "agent/tools/edit.py"),
        ("tests/tools/edit_match", "tests/tools/test_edit.py", "tests/tools/test_multiedit.py"),
    ),
    "processor": Group(
        ("agent/session/processor.py",),
        (
            "tests/session/test_processor.py",
            "tests/session/test_turn.py",
            "tests/session/test_stream_faults.py",
            "tests/provider/test_native_sessions.py",
        ),
    ),
}


def main(arguments: list[str]) -> int:
    asked = _asked(arguments)
    rows: list[Row] = []
    left: list[str] = []
    for name in asked.groups or GROUPS:
        with tempfile.TemporaryDirectory(prefix=f"mutants-{name}-") as temporary:
            folder = Path(asked.keep) / name if asked.keep else Path(temporary)
            _copy(folder, GROUPS[name])
            _run(folder, asked.last)
            tried = dict(_results(folder))
            survivors = [each for each, code in tried.items() if code not in CAUGHT]
            changes = {each: _change(folder, each) for each in survivors}
            told = {each: change for each, change in changes.items() if not _is_wording(*change)}
            number = len(tried) - len(changes) + len(told)
            share = 1 - len(told) / max(1, number)
            rows.append(
                Row(
                    f"mutation: {name}",
                    f"{share:.1%} of {number}",
                    f"≥ {BOUND:.0%}",
                    "ok" if share >= BOUND else "too many survive",
                )
            )
            left += ["\n".join([each, *map("\n".join, change)]) for each, change in told.items()]
    print("\n".join(left))
    show(rows)
    return 0


def _asked(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.mutating")
    parser.add_argument("groups", nargs="*", choices=[*GROUPS, []], help="default: all")
    parser.add_argument("--last", default="", help="only mutants whose number ends in these digits")
    parser.add_argument("--keep", default="", help="work in this folder and leave it there")
    return parser.parse_args(arguments)


def _copy(folder: Path, group: Group) -> None:
    top = Path(__file__).parents[1]
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=top, check=True, capture_output=True, text=True
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (source := top / name).is_file():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
    settings = GROUP_SETTINGS.format(modules=list(group.modules), tests=list(group.tests))
    with (folder / "pyproject.toml").open("a", encoding="utf-8") as file:
        file.write(settings)


def _mutmut(folder: Path, *arguments: str, quiet: bool = False) -> str:
    environment = {**os.environ, "PYTHONPATH": "", "OPENCODE_PY_SHARED": str(folder / "none")}
    command = [sys.executable, "-m", "mutmut", *arguments]
    done = subprocess.run(
        command, cwd=folder, env=environment, check=False, text=True, stdout=subprocess.PIPE
    )
    if done.returncode and not quiet:
        sys.exit(f"mutmut could not run:\n{done.stdout[-3000:]}")
    return done.stdout


def _run(folder: Path, digits: str) -> None:
    names = [f"*__mutmut_*{digit}" for digit in digits]
    _mutmut(folder, "run", *names)


def _results(folder: Path) -> Iterator[tuple[str, int]]:
    for path in sorted((folder / "mutants").rglob("*.py.meta")):
        codes: dict[str, int | None] = json.loads(path.read_text())["exit_code_by_key"]
        yield from ((name, code) for name, code in codes.items() if code is not None)


def _change(folder: Path, mutant: str) -> tuple[list[str], list[str]]:
    """The lines that the change takes away, and those that it puts there."""
    lines = _mutmut(folder, "show", mutant, quiet=True).splitlines()
    body = [line for line in lines if line[:3] not in {"+++", "---"}]
    return [x for x in body if x[:1] == "-"], [x for x in body if x[:1] == "+"]


def _is_wording(before: list[str], after: list[str]) -> bool:
    """Whether only a text with a space in it was marked with XX or changed its case."""
    was, now = ("".join(line[1:].strip() for line in each) for each in (before, after))
    before_case, after_case = (text.casefold().replace("xx", "") for text in (was, now))
    return '"' in was and " " in was and before_case == after_case


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
