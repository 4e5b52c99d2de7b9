"""Trust in a project: the scan, the question and the stored answer."""

import json
import os
import stat
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from agent.config.paths import Paths
from agent.git import project_root
from agent.permission.trust.project_files import ProjectFindings, scan_project
from agent.permission.trust.trust import (
    Trust,
    TrustAnswer,
    TrustQuestion,
    TrustStore,
    resolve_trust,
)
from agent.records.errors import StoreUnavailable


@dataclass
class Home:
    """A home folder with a project in it."""

    home: Path
    project: Path

    questions: list[TrustQuestion] = field(default_factory=list)
    """The questions so far."""

    answers: list[TrustAnswer] = field(default_factory=list)
    """The answers that the user will give."""

    def write(self, name: str, content: str | Mapping[str, object]) -> Path:
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def scan(self, directory: Path | None = None, project: Path | None = None) -> ProjectFindings:
        env = {"HOME": str(self.home)}
        root = project or self.project
        return scan_project(directory or root, root, Paths.find(env), env, self.patterns)

    patterns: tuple[str, ...] = ()

    def trust(self, project: Path | None = None, directory: Path | None = None) -> Trust:
        root = project or self.project
        look = partial(self.scan, directory or root, root)
        return Trust(TrustStore(self.home / "data"), root, str(root), look, look())

    async def ask(self, question: TrustQuestion) -> TrustAnswer:
        self.questions.append(question)
        return self.answers.pop(0)

    async def open(self, *answers: TrustAnswer, **where: Path) -> bool:
        """Open the folder and answer the questions with *answers*, all of which must be used."""
        self.answers, self.questions = list(answers), []
        trusted = (await resolve_trust(self.trust(**where), self.ask)).trusted
        assert self.answers == []
        return trusted


@pytest.fixture
def home(tmp_path: Path) -> Home:
    folder = tmp_path / "home"
    project = folder / "shop"
    project.mkdir(parents=True)
    return Home(folder, project)


HARMLESS = {
    "nothing": {},
    "sources": {"main.py": "import os", "README.md": "# A shop", ".gitignore": "x"},
    "rules that tighten": {"opencode.json": {"permission": {"bash": "ask", "edit": "deny"}}},
    "switches off": {"opencode.json": {"mcp": {}, "plugin": [], "lsp": False}},
    "a broken config": {"opencode.json": '{"mcp": '},
    "instructions of folders that are not open": {"other/AGENTS.md": "x"},
}


@pytest.mark.parametrize("files", HARMLESS.values(), ids=HARMLESS)
async def test_a_folder_with_nothing_to_trust_does_not_ask(home: Home, files) -> None:
    for name, content in files.items():
        home.write(name, content)
    assert not await home.open()
    assert home.trust().status == "nothing"


