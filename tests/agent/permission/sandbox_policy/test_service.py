"""The sandbox of a folder: what is found, and the policy that follows from a grant."""

import asyncio
import json
from pathlib import Path

import pytest

from agent.bus import Bus
from agent.config.loading import load_config
from agent.config.paths import Paths
from agent.permission.sandbox_policy.command_policy import SandboxFolders, policy_of
from agent.permission.sandbox_policy.service import CommandSandbox
from agent.process import SpillStore
from agent.process.sandbox import Sandbox
from agent.records.errors import ToolError
from agent.records.sandbox import READ_ONLY, SandboxGrant
from agent.tools.bash import BashArgs, BashTool
from agent.tools.core.truncate import Limits, Truncator
from agent.tools.shell.settings import BashSettings
from agent.tools.shell.shells import Shells
from tests.agent.tools.conftest import make_context as make_context  # noqa: PLC0414 - a fixture

NONE = "The program bwrap (package bubblewrap) is not installed."


def folders_in(tmp_path: Path, **more: object) -> SandboxFolders:
    for name in ("home", "data", "config", "project"):
        (tmp_path / name).mkdir(exist_ok=True)
    return SandboxFolders(
        home=str(tmp_path / "home"),
        data=str(tmp_path / "data"),
        config=str(tmp_path / "config"),
        **more,
    )


def without_any(tmp_path: Path, setting: str) -> tuple[CommandSandbox, list[str]]:
    told: list[str] = []
    sandbox = CommandSandbox(
        setting,
        folders_in(tmp_path),
        find=lambda setting: Sandbox("none", NONE, required=setting == "required"),
        on_missing=told.append,
    )
    return sandbox, told


def tool_with(sandbox: CommandSandbox, tmp_path: Path) -> BashTool:
    truncator = Truncator(Limits(), SpillStore(tmp_path / "spill"))
    return BashTool(BashSettings(), truncator, Shells(Bus()), sandbox)


async def test_required_refuses_where_there_is_none(tmp_path: Path, make_context) -> None:
    sandbox, told = without_any(tmp_path, "required")
    tool = tool_with(sandbox, tmp_path)
    for more in ({}, {"unsandboxed": "why"}):
        with pytest.raises(ToolError, match=r"nothing was run.*Install bubblewrap") as error:
            await tool.prepare(BashArgs(command="ls", **more), make_context())
        assert NONE in str(error.value)
    assert told == []
    assert (await sandbox.status()).name == "none"


async def test_auto_says_once_that_there_is_none(tmp_path: Path, make_context) -> None:
    sandbox, told = without_any(tmp_path, "auto")
    tool = tool_with(sandbox, tmp_path)
    ctx = make_context()
    plans = [tool.prepare(BashArgs(command="echo x > a", unsandboxed="why"), ctx) for _ in "ab"]
    for plan in await asyncio.gather(*plans):
        assert not plan.sandboxed
        assert {need.permission for need in plan.needs} == {"bash", "edit"}
        assert (await tool.execute(plan, None, ctx)).exit_code == 0
    assert told == [f"Commands run without a sandbox. {NONE} Install bubblewrap to have one."]


async def test_nothing_is_looked_for_if_it_is_off(tmp_path: Path) -> None:
    sandbox, told = without_any(tmp_path, "off")
    assert not await sandbox.is_in_force()
    assert sandbox.found is not None
    assert told == []


def test_the_policy_of_what_only_reads(tmp_path: Path) -> None:
    folders = folders_in(tmp_path, readable=(str(tmp_path / "data" / "spill"),))
    for name in ("auth.json", "sessions.db", "spill"):
        (tmp_path / "data" / name).touch()
    project = str(tmp_path / "project")
    policy = policy_of(READ_ONLY, folders, directory=project, project=project)
    assert policy.writable == ()
    hidden = {path.removeprefix(f"{tmp_path}/") for path in policy.hidden}
    assert hidden >= {"data/auth.json", "data/sessions.db", "config/config.json"}
    assert hidden >= {
        f"home/{name}" for name in (".ssh", ".aws", ".netrc", ".config/gh", ".mozilla")
    }
    assert hidden >= {"home/.docker/config.json", "home/.kube", "home/.gnupg"}
    assert "data/spill" not in hidden


def test_the_policy_of_what_was_allowed(tmp_path: Path) -> None:
    folders = folders_in(tmp_path, writable=(str(tmp_path / "shared"),))
    project = tmp_path / "project"
    (project / ".git").mkdir()
    (project / ".envrc").touch()
    (project / ".claude").mkdir()
    (project / ".git" / "config").touch()
    (project / "AGENTS.md").touch()
    grant = SandboxGrant("workspace-write", folders=("/srv/out",), writes_outside=True)
    policy = policy_of(grant, folders, directory=str(project), project=str(project))
    assert {str(project), str(tmp_path / "shared"), "/srv/out"} <= set(policy.writable)
    inside = {
        Path(p).relative_to(project).as_posix() for p in policy.protected if str(project) in p
    }
    assert inside >= {".git/hooks", ".git/config", ".envrc", ".claude", "AGENTS.md"}
    assert not any(path.endswith("/.ssh") for path in policy.hidden)
    reading = SandboxGrant("workspace-write", folders=("/srv/out",))
    policy = policy_of(reading, folders, directory=str(project), project=str(project))
    assert "/srv/out" not in policy.writable


