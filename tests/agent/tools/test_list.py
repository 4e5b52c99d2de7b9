"""The list tool."""

import os
from pathlib import Path

import pytest

from agent.records.blocks import ListingBlock, ToolLabel
from agent.records.errors import ToolError
from agent.tools.list import ListTool
from tests.agent.tools.conftest import MakeContext
from tests.agent.tools.run import plan, run


def _files(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    for path in root.rglob("*"):
        os.utime(path, (1_000_000, 1_000_000), follow_symlinks=False)


async def test_a_tree_newest_first(make_context: MakeContext, tmp_path: Path) -> None:
    _files(tmp_path, "p/b.py", "p/src/a.py", "p/src/deep/c.py", "p/.git/x", "p/out.log")
    (tmp_path / "p" / ".gitignore").write_text("*.log\n")
    (tmp_path / "p" / "link").symlink_to("src")
    os.utime(tmp_path / "p" / "link", (1, 1), follow_symlinks=False)
    made = await plan(ListTool(), make_context(), path="p")
    assert made.label == ToolLabel("List", "p")
    result = await ListTool().execute(made, None, make_context())
    assert result.output.splitlines() == [
        "p/",
        "  .gitignore",
        "  b.py",
        "  src/",
        "    a.py",
        "    deep/",
        "      c.py",
        "  link -> src",
    ]
    assert result.facts == ("7 entries",)
    (block,) = result.blocks or ()
    assert isinstance(block, ListingBlock)
    assert block.total == 7


async def test_a_large_tree_shows_the_near_levels(
    make_context: MakeContext, tmp_path: Path
) -> None:
    _files(tmp_path, *(f"big/{n}" for n in range(150)), "small/x", "top")
    result = await run(ListTool(), make_context())
    assert "  big/ (150 entries)" in result.output
    assert "    x" in result.output
    assert "(The first 4 entries; list a folder by itself to see more of it.)" in result.output
    big = await run(ListTool(), make_context(), path="big")
    assert big.facts == ("100 entries",)


async def test_ignore_globs_and_named_ignored_folders(
    make_context: MakeContext, tmp_path: Path
) -> None:
    _files(tmp_path, "dist/a.js", "a.py", "b.lock")
    (tmp_path / ".gitignore").write_text("dist/\n")
    result = await run(ListTool(), make_context(), ignore=["*.lock", ".gitignore"])
    assert result.output == ".//\n  a.py".replace(".//", "./")
    assert "a.js" in (await run(ListTool(), make_context(), path="dist")).output


async def test_paths_that_are_no_folder(make_context: MakeContext, tmp_path: Path) -> None:
    _files(tmp_path, "a.py")
    with pytest.raises(ToolError, match="is a file"):
        await run(ListTool(), make_context(), path="a.py")
    with pytest.raises(ToolError, match="does not exist"):
        await run(ListTool(), make_context(), path="nowhere")
    with pytest.raises(ToolError, match="not a valid glob"):
        await run(ListTool(), make_context(), ignore=["["])
    (tmp_path / "empty").mkdir()
    assert (await run(ListTool(), make_context(), path="empty")).facts == ("empty",)
