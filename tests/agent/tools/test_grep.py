"""The grep tool."""

import os
from pathlib import Path

import pytest

from agent.records.blocks import ListingBlock, ToolLabel
from agent.records.errors import ToolError
from agent.tools.grep import GrepTool
from agent.tools.search.searcher import Searcher, find_rg
from tests.agent.tools.conftest import MakeContext
from tests.agent.tools.run import plan, run


@pytest.fixture(params=["rg", "fallback"])
def tool(request: pytest.FixtureRequest) -> GrepTool:
    rg = find_rg() if request.param == "rg" else None
    if request.param == "rg" and rg is None:
        pytest.skip("no ripgrep on this machine")
    return GrepTool(Searcher(rg))


def _file(root: Path, name: str, text: str, age: int = 0) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (1_000_000 - age, 1_000_000 - age))


async def test_matches_by_file_newest_first(
    tool: GrepTool, make_context: MakeContext, tmp_path: Path
) -> None:
    _file(tmp_path, "src/old.py", "x\n\tDictReader\n", age=5)
    _file(tmp_path, "src/new.py", "DictReader\nDictReader 2\n")
    made = await plan(tool, make_context(), pattern="DictReader", path="src")
    assert made.label == ToolLabel("Grep", '"DictReader" in src')
    assert [(need.permission, need.default_action) for need in made.needs] == [("grep", "allow")]
    result = await tool.execute(made, None, make_context())
    assert result.output == (
        "src/new.py\n  1: DictReader\n  2: DictReader 2\n\nsrc/old.py\n  2: \tDictReader"
    )
    assert result.facts == ("3 matches",)
    items = ("src/new.py:1: DictReader", "src/new.py:2: DictReader 2", "src/old.py:2: \tDictReader")
    assert result.blocks == (ListingBlock(items, 3),)


async def test_a_hundred_and_a_notice(
    tool: GrepTool, make_context: MakeContext, tmp_path: Path
) -> None:
    for n in range(60):
        _file(tmp_path, f"{n:02}.txt", "hit\n" * 5, age=n)
    result = await run(tool, make_context(), pattern="hit")
    assert result.output.startswith("00.txt\n  1: hit\n")
    assert result.output.count(": hit") == 100
    assert "19.txt" in result.output
    assert "20.txt" not in result.output
    assert "At least 300 lines match in 60 files" in result.output


async def test_one_file_and_include(
    tool: GrepTool, make_context: MakeContext, tmp_path: Path
) -> None:
    _file(tmp_path, "a.ts", "needle\n")
    _file(tmp_path, "a.md", "needle\n")
    _file(tmp_path, "sub/b.tsx", "needle\n", age=1)
    one = await run(tool, make_context(), pattern="needle", path="a.md")
    assert one.output == "a.md\n  1: needle"
    some = await run(tool, make_context(), pattern="needle", include="*.{ts,tsx}")
    assert some.output == "a.ts\n  1: needle\n\nsub/b.tsx\n  1: needle"


async def test_an_include_does_not_lift_ignore_rules(
    tool: GrepTool, make_context: MakeContext, tmp_path: Path
) -> None:
    _file(tmp_path, ".gitignore", "gen.py\n")
    _file(tmp_path, "gen.py", "needle\n")
    _file(tmp_path, "own.py", "needle\n")
    result = await run(tool, make_context(), pattern="needle", include="*.py")
    assert result.output == "own.py\n  1: needle"
    named = await run(tool, make_context(), pattern="needle", path="gen.py")
    assert named.output == "gen.py\n  1: needle"


async def test_patterns_with_dashes(
    tool: GrepTool, make_context: MakeContext, tmp_path: Path
) -> None:
    _file(tmp_path, "-n", "--grep\n")
    _file(tmp_path, "x.txt", "--grep\n", age=1)
    result = await run(tool, make_context(), pattern="--grep")
    assert result.output == "-n\n  1: --grep\n\nx.txt\n  1: --grep"
    assert (await run(tool, make_context(), pattern="--grep", path="-n")).facts == ("1 match",)


async def test_problems_are_not_silent(
    tool: GrepTool, make_context: MakeContext, tmp_path: Path
) -> None:
    _file(tmp_path, "a.txt", "x\n")
    with pytest.raises(ToolError, match="regular expression"):
        await run(tool, make_context(), pattern="(")
    with pytest.raises(ToolError, match="include"):
        await run(tool, make_context(), pattern="x", include="*.{ts")
    with pytest.raises(ToolError, match="does not exist"):
        await run(tool, make_context(), pattern="x", path="nowhere")
    assert (await run(tool, make_context(), pattern="nothing")).output == "No lines match."


