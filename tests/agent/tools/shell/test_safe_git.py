"""Git commands that run unasked read no configuration of a repository."""

import os
import shlex
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.bus import Bus
from agent.permission.rules import evaluate
from agent.process import SpillStore, kill_all
from agent.records.requests import PermissionReply
from agent.tools.bash import BashArgs, BashTool
from agent.tools.core.tool import Result, ToolContext
from agent.tools.core.truncate import Limits, Truncator
from agent.tools.shell.settings import BashSettings
from agent.tools.shell.shells import Shells
from tests.agent.tools.conftest import MakeContext
from tests.support.hostile_repositories import TRAPS, plain, repository

LINES = (
    "git status", "git status --short", "git status -uall", "git diff", "git diff --stat",
    "git diff --cached", "git diff HEAD", "git show", "git show --stat HEAD", "git log -p",
    "git log --stat --all", "git blame a.txt", "git grep o", "git ls-files -m",
    "git ls-files --others", "git describe --dirty", "git describe --always --dirty",
    "git stash show -p", "git stash list", "git rev-parse HEAD", "git branch -vv",
    "git branch --show-current", "git tag", "git cat-file -p HEAD:a.txt", "git worktree list",
    "git shortlog HEAD", "git reflog", "git for-each-ref", "git rev-list HEAD",
    "git name-rev HEAD", "git ls-tree HEAD", "git remote -v", "git whatchanged",
    "git diff-index -p HEAD", "git diff-files -p", "git count-objects -v", "git show-branch",
    "git cherry", "git merge-base HEAD HEAD", "command git diff", "timeout 9 git status",
    "time git diff", "git log -p | head -3", "(git status)", 'echo "$(git diff)"',
    "if git diff; then git status; fi", "git show HEAD:a.txt", "git log -L1,1:a.txt",
)  # fmt: skip

MOVES = (
    "cd . && git status", "cd inner && git status && git diff", "cd inner; git status",
    "cd docs && git status", "git -C inner status", "git -C docs diff",
    "cd docs; git log -p; cd ..; git diff",
)  # fmt: skip

