"""What is found in a project, what is asked, what is remembered (M9; security 9.1)."""

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
class Place:
    """A home and a project in it. *asked* holds the questions, *answers* what is said."""

    home: Path
    project: Path
    asked: list[TrustQuestion] = field(default_factory=list)
    answers: list[TrustAnswer] = field(default_factory=list)

    def write(self, name: str, content: str | Mapping[str, object]) -> Path:
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def look(self, directory: Path | None = None, project: Path | None = None) -> ProjectFindings:
        env = {"HOME": str(self.home)}
        root = project or self.project
        return scan_project(directory or root, root, Paths.find(env), env, self.patterns)

    patterns: tuple[str, ...] = ()

    def trust(self, project: Path | None = None, directory: Path | None = None) -> Trust:
        root = project or self.project
        look = partial(self.look, directory or root, root)
        return Trust(TrustStore(self.home / "data"), root, str(root), look, look())

    async def ask(self, question: TrustQuestion) -> TrustAnswer:
        self.asked.append(question)
        return self.answers.pop(0)

    async def open(self, *answers: TrustAnswer, **where: Path) -> bool:
        """Open the folder; the questions are answered with *answers*, which must all be used."""
        self.answers, self.asked = list(answers), []
        trusted = (await resolve_trust(self.trust(**where), self.ask)).trusted
        assert self.answers == []
        return trusted


@pytest.fixture
def place(tmp_path: Path) -> Place:
    home = tmp_path / "home"
    project = home / "shop"
    project.mkdir(parents=True)
    return Place(home, project)


HARMLESS = {
    "nothing": {},
    "sources": {"main.py": "import os", "README.md": "# A shop", ".gitignore": "x"},
    "rules that tighten": {"opencode.json": {"permission": {"bash": "ask", "edit": "deny"}}},
    "switches off": {"opencode.json": {"mcp": {}, "plugin": [], "lsp": False}},
    "a broken config": {"opencode.json": '{"mcp": '},
    "instructions of folders that are not open": {"other/AGENTS.md": "x"},
}


@pytest.mark.parametrize("files", HARMLESS.values(), ids=HARMLESS)
async def test_m9_a_folder_with_nothing_of_the_kind_is_not_asked_about(place: Place, files) -> None:
    for name, content in files.items():
        place.write(name, content)
    assert not await place.open()
    assert place.trust().status == "nothing"


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
async def test_m9_what_would_run_is_listed_whole_and_bound_to_its_content(
    place: Place, case: str
) -> None:
    name, content, kind, what, shown = RUNNING[case]
    path = place.write(name, content)
    (runs,) = place.look().runs
    assert (runs.kind, runs.name, runs.text, runs.source) == (kind, what, shown, name)
    assert await place.open("trust")
    assert len(place.asked) == 1
    if path.suffix in {".json", ".jsonc"}:
        path.write_text(json.dumps(json.loads(path.read_text()), indent=4))
    assert await place.open()
    if case in CHANGES:
        path.write_text(path.read_text().replace(CHANGES[case], f"{CHANGES[case]}0"))
        assert not await place.open("later")
        assert place.asked[0].changed == (name,)


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
async def test_m9_what_steers_is_asked_about_once_and_may_change(
    place: Place, name: str, kind: str
) -> None:
    path = place.write(name, "Be brief.")
    (steers,) = place.look().steers
    assert (steers.kind, steers.name) == (kind, name)
    assert not place.look().hashes
    assert await place.open("trust")
    path.write_text("Be long.")
    place.write("sub.md", "x")
    assert await place.open()


def test_m9_settings_that_wait_for_trust_are_named(place: Place) -> None:
    place.write("opencode.json", {"model": "lab/a", "theme": "x", "permission": "deny"})
    (steers,) = place.look().steers
    assert (steers.kind, steers.name) == ("settings", "opencode.json: model, theme")


def test_m9_files_that_the_users_own_settings_name_steer_too(place: Place) -> None:
    place.write("docs/a.md", "x")
    place.write("docs/b.txt", "x")
    (place.home / "outside.md").write_text("x")
    place.patterns = ("docs/*.md", "../outside.md", "/etc/passwd", "https://x.test", "**x[")
    assert [each.name for each in place.look().steers] == ["docs/a.md"]


