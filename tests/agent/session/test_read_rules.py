"""Rules for reading, as searches meet them."""

from pathlib import Path

import pytest

from agent.records.messages import Completed, Failed, ToolPart
from agent.records.requests import PermissionReply
from tests.support.harness import Harness, open_harness
from tests.support.script import Call, Text, answer

DONE = answer(Text("done"))
DENIED = {"read": {"private/**": "deny", "My Docs/*": "deny"}}
ONCE, ALWAYS = PermissionReply("once"), PermissionReply("always")


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


async def called(
    harness: Harness, tool: str, reply: PermissionReply | None = None, **arguments: object
) -> ToolPart:
    """Make a call of the model in a new session; *reply* answers the request that it makes."""
    harness.server.script(answer(Call(tool, arguments)), DONE)
    session = await harness.session()
    before = len(harness.events)
    await harness.send(session, "go")
    if reply is not None:
        request = await harness.permission_request(after=before)
        assert harness.runtime.permissions.reply(request.id, reply)
    await harness.idle(session, after=before)
    return (await harness.tools(session))[-1]


def output(part: ToolPart) -> str:
    assert isinstance(part.state, Completed), part.state
    return part.state.output


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
        part = await called(harness, "grep", pattern="SECRET")
        assert found(part) == {"open.txt", "My Docs/z.txt", "asked/a.txt"}
        assert "2 files were not searched: denied by read" in output(part)


async def test_grep_tells_the_number_of_denied_files_whatever_they_hold(
    tmp_path: Path, project: Path
) -> None:
    async with open_harness(tmp_path, permission=DENIED) as harness:
        some = output(await called(harness, "grep", pattern="SECRET of private"))
        none = output(await called(harness, "grep", pattern="SECRET of public"))
        assert some == none
        assert "3 files were not searched" in none
        text = output(await called(harness, "grep", pattern="SECRET", include="*.md"))
        assert "not searched" not in text


@pytest.mark.parametrize("path", ["private", "link", "My Docs", "private/deep"])
async def test_grep_of_a_denied_folder_shows_nothing(
    tmp_path: Path, project: Path, path: str
) -> None:
    async with open_harness(tmp_path, permission=DENIED) as harness:
        part = await called(harness, "grep", pattern="SECRET", path=path)
        assert found(part) == set()
        assert "not searched" in output(part)


@pytest.mark.parametrize("path", ["private/x.txt", "link/x.txt"])
async def test_grep_of_a_denied_file_is_refused(tmp_path: Path, project: Path, path: str) -> None:
    async with open_harness(tmp_path, permission=DENIED) as harness:
        part = await called(harness, "grep", pattern="SECRET", path=path)
        assert isinstance(part.state, Failed)
        assert part.state.kind == "denied"
        assert "private/**" in part.state.error


async def test_grep_finds_what_a_later_rule_allows(tmp_path: Path, project: Path) -> None:
    rules = {"read": {"*": "deny", "private/deep/*": "allow", "open.txt": "allow"}}
    async with open_harness(tmp_path, permission=rules) as harness:
        part = await called(harness, "grep", pattern="SECRET")
        assert found(part) == {"open.txt", "private/deep/y.txt"}
        part = await called(harness, "grep", pattern="SECRET", path="private")
        assert found(part) == {"private/deep/y.txt"}


async def test_grep_asks_for_what_a_rule_asks_for_when_it_is_named(
    tmp_path: Path, project: Path
) -> None:
    rules = {"read": {"asked/**": "ask"}}
    async with open_harness(tmp_path, permission=rules) as harness:
        part = await called(harness, "grep", pattern="SECRET")
        assert "asked/a.txt" not in found(part)
        assert "1 file that a read rule asks for matches too" in output(part)
        for path in ("asked/a.txt", "asked"):
            part = await called(harness, "grep", ONCE, pattern="SECRET", path=path)
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
        part = await called(harness, "grep", ONCE, pattern="SECRET")
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
