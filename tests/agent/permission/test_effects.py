"""Lines that are proven to only read have no effect when bash runs them.

The generator knows nothing of the analysis. EFFECT_LINES sets the number of random lines,
EFFECT_SEED chooses others.
"""

import json
import os
import random
import re
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import pytest

from agent.permission.shell.analysis import is_read_only
from agent.process.child_environment import child_environment
from agent.process.sandbox import SandboxPolicy, find_sandbox
from agent.tools.shell.safe_git import SafeGit, git_wrapper
from tests.support.effects import EffectFolder, Outcome
from tests.support.shell_lines import LineGenerator

LINES = int(os.environ.get("EFFECT_LINES", "2000"))
SEED = int(os.environ.get("EFFECT_SEED", "1"))
SHARE_IN_SANDBOX = 10
"""One of this many lines is run in the sandbox: it takes longer to start than most lines."""

LEAST_ALLOWED = 0.15
LEAST_SUCCESSFUL = 0.6

WRITTEN = Path(__file__).parents[2] / "data" / "permission" / "effect_lines.json"
"""Lines written by hand, most of them as an attacker would."""

ASKING = (
    "find -- . -delete", "find . -- -delete", "find -H -- -delete", "find -- -exec hit \\;",
    "uniq - M", "uniq -c - M", "ls | uniq - M", "xxd - M", "xxd -p - M",
    "diff sub ./sub", "diff -y sub sub/.", "diff . sub", "strings @lnk", "strings -n 3 @list.txt",
    "strings *", "cat .?/outside.txt", "cat .*/outside.txt", "cd .?; cat outside.txt",
)  # fmt: skip
"""Lines that change something, or print what is secret, some only with another bash."""

DIFFERENT_INSIDE = re.compile(
    r"\b(df|stat -f|ps|free|pgrep|tty|uptime|id|hostname|TMPDIR|PATH)\b|[^&>]&[^&>]"
)
"""What shows the machine, which the sandbox hides, or the free space, which other programs change,
or runs in the background, in any order."""
ATTEMPTS = 3

pytestmark = pytest.mark.timeout(3600)  # with more lines; the suite's own take about a minute


@pytest.fixture
def folder(tmp_path: Path) -> EffectFolder:
    return EffectFolder(tmp_path)


@pytest.fixture
async def env(folder: EffectFolder) -> AsyncIterator[dict[str, str]]:
    """The variables of a line that runs unasked: its git reads no configuration."""
    project = folder.project
    folders = frozenset(map(str, (project, project / "sub", project / "inner")))
    git = await git_wrapper(SafeGit(folders, None), child_environment(os.environ, ()))
    assert git is not None
    yield folder.environment(git.environment)
    git.close_if_unused()


def allowed(folder: EffectFolder, lines: Iterable[str]) -> list[str]:
    """Return those of *lines* that run unasked."""
    place, home = str(folder.project), str(folder.home)
    return [line for line in lines if is_read_only(line, directory=place, project=place, home=home)]


def random_lines() -> list[str]:
    generator = LineGenerator(SEED)
    return [generator.line() for _ in range(LINES)]


def written_lines() -> list[str]:
    return json.loads(WRITTEN.read_text("utf-8"))


def effects(outcomes: Iterable[tuple[str, Outcome]]) -> dict[str, tuple[str, ...]]:
    return {line: outcome.effects for line, outcome in outcomes if outcome.effects}


def printed(outcome: Outcome) -> tuple[str, ...]:
    """Return the lines that were printed, without the order of those of several programs."""
    return tuple(sorted(outcome.output.splitlines()))


def test_random_lines_that_run_unasked_have_no_effect(
    folder: EffectFolder, env: dict[str, str]
) -> None:
    chosen = allowed(folder, random_lines())
    assert len(chosen) >= LEAST_ALLOWED * LINES
    outcomes = [(line, folder.run(line, env)) for line in chosen]
    assert effects(outcomes) == {}
    assert sum(each.code == 0 for _, each in outcomes) >= LEAST_SUCCESSFUL * len(chosen)


def test_written_lines_that_run_unasked_have_no_effect(
    folder: EffectFolder, env: dict[str, str]
) -> None:
    assert effects((line, folder.run(line, env)) for line in allowed(folder, written_lines())) == {}


def test_lines_that_run_unasked_do_the_same_in_the_sandbox(
    folder: EffectFolder, env: dict[str, str]
) -> None:
    sandbox = find_sandbox("auto")
    if sandbox.backend is None:
        pytest.skip(f"no sandbox: {sandbox.reason}")
    # Landlock makes its temporary folder beside others, where no effects are looked for then.
    temporary = folder.base / "temporary"
    temporary.mkdir()
    inside_env = {**env, "TMPDIR": str(temporary)}

    def wrap(argv: tuple[str, ...]) -> tuple[str, ...]:
        return sandbox.wrap(argv, SandboxPolicy("read-only"), str(folder.project))

    lines = allowed(folder, (*random_lines(), *written_lines()))
    chosen = random.Random(SEED).sample(lines, len(lines) // SHARE_IN_SANDBOX)
    different: list[str] = []
    for line in chosen:
        inside = folder.run(line, inside_env, wrap)
        assert inside.effects == (), line
        outside = [printed(folder.run(line, env)) for _ in range(ATTEMPTS)]
        again = (printed(folder.run(line, inside_env, wrap)) for _ in range(ATTEMPTS))
        if DIFFERENT_INSIDE.search(line) or len(set(outside)) > 1 or printed(inside) in outside:
            continue
        if not any(each in outside for each in again):
            different.append(line)
    assert different == []


@pytest.mark.parametrize("line", ASKING)
def test_a_line_with_an_effect_asks(folder: EffectFolder, line: str) -> None:
    assert allowed(folder, [line]) == []