MCP = {"mcp": {"docs": {"type": "local", "command": ["npx", "-y", "docs mcp", "--root", "."]}}}
RUNNING = {
    "mcp": ("opencode.json", MCP, "MCP server", "docs", "npx -y 'docs mcp' --root ."),
    "variables": (
        ".opencode/opencode.jsonc",
        {"mcp": {"d": {"command": ["d"], "environment": {"TOKEN": "{env:GH}"}}}},
        "MCP server",
        "d",
        "d\nwith TOKEN={env:GH}",
    ),
    "remote": (
        ".opencode-py/config.json",
        {"mcp": {"docs": {"type": "remote", "url": "https://docs.test/mcp"}}},
        "MCP server",
        "docs",
        "https://docs.test/mcp",
    ),
    "plugin": ("opencode.json", {"plugin": [["acme-plugin@1", {"a": 1}]]}, "plugin",
               "acme-plugin@1", '["acme-plugin@1", {"a": 1}]'),
    "formatter": ("opencode.json", {"formatter": {"ruff": {"command": ["./fmt", "$FILE"]}}},
                  "formatter", "ruff", "./fmt '$FILE'"),
    "lsp": ("opencode.json", {"lsp": {"ty": {"command": ["ty", "server"]}}},
            "language server", "ty", "ty server"),
    "lsp on": ("opencode.json", {"lsp": True}, "language server", "all", "those found on PATH"),
    "provider": ("opencode.json", {"provider": {"lab": {"options": {"baseURL": "http://x/v1"}}}},
                 "model provider", "lab", "http://x/v1"),
    "hooks": (
        "opencode.json",
        {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "make lint; rm x"}]}]}},
        "hook",
        "Stop",
        "make lint; rm x",
    ),
    "foreign hooks": (
        ".claude/settings.json",
        {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "./x.sh"}]}]}, "model": "m"},
        "hook",
        "Stop",
        "./x.sh",
    ),
    "plugin file": (".opencode-py/plugins/a.py", "print()", "plugin", "a", ""),
    "tool file": (".opencode/tool/b.py", "print()", "tool", "b", ""),
    "instructions from elsewhere": ("opencode.json", {"instructions": ["https://x.test/a.md"]},
                                    "instructions from", "https://x.test/a.md",
                                    "https://x.test/a.md"),
    "allow rule": ("opencode.json", {"permission": {"bash": {"curl *": "allow"}}},
                   "allowed without asking", "bash", "curl *"),
    "allow rule of an agent in markdown": (
        ".opencode/agents/a/b.md",
        "---\npermission:\n  bash:\n    'git *': allow\n---\nLook.",
        "allowed without asking",
        "bash (agent a/b)",
        "git *",
    ),
    "allow rule of an agent": (
        "opencode.json",
        {"agent": {"build": {"tools": {"write": True}}}},
        "allowed without asking",
        "edit (agent build)",
        "*",
    ),
}  # fmt: skip


CHANGES = {
    "mcp": "--root",
    "variables": "GH",
    "remote": "docs.test",
    "plugin": "acme-plugin@",
    "formatter": "$FILE",
    "lsp": "server",
    "provider": "/v1",
    "hooks": "rm x",
    "foreign hooks": "x.sh",
    "plugin file": "print()",
    "tool file": "print()",
    "instructions from elsewhere": "a.md",
    "allow rule": "curl",
    "allow rule of an agent in markdown": "git",
    "allow rule of an agent": "build",
}


@pytest.mark.parametrize("case", RUNNING)
async def test_programs_are_listed_whole_and_bound_to_their_content(home: Home, case: str) -> None:
    name, content, kind, what, shown = RUNNING[case]
    path = home.write(name, content)
    (runs,) = home.scan().runs
    assert (runs.kind, runs.name, runs.text, runs.source) == (kind, what, shown, name)
    assert await home.open("trust")
    assert len(home.questions) == 1
    if path.suffix in {".json", ".jsonc"}:
        path.write_text(json.dumps(json.loads(path.read_text()), indent=4))
    assert await home.open()
    if case in CHANGES:
        path.write_text(path.read_text().replace(CHANGES[case], f"{CHANGES[case]}0"))
        assert not await home.open("later")
        assert home.questions[0].changed == (name,)


STEERING = {
    "AGENTS.md": "instructions",
    "CLAUDE.md": "instructions",
    "CONTEXT.md": "instructions",
    ".opencode/command/a/b.md": "command",
    ".opencode-py/commands/x.md": "command",
    ".claude/commands/x.md": "command",
    ".opencode/agents/x.md": "agent",
    ".opencode/modes/x.md": "agent",
    ".claude/skills/x/SKILL.md": "skill",
    ".agents/skills/x/SKILL.md": "skill",
    ".opencode/skill/x/SKILL.md": "skill",
}


@pytest.mark.parametrize(("name", "kind"), STEERING.items())
async def test_steering_files_ask_once_and_can_change(home: Home, name: str, kind: str) -> None:
    path = home.write(name, "Be brief.")
    (steers,) = home.scan().steers
    assert (steers.kind, steers.name) == (kind, name)
    assert not home.scan().hashes
    assert await home.open("trust")
    path.write_text("Be long.")
    home.write("sub.md", "x")
    assert await home.open()


def test_settings_that_need_trust_are_named(home: Home) -> None:
    home.write("opencode.json", {"model": "lab/a", "theme": "x", "permission": "deny"})
    (steers,) = home.scan().steers
    assert (steers.kind, steers.name) == ("settings", "opencode.json: model, theme")


