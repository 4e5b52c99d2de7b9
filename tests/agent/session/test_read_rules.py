"""Rules for reading, as searches meet them."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from agent.process.sandbox import find_sandbox
from agent.records.messages import Failed, ToolPart
from agent.records.requests import PermissionReply
from tests.support.harness import open_harness
from tests.support.script import Call, Text, answer
from tests.support.tool_calls import call_tool, output

DONE = answer(Text("done"))
DENIED = {"read": {"private/**": "deny", "My Docs/*": "deny"}}
ONCE, ALWAYS, NO = (
    PermissionReply("once"),
    PermissionReply("always"),
    PermissionReply("reject"),
)
needs_sandbox = pytest.mark.skipif(
    find_sandbox("auto").name == "none", reason="this machine has no sandbox"
)


needs_rg = pytest.mark.skipif(shutil.which("rg") is None, reason="ripgrep is not installed")


def make_repository(folder: Path, *command: str) -> None:
    """Make *folder* a repository, and run a git command in it."""
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    if command:
        subprocess.run(["git", *command], cwd=folder, check=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with the word SECRET in files that the rules of these tests restrict, and in an
    open one."""
    root = tmp_path / "project"
    for name in ("open.txt", "private/x.txt", "private/deep/y.txt", "My Docs/z.txt", "asked/a.txt"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"SECRET of {name}\n")
    (root / "link").symlink_to("private")
    return root


def found(part: ToolPart) -> set[str]:
    """Return the files of which the result shows a line."""
    return {line.rpartition(" of ")[2] for line in output(part).splitlines() if "SECRET of" in line}


PATTERNS = (
    "private/**",
    "private",
    "PRIVATE/",
    "**/private/*",
    "link/*",
    "{root}/private/**",
    "{root}/link",
    "~/../project/private/*",
)


