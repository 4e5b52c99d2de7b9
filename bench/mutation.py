"""``python -m bench.mutation [group…] [--sample N] [--seed S]``: do tests notice a changed line?

mutmut generates the changes, one at a time, in the modules of each group. A sample is drawn, and
the tests that call the changed function run against each change; a change that no test notices
*survives*. The score is printed with its sample and seed so that it can be reproduced; without a
seed a fresh one is drawn. ``--sample 0`` tries every change, which takes hours. Cases outside the
checkout are not used, so the score is the same in any clone. A survivor that changes only the
wording of a message is not counted: tests should not pin sentences.
"""

import argparse
import ast
import difflib
import fnmatch
import json
import os
import random
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.__main__ import show
from bench.mutants import Mutant
from bench.table import Row

BOUND = 0.85
"""Share of changes that the tests must notice in each group."""
SAMPLE = 200
"""Changes in a sample: its score is within about five points of that of all changes."""

_MUTATE = """
import json, sys
from mutmut.mutation.file_mutation import mutate_file_contents
changed = {name: mutate_file_contents(name, open(name).read()) for name in sys.argv[1:]}
print(json.dumps({name: [each.code, list(each.mutant_names)] for name, each in changed.items()}))
"""
"""Prints, for each file, its text with every mutant and their names."""


