"""glob and grep return the same with and without ripgrep, on random trees."""

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest

from agent.records.errors import ToolError
from agent.tools.glob import GlobTool
from agent.tools.grep import GrepTool
from agent.tools.search.searcher import Searcher, find_rg
from agent.tools.search.tree import IgnoreRules, Rules
from tests.agent.tools.conftest import MakeContext
from tests.agent.tools.run import run
from tests.support.random_tree import make_tree

RG = find_rg()
GLOBS = [
    "**/*", "*.py", "src/**", "**/*.{py,md}", "*", "docs/*", "build/*.py", ".*", "**/.github/**",
    "*[ab]*", "-*", "**/deep/*", "*.PY", "link/**",
]  # fmt: skip
GREPS = [
    {"pattern": "needle"},
    {"pattern": "^needle$"},
    {"pattern": "(?i)NEEDLE"},
    {"pattern": "needle", "include": "*.py"},
    {"pattern": "needle", "include": "**/*.{txt,md}"},
    {"pattern": "needle", "path": "src"},
    {"pattern": "--needle"},
    {"pattern": "größe"},
    {"pattern": "x{3,}"},
    {"pattern": "needle", "context": 2},
    {"pattern": "needle", "before": 1, "output_mode": "count"},
    {"pattern": "needle", "output_mode": "files_with_matches", "limit": 3, "offset": 2},
    {"pattern": "needle", "type": "py", "include": "**/*.{py,md}"},
    {"pattern": r"needle\s+needle", "multiline": True, "ignore_case": True},
    {"pattern": "needle", "limit": 5, "offset": 3, "after": 1},
]


async def tool_output(tool: Any, ctx: Any, **arguments: Any) -> str:
    try:
        return (await run(tool, ctx, **arguments)).output
    except ToolError as error:
        return f"refused: {error}"


@pytest.mark.skipif(RG is None, reason="no ripgrep on this machine")
@pytest.mark.parametrize("seed", [10, 16, 18, 23, 31, 33, *range(1_000, 1_004)])
async def test_both_engines_return_the_same(
    make_context: MakeContext, tmp_path: Path, seed: int
) -> None:
    """The first numbers are trees on which they once did not."""
    root = tmp_path / "tree"
    root.mkdir()
    make_tree(root, seed)
    ctx = make_context(root)
    rng = random.Random(seed)
    with_rg, without = Searcher(RG), Searcher(None)
    for pattern in rng.sample(GLOBS, 5):
        first, second = await asyncio.gather(
            tool_output(GlobTool(with_rg), ctx, pattern=pattern),
            tool_output(GlobTool(without), ctx, pattern=pattern),
        )
        assert first == second, pattern
    for query in rng.sample(GREPS, 5):
        first, second = await asyncio.gather(
            tool_output(GrepTool(with_rg), ctx, **query),
            tool_output(GrepTool(without), ctx, **query),
        )
        assert first == second, query


LINES = "1\nNEEDLE\n\nneedle other 1\n2\nneedle\r\n\n" * 3 + "12:other"


@pytest.mark.skipif(RG is None, reason="no ripgrep on this machine")
@pytest.mark.parametrize(
    "pattern",
    ["needle", "^[^n]", "$", "^$", "e+", r"n\w+$", "(?i)NEEDLE", r"e.*o", r"\d\n", r"\n\n", r"\s+"],
)
@pytest.mark.parametrize("multiline", [False, True])
async def test_both_engines_agree_on_lines(
    make_context: MakeContext, tmp_path: Path, pattern: str, multiline: bool
) -> None:
    (tmp_path / "open.md").write_text(LINES)
    (tmp_path / "closed.py").write_text(f"{LINES}\n")
    (tmp_path / "empty.py").touch()
    (tmp_path / "wide.md").write_bytes(LINES.encode("utf-16"))
    ctx = make_context()
    tools = [GrepTool(Searcher(RG)), GrepTool(Searcher(None))]
    for more in (
        {},
        {"before": 1},
        {"after": 2, "limit": 3, "offset": 1},
        {"context": 1, "ignore_case": True, "type": "md"},
        {"output_mode": "files_with_matches", "type": "py"},
        {"output_mode": "count"} if not multiline else {"limit": 200},
    ):
        query = {"pattern": pattern, "multiline": multiline, **more}
        first, second = [await tool_output(tool, ctx, **query) for tool in tools]
        assert first == second, query


@pytest.mark.parametrize(
    ("lines", "path", "is_folder", "verdict"),
    [
        ("*.log", "a/b.log", False, True),
        ("*.log\n!keep.log", "keep.log", False, False),
        ("build/", "build", True, True),
        ("build/", "build", False, None),
        ("/build", "a/build", False, None),
        ("docs/*.md", "docs/a.md", False, True),
        ("docs/*.md", "x/docs/a.md", False, None),
        ("docs/**", "docs/a/b", False, True),
        ("docs/**", "docs", True, None),
        ("*\n!*/\n!*.md", "a/b.txt", False, True),
        ("*\n!*/\n!*.md", "a", True, False),
        ("*\n!*/\n!*.md", "a/b.md", False, False),
        ("!*/", "src/x.py", False, None),
        ("!src", "src/x.py", False, None),
        ("src", "src/x.py", False, None),
        ("bad\\\n*.log", "a.log", False, True),
        ("[z-a]\n*.log\r\n", "a.log", False, True),
        ("\ufeff*.log", "a.log", False, True),
        ("# *.log\n\n   \n", "a.log", False, None),
        ("\\#x\n\\!y\nz\\ ", "z ", False, True),
        ("[[]x]*", "[x]y", False, True),
    ],
)
def test_one_line_for_one_entry(
    lines: str, path: str, is_folder: bool, verdict: bool | None
) -> None:
    assert Rules(lines).verdict(path, is_folder=is_folder) is verdict


def test_ignore_files_count_before_gitignore_wherever_they_are(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "src").mkdir()
    (tmp_path / ".ignore").write_text("*.txt\n")
    (tmp_path / "src" / ".gitignore").write_text("!a.txt\n")
    ignore = IgnoreRules(str(tmp_path))
    assert ignore.ignores_entry(f"{tmp_path}/src/a.txt", is_folder=False)


@pytest.mark.parametrize("rg", [RG, None])
async def test_names_with_line_breaks(
    make_context: MakeContext, tmp_path: Path, rg: str | None
) -> None:
    (tmp_path / "new\nline.txt").write_text("needle one\n")
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "line.txt").write_text("other\nneedle two\n")
    ctx = make_context()
    found = await run(GlobTool(Searcher(rg)), ctx, pattern="*.txt")
    assert "new\nline.txt" in found.output
    assert found.facts == ("2 files",)
    hits = await run(GrepTool(Searcher(rg)), ctx, pattern="needle")
    assert "new\nline.txt\n  1: needle one" in hits.output
    assert "new/line.txt\n  2: needle two" in hits.output
    assert hits.facts == ("2 matches",)