async def test_secrets_show_only_when_named(
    tool: GrepTool, make_context: MakeContext, tmp_path: Path
) -> None:
    _file(tmp_path, ".env", "TOKEN=hunter2\n")
    _file(tmp_path, ".env.example", "TOKEN=\n")
    result = await run(tool, make_context(), pattern="TOKEN")
    assert "hunter2" not in result.output
    assert ".env.example\n  1: TOKEN=" in result.output
    assert "1 file that may contain secrets matches too" in result.output
    made = await plan(tool, make_context(), pattern="TOKEN", path=".env")
    assert [(need.permission, need.default_action) for need in made.needs] == [
        ("grep", "allow"),
        ("read", "ask"),
    ]
    assert "hunter2" in (await tool.execute(made, None, make_context())).output


async def test_another_name_of_a_file_with_secrets_is_left_out(
    tool: GrepTool, make_context: MakeContext, tmp_path: Path
) -> None:
    _file(tmp_path, ".env", "TOKEN=hunter2\n")
    (tmp_path / "sub").mkdir()
    os.link(tmp_path / ".env", tmp_path / "sub" / "notes.txt")
    _file(tmp_path, "plain.txt", "TOKEN=plain\n")
    os.link(tmp_path / "plain.txt", tmp_path / "sub" / "copy.txt")
    for path in (None, "sub"):
        result = await run(tool, make_context(), pattern="TOKEN", path=path)
        assert "hunter2" not in result.output
        assert "copy.txt\n  1: TOKEN=plain" in result.output
        assert "may contain secrets match" in result.output


async def test_long_lines_and_odd_bytes(
    tool: GrepTool, make_context: MakeContext, tmp_path: Path
) -> None:
    (tmp_path / "a").write_bytes(b"needle \xff" + b"x" * 20_000 + b"\n")
    result = await run(tool, make_context(), pattern="needle")
    assert result.output == "a\n  1: needle \ufffd" + "x" * 20_000


async def test_lines_that_do_not_fit_are_cut_around_the_match(
    tool: GrepTool, make_context: MakeContext, tmp_path: Path
) -> None:
    _file(tmp_path, "a", f"{'é' * 20_000} needle {'y' * 20_000}\n" * 2 + "a needle\n")
    result = await run(tool, make_context(), pattern="needle")
    assert 48 * 1024 < len(result.output.encode()) < 50 * 1024
    assert result.output.count(" needle ") == 2
    assert "of 40,008)\n  3: a needle\n" in result.output
    assert "Long lines are cut; read shows the rest of one with offset and column." in result.output


async def test_a_line_of_any_length_is_no_problem(
    tool: GrepTool, make_context: MakeContext, tmp_path: Path
) -> None:
    _file(tmp_path, "a", f"needle {'x' * 3_000_000}\nneedle\n")
    result = await run(tool, make_context(), pattern="needle", context=1)
    assert len(result.output) < 51_200
    assert "  1: needle xxx" in result.output
    assert "  2: needle\n" in result.output


PAGES = "".join(f"line {n}\n" for n in range(1, 8))