def test_files_that_the_users_own_settings_name_steer_too(home: Home) -> None:
    home.write("docs/a.md", "x")
    home.write("docs/b.txt", "x")
    (home.home / "outside.md").write_text("x")
    home.patterns = ("docs/*.md", "../outside.md", "/etc/passwd", "https://x.test", "**x[")
    assert [each.name for each in home.scan().steers] == ["docs/a.md"]


async def test_a_refusal_is_stored_until_something_that_runs_changes(home: Home) -> None:
    home.write("AGENTS.md", "x")
    assert not await home.open("refuse")
    assert not await home.open()
    home.write("opencode.json", MCP)
    assert not await home.open("later")
    assert home.questions[0].changed == ("opencode.json",)
    assert await home.open("trust")


async def test_later_is_not_stored(home: Home) -> None:
    home.write("AGENTS.md", "x")
    assert not await home.open("later")
    assert await home.open("trust")
    assert await home.open()


async def test_nothing_new_is_trusted_if_no_user_can_be_asked(home: Home) -> None:
    home.write("opencode.json", MCP)
    assert not (await resolve_trust(home.trust(), None)).trusted
    await home.open("trust")
    assert (await resolve_trust(home.trust(), None)).trusted
    home.write("opencode.json", {"mcp": {"docs": {"command": ["evil"]}}})
    assert not (await resolve_trust(home.trust(), None)).trusted


async def test_trust_is_bound_to_scripts_that_a_command_runs(home: Home) -> None:
    """The MCPoison attack: the config stays the same, the program that it starts changes."""
    mcp = {"d": {"command": ["python", "tools/serve.py"]}}
    hooks = {"Stop": [{"command": "sh tools/x.sh $A | cat"}]}
    home.write("opencode.json", {"mcp": mcp, "hooks": hooks})
    home.write("tools/serve.py", "print(1)")
    home.write("tools/x.sh", "true")
    assert await home.open("trust")
    for name in ("tools/serve.py", "tools/x.sh"):
        home.write(name, "evil")
        assert not await home.open("later")
        assert await home.open("trust")
    home.write("tools/other.py", "x")
    assert await home.open()


async def test_files_that_change_while_the_question_is_open_are_asked_about_again(
    home: Home,
) -> None:
    home.write("opencode.json", MCP)

    async def ask(question: TrustQuestion) -> TrustAnswer:
        home.questions.append(question)
        if len(home.questions) == 1:
            home.write("opencode.json", {"mcp": {"docs": {"command": ["evil"]}}})
            return "trust"
        return "refuse"

    assert not (await resolve_trust(home.trust(), ask)).trusted
    assert [q.found.runs[0].text for q in home.questions] == ["npx -y 'docs mcp' --root .", "evil"]


async def test_files_that_keep_changing_are_not_trusted(home: Home) -> None:
    async def ask(question: TrustQuestion) -> TrustAnswer:
        home.questions.append(question)
        home.write("opencode.json", {"mcp": {"docs": {"command": [str(len(home.questions))]}}})
        return "trust"

    home.write("opencode.json", MCP)
    assert not (await resolve_trust(home.trust(), ask)).trusted
    assert len(home.questions) == 3


async def test_a_folder_of_a_trusted_project_asks_only_about_what_it_adds(
    home: Home,
) -> None:
    home.write("opencode.json", MCP)
    deep = home.write("sub/main.py", "x").parent
    assert await home.open("trust")
    assert await home.open(directory=deep)
    home.write("sub/opencode.json", {"mcp": {"x": {"command": ["x"]}}})
    assert await home.open("trust", directory=deep)
    assert await home.open()
    assert await home.open(directory=deep)


def run(*arguments: str | Path) -> None:
    subprocess.run(["git", *map(str, arguments)], check=True, capture_output=True)


