"""The bash tool with real commands."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent.bus import Bus
from agent.permission.rules import Rule, evaluate
from agent.process import SpillStore, kill_all
from agent.records.blocks import ShellBlock, ToolLabel
from agent.records.errors import InvalidArguments, ToolError
from agent.records.requests import PermissionReply
from agent.tools.bash import BashArgs, BashTool
from agent.tools.core.arguments import validate
from agent.tools.core.tool import Result, ToolContext
from agent.tools.core.truncate import Limits, Truncator
from agent.tools.shell.results import is_exit_one_normal
from agent.tools.shell.settings import BashSettings
from agent.tools.shell.shells import Shells
from tests.agent.tools.conftest import MakeContext


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    yield
    kill_all()


@pytest.fixture
def tool(tmp_path: Path) -> BashTool:
    return make_tool(tmp_path, BashSettings(secret_names=frozenset({"MODEL_KEY"})))


def make_tool(tmp_path: Path, settings: BashSettings) -> BashTool:
    truncator = Truncator(Limits(), SpillStore(tmp_path / "data" / "spill"))
    return BashTool(settings, truncator, Shells(Bus()))


async def call(tool: BashTool, ctx: ToolContext, command: str, **more: object) -> Result:
    plan = await tool.prepare(BashArgs.model_validate({"command": command, **more}), ctx)
    return await tool.execute(plan, None, ctx)


def names(folder: str) -> list[str]:
    return sorted(path.name for path in Path(folder).iterdir())


def shell_block(result: Result) -> ShellBlock:
    assert result.blocks is not None
    (block,) = result.blocks
    assert isinstance(block, ShellBlock)
    return block


async def test_plan_shows_the_command_and_asks(tool: BashTool, make_context: MakeContext) -> None:
    """The shown command is the one that runs."""
    ctx = make_context()
    args = BashArgs(command="touch a\ntouch b", timeout=2_000, description="Makes two files")
    plan = await tool.prepare(args, ctx)
    assert plan.label.verb == "Bash"
    assert plan.label.object == "touch a …"
    assert plan.label.note == "Makes two files"
    assert plan.blocks == (ShellBlock("touch a\ntouch b"),)
    assert plan.heading == "Run this command?"
    assert plan.payload.command == "touch a\ntouch b"
    assert plan.payload.timeout == 2.0
    assert {need.permission for need in plan.needs} == {"bash"}
    assert names(ctx.directory) == []


async def test_output_facts_and_exit_code(tool: BashTool, make_context: MakeContext) -> None:
    done = await call(tool, make_context(), "echo hello")
    assert done.output == "hello"
    assert done.exit_code == 0
    assert not done.failed
    assert done.facts == ()
    assert shell_block(done) == ShellBlock("echo hello", "hello", 0)


async def test_failure_is_a_result_with_its_output(
    tool: BashTool, make_context: MakeContext
) -> None:
    done = await call(tool, make_context(), "echo broken >&2; exit 2")
    assert done.output == "broken\n\n(Exit code 2.)"
    assert done.exit_code == 2
    assert done.failed
    assert done.facts[0] == "exit 2"
    assert shell_block(done).exit_code == 2


async def test_no_output(tool: BashTool, make_context: MakeContext) -> None:
    assert (await call(tool, make_context(), "true")).output == "(no output)"


@pytest.mark.parametrize(
    ("command", "answers"),
    [
        ("grep x f", True),
        ("cd a && /usr/bin/grep x f\n", True),
        ("LC_ALL=C rg x . 2>&1", True),
        ("git diff --exit-code", True),
        ("git --no-pager grep x", True),
        ("[ -f x ]", True),
        ("diff <(sort a) <(sort b)", True),
        ("(test -f x)", True),
        ("! cmp a b", True),
        ("echo 'a; grep b'", False),
        ("grep x f | python check.py", False),
        ("git push", False),
        ("grep x f; false", False),
        ("echo 'unfinished", False),
        ("", False),
    ],
)
def test_exit_one_that_is_an_answer(command: str, answers: bool) -> None:
    assert is_exit_one_normal(command) is answers


async def test_exit_one_of_grep_cancels_no_sibling(
    tool: BashTool, make_context: MakeContext
) -> None:
    assert not (await call(tool, make_context(), "echo a | grep b")).failed
    assert (await call(tool, make_context(), "echo a | grep a; exit 1")).failed
    assert (await call(tool, make_context(), "grep b /no/such/file")).failed


async def test_workdir_is_relative_to_the_session_folder(
    tool: BashTool, make_context: MakeContext, tmp_path: Path
) -> None:
    (tmp_path / "sub").mkdir()
    done = await call(tool, make_context(), "pwd", workdir="sub")
    assert done.output == str((tmp_path / "sub").resolve())


async def test_workdir_outside_needs_consent(
    tool: BashTool, make_context: MakeContext, tmp_path: Path
) -> None:
    project, other = tmp_path / "project", tmp_path / "other"
    project.mkdir()
    other.mkdir()
    plan = await tool.prepare(BashArgs(command="ls", workdir="../other"), make_context(project))
    outside = [need for need in plan.needs if need.permission == "external_directory"]
    assert outside[0].pattern == f"{other.resolve()}/*"


async def test_workdir_that_is_missing_is_an_error(
    tool: BashTool, make_context: MakeContext
) -> None:
    with pytest.raises(ToolError, match="does not exist"):
        await call(tool, make_context(), "pwd", workdir="nowhere")


async def test_folder_that_was_deleted_falls_back_to_the_project(
    tool: BashTool, make_context: MakeContext, tmp_path: Path
) -> None:
    """The result says that the folder was deleted."""
    gone = tmp_path / "d"
    gone.mkdir()
    ctx = replace(make_context(gone), project=str(tmp_path))
    await call(tool, ctx, "rm -rf ../d")
    done = await call(tool, ctx, "echo hi; pwd")
    assert done.output.startswith(f"hi\n{tmp_path}")
    assert "does not exist any more" in done.output
    assert not done.failed


async def test_timeout_in_milliseconds(tool: BashTool, make_context: MakeContext) -> None:
    """The text so far, and no success."""
    done = await call(
        tool, make_context(), 'echo first; sh -c "sleep 300; true"; true', timeout=1_500
    )
    assert done.output.startswith("first\n")
    assert "Timed out after 1.5s" in done.output
    assert done.failed
    assert done.exit_code is None
    assert done.facts[0] == "timed out"


async def test_timeout_defaults_and_limit(tmp_path: Path, make_context: MakeContext) -> None:
    tool = make_tool(tmp_path, BashSettings(default_timeout=7.0, max_timeout=9.0))
    ctx = make_context()
    assert (await tool.prepare(BashArgs(command="true"), ctx)).payload.timeout == 7.0
    plan = await tool.prepare(BashArgs(command="true", timeout=1_000_000), ctx)
    assert plan.payload.timeout == 9.0
    done = await tool.execute(plan, None, ctx)
    assert "lowered to 9000 ms" in done.output


async def test_a_time_limit_in_seconds_is_recognized(
    tool: BashTool, make_context: MakeContext
) -> None:
    """Models mix the units up; two milliseconds would end every command at once."""
    plan = await tool.prepare(BashArgs(command="echo hi", timeout=2), make_context())
    assert plan.payload.timeout == 2.0
    assert "taken as seconds" in (await tool.execute(plan, None, make_context())).output


def test_a_timeout_that_makes_no_sense_teaches() -> None:
    with pytest.raises(InvalidArguments, match="timeout: must be more than 0, got -5"):
        validate(BashArgs, {"command": "true", "timeout": -5})


def test_the_schema_names_the_unit() -> None:
    assert "milliseconds" in str(BashArgs.model_json_schema()["properties"]["timeout"])


@pytest.mark.parametrize("command", ["  ", "echo a\0b", "x" * 200_000])
async def test_commands_that_cannot_run_are_errors(
    command: str, tool: BashTool, make_context: MakeContext
) -> None:
    with pytest.raises(ToolError):
        await tool.prepare(BashArgs(command=command), make_context())


async def test_a_background_process_is_reported(tool: BashTool, make_context: MakeContext) -> None:
    done = await call(tool, make_context(), "sleep 60 & echo done")
    assert done.output.startswith("done\n")
    assert "background process" in done.output
    assert not done.failed


async def test_long_output_keeps_its_tail_within_the_limits(
    tool: BashTool, make_context: MakeContext
) -> None:
    done = await call(tool, make_context(), "seq 1 300000; exit 3")
    assert done.output.startswith("[Output truncated: it had 300,000 lines and 1,988,895 bytes")
    assert "\n300000\n\n(Exit code 3.)" in done.output
    assert "the last 1,990 lines are shown" in done.output
    assert Truncator(Limits(), SpillStore(Path())).fits(done.output)
    assert done.spill is not None
    assert done.spill in done.output
    assert check_lines(done.spill) == 300_000
    assert len(shell_block(done).output) <= 10_000
    block = shell_block(done)
    assert block.output.endswith("\n300000")
    assert block.earlier + block.output.count("\n") + 1 == 300_000


@pytest.mark.parametrize(("printed", "earlier"), [(150, 0), (200, 0), (201, 1), (400, 200)])
async def test_lines_that_the_transcript_does_not_keep_are_counted(
    tool: BashTool, make_context: MakeContext, printed: int, earlier: int
) -> None:
    done = await call(tool, make_context(), f"seq {printed}")
    assert shell_block(done).earlier == earlier


def check_lines(spill: str) -> int:
    return Path(spill).read_text().count("\n")


async def test_output_below_the_limits_is_not_spilled(
    tool: BashTool, make_context: MakeContext
) -> None:
    done = await call(tool, make_context(), "seq 1 1900")
    assert done.spill is None
    assert done.output.startswith("1\n2\n")
    assert done.output.endswith("1900")


async def test_bytes_that_are_no_text(tool: BashTool, make_context: MakeContext) -> None:
    done = await call(tool, make_context(), r'printf "\377\376abc\360\237"')
    assert done.output == "\ufffd\ufffdabc\ufffd"


async def test_secret_variables_are_not_inherited(
    tmp_path: Path, make_context: MakeContext
) -> None:
    env = {"MODEL_KEY": "secret", "MY_TOOL": "kept", "PATH": "/usr/bin:/bin"}
    tool = make_tool(tmp_path, BashSettings(secret_names=frozenset({"MODEL_KEY"}), env=env))
    done = await call(tool, make_context(), "env")
    assert "MODEL_KEY" not in done.output
    assert "MY_TOOL=kept" in done.output
    assert "OPENCODE_PY_CALL=" in done.output


STRICT = {
    "PATH": "/usr/bin:/bin",
    "LC_TIME": "C",
    "XDG_RUNTIME_DIR": "/run/user/1",
    "XDG_API_TOKEN": "t",
    "SSH_AUTH_SOCK": "/run/agent",
    "GITHUB_TOKEN": "g",
    "MY_TOOL": "x",
    "MY_OTHER": "y",
    "MODEL_KEY": "secret",
}


@pytest.mark.parametrize(
    ("kept", "seen"),
    [
        ((), {"PATH", "LC_TIME", "XDG_RUNTIME_DIR"}),
        (
            ("MY_*", "SSH_AUTH_SOCK", "MODEL_KEY"),
            {"PATH", "LC_TIME", "XDG_RUNTIME_DIR", "MY_TOOL", "MY_OTHER", "SSH_AUTH_SOCK"},
        ),
    ],
)
async def test_a_strict_environment_is_a_short_list(
    kept: tuple[str, ...], seen: set[str], tmp_path: Path, make_context: MakeContext
) -> None:
    """A few names, none that sounds like a secret, and those the user adds."""
    settings = BashSettings(
        secret_names=frozenset({"MODEL_KEY"}), strict_env=True, kept_env=kept, env=STRICT
    )
    done = await call(make_tool(tmp_path, settings), make_context(), "env")
    names = {line.partition("=")[0] for line in done.output.splitlines()}
    assert names & set(STRICT) == seen
    assert "OPENCODE_PY_CALL" in names


async def test_kept_output_is_read_without_consent(
    tool: BashTool, make_context: MakeContext, tmp_path: Path
) -> None:
    """The folder of kept outputs is exempt from external_directory, for reading."""
    project, spill = tmp_path / "project", tmp_path / "data" / "spill"
    project.mkdir()
    spill.mkdir(parents=True)
    (spill / "a.txt").touch()
    (spill / "link").symlink_to("/etc/hostname")
    ctx = make_context(project)

    async def asks(command: str) -> set[str]:
        plan = await tool.prepare(BashArgs(command=command), ctx)
        return {need.permission for need in plan.needs if need.default_action != "allow"}

    for free in (
        f"grep -n x {spill}/a.txt",
        f"tail -5 {spill}/a.txt | wc -l",
        f"grep -r x {spill}",
    ):
        assert await asks(free) == set(), free
    for asked in (
        f"cat {spill}/link",
        f"cat {spill}/../other",
        f"rm {spill}/a.txt",
        f"echo x > {spill}/a.txt",
    ):
        assert "external_directory" in await asks(asked), asked


async def test_live_tail(tool: BashTool, make_context: MakeContext) -> None:
    shown: list[str] = []
    seen = asyncio.Event()

    def progress(text: str) -> None:
        shown.append(text)
        seen.set()

    ctx = make_context(progress=progress)
    running = asyncio.create_task(
        call(tool, ctx, "echo early; while [ ! -f go ]; do sleep 0.01; done")
    )
    async with asyncio.timeout(30):
        await seen.wait()
    assert shown[-1] == "early\n"
    (Path(ctx.directory) / "go").touch()
    assert (await running).output == "early"


@pytest.mark.parametrize(
    ("command", "safe"), [("ls -la", True), ("git status", True), ("touch x", False), ("$X", False)]
)
def test_only_read_only_commands_run_side_by_side(command: str, safe: bool, tool: BashTool) -> None:
    assert tool.concurrency_safe(BashArgs(command=command)) is safe


async def test_without_bash_nothing_is_proven_and_nothing_is_offered(
    tmp_path: Path, make_context: MakeContext
) -> None:
    """Another shell may read a line in another way than the analysis does."""
    ctx = make_context()
    lines = ("ls -la", "git push origin main", "echo a > b.txt")
    known = make_tool(tmp_path, BashSettings(shell=("/bin/bash", "-c")))
    other = make_tool(tmp_path, BashSettings(shell=("/bin/sh", "-c")))
    for line in lines:
        args = BashArgs(command=line)
        plan = await other.prepare(args, ctx)
        commands = [need for need in plan.needs if need.permission == "bash"]
        assert commands
        for need in plan.needs:
            assert need.always is None, line
            assert evaluate(need, (Rule("bash", "git *", "allow", "config"),)).action == "ask", line
        assert all(need.strict == "unknown" for need in commands)
        assert any("bash was not found" in need.reason for need in commands)
        assert not other.concurrency_safe(args)
        assert len((await known.prepare(args, ctx)).needs) == len(plan.needs)
    assert known.concurrency_safe(BashArgs(command="ls -la"))
    denied = (Rule("bash", "*", "allow", "config"), Rule("bash", "git push *", "deny", "config"))
    plan = await other.prepare(BashArgs(command="echo a && git push"), ctx)
    assert "deny" in {evaluate(need, denied).action for need in plan.needs}


async def test_the_analyzed_shell_is_the_one_that_runs(
    tmp_path: Path, make_context: MakeContext
) -> None:
    tool = make_tool(tmp_path, BashSettings(shell=("/bin/sh", "-c")))
    done = await call(tool, make_context(), "echo $0")
    assert done.output == "/bin/sh"


@pytest.mark.parametrize("background", [False, True])
async def test_a_folder_that_was_replaced_while_the_user_was_asked_runs_nothing(
    tool: BashTool, make_context: MakeContext, tmp_path: Path, background: bool
) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "other").mkdir()
    ctx = make_context()
    args = BashArgs(command="touch made", workdir="sub", background=background)
    for change in ("link", "linked parent", "other folder"):
        plan = await tool.prepare(args, ctx)
        (tmp_path / "sub").rename(tmp_path / "moved")
        if change == "other folder":
            (tmp_path / "sub").mkdir()
        else:
            (tmp_path / "sub").symlink_to("other" if change == "link" else "moved")
        with pytest.raises(ToolError, match="nothing was run"):
            await tool.execute(plan, PermissionReply("once"), ctx)
        (tmp_path / "sub").rmdir() if change == "other folder" else (tmp_path / "sub").unlink()
        (tmp_path / "moved").rename(tmp_path / "sub")
    plan = await tool.prepare(args, ctx)
    assert not (await tool.execute(plan, PermissionReply("once"), ctx)).failed
    assert not (tmp_path / "other" / "made").exists()


@pytest.mark.parametrize("command", ["cat sub/x", "cd sub && touch made", "ls > sub/made"])
async def test_a_link_put_in_the_way_while_the_user_was_asked_runs_nothing(
    tool: BashTool, make_context: MakeContext, tmp_path: Path, command: str
) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside"
    (project / "sub").mkdir(parents=True)
    outside.mkdir()
    ctx = make_context(project)
    plan = await tool.prepare(BashArgs(command=command), ctx)
    (project / "sub").rmdir()
    (project / "sub").symlink_to(outside)
    with pytest.raises(ToolError, match="Nothing was run"):
        await tool.execute(plan, PermissionReply("once"), ctx)
    assert not list(outside.iterdir())


async def test_the_folder_of_a_command_is_shown(
    tool: BashTool, make_context: MakeContext, tmp_path: Path
) -> None:
    (tmp_path / "sub").mkdir()
    ctx = make_context()
    plan = await tool.prepare(BashArgs(command="make", workdir="sub", description="Build"), ctx)
    assert plan.label == ToolLabel("Bash", "make", "in sub: Build")
    assert plan.blocks == (ShellBlock("make", directory=str((tmp_path / "sub").resolve())),)
    assert [need.always for need in plan.needs] == ["cd sub && make"]
    plan = await tool.prepare(BashArgs(command="make", workdir="."), ctx)
    assert plan.label == ToolLabel("Bash", "make", "")
    assert plan.blocks == (ShellBlock("make"),)
    assert [need.always for need in plan.needs] == ["make"]