ASKING = (
    "git log --show-signature", "git log --format=%G?", "git tag -v x", "git archive HEAD",
    "git submodule status", "git cat-file --textconv HEAD:a.txt",
    "git cat-file --filters HEAD:a.txt", "git fsck", "git diff --submodule=diff",
    "git log -p --subm=diff", "git status --ignore-submodules=none", "git stat", "git st",
    "git grep --recurse-submodules o", "command -p git diff",
    "GIT_DIR=.git git status", "env -i git status", "unset GIT_DIR; git status",
    "PATH=/usr/bin git status", "export PATH=/usr/bin; git status", "/usr/bin/git status",
    "git -c core.fsmonitor=x status", "alias git=/usr/bin/git; git status",
    "hash -p /usr/bin/git git; git status",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    yield
    kill_all()


@pytest.fixture
def tool(tmp_path: Path) -> BashTool:
    truncator = Truncator(Limits(), SpillStore(tmp_path / "data" / "spill"))
    return BashTool(BashSettings(), truncator, Shells(Bus()))


async def unasked(tool: BashTool, ctx: ToolContext, command: str, workdir: str = ".") -> str | None:
    """Run *command* as it runs without any rule; None if it asks."""
    plan = await tool.prepare(BashArgs(command=command, workdir=workdir), ctx)
    if any(evaluate(need, ()).action != "allow" for need in plan.needs):
        return None
    return (await tool.execute(plan, None, ctx)).output


async def approved(tool: BashTool, ctx: ToolContext, command: str) -> Result:
    plan = await tool.prepare(BashArgs(command=command), ctx)
    return await tool.execute(plan, PermissionReply("once"), ctx)


def marking_script(folder: Path) -> tuple[Path, Path]:
    """Return a script, and the file that it makes."""
    script, mark = folder / "run", folder / "sprung"
    script.write_text(f"#!/bin/sh\ntouch {mark}\n")
    script.chmod(0o755)
    return script, mark


@pytest.mark.parametrize("name", TRAPS)
async def test_nothing_planted_runs_unasked(
    tool: BashTool, make_context: MakeContext, tmp_path: Path, name: str
) -> None:
    """All lines, in the folder that is opened and with its subfolders as ``workdir``; the same
    plain command runs what is planted once it was approved."""
    trap, folder = TRAPS[name], tmp_path / "shop"
    script, mark = marking_script(tmp_path)
    trap.plant(folder, str(script))
    mark.unlink(missing_ok=True)  # planting may have sprung it
    ctx = make_context(folder / trap.inside, project=folder)
    for workdir in (".", *(each for each in ("docs", "inner") if (folder / each).is_dir())):
        place = str(folder / workdir) if workdir != "." else "."
        for lines in ("\n".join(LINES), *MOVES):
            await unasked(tool, ctx, lines, place)
            assert not mark.exists(), lines
    for line in ASKING:
        assert await unasked(tool, ctx, line) is None, line
    if trap.springs and name != "editor and credentials":  # no command has an editor
        await approved(tool, ctx, shlex.join(("git", *trap.springs)))
        assert mark.exists(), "an approved command has the user's configuration"


@pytest.mark.parametrize("line", [*LINES, "\n".join(LINES)])
async def test_each_line_runs_unasked(tool: BashTool, make_context: MakeContext, line: str) -> None:
    assert await unasked(tool, make_context(), line) is not None


async def test_a_committed_nested_repository_is_not_entered_by_plumbing(
    tool: BashTool, make_context: MakeContext, tmp_path: Path
) -> None:
    """Where no other change hides that git looks into it."""
    folder = tmp_path / "shop"
    script, mark = marking_script(tmp_path)
    TRAPS["submodule"].plant(folder, str(script))
    (folder / "a.txt").write_text("one\n")
    mark.unlink(missing_ok=True)
    ctx = make_context(folder)
    for line in ("git describe --always --dirty", "git diff-index -p HEAD", "git diff-files -p"):
        assert await unasked(tool, ctx, line) is not None
        assert not mark.exists(), line


SAME = (
    "git status", "git diff", "git diff --cached", "git log --oneline --decorate", "git branch -vv",
    "git stash list", "git stash show -p", "git reflog", "git remote -v", "git describe --always",
    "git tag", "git worktree list", "git rev-parse --show-toplevel --abbrev-ref HEAD",
    "git ls-files -s", "git blame HEAD a.txt", "git shortlog -s HEAD",
    "cd docs && git status --short",
    "git log --format='%an <%ae>' -1", "git show HEAD", "git for-each-ref",
)  # fmt: skip


async def test_a_normal_repository_is_shown_as_it_is(
    tool: BashTool, make_context: MakeContext, tmp_path: Path
) -> None:
    """Branches that follow another, line ends, a stash, a merge in progress, ignored files."""
    origin, folder = tmp_path / "origin", tmp_path / "shop"
    repository(origin)
    plain(tmp_path, "clone", "-q", str(origin), str(folder))
    (folder / "docs").mkdir()
    (folder / "docs" / "new.md").write_text("new\n")
    (folder / ".git" / "info" / "exclude").write_text("*.log\n")
    (folder / "x.log").write_text("x\n")
    plain(folder, "config", "core.autocrlf", "input")
    (folder / "a.txt").write_bytes(b"one\r\n")
    (folder / "b.txt").write_text("b\n")
    plain(folder, "add", "b.txt")
    plain(folder, "stash", "-q")
    plain(folder, "checkout", "-qb", "other")
    (folder / "a.txt").write_text("other\n")
    plain(folder, "commit", "-qam", "other")
    plain(folder, "checkout", "-q", "main")
    (folder / "a.txt").write_text("main\n")
    plain(folder, "commit", "-qam", "main")
    plain(folder, "merge", "-q", "other")
    ctx = make_context(folder)
    for line in SAME:
        assert await unasked(tool, ctx, line) == (await approved(tool, ctx, line)).output, line


@pytest.mark.parametrize("line", ["git diff", "git -P diff --name-only", "cd docs; git diff HEAD"])
async def test_the_index_is_not_refreshed(
    tool: BashTool, make_context: MakeContext, tmp_path: Path, line: str
) -> None:
    """Git would write new times of a file whose content is the same."""
    folder = tmp_path / "shop"
    repository(folder)
    (folder / "docs").mkdir()
    (folder / "b.txt").write_text("b\n")
    plain(folder, "add", "b.txt")
    os.utime(folder / "b.txt", (1, 1))
    index = (folder / ".git" / "index").read_bytes()
    found = await unasked(tool, make_context(folder), line)
    assert found is not None
    assert "a.txt" in found
    assert (folder / ".git" / "index").read_bytes() == index


LINKED = ("status", "diff", "log --oneline", "branch", "reflog", "worktree list")


async def test_a_linked_work_tree_is_shown_as_it_is(
    tool: BashTool, make_context: MakeContext, tmp_path: Path
) -> None:
    main, folder = tmp_path / "shop", tmp_path / "linked"
    repository(main)
    plain(main, "worktree", "add", "-q", "-b", "side", str(folder))
    (folder / "a.txt").write_text("three\n")
    ctx = make_context(folder)
    for words in LINKED:
        found = await unasked(tool, ctx, f"git {words}")
        assert found is not None
        assert found.split() == (await approved(tool, ctx, f"git {words}")).output.split()


async def test_several_repositories_in_one_line(
    tool: BashTool, make_context: MakeContext, tmp_path: Path
) -> None:
    folder = tmp_path / "shop"
    repository(folder)
    repository(folder / "inner")
    (folder / "inner" / "only-here").write_text("x\n")
    line = "git status --short; git -C inner log --oneline; cd inner && git status --short"
    ctx = make_context(folder)
    found = await unasked(tool, ctx, line)
    assert found == (await approved(tool, ctx, line)).output
    assert found is not None
    assert "?? only-here" in found


async def test_a_line_with_approved_commands_keeps_their_configuration(
    tool: BashTool, make_context: MakeContext, tmp_path: Path
) -> None:
    """A rule allows the commit, and its hook runs; what reads only still runs without one."""
    folder = tmp_path / "shop"
    repository(folder)
    script, mark = marking_script(tmp_path)
    plain(folder, "config", "core.fsmonitor", str(script))
    hook = folder / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\ntouch hooked\n")
    hook.chmod(0o755)
    ctx = make_context(folder)
    line = "git status --short && touch more && git log --oneline"
    plan = await tool.prepare(BashArgs(command=line), ctx)
    await tool.execute(plan, None, ctx)  # a rule allows touch
    assert (folder / "more").exists()
    assert not mark.exists()
    commit = "git -c user.name=a -c user.email=b commit -qam x"
    line = f"git switch -qc next; git status | head -1; {commit}"
    plan = await tool.prepare(BashArgs(command=line), ctx)
    done = await tool.execute(plan, None, ctx)
    assert done.output.startswith("On branch next")
    assert (folder / "hooked").exists()


async def test_the_private_folder_is_removed(
    tool: BashTool, make_context: MakeContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    repository(tmp_path / "shop")
    ctx = make_context(tmp_path / "shop")
    own = await unasked(tool, ctx, "git rev-parse --absolute-git-dir")
    assert own == str((tmp_path / "shop" / ".git").resolve())
    assert not list(temporary.iterdir())
    plan = await tool.prepare(BashArgs(command="git status", background=True), ctx)
    await tool.execute(plan, None, ctx)
    assert not list(temporary.iterdir())
