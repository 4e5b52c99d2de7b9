"""Rules for paths, as the file tools and commands meet them, and quotes in rules for commands."""

from pathlib import Path

import pytest

from agent.files.disk import stamp_of
from agent.permission.rules import DEFAULT_RULES, Rule, evaluate, strictest
from agent.permission.shell.analysis import command_needs
from agent.records.errors import ToolError
from agent.records.requests import Action, PermissionNeed, PermissionReply
from agent.tools.files.paths import edit_needs, read_needs, resolve_path
from agent.tools.write import WriteArgs, WriteTool
from tests.agent.tools.conftest import MakeContext

MATCHING = [
    ("**/x", ["x", "a/x", "a/b/x"], ["a/xy", "yx", "a/yx"]),
    ("src/**/*", ["src/a", "src/b/a", "src/b/c/a"], ["srcs/a", "a/src/a"]),
    ("src/**/test/*.py", ["src/test/a.py", "src/b/c/test/a.py"], ["src/tests/a.py", "test/a.py"]),
    ("**/*.md", ["a.md", "docs/a.md"], ["a.mdx"]),
    ("**/a/**/b", ["a/b", "x/a/b", "a/y/z/b"], ["ab", "a/bb"]),
    ("docs/", ["docs", "docs/a", "docs/a/b"], ["docs2/a", "a/docs/b"]),
    ("./docs/*", ["docs/a", "docs/a/b"], ["doc/a"]),
    ("*.md", ["a.md", "docs/a.md"], ["a.txt"]),
    ("{root}/docs/*", ["docs/a", "docs/a/b"], ["doc/a", "src/docs/a"]),
    ("{root}/**/a", ["a", "docs/a", "x/y/a"], ["docs/b"]),
    ("{root}/docs/", ["docs", "docs/a"], ["src/a"]),
]
"""A pattern, paths that it covers, and paths that it does not."""

WIDER = [
    ("docs", ["docs/a", "docs/a/b"], ["docs2"]),
    ("DOCS/*", ["docs/a"], ["src/a"]),
    ("docs/Secret.txt", ["docs/secret.TXT"], ["docs/secret.md"]),
    ("link/*", ["real/a", "link/a"], ["other/a"]),
    ("link", ["real/a", "link"], ["other/a"]),
    ("real/*", ["link/a", "real/a"], ["other/a"]),
    ("{root}/link/*", ["real/a", "link/a"], ["other/a"]),
    ("{linked}/real/*", ["real/a", "link/a"], ["other/a"]),
]
"""What a deny covers besides what it says."""