@pytest.mark.parametrize("pattern", PATTERNS)
async def test_grep_leaves_out_what_a_rule_denies(
    tmp_path: Path, project: Path, pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    rules = {"read": {pattern.format(root=project): "deny"}}
    async with open_harness(tmp_path, permission=rules) as harness:
        part = await call_tool(harness, "grep", pattern="SECRET")
        assert found(part) == {"open.txt", "My Docs/z.txt", "asked/a.txt"}
        assert "2 files were not searched: denied by read" in output(part)


async def test_grep_tells_the_number_of_denied_files_whatever_they_hold(
    tmp_path: Path, project: Path
) -> None:
    async with open_harness(tmp_path, permission=DENIED) as harness:
        some = output(await call_tool(harness, "grep", pattern="SECRET of private"))
        none = output(await call_tool(harness, "grep", pattern="SECRET of public"))
        assert some == none
        assert "3 files were not searched" in none
        text = output(await call_tool(harness, "grep", pattern="SECRET", include="*.md"))
        assert "not searched" not in text


@pytest.mark.parametrize("path", ["private", "link", "My Docs", "private/deep"])
async def test_grep_of_a_denied_folder_shows_nothing(
    tmp_path: Path, project: Path, path: str
) -> None:
    async with open_harness(tmp_path, permission=DENIED) as harness:
        part = await call_tool(harness, "grep", pattern="SECRET", path=path)
        assert found(part) == set()
        assert "not searched" in output(part)


@pytest.mark.parametrize("path", ["private/x.txt", "link/x.txt"])
async def test_grep_of_a_denied_file_is_refused(tmp_path: Path, project: Path, path: str) -> None:
    async with open_harness(tmp_path, permission=DENIED) as harness:
        part = await call_tool(harness, "grep", pattern="SECRET", path=path)
        assert isinstance(part.state, Failed)
        assert part.state.kind == "denied"
        assert "private/**" in part.state.error


async def test_grep_finds_what_a_later_rule_allows(tmp_path: Path, project: Path) -> None:
    rules = {"read": {"*": "deny", "private/deep/*": "allow", "open.txt": "allow"}}
    async with open_harness(tmp_path, permission=rules) as harness:
        part = await call_tool(harness, "grep", pattern="SECRET")
        assert found(part) == {"open.txt", "private/deep/y.txt"}
        part = await call_tool(harness, "grep", pattern="SECRET", path="private")
        assert found(part) == {"private/deep/y.txt"}


async def test_grep_asks_for_what_a_rule_asks_for_when_it_is_named(
    tmp_path: Path, project: Path
) -> None:
    rules = {"read": {"asked/**": "ask"}}
    async with open_harness(tmp_path, permission=rules) as harness:
        part = await call_tool(harness, "grep", pattern="SECRET")
        assert "asked/a.txt" not in found(part)
        assert "1 file that a read rule asks for matches too" in output(part)
        for path in ("asked/a.txt", "asked"):
            part = await call_tool(harness, "grep", ONCE, pattern="SECRET", path=path)
            assert found(part) == {"asked/a.txt"}


async def test_always_lets_grep_search_the_folder_again(tmp_path: Path, project: Path) -> None:
    async with open_harness(tmp_path, permission={"read": {"asked/**": "ask"}}) as harness:
        search = answer(Call("grep", {"pattern": "SECRET", "path": "asked"}))
        harness.server.script(search, search, DONE)
        session = await harness.session()
        await harness.send(session, "go")
        request = await harness.permission_request()
        assert harness.runtime.permissions.reply(request.id, ALWAYS)
        await harness.idle(session)
        assert [found(part) for part in await harness.tools(session)] == [{"asked/a.txt"}] * 2


async def test_a_rule_that_asks_before_all_reading_asks_once_for_a_search(
    tmp_path: Path, project: Path
) -> None:
    async with open_harness(tmp_path, permission={"read": "ask"}) as harness:
        part = await call_tool(harness, "grep", ONCE, pattern="SECRET")
        assert len(found(part)) == 5


async def test_the_rules_of_the_agent_and_of_its_callers_count(
    tmp_path: Path, project: Path
) -> None:
    agents = {
        "build": {"permission": {"read": {"private/**": "deny"}}},
        "general": {"permission": {"read": {"My Docs/**": "deny"}}},
    }
    async with open_harness(tmp_path, agent=agents) as harness:
        task = {"description": "d", "prompt": "p", "subagent_type": "general"}
        search = answer(Call("grep", {"pattern": "SECRET"}))
        harness.server.script(answer(Call("task", task)), search, DONE, DONE)
        session = await harness.session()
        await harness.turn(session, "go")
        said = str(harness.server.requests[2].body)
        assert "SECRET of open.txt" in said
        assert "SECRET of private" not in said
        assert "SECRET of My Docs" not in said


SEARCHES = (
    "grep -r SECRET .",
    "grep -r SECRET",
    "rg SECRET",
    "git grep --untracked SECRET",
    "git grep --no-index SECRET",
    "cd 'My Docs' && grep SECRET *",
    "cat */*",
    "head */*.txt",
    "head -n 1 *.txt */* */*/*",
    'for f in */*; do cat "$f"; done',
    "cd link/.. && rg SECRET",
    "tail -n +1 [mMpo]*/*",
    "diff -r asked My*",
    "cat open.txt; wc -l open.txt && grep -r SECRET . | sort",
)


@needs_sandbox
@pytest.mark.parametrize("command", SEARCHES)
async def test_a_search_runs_without_the_files_that_a_rule_denies(
    tmp_path: Path, project: Path, command: str
) -> None:
    make_repository(project)
    async with open_harness(tmp_path, permission=DENIED) as harness:
        part = await call_tool(harness, "bash", command=command)
        shown = output(part)
        assert "SECRET of private" not in shown
        assert "SECRET of My" not in shown
        assert not harness.runtime.permissions.pending()


@pytest.mark.parametrize("command", SEARCHES)
async def test_a_search_of_denied_files_asks_without_a_sandbox(
    tmp_path: Path, project: Path, command: str
) -> None:
    make_repository(project)
    settings = {"permission": {**DENIED, "bash": "allow"}, "bash": {"sandbox": "off"}}
    async with open_harness(tmp_path, **settings) as harness:
        part = await call_tool(harness, "bash", NO, command=command)
        assert isinstance(part.state, Failed)


@needs_sandbox
@pytest.mark.parametrize(
    "command", ["grep -r SECRET .", "cat */*", "grep -r SECRET asked", "head *.txt private/*"]
)
async def test_a_search_runs_without_another_name_of_a_file_that_a_rule_denies(
    tmp_path: Path, project: Path, command: str
) -> None:
    os.link(project / "private" / "x.txt", project / "asked" / "copy.txt")
    os.link(project / "private" / "x.txt", project / "copy.txt")
    os.link(project / "private" / "x.txt", project / "private" / "same.txt")
    os.link(project / "private" / "x.txt", tmp_path / "outside.txt")
    async with open_harness(tmp_path, permission={"read": {"private/x.txt": "deny"}}) as harness:
        shown = output(await call_tool(harness, "bash", command=command))
        assert "SECRET of private/x.txt" not in shown
        assert "SECRET of" in shown
        assert "Hidden by read rules: " in shown


async def test_grep_leaves_out_another_name_of_a_file_that_a_rule_denies(
    tmp_path: Path, project: Path
) -> None:
    os.link(project / "private" / "x.txt", project / "asked" / "copy.txt")
    async with open_harness(tmp_path, permission=DENIED) as harness:
        part = await call_tool(harness, "grep", pattern="SECRET", path="asked")
        assert found(part) == {"asked/a.txt"}
        assert "1 file was not searched" in output(part)


@needs_sandbox
async def test_the_result_names_a_few_of_the_hidden_files(tmp_path: Path, project: Path) -> None:
    async with open_harness(tmp_path, permission=DENIED) as harness:
        shown = output(await call_tool(harness, "bash", command="cat private/*"))
        assert "SECRET" not in shown
        assert "(Hidden by read rules: private/x.txt.)" in shown
        shown = output(await call_tool(harness, "bash", command="rg SECRET asked"))
        assert "Hidden" not in shown
        for name in range(10):
            (project / "private" / f"{name}.txt").write_text("SECRET of private\n")
        shown = output(await call_tool(harness, "bash", command="rg SECRET"))
        assert " and 10 more.)" in shown


@needs_sandbox
async def test_many_denied_files_are_hidden_with_their_folder(
    tmp_path: Path, project: Path
) -> None:
    for name in range(300):
        (project / "private" / "deep" / f"{name}.txt").write_text("SECRET of private\n")
    async with open_harness(tmp_path, permission=DENIED) as harness:
        shown = output(await call_tool(harness, "bash", command="grep -r SECRET ."))
        assert "SECRET of private" not in shown
        assert "private/deep" in shown
        assert "SECRET of open.txt" in shown


async def test_too_many_denied_files_ask(tmp_path: Path, project: Path) -> None:
    for name in range(300):
        (project / "asked" / f"{name}.key").write_text("SECRET of a key\n")
    async with open_harness(tmp_path, permission={"read": {"*.key": "deny"}}) as harness:
        part = await call_tool(harness, "bash", NO, command="rg SECRET .")
        assert isinstance(part.state, Failed)


@needs_sandbox
@pytest.mark.parametrize(
    "command",
    ["grep -r TOKEN .", "grep -r TOKEN", pytest.param("rg --hidden TOKEN", marks=needs_rg)],
)
async def test_a_search_next_to_secrets_runs_without_them(
    tmp_path: Path, project: Path, command: str
) -> None:
    (project / ".env").write_text("TOKEN=hunter2\n")
    (project / "open.txt").write_text("TOKEN=\n")
    async with open_harness(tmp_path) as harness:
        shown = output(await call_tool(harness, "bash", command=command))
        assert "TOKEN=" in shown
        assert "hunter2" not in shown
        assert "may contain secrets: .env" in shown


@pytest.mark.parametrize("command", ["cat .env", "grep -r TOKEN . ; touch x", "grep -r TOKEN .env"])
async def test_named_secrets_and_changing_lines_ask(
    tmp_path: Path, project: Path, command: str
) -> None:
    (project / ".env").write_text("TOKEN=hunter2\n")
    async with open_harness(tmp_path) as harness:
        part = await call_tool(harness, "bash", NO, command=command)
        assert isinstance(part.state, Failed)


async def test_secrets_ask_without_a_sandbox(tmp_path: Path, project: Path) -> None:
    (project / ".env").write_text("TOKEN=hunter2\n")
    async with open_harness(tmp_path, bash={"sandbox": "off"}) as harness:
        part = await call_tool(harness, "bash", NO, command="grep -r TOKEN .")
        assert isinstance(part.state, Failed)


NAMED = (
    "cat private/x.txt",
    "grep -R SECRET asked link",
    "cat link/x.txt",
    "grep -r SECRET private",
    "head {private,x}/x.txt",
)


@pytest.mark.parametrize("sandbox", ["auto", "off"])
@pytest.mark.parametrize("command", NAMED)
async def test_a_command_that_names_a_denied_file_is_refused(
    tmp_path: Path, project: Path, command: str, sandbox: str
) -> None:
    async with open_harness(tmp_path, permission=DENIED, bash={"sandbox": sandbox}) as harness:
        part = await call_tool(harness, "bash", command=command)
        assert isinstance(part.state, Failed)
        assert "private/**" in part.state.error


@pytest.mark.parametrize("command", [pytest.param("rg SECRET", marks=needs_rg), "grep -r SECRET ."])
async def test_a_search_asks_where_a_rule_asks_before_all_reading(
    tmp_path: Path, project: Path, command: str
) -> None:
    async with open_harness(tmp_path, permission={"read": "ask"}) as harness:
        part = await call_tool(harness, "bash", ONCE, command=command)
        assert output(part).count("SECRET of") == 5


TRACKED = (
    "git grep SECRET",
    "git diff",
    "git show",
    "git log -p",
    "git blame open.txt",
    "git grep SECRET; rg SECRET",
)
NAMES = ("git status", "git log", "git diff --stat", "git ls-files", "git branch -v")


@pytest.mark.parametrize("sandbox", ["auto", "off"])
@pytest.mark.parametrize("command", TRACKED)
async def test_git_asks_before_it_shows_denied_files_that_it_stores(
    tmp_path: Path, project: Path, command: str, sandbox: str
) -> None:
    make_repository(project, "add", ".")
    async with open_harness(tmp_path, permission=DENIED, bash={"sandbox": sandbox}) as harness:
        part = await call_tool(harness, "bash", NO, command=command)
        assert isinstance(part.state, Failed)


@pytest.mark.parametrize(
    ("command", "stored"),
    [*((each, "add .") for each in NAMES), *((each, "add open.txt") for each in TRACKED[:2])],
)
async def test_git_shows_names_and_other_files_without_a_question(
    tmp_path: Path, project: Path, command: str, stored: str
) -> None:
    make_repository(project, *stored.split())
    async with open_harness(tmp_path, permission=DENIED) as harness:
        shown = output(await call_tool(harness, "bash", command=command))
        assert "SECRET of private" not in shown
