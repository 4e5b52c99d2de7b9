"""The glob tool."""

import os
import sys
from pathlib import Path

import pytest

from agent.records.blocks import ListingBlock, ToolLabel
from agent.records.errors import ToolError
from agent.tools.glob import GlobTool
from agent.tools.search.searcher import Searcher, find_rg
from tests.agent.tools.conftest import MakeContext
from tests.agent.tools.run import plan, run


@pytest.fixture(params=["rg", "fallback"])
def tool(request: pytest.FixtureRequest) -> GlobTool:
    rg = find_rg() if request.param == "rg" else None
    if request.param == "rg" and rg is None:
        pytest.skip("no ripgrep on this machine")
    return GlobTool(Searcher(rg))


def _files(root: Path, *names: str) -> None:
    for age, name in enumerate(names):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        os.utime(path, (1_000_000 - age, 1_000_000 - age))


async def test_newest_first(tool: GlobTool, make_context: MakeContext, tmp_path: Path) -> None:
    _files(tmp_path, "new.py", "src/mid.py", "old.py", "other.txt")
    made = await plan(tool, make_context(), pattern="**/*.py")
    assert made.label == ToolLabel("Glob", "**/*.py")
    assert [(need.permission, need.default_action) for need in made.needs] == [("glob", "allow")]
    result = await tool.execute(made, None, make_context())
    assert result.output == "new.py\nsrc/mid.py\nold.py"
    assert result.facts == ("3 files",)
    assert result.blocks == (ListingBlock(("new.py", "src/mid.py", "old.py"), 3),)
    assert (await run(tool, make_context(), pattern="*.py")).output == result.output


async def test_a_hundred_and_a_notice(
    tool: GlobTool, make_context: MakeContext, tmp_path: Path
) -> None:
    _files(tmp_path, *(f"{n:03}.py" for n in range(130)))
    result = await run(tool, make_context(), pattern="*.py")
    lines = result.output.splitlines()
    assert lines[:2] == ["000.py", "001.py"]
    assert lines[99] == "099.py"
    assert lines[-1] == "(130 files match; these are the 100 newest.)"


async def test_no_match_is_reported(
    tool: GlobTool, make_context: MakeContext, tmp_path: Path
) -> None:
    _files(tmp_path, "a.py")
    assert (await run(tool, make_context(), pattern="*.rs")).output == "No files match."


@pytest.mark.parametrize("pattern", ["[", "*.{ts", "a/../**/..", ""])
async def test_bad_patterns_are_errors(make_context: MakeContext, pattern: str) -> None:
    if pattern == "a/../**/..":
        with pytest.raises(ToolError, match="only at the start"):
            await plan(GlobTool(), make_context(), pattern=pattern)
        return
    with pytest.raises(ToolError, match="not a valid glob"):
        await plan(GlobTool(), make_context(), pattern=pattern)


async def test_dashes(tool: GlobTool, make_context: MakeContext, tmp_path: Path) -> None:
    _files(tmp_path, "-n", "x.txt")
    assert (await run(tool, make_context(), pattern="-*")).output == "-n"


async def test_links_to_folders(tool: GlobTool, make_context: MakeContext, tmp_path: Path) -> None:
    _files(tmp_path, "real/x.md")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "y.md").symlink_to("real/x.md")
    for arguments in ({"pattern": "link/**/*.md"}, {"pattern": "*.md", "path": "link"}):
        assert (await run(tool, make_context(), **arguments)).output == "link/x.md"
    result = await run(tool, make_context(), pattern="**/*.md")
    lines = result.output.splitlines()
    assert sorted(lines[:2]) == ["real/x.md", "y.md"]
    assert "Links to folders were not followed (link)" in lines[-1]


async def test_hidden_and_ignored_files_are_found_when_named(
    tool: GlobTool, make_context: MakeContext, tmp_path: Path
) -> None:
    _files(tmp_path, ".env.example", ".github/a.yml", "b.yml", "dist/app.js", ".git/x.yml")
    (tmp_path / ".gitignore").write_text("dist/\n")
    ctx = make_context()
    assert (await run(tool, ctx, pattern="*.yml")).output == "b.yml"
    assert (await run(tool, ctx, pattern=".env.example")).output == ".env.example"
    assert (await run(tool, ctx, pattern=".github/*.yml")).output == ".github/a.yml"
    assert (await run(tool, ctx, pattern="*.yml", path=".github")).output == ".github/a.yml"
    assert (await run(tool, ctx, pattern="dist/*.js")).output == "dist/app.js"
    assert (await run(tool, ctx, pattern="dist/app.js")).output == "dist/app.js"
    only = (await run(tool, ctx, pattern="*.js")).output
    assert only.startswith("dist/app.js\n")
    assert "Only hidden files or files that .gitignore excludes match." in only


async def test_a_file_or_nothing_as_root(make_context: MakeContext, tmp_path: Path) -> None:
    _files(tmp_path, "a.py")
    with pytest.raises(ToolError, match="is a file, not a folder"):
        await run(GlobTool(), make_context(), pattern="*", path="a.py")
    with pytest.raises(ToolError, match="does not exist"):
        await run(GlobTool(), make_context(), pattern="nowhere/*.py")


async def test_outside_the_project_asks(make_context: MakeContext, tmp_path: Path) -> None:
    project = tmp_path / "app"
    project.mkdir()
    made = await plan(GlobTool(), make_context(project), pattern=f"{tmp_path}/**/*.py")
    assert [need.permission for need in made.needs] == ["external_directory", "glob"]
    assert made.needs[0].pattern == f"{tmp_path}/*"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux takes such names")
async def test_names_that_are_not_utf8_can_be_sent(
    tool: GlobTool, make_context: MakeContext, tmp_path: Path
) -> None:
    _files(tmp_path, os.fsdecode(b"a\xff.txt"))
    result = await run(tool, make_context(), pattern="*.txt")
    assert result.output == "a\ufffd.txt"