@dataclass(frozen=True, slots=True)
class Group:
    """Modules and the tests that cover them, as pytest arguments relative to the root."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]


GROUPS = {
    "rules": Group(
        tuple(
            f"agent/permission/{name}.py"
            for name in (
                "rules",
                "saved_rules",
                "service",
                "protected",
                "programs/arity",
                "programs/subcommands",
                "trust/trust",
            )
        ),
        ("tests/agent/permission",),
    ),
    "shell": Group(
        (
            "agent/permission/shell/*.py",
            "agent/permission/syntax/*.py",
            "agent/permission/programs/*.py",
            "agent/permission/trust/project_*.py",
        ),
        (
            "tests/agent/permission",
            # Random lines in a real bash, and cost tests: seconds for each survivor.
            "--ignore=tests/agent/permission/shell/test_fuzz.py",
            "--ignore=tests/agent/permission/shell/test_cost.py",
        ),
    ),
    "edit": Group(
        ("agent/tools/edit_match/*.py", "agent/tools/files/replacements.py", "agent/tools/edit.py"),
        (
            "tests/agent/tools/edit_match",
            "tests/agent/tools/test_edit.py",
            "tests/agent/tools/test_edit_list.py",
        ),
    ),
    "processor": Group(
        ("agent/session/turn/stream_processor.py",),
        (
            "tests/agent/session/turn/test_stream_processor.py",
            "tests/agent/session/turn/test_turn.py",
            "tests/agent/session/turn/test_stream_faults.py",
            "tests/agent/provider/test_native_sessions.py",
        ),
    ),
}


def main(arguments: list[str]) -> int:
    asked = _parse_arguments(arguments)
    rows: list[Row] = []
    for name in asked.groups or GROUPS:
        seed = random.SystemRandom().randrange(100_000) if asked.seed is None else asked.seed
        with tempfile.TemporaryDirectory(prefix=f"mutants-{name}-") as folder:
            rows.append(_row(Path(folder), name, asked.sample, seed, asked.children))
    show(rows)
    return 0


def _parse_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.mutation")
    parser.add_argument("groups", nargs="*", choices=[*GROUPS, []], help="default: all")
    parser.add_argument("--sample", type=int, default=SAMPLE, help="changes to try; 0 for all")
    parser.add_argument("--seed", type=int, help="which sample; default: a fresh one")
    parser.add_argument("--children", type=int, default=1, help="changes that are tried at once")
    return parser.parse_args(arguments)


def _row(folder: Path, name: str, sample: int, seed: int, children: int) -> Row:
    group = GROUPS[name]
    _copy(folder)
    mutants, originals = _mutants(folder, group)
    tried = random.Random(seed).sample(mutants, min(sample or len(mutants), len(mutants)))
    outcomes = _outcomes(folder, group, tried, children)
    left: list[Mutant] = []
    number = 0
    for mutant in tried:
        lines = _change(originals[mutant.place], mutant.source)
        kept = outcomes[mutant.name] in ("survived", "not reached")
        if kept and _is_wording(*lines):
            continue
        number += 1
        if kept:
            left.append(mutant)
            print("\n".join([f"{mutant.name} {outcomes[mutant.name]}", *lines[0], *lines[1]]))
    share = 1 - len(left) / max(1, number)
    return Row(
        f"mutation: {name}",
        f"{share:.1%} of {number} (of {len(mutants):,}, seed {seed})",
        f"≥ {BOUND:.0%}",
        f"{len(left)} survive",
        "ok" if share >= BOUND else "too many survive",
    )


def _copy(folder: Path) -> None:
    top = Path(__file__).parents[1]
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=top, check=True, capture_output=True, text=True
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (source := top / name).is_file():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
    with (folder / "pyproject.toml").open("a", encoding="utf-8") as file:
        file.write('\n[tool.mutmut]\nsource_paths = ["agent"]\n')


def _python(folder: Path, *arguments: str, quiet: bool) -> str:
    environment = {**os.environ, "PYTHONPATH": "", "OPENCODE_PY_SHARED": str(folder / "none")}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        check=False,
        text=True,
        stdout=subprocess.PIPE,
    )
    if done.returncode and not quiet:
        sys.exit(f"the mutants could not be tried:\n{done.stdout[-3000:]}")
    return done.stdout


def _mutants(
    folder: Path, group: Group
) -> tuple[list[Mutant], dict[tuple[str, str, str], ast.AST]]:
    """Return every mutant of the modules of *group* and the original functions, by place."""
    files = sorted(
        str(path.relative_to(folder))
        for path in (folder / "agent").rglob("*.py")
        if any(fnmatch.fnmatch(str(path.relative_to(folder)), each) for each in group.modules)
    )
    found: list[Mutant] = []
    originals: dict[tuple[str, str, str], ast.AST] = {}
    thought: dict[str, tuple[str, list[str]]] = json.loads(
        _python(folder, "-c", _MUTATE, *files, quiet=False)
    )
    for name, (text, names) in thought.items():
        module = name.removesuffix(".py").replace("/", ".")
        functions = {
            node.name: node
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        }
        for mangled in names:
            plain = mangled.rpartition("__mutmut_")[0]
            owner, _, function = plain.removeprefix("xǁ").rpartition("ǁ")
            function = function if owner else plain.removeprefix("x_")
            changed = functions[mangled]
            changed.name = function
            changed.decorator_list = []
            mutant = Mutant(f"{module}.{mangled}", module, owner, function, ast.unparse(changed))
            found.append(mutant)
            original = functions[f"{plain}__mutmut_orig"]
            original.name = function
            originals[mutant.place] = original
    return found, originals


def _outcomes(folder: Path, group: Group, mutants: list[Mutant], children: int) -> dict[str, str]:
    """Return the outcome of each of *mutants*, by name."""
    plan, outcomes = folder / "mutants.json", folder / "outcomes.json"
    plan.write_text(json.dumps([asdict(each) for each in mutants]))
    options = ("-p", "no:xdist", "-p", "bench.mutants", f"--children={children}")
    files = (f"--mutants={plan}", f"--outcomes={outcomes}")
    said = _python(folder, "-m", "pytest", *options, *files, *group.tests, quiet=True)
    if not outcomes.exists():
        sys.exit(f"the mutants could not be tried:\n{said[-3000:]}")
    return json.loads(outcomes.read_text())


def _change(original: ast.AST, source: str) -> tuple[list[str], list[str]]:
    """Return the removed and the added lines of a change."""
    lines = list(
        difflib.unified_diff(
            ast.unparse(original).splitlines(), source.splitlines(), n=0, lineterm=""
        )
    )[2:]
    return [x for x in lines if x[:1] == "-"], [x for x in lines if x[:1] == "+"]


def _is_wording(before: list[str], after: list[str]) -> bool:
    """Return whether a change only marks with XX, or changes the case of, a text with a space."""
    was, now = ("".join(line[1:].strip() for line in each) for each in (before, after))
    before_case, after_case = (text.casefold().replace("xx", "") for text in (was, now))
    return any(sign in was for sign in "\"'") and " " in was and before_case == after_case


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