HINT = "Narrow the pattern, path or include, or continue with offset="


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"context": 1}, "a.py\n  3- line 3\n  4: line 4\n  5- line 5"),
        ({"-C": 1}, "a.py\n  3- line 3\n  4: line 4\n  5- line 5"),
        ({"-A": 2, "-n": True}, "a.py\n  4: line 4\n  5- line 5\n  6- line 6"),
        ({"-B": 1}, "a.py\n  3- line 3\n  4: line 4"),
        (
            {"pattern": "[26]", "context": 1},
            (
                "a.py\n  1- line 1\n  2: line 2\n  3- line 3\n  --\n  5- line 5\n  6: line 6\n"
                "  7- line 7"
            ),
        ),
        ({"pattern": "LINE 4"}, "No lines match."),
        ({"pattern": "LINE 4", "-i": True}, "a.py\n  4: line 4"),
        ({"pattern": "4.*5", "multiline": True}, "a.py\n  4: line 4\n  5: line 5"),
        ({"pattern": r"4\nline"}, "a.py\n  4: line 4\n  5: line 5"),
        ({"pattern": "line", "output_mode": "count"}, "a.py: 7\nb.md: 1\n\n(8 lines in 2 files.)"),
        ({"pattern": "line", "output_mode": "files_with_matches"}, "a.py\nb.md"),
        ({"pattern": "line", "type": "md"}, "b.md\n  1: line"),
        ({"pattern": "line", "type": "Markdown", "include": "*.{md,py}"}, "b.md\n  1: line"),
        ({"pattern": "line", "type": "js"}, "No lines match."),
        (
            {"pattern": "line", "limit": 2},
            (
                "a.py\n  1: line 1\n  2: line 2\n\n(At least 4 lines match in 2 files; these "
                f"are the 2 in the newest files. {HINT}2.)"
            ),
        ),
        ({"pattern": "line", "limit": 2, "offset": 6}, "a.py\n  7: line 7\n\nb.md\n  1: line"),
        (
            {"pattern": "line", "limit": 1, "offset": 3, "context": 1},
            (
                "a.py\n  3- line 3\n  4: line 4\n  5- line 5\n\n(At least 6 lines match in 2 "
                f"files; these are 4 to 4, newest files first. {HINT}4.)"
            ),
        ),
        ({"pattern": "line", "offset": 8}, "No results from 8 on."),
        (
            {"pattern": "line", "output_mode": "files_with_matches", "limit": 1},
            "a.py\n\n(2 files match; these are 1 to 1, newest first. Continue with offset=1.)",
        ),
    ],
)
async def test_options(
    tool: GrepTool,
    make_context: MakeContext,
    tmp_path: Path,
    arguments: dict[str, object],
    expected: str,
) -> None:
    _file(tmp_path, "a.py", PAGES)
    _file(tmp_path, "b.md", "line\n", age=1)
    result = await run(tool, make_context(), **{"pattern": "4", **arguments})
    assert result.output == expected


async def test_more_than_a_hundred_matches_in_one_file_are_reported(
    tool: GrepTool, make_context: MakeContext, tmp_path: Path
) -> None:
    _file(tmp_path, "a", "hit\n" * 150)
    first = await run(tool, make_context(), pattern="hit")
    assert "At least 101 lines match in 1 file" in first.output
    rest = await run(tool, make_context(), pattern="hit", offset=100)
    assert rest.output.startswith("a\n  101: hit\n")
    assert rest.output.endswith("  150: hit")


async def test_secrets_are_kept_from_every_form_of_result(
    tool: GrepTool, make_context: MakeContext, tmp_path: Path
) -> None:
    _file(tmp_path, ".env", "A=1\nTOKEN=hunter2\nB=2\n")
    for more in ({"context": 1}, {"output_mode": "count"}, {"output_mode": "files_with_matches"}):
        result = await run(tool, make_context(), pattern="TOKEN", **more)
        assert "A=1" not in result.output
        assert ".env" not in result.output
        assert "1 file that may contain secrets matches too" in result.output


async def test_outside_the_project_asks(make_context: MakeContext, tmp_path: Path) -> None:
    project = tmp_path / "app"
    project.mkdir()
    _file(tmp_path, "x.txt", "needle\n")
    made = await plan(GrepTool(), make_context(project), pattern="x", path="../x.txt")
    assert made.needs[0].pattern == f"{tmp_path}/*"


async def test_skipped_links_are_reported(
    tool: GrepTool, make_context: MakeContext, tmp_path: Path
) -> None:
    project = tmp_path / "app"
    _file(tmp_path, "real/x.txt", "needle\n")
    project.mkdir()
    (project / "link").symlink_to("../real")
    result = await run(tool, make_context(project), pattern="needle")
    assert "Links to folders were not followed (link)" in result.output
    named = await run(tool, make_context(project), pattern="needle", path="link")
    assert named.output == "link/x.txt\n  1: needle"


async def test_spill_files_need_no_consent(make_context: MakeContext, tmp_path: Path) -> None:
    """Reading and searching kept outputs asks nothing."""
    project = tmp_path / "app"
    project.mkdir()
    _file(tmp_path, "spill/x", "needle\n")
    tool = GrepTool(spill=str(tmp_path / "spill"))
    made = await plan(tool, make_context(project), pattern="x", path=f"{tmp_path}/spill/x")
    assert made.needs == ()