async def test_a_nested_repository_and_a_worktree_inherit_nothing(home: Home) -> None:
    run("init", home.project)
    home.write("AGENTS.md", "x")
    run("-C", home.project, "add", ".")
    run("-C", home.project, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-m", "a")
    assert await home.open("trust")
    inner = home.project / "vendor" / "inner"
    run("init", inner)
    (inner / "AGENTS.md").write_text("x")
    assert await project_root(inner) == inner
    assert not await home.open("later", project=inner)
    tree = home.home / "tree"
    run("-C", home.project, "worktree", "add", tree)
    assert await project_root(tree) == tree
    assert not await home.open("later", project=tree)


async def test_a_repository_cannot_name_another_work_tree_as_its_own(home: Home) -> None:
    """The outer project is trusted; ``core.worktree`` of the inner one points at it."""
    inner = home.project / "inner"
    inner.mkdir()
    run("init", home.project)
    run("init", inner)
    run("-C", inner, "config", "core.worktree", home.project)
    assert await project_root(inner) == inner


def test_links_that_lead_out_of_the_project_are_not_followed(home: Home) -> None:
    outside = home.home / "outside"
    (outside / "x").mkdir(parents=True)
    (outside / "x" / "SKILL.md").write_text("x")
    (outside / "p.py").write_text("x")
    top = home.project / ".opencode"
    top.mkdir()
    (top / "skills").symlink_to(outside)
    (top / "plugins").symlink_to(outside)
    (top / "agents").mkdir()
    (top / "agents" / "a.md").symlink_to(outside / "p.py")
    (top / "commands").symlink_to(top)
    found = home.scan()
    assert not found.runs
    assert not found.steers


def test_pipes_in_place_of_files_do_not_block(home: Home) -> None:
    (home.project / ".claude").mkdir()
    (home.project / ".opencode-py" / "plugins").mkdir(parents=True)
    for name in (
        "AGENTS.md",
        "opencode.json",
        ".claude/settings.json",
        ".opencode-py/plugins/a.py",
    ):
        os.mkfifo(home.project / name)
    assert not home.scan()


def test_files_of_the_home_folder_belong_to_no_project(home: Home) -> None:
    (home.home / ".claude" / "skills" / "x").mkdir(parents=True)
    (home.home / ".claude" / "skills" / "x" / "SKILL.md").write_text("x")
    (home.home / ".claude" / "settings.json").write_text('{"hooks": {"Stop": [{"command": "x"}]}}')
    assert not home.scan(project=home.home)


def test_the_first_file_that_the_user_writes_is_trusted(home: Home) -> None:
    home.trust().trust_own_file()
    home.write("AGENTS.md", "x")
    assert home.trust().trusted
    home.write("opencode.json", MCP)
    assert home.trust().status == "open"
    home.trust().trust_own_file()
    assert home.trust().status == "open"


# The stored answers


def test_the_stored_answers_are_private_and_complete(home: Home) -> None:
    home.write("AGENTS.md", "x")
    home.trust().save_answer("trust")
    book = home.home / "data" / "trust.json"
    assert stat.S_IMODE(book.stat().st_mode) == 0o600
    assert sorted(p.name for p in book.parent.iterdir()) == ["trust.json", "trust.lock"]


async def test_an_answer_for_one_folder_keeps_those_for_others(
    home: Home,
) -> None:
    home.write("AGENTS.md", "x")
    home.write("other/AGENTS.md", "x")
    other = home.project / "other"
    assert await home.open("trust")
    assert home.questions[0].folder == str(home.project)
    assert not await home.open("refuse", project=other)
    assert home.questions[0].folder == str(other)
    assert home.questions[0].changed == ()
    assert await home.open()
    assert not await home.open(project=other)


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"folders": []}', '{"folders": {"x": 1}}', '{"folders": {"x": {}}}']
)
def test_an_unreadable_trust_file_trusts_no_folder_and_can_be_rewritten(
    home: Home, content: str
) -> None:
    home.write("AGENTS.md", "x")
    book = home.home / "data" / "trust.json"
    book.parent.mkdir()
    book.write_text(content)
    assert home.trust().status == "open"
    home.trust().save_answer("trust")
    assert home.trust().status == "trusted"


def test_a_trust_file_that_cannot_be_written_raises_an_error(home: Home) -> None:
    home.write("AGENTS.md", "x")
    (home.home / "data" / "trust.json").mkdir(parents=True)
    with pytest.raises(StoreUnavailable, match="cannot be stored in"):
        home.trust().save_answer("trust")
