"""Both search engines return the same results."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent.records.errors import ToolError
from agent.tools.search.globs import (
    check_glob,
    literal_part,
    literal_prefix,
    matcher,
    matches_hidden,
)
from agent.tools.search.searcher import Searcher, find_rg
from agent.tools.search.tree import IgnoreRules, find_links, is_ignored
from agent.tools.search.worker import SearchRequest, unsupported_syntax

RG = find_rg()
needs_rg = pytest.mark.skipif(RG is None, reason="no ripgrep on this machine")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Ignore rules at two levels, hidden and odd names, links, loops, binary, UTF-16."""
    root = tmp_path / "tree"
    files = {
        ".gitignore": "*.log\n/build/\n!keep.log\nnode_modules/\ndocs/*.tmp\n",
        ".git/config": "needle in git\n",
        ".git/info/exclude": "private.txt\n",
        ".github/a.yml": "needle: hidden\n",
        ".env.example": "needle=1\n",
        "a.py": "import needle\nx = 1\n",
        "b.log": "needle\n",
        "keep.log": "needle kept\n",
        "private.txt": "needle\n",
        "build/out.py": "needle\n",
        "src/build/in.py": "needle inside\n",
        "src/.gitignore": "gen_*\n!gen_ok.py\n",
        "src/gen_no.py": "needle\n",
        "src/gen_ok.py": "needle\n",
        "src/deep/gen_x": "needle\n",
        "src/deep/ü ber.py": "ein needle\n",
        "node_modules/x/i.js": "needle\n",
        "docs/n.tmp": "needle\n",
        "docs/readme.md": "# needle\nother\nneedle two\n",
        "-n": "--grep needle\n",
        "[odd] {name}.txt": "needle odd\n",
        "crlf.txt": "needle\r\n",
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    (root / "binary.dat").write_bytes(b"\0\0 needle\n")
    (root / "wide.txt").write_bytes("a needle\n".encode("utf-16"))
    (root / "long.txt").write_text("needle" + "x" * 20_000 + "\n")
    (root / "src" / "loop").symlink_to("..")
    (root / "linked").symlink_to("docs")
    (root / "link.py").symlink_to("a.py")
    if sys.platform == "linux":
        Path(os.fsdecode(os.fsencode(root) + b"/bad\xff.txt")).write_text("needle\n")
    return root


async def _answers(searcher: Searcher, order: SearchRequest) -> list[bytes]:
    found: list[bytes] = []
    outcome = await searcher.run(order, found.extend)
    assert not outcome.timed_out
    # ripgrep marks where it cut a line; that mark is not part of the result.
    return sorted(record.split(b" [... ")[0][:8_000] for record in found)


def _order(root: Path, **changes: object) -> SearchRequest:
    values: dict[str, object] = {"hidden": False, "ignored": False, **changes}
    return SearchRequest(root=str(root), folder=str(root), **values)  # type: ignore[arg-type]


@needs_rg
@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("ignored", [False, True])
@pytest.mark.parametrize("part", ["", "src", "linked"])
async def test_listings_agree(tree: Path, part: str, hidden: bool, ignored: bool) -> None:
    order = _order(tree / part, hidden=hidden, ignored=ignored)
    with_rg = await _answers(Searcher(RG), order)
    assert with_rg == await _answers(Searcher(None), order)
    assert with_rg


@needs_rg
@pytest.mark.parametrize(
    "pattern",
    [
        "needle",
        r"^import\s+\w+$",
        "needle$",
        "(?i)NEEDLE (two|kept)",
        r"needle[:=]",
        "--grep",
        "-n",
        r"x{3,5}",
        "ein .*",
        "nowhere at all",
    ],
)
async def test_matches_agree(tree: Path, pattern: str) -> None:
    order = _order(tree, hidden=True, pattern=pattern)
    assert await _answers(Searcher(RG), order) == await _answers(Searcher(None), order)


@needs_rg
@pytest.mark.parametrize("include", ["*.md", "*.{py,md}", "src/**/*.py", "**/*.yml", "[-]n"])
async def test_include_agrees(tree: Path, include: str) -> None:
    """Apart from ignored files that an include glob names: the grep tool drops those."""
    order = _order(tree, hidden=True, pattern="needle", include=include)
    ignore = IgnoreRules(str(tree))

    async def kept(searcher: Searcher) -> list[bytes]:
        records = await _answers(searcher, order)
        return [r for r in records if not ignore.ignores(os.fsdecode(r.partition(b"\0")[0]))]

    with_rg = await kept(Searcher(RG))
    assert with_rg == await kept(Searcher(None))
    assert with_rg


@needs_rg
async def test_without_a_repository_gitignore_applies_too(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*.log\n")
    (tmp_path / "a.log").touch()
    (tmp_path / "a.txt").touch()
    for searcher in (Searcher(RG), Searcher(None)):
        assert await _answers(searcher, _order(tmp_path)) == [os.fsencode(tmp_path / "a.txt")]


@pytest.mark.parametrize("rg", [pytest.param(RG, marks=needs_rg), None])
@pytest.mark.parametrize("pattern", ["(", "[a", "*x", r"a{2,1}"])
async def test_a_broken_regex_is_an_instruction(
    tmp_path: Path, rg: str | None, pattern: str
) -> None:
    with pytest.raises(ToolError, match="not a valid regular expression"):
        await Searcher(rg).run(_order(tmp_path, pattern=pattern), lambda _: None)


@pytest.mark.parametrize("pattern", ["(?=x)", r"(a)\1", r"\p{L}", "[[:alpha:]]"])
async def test_the_fallback_lists_features_that_need_ripgrep(tmp_path: Path, pattern: str) -> None:
    assert unsupported_syntax(pattern)
    with pytest.raises(ToolError, match="install rg"):
        await Searcher(None).run(_order(tmp_path, pattern=pattern), lambda _: None)


@pytest.mark.parametrize("pattern", [r"a\\1", "(?i)x", r"\bfoo\b", "(?:a|b)+", r"\d{2}"])
def test_common_patterns_are_not_refused(pattern: str) -> None:
    assert unsupported_syntax(pattern) == ""


async def test_a_runaway_pattern_ends_at_the_time_limit(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a" * 5_000 + "b\n")
    searcher = Searcher(None, time_limit=1.0)
    outcome = await searcher.run(_order(tmp_path, pattern="(a+)+$"), lambda _: None)
    assert outcome.timed_out


@pytest.mark.parametrize("pattern", ["[", "a[b", "*.{ts", "a}", "", "  ", "x\\", "[!"])
def test_broken_globs_are_errors(pattern: str) -> None:
    with pytest.raises(ToolError):
        check_glob(pattern, "pattern")


@pytest.mark.parametrize("pattern", ["*", "[]a]", "[!]a]*", "{a,b}/**", r"\[x", "-*", "a.{ts,tsx}"])
def test_good_globs_pass(pattern: str) -> None:
    check_glob(pattern, "pattern")


def test_parts_of_globs() -> None:
    assert literal_prefix("src/a/**/*.py") == ("src/a", "**/*.py")
    assert literal_prefix("*.py") == ("", "*.py")
    assert literal_prefix("/etc/*.conf") == ("/etc", "*.conf")
    assert literal_prefix("/*") == ("/", "*")
    assert literal_prefix("a/b.txt") == ("a", "b.txt")
    assert matches_hidden(".github/*.yml")
    assert matches_hidden("**/.env*")
    assert not matches_hidden("../src/*.py")


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("*.py", "a/b/c.py", True),
        ("a/*.py", "a/b/c.py", False),
        ("a/**/*.py", "a/c.py", True),
        ("./*.py", "a/c.py", False),
        ("*.{ts,tsx}", "x.tsx", True),
        ("-*", "-n", True),
        ("[[]odd[]]*", "[odd] x", True),
    ],
)
def test_globs_match_like_ignore_files(pattern: str, path: str, fits: bool) -> None:
    assert matcher(pattern)(path) is fits


def test_single_paths_are_judged_by_their_folders(tree: Path) -> None:
    assert is_ignored(str(tree / "build"), str(tree))
    assert is_ignored(str(tree / "node_modules/x/i.js"), str(tree))
    assert not is_ignored(str(tree / "src"), str(tree))
    assert not is_ignored(str(tree), str(tree))


def test_links_are_found_without_following_them(tree: Path) -> None:
    names = {Path(link).name for link in find_links(str(tree), hidden=False, ignored=False)}
    assert names == {"loop", "linked", "link.py"}


@pytest.mark.parametrize("rg", [pytest.param(RG, marks=needs_rg), None])
@pytest.mark.parametrize("pattern", [r"one\ntwo", "one\ntwo"])
async def test_a_pattern_over_two_lines(tmp_path: Path, rg: str | None, pattern: str) -> None:
    (tmp_path / "a").write_text("one\ntwo\n")
    found = await _answers(Searcher(rg), _order(tmp_path, pattern=pattern))
    assert [record.rpartition(b"\0")[2] for record in found] == [b"1:one", b"2:two"]


async def test_a_listing_looks_at_few_of_very_many_paths(tmp_path: Path) -> None:
    """Pieces of the listing without the literal part of the pattern are skipped as a whole."""
    listing = tmp_path / "listing"
    paths = [b"%s/folder%d/file%d" % (os.fsencode(tmp_path), n % 300, n) for n in range(30_000)]
    paths[20_000] += b"needle.py"
    listing.write_bytes(b"".join(path + b"\0" for path in paths))
    shown = tmp_path / "shown"
    shown.write_text(f"#!/bin/sh\ncat '{listing}'\n")
    shown.chmod(0o755)
    found: list[bytes] = []
    await Searcher(str(shown)).run(_order(tmp_path), found.extend, holding=b"needle.py")
    assert paths[20_000] in found
    assert len(found) < 10_000
    found.clear()
    await Searcher(str(shown)).run(_order(tmp_path), found.extend)
    assert found == paths


@given(st.text("ab.*?/{},[]!\\", max_size=10), st.text("ab.", min_size=1, max_size=6))
@example("a/*b.a", "ab.a")
@example("{ab,b}a*", "aba")
def test_each_path_that_matches_a_glob_contains_its_literal_part(pattern: str, name: str) -> None:
    try:
        check_glob(pattern, "pattern")
    except ToolError:
        return
    for path in (name, f"a/{name}", f"{name}/b"):
        if matcher(pattern)(path):
            assert literal_part(pattern) in path