async def test_m9_no_is_remembered_until_something_that_runs_changes(place: Place) -> None:
    place.write("AGENTS.md", "x")
    assert not await place.open("refuse")
    assert not await place.open()
    place.write("opencode.json", MCP)
    assert not await place.open("later")
    assert place.asked[0].changed == ("opencode.json",)
    assert await place.open("trust")


async def test_m9_later_is_no_answer_for_the_next_time(place: Place) -> None:
    place.write("AGENTS.md", "x")
    assert not await place.open("later")
    assert await place.open("trust")
    assert await place.open()


async def test_m9_nobody_there_trusts_nothing_new(place: Place) -> None:
    place.write("opencode.json", MCP)
    assert not (await resolve_trust(place.trust(), None)).trusted
    await place.open("trust")
    assert (await resolve_trust(place.trust(), None)).trusted
    place.write("opencode.json", {"mcp": {"docs": {"command": ["evil"]}}})
    assert not (await resolve_trust(place.trust(), None)).trusted


async def test_m9_a_script_that_a_command_runs_is_part_of_what_is_trusted(place: Place) -> None:
    """MCPoison: the config stays, what it starts changes."""
    mcp = {"d": {"command": ["python", "tools/serve.py"]}}
    hooks = {"Stop": [{"command": "sh tools/x.sh $A | cat"}]}
    place.write("opencode.json", {"mcp": mcp, "hooks": hooks})
    place.write("tools/serve.py", "print(1)")
    place.write("tools/x.sh", "true")
    assert await place.open("trust")
    for name in ("tools/serve.py", "tools/x.sh"):
        place.write(name, "evil")
        assert not await place.open("later")
        assert await place.open("trust")
    place.write("tools/other.py", "x")
    assert await place.open()


async def test_m9_what_changes_while_the_question_is_open_is_asked_anew(place: Place) -> None:
    place.write("opencode.json", MCP)

    async def ask(question: TrustQuestion) -> TrustAnswer:
        place.asked.append(question)
        if len(place.asked) == 1:
            place.write("opencode.json", {"mcp": {"docs": {"command": ["evil"]}}})
            return "trust"
        return "refuse"

    assert not (await resolve_trust(place.trust(), ask)).trusted
    assert [q.found.runs[0].text for q in place.asked] == ["npx -y 'docs mcp' --root .", "evil"]


async def test_m9_files_that_never_stand_still_are_not_trusted(place: Place) -> None:
    async def ask(question: TrustQuestion) -> TrustAnswer:
        place.asked.append(question)
        place.write("opencode.json", {"mcp": {"docs": {"command": [str(len(place.asked))]}}})
        return "trust"

    place.write("opencode.json", MCP)
    assert not (await resolve_trust(place.trust(), ask)).trusted
    assert len(place.asked) == 3


async def test_m9_a_folder_of_a_trusted_project_is_asked_about_only_for_what_it_adds(
    place: Place,
) -> None:
    place.write("opencode.json", MCP)
    deep = place.write("sub/main.py", "x").parent
    assert await place.open("trust")
    assert await place.open(directory=deep)
    place.write("sub/opencode.json", {"mcp": {"x": {"command": ["x"]}}})
    assert await place.open("trust", directory=deep)
    assert await place.open()
    assert await place.open(directory=deep)


def run(*arguments: str | Path) -> None:
    subprocess.run(["git", *map(str, arguments)], check=True, capture_output=True)