def test_the_git_directory_of_a_linked_work_tree_can_be_written(tmp_path: Path) -> None:
    folders = folders_in(tmp_path)
    main, project = tmp_path / "main" / ".git", tmp_path / "project"
    (main / "objects").mkdir(parents=True)
    own = main / "worktrees" / "project"
    own.mkdir(parents=True)
    (own / "HEAD").touch()
    (own / "commondir").write_text("../..\n")
    (project / ".git").write_text(f"gitdir: {own}\n")
    (main / "config").touch()
    grant = SandboxGrant("workspace-write")
    policy = policy_of(grant, folders, directory=str(project), project=str(project))
    assert {str(main), str(own)} <= set(policy.writable)
    assert {str(main / "hooks"), str(main / "config"), str(project / ".git")} <= set(
        policy.protected
    )


def test_an_allowed_guarded_file_leaves_its_neighbors_protected(tmp_path: Path) -> None:
    folders = folders_in(tmp_path)
    project = tmp_path / "project"
    hooks = project / ".git" / "hooks"
    hooks.mkdir(parents=True)
    (hooks / "pre-push").touch()
    grant = SandboxGrant("workspace-write", guarded=(".git/hooks/pre-commit",))
    policy = policy_of(grant, folders, directory=str(project), project=str(project))
    assert str(hooks) not in policy.protected
    assert str(hooks / "pre-push") in policy.protected
    (hooks / "pre-commit").touch()
    policy = policy_of(grant, folders, directory=str(project), project=str(project))
    assert str(hooks) in policy.protected
    assert str(hooks / "pre-commit") in policy.writable


@pytest.mark.parametrize("value", ["off", "auto"])
def test_a_project_cannot_loosen_it(tmp_path: Path, value: str) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "project" / ".opencode-py").mkdir(parents=True)
    text = f"""{{
      "bash": {{"sandbox": "{value}", "sandbox_writable": ["/"]}},
      "permission": {{"unsandboxed": "allow", "network": {{"make *": "allow"}}}}
    }}"""
    (tmp_path / "project" / ".opencode-py" / "config.json").write_text(text)
    env = {"HOME": str(tmp_path / "home"), "OPENCODE_PY_CONFIG_DIR": str(tmp_path / "home")}
    project = tmp_path / "project"
    loaded = load_config(project, project, env, paths=Paths.find(env), trusted=True)
    assert loaded.config.bash.sandbox == "auto"
    assert loaded.config.bash.sandbox_writable == ()
    assert [rule for rule in loaded.rules if rule.action == "allow"] == []
    said = "\n".join(loaded.notices)
    assert ("bash.sandbox is ignored" in said) or value == "required"
    assert "permission.unsandboxed: only your own settings" in said


def test_a_project_can_tighten_it(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "project" / ".opencode-py").mkdir(parents=True)
    text = '{"bash": {"sandbox": "required"}}'
    (tmp_path / "project" / ".opencode-py" / "config.json").write_text(text)
    env = {"HOME": str(tmp_path / "home"), "OPENCODE_PY_CONFIG_DIR": str(tmp_path / "home")}
    project = tmp_path / "project"
    loaded = load_config(project, project, env, paths=Paths.find(env), trusted=True)
    assert loaded.config.bash.sandbox == "required"
    assert loaded.notices == ()


@pytest.mark.parametrize(
    ("own", "project", "result"),
    [
        ("workspace-write", "read-only", "read-only"),
        ("off", "workspace-write with network", "workspace-write with network"),
        (None, "workspace-write", "workspace-write"),
        ("read-only", "workspace-write", "read-only"),
        ("workspace-write", "workspace-write with network", "workspace-write"),
        ("workspace-write", "off", "workspace-write"),
    ],
)
def test_a_project_can_only_restrict_a_server_of_the_user_further(
    tmp_path: Path, own: str | None, project: str, result: str
) -> None:
    (tmp_path / "home").mkdir()
    folder = tmp_path / "project"
    (folder / ".opencode-py").mkdir(parents=True)
    mine = {"command": ["tickets"]} | ({"sandbox": own} if own else {})
    theirs = {"mcp": {"tickets": {"sandbox": project}, "theirs": {"command": ["x"]}}}
    (tmp_path / "home" / "config.json").write_text(json.dumps({"mcp": {"tickets": mine}}))
    (folder / ".opencode-py" / "config.json").write_text(json.dumps(theirs))
    env = {"HOME": str(tmp_path / "home"), "OPENCODE_PY_CONFIG_DIR": str(tmp_path / "home")}
    loaded = load_config(folder, folder, env, paths=Paths.find(env), trusted=True)
    server = loaded.config.mcp["tickets"]
    assert (server.command, server.sandbox) == (("tickets",), result)
    said = "\n".join(loaded.notices)
    assert ("mcp.tickets.sandbox is ignored: a project can only" in said) is (result == own)