SPREAD = [
    (pattern, path, covered)
    for pattern, covering, others in MATCHING
    for covered, paths in ((True, covering), (False, others))
    for path in paths
]
DENIED = SPREAD + [
    (pattern, path, covered)
    for pattern, covering, others in WIDER
    for covered, paths in ((True, covering), (False, others))
    for path in paths
]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a linked folder, that is reached through a link too."""
    root = tmp_path.resolve() / "project"
    for folder in ("docs", "src", "real", "other"):
        (root / folder).mkdir(parents=True)
    (root / "link").symlink_to("real")
    (tmp_path / "linked").symlink_to(root)
    return root


def filled(pattern: str, project: Path) -> str:
    return pattern.format(root=project, linked=project.parent / "linked")


def verdict(needs: tuple[PermissionNeed, ...], *rules: Rule) -> Action:
    all_rules = (*DEFAULT_RULES, *rules)
    actions: list[Action] = ["allow", *(evaluate(need, all_rules).action for need in needs)]
    return strictest(*actions)


@pytest.mark.parametrize(("pattern", "path", "covered"), SPREAD)
def test_an_allow_covers_what_its_pattern_says(
    project: Path, make_context: MakeContext, pattern: str, path: str, covered: bool
) -> None:
    needs = edit_needs(resolve_path(path, make_context(project)))
    rule = Rule("edit", filled(pattern, project), "allow", "config.json")
    assert verdict(needs, rule) == ("allow" if covered else "ask")


@pytest.mark.parametrize(("pattern", "path", "covered"), DENIED)
def test_a_deny_covers_a_path_however_it_is_named(
    project: Path, make_context: MakeContext, pattern: str, path: str, covered: bool
) -> None:
    rule = Rule("read", filled(pattern, project), "deny", "config.json")
    expected = "deny" if covered else "allow"
    target = resolve_path(path, make_context(project))
    assert verdict(read_needs(target), rule) == expected
    for name in (path, f"./{path}", str(project / path)):
        needs = command_needs(f"cat '{name}'", directory=str(project), project=str(project))
        assert verdict(needs, rule) == expected, name


@pytest.mark.parametrize("mark", ["~", "$HOME", "${HOME}"])
def test_a_pattern_in_the_home_folder_covers_a_project_in_it(
    tmp_path: Path, make_context: MakeContext, monkeypatch: pytest.MonkeyPatch, mark: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "shop").mkdir()
    needs = edit_needs(resolve_path("keys/a", make_context(tmp_path / "shop")))
    assert verdict(needs, Rule("edit", f"{mark}/shop/keys/*", "deny", "config.json")) == "deny"
    assert verdict(needs, Rule("edit", f"{mark}/shop/keys/*", "allow", "config.json")) == "allow"
    assert verdict(needs, Rule("edit", f"{mark}/other/keys/*", "deny", "config.json")) == "ask"


def test_a_wider_reading_of_an_ask_lifts_no_deny(project: Path, make_context: MakeContext) -> None:
    needs = edit_needs(resolve_path("docs/a", make_context(project)))
    deny = Rule("edit", "docs/*", "deny", "config.json")
    assert verdict(needs, deny, Rule("edit", "DOCS/*", "ask", "config.json")) == "deny"
    assert verdict(needs, deny, Rule("edit", "docs/a", "ask", "config.json")) == "ask"


def test_an_allow_does_not_follow_links_of_the_project(
    project: Path, make_context: MakeContext
) -> None:
    needs = edit_needs(resolve_path("real/a", make_context(project)))
    for pattern in ("link/*", "REAL/*", "real"):
        assert verdict(needs, Rule("edit", pattern, "allow", "config.json")) == "ask"


QUOTED = [
    ("git commit -m 'x y'", "git commit -m 'x y'", True),
    ("git commit -m 'x y'", 'git commit -m "x y"', True),
    ("git commit -m 'x y'", r"git commit -m x\ y", True),
    ('git commit -m "x y"', "git 'commit' -m 'x y'", True),
    ('"git" commit *', "git commit -m z", True),
    ("git commit -m 'x *'", "git commit -m 'x z'", True),
    ("git commit -m 'x y'", "git commit -m x y", False),
    ("git commit -m 'x y'", "git commit -m 'x z'", False),
    ("git commit -m 'x *'", "git commit -m x z", False),
]


@pytest.mark.parametrize(("pattern", "line", "covered"), QUOTED)
def test_quotes_in_a_pattern_hold_a_word_together(pattern: str, line: str, covered: bool) -> None:
    needs = command_needs(line, directory="/srv/shop", project="/srv/shop", home="/home/ann")
    expected = "allow" if covered else "ask"
    assert verdict(needs, Rule("bash", pattern, "allow", "config.json")) == expected
    assert not covered or verdict(needs, Rule("bash", pattern, "deny", "c")) == "deny"


def test_a_deny_with_quotes_covers_the_words_without_them_too() -> None:
    needs = command_needs("git push x y", directory="/srv/shop", project="/srv/shop")
    assert verdict(needs, Rule("bash", "git push 'x y'", "deny", "config.json")) == "deny"


def test_a_quote_that_is_not_closed_means_itself() -> None:
    needs = command_needs('mytool "it\'s"', directory="/srv/shop", project="/srv/shop")
    assert verdict(needs, Rule("bash", "mytool it's", "allow", "config.json")) == "allow"


@pytest.mark.parametrize("replaced", ["file", "folder", "new file's folder"])
async def test_a_target_that_became_a_link_while_the_user_was_asked_is_not_followed(
    project: Path, make_context: MakeContext, replaced: str
) -> None:
    name = "new.txt" if replaced.startswith("new") else "a.txt"
    outside = project.parent / "outside"
    outside.mkdir()
    (project / "docs" / "a.txt").write_text("old")
    (outside / "a.txt").write_text("old")
    ctx = make_context(project)
    known = project / "docs" / "a.txt"
    ctx.files.record(ctx.session_id, str(known), stamp_of(b"old", known.stat()))
    plan = await WriteTool().prepare(WriteArgs(file_path=f"docs/{name}", content="new"), ctx)
    if replaced == "file":
        (project / "docs" / "a.txt").unlink()
        (project / "docs" / "a.txt").symlink_to(outside / "a.txt")
    else:
        (project / "docs").rename(project / "docs2")
        (project / "docs").symlink_to(outside)
    with pytest.raises(ToolError, match="no longer leads"):
        await WriteTool().execute(plan, PermissionReply("once"), ctx)
    assert [path.read_text() for path in outside.iterdir()] == ["old"]