async def test_m9_a_nested_repository_and_a_worktree_inherit_nothing(place: Place) -> None:
    run("init", place.project)
    place.write("AGENTS.md", "x")
    run("-C", place.project, "add", ".")
    run("-C", place.project, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-m", "a")
    assert await place.open("trust")
    inner = place.project / "vendor" / "inner"
    run("init", inner)
    (inner / "AGENTS.md").write_text("x")
    assert await project_root(inner) == inner
    assert not await place.open("later", project=inner)
    tree = place.home / "tree"
    run("-C", place.project, "worktree", "add", tree)
    assert await project_root(tree) == tree
    assert not await place.open("later", project=tree)


async def test_m9_a_repository_cannot_name_another_work_tree_as_its_own(place: Place) -> None:
    """The outer project is trusted; ``core.worktree`` of the inner one points at it."""
    inner = place.project / "inner"
    inner.mkdir()
    run("init", place.project)
    run("init", inner)
    run("-C", inner, "config", "core.worktree", place.project)
    assert await project_root(inner) == inner


def test_m9_links_that_lead_out_of_the_project_are_not_followed(place: Place) -> None:
    outside = place.home / "outside"
    (outside / "x").mkdir(parents=True)
    (outside / "x" / "SKILL.md").write_text("x")
    (outside / "p.py").write_text("x")
    top = place.project / ".opencode"
    top.mkdir()
    (top / "skills").symlink_to(outside)
    (top / "plugins").symlink_to(outside)
    (top / "agents").mkdir()
    (top / "agents" / "a.md").symlink_to(outside / "p.py")
    (top / "commands").symlink_to(top)
    found = place.look()
    assert not found.runs
    assert not found.steers


def test_m9_pipes_in_place_of_files_do_not_block(place: Place) -> None:
    (place.project / ".claude").mkdir()
    (place.project / ".opencode-py" / "plugins").mkdir(parents=True)
    for name in (
        "AGENTS.md",
        "opencode.json",
        ".claude/settings.json",
        ".opencode-py/plugins/a.py",
    ):
        os.mkfifo(place.project / name)
    assert not place.look()


def test_m9_the_home_folders_own_things_are_no_projects(place: Place) -> None:
    (place.home / ".claude" / "skills" / "x").mkdir(parents=True)
    (place.home / ".claude" / "skills" / "x" / "SKILL.md").write_text("x")
    (place.home / ".claude" / "settings.json").write_text('{"hooks": {"Stop": [{"command": "x"}]}}')
    assert not place.look(project=place.home)


def test_m9_what_the_user_writes_first_into_an_empty_folder_is_theirs(place: Place) -> None:
    place.trust().trust_own_file()
    place.write("AGENTS.md", "x")
    assert place.trust().trusted
    place.write("opencode.json", MCP)
    assert place.trust().status == "open"
    place.trust().trust_own_file()
    assert place.trust().status == "open"


# The book


def test_m13_the_answers_are_private_and_whole(place: Place) -> None:
    place.write("AGENTS.md", "x")
    place.trust().save_answer("trust")
    book = place.home / "data" / "trust.json"
    assert stat.S_IMODE(book.stat().st_mode) == 0o600
    assert sorted(p.name for p in book.parent.iterdir()) == ["trust.json", "trust.lock"]


async def test_m9_an_answer_for_one_folder_says_nothing_of_another_and_keeps_it(
    place: Place,
) -> None:
    place.write("AGENTS.md", "x")
    place.write("other/AGENTS.md", "x")
    other = place.project / "other"
    assert await place.open("trust")
    assert place.asked[0].folder == str(place.project)
    assert not await place.open("refuse", project=other)
    assert place.asked[0].folder == str(other)
    assert place.asked[0].changed == ()
    assert await place.open()
    assert not await place.open(project=other)


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"folders": []}', '{"folders": {"x": 1}}', '{"folders": {"x": {}}}']
)
def test_a_book_that_cannot_be_read_trusts_nobody_and_can_be_written_again(
    place: Place, content: str
) -> None:
    place.write("AGENTS.md", "x")
    book = place.home / "data" / "trust.json"
    book.parent.mkdir()
    book.write_text(content)
    assert place.trust().status == "open"
    place.trust().save_answer("trust")
    assert place.trust().status == "trusted"


def test_a_book_that_cannot_be_written_is_told(place: Place) -> None:
    place.write("AGENTS.md", "x")
    (place.home / "data").mkdir()
    (place.home / "data" / "trust.lock").mkdir()
    with pytest.raises(StoreUnavailable, match="cannot be kept in"):
        place.trust().save_answer("trust")
