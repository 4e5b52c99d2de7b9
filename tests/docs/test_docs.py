"""The documentation matches the program: generated pages, examples, links."""

import fnmatch
import importlib.util
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent.agents import Agents
from agent.config.loading import LoadedConfig, load_config
from agent.config.paths import Paths
from agent.session import goals
from agent.skills import Skills
from app.action_registry.keymap import LEADER
from app.actions import actions
from app.cli import foreign_flags
from app.cli.main import COMMANDS
from app.cli.run import writers
from app.theme.themes import load_themes
from tests.support.harness import config_for, environment, write_config
from tests.support.installed import InstalledProgram, ServerThread
from tests.support.script import Call, Text, answer

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
BLOCK = re.compile(r"^```(\S+) ?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)[^)]*\)")
README = (ROOT / "README.md").read_text("utf-8")
GIVEN = {"MY_KEY": "k", "WORK_KEY": "k", "GATEWAY_KEY": "k", "TICKETS": "t"}
FOLDERS = {"command": "commands/{}.md", "agent": "agents/{}.md", "skill": "skills/{}/SKILL.md"}


@dataclass(frozen=True)
class Example:
    """A code block of a page: *kind* is the text after the language."""

    page: str
    language: str
    kind: str
    text: str


def pages() -> list[Path]:
    return sorted(DOCS.rglob("*.md"))


def examples(*kinds: str) -> list[Example]:
    found: list[Example] = []
    for page in pages():
        for language, kind, text in BLOCK.findall(page.read_text("utf-8")):
            if kind.split(" ")[0] in kinds:
                found.append(Example(page.name, language, kind, text))
    return found


KINDS = {"config", "command", "agent", "skill", "run", "hook", "plugin", "theme"}
"""Kinds of examples that a test below runs."""

PAGES = [*pages(), ROOT / "README.md"]


WRITTEN = [*(page for page in PAGES if page.parent.name != "reference"), ROOT / "CHANGELOG.md"]
"""The pages that are not generated."""


def shown(page: Path) -> str:
    """Return a page without the names of other programs: the first cell of their tables."""
    text = page.read_text("utf-8")
    if page.name != "coming-from.md":
        return text
    return re.sub(r"^\| .*? \|", "|", text, flags=re.MULTILINE)


def named(example: Example) -> str:
    return f"{example.page}: {example.text.strip().splitlines()[0][:40]}"


def loaded(installed: InstalledProgram) -> LoadedConfig:
    env = {**environment(installed.home), **GIVEN}
    return load_config(installed.project, installed.project, env)


def test_the_reference_matches_the_program() -> None:
    spec = importlib.util.spec_from_file_location("docs_generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, text in module.pages().items():
        held = (DOCS / "reference" / name).read_text("utf-8")
        assert held == text, f"{name} is out of date: run python docs/generate.py"


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_links_have_targets(page: Path) -> None:
    for target in LINK.findall(page.read_text("utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("example", examples("config"), ids=named)
def test_settings_in_the_docs_load_without_a_notice(
    installed: InstalledProgram, example: Example
) -> None:
    (installed.home / "config").mkdir()
    (installed.home / "config" / "config.jsonc").write_text(example.text)
    found = loaded(installed)
    assert found.notices == ()
    assert found.sources or found.rules


@pytest.mark.parametrize("example", examples(*FOLDERS), ids=named)
def test_files_in_the_docs_load_without_a_notice(
    installed: InstalledProgram, example: Example
) -> None:
    kind, _, name = example.kind.partition(" ")
    file = installed.home / "config" / FOLDERS[kind].format(name)
    file.parent.mkdir(parents=True)
    file.write_text(example.text)
    found = loaded(installed)
    assert found.notices == ()
    if kind == "command":
        assert "$1" in str(found.config.command[name].template)
    elif kind == "agent":
        assert Agents(found).get(name).description
    else:
        env = environment(installed.home)
        paths = Paths.find(env)
        skills = Skills(installed.project, installed.project, paths, env, lambda: False).find()
        assert (list(skills.skills), skills.notes) == ([name], ())


def test_permissions_are_decided_as_in_the_table(installed: InstalledProgram) -> None:
    (config,) = [each for each in examples("config") if each.kind == "config permissions"]
    (installed.home / "config").mkdir()
    (installed.home / "config" / "config.jsonc").write_text(config.text)
    text = (DOCS / "permissions.md").read_text("utf-8")
    rows = re.findall(r"^\| `([^`]+)` \| (allow|ask|deny) \|", text, re.MULTILINE)
    assert len(rows) > 5
    for command, verdict in rows:
        done = subprocess.run(
            [sys.executable, str(ROOT / "opencode_py.py"), "debug", "permission", "bash", command],
            cwd=installed.project, env=installed.env, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert f"Together: {verdict}" in done.stdout, command


@pytest.mark.parametrize("example", examples("run"), ids=named)
def test_pipelines_in_the_docs_run(
    installed: InstalledProgram, scripted: ServerThread, example: Example
) -> None:
    if "jq" in example.text and shutil.which("jq") is None:
        pytest.skip("jq is not installed")
    scripted.server.always(answer(Text("Mend the sum")))
    programs = installed.home / "bin"
    programs.mkdir()
    launcher = programs / "opencode-py"
    launcher.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{ROOT}/opencode_py.py" "$@"\n')
    launcher.chmod(0o755)
    (installed.project / "calc.py").write_text("def add(a, b):\n    return a + b\n")
    subprocess.run(["git", "add", "-A"], cwd=installed.project, env=installed.env, check=True)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", example.text],
        cwd=installed.project,
        env={**installed.env, "PATH": f"{programs}:{os.defpath}:{os.environ['PATH']}"},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "{{" not in done.stdout
    if "message.txt" in example.text:
        assert (installed.project / "message.txt").read_text() == "Mend the sum\n"
        assert "+    return a + b" in str(scripted.server.requests[0].body["messages"])
    if ".answer" in example.text:
        assert done.stdout == "Mend the sum\n"


def test_every_example_is_tested() -> None:
    for page in pages():
        for language, kind, text in BLOCK.findall(page.read_text("utf-8")):
            tried = kind.split(" ")[0] in KINDS
            assert tried or language in {"text", "json"}, f"{page.name}: {text[:60]}"
            if language == "json":
                json.loads(text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_named_in_the_docs_exist(page: Path) -> None:
    text = shown(page)
    words = re.findall(r"(?:`|^ *|\| )opencode-py ([a-z][a-z|-]*)", text, re.MULTILINE)
    assert {one for word in words for one in word.split("|")} <= {*COMMANDS}
    own = {each.kind.split(" ")[1] for each in examples("command", "skill")}
    slashes = set(re.findall(r"`/([a-z][a-z-]*)", text))
    assert slashes <= {
        *(name for action in actions() for name in action.slash),
        *own,
        "review",
        "name",
    }


SPAN = re.compile(r"`([^`\n]+)`")
OTHER_PROGRAMS = {"--amend", "--message", "--no-sandbox", "--no-verify", "--registry"}
"""Options that the docs name of git, npm, Chrome and Aider."""


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


NOTES = [
    *sorted(DOCS.glob("design/*.md")),
    *(DOCS / "architecture.md", ROOT / "CONTRIBUTING.md", ROOT / "AGENTS.md"),
]
SOURCE_NAME = re.compile(r"(?:[\w*]+/)*[\w*]+\.(?:py|tcss|toml|sh)|(?:[\w*]+/)+")


@pytest.mark.parametrize("page", NOTES, ids=lambda page: page.name)
def test_files_named_in_the_notes_exist(page: Path) -> None:
    """Each is named by the end of its path; ``x.py`` represents a new file."""
    named = {name for name in SPAN.findall(page.read_text("utf-8")) if SOURCE_NAME.fullmatch(name)}
    folders = [ROOT / name for name in ("agent", "app", "bench", "docs", "snapshots", "tests")]
    every = [*ROOT.glob("*.*"), *(path for each in folders for path in each.rglob("*"))]
    known = {f"/{path.relative_to(ROOT)}{'/' * path.is_dir()}" for path in (*folders, *every)}
    assert not [
        name
        for name in named
        if not re.search(r"\b(x|test_x)\.py|^(build|node_modules)/", name)
        and not any(fnmatch.fnmatch(path, f"*/{name}") for path in known)
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_headings(page: Path) -> None:
    text = page.read_text("utf-8").replace("\n", " ")
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)", text):
        assert anchor in anchors(page.parent / target if target else page), anchor


def known_options() -> set[str]:
    """Return the options of all commands and actions, and those of other programs that work."""
    listed = re.findall(r"--[a-z-]+", (DOCS / "reference" / "command-line.md").read_text("utf-8"))
    listed += re.findall(r'"(--[\w-]+)"', inspect.getsource(foreign_flags))
    listed += re.findall(r"--[a-z-]+", f"{goals.USAGE} {' '.join(a.argument for a in actions())}")
    return {*listed, "--rounds"}


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.name)
def test_options_named_in_the_docs_exist(page: Path) -> None:
    spans = [each for each in SPAN.findall(page.read_text("utf-8")) if each[:1] in "-/or"]
    named = [each for each in spans if re.match(r"opencode-py|run |--|/", each)]
    options = {one for each in named for one in re.findall(r"(?<![\w-])--[a-zA-Z][\w-]*", each)}
    assert options - OTHER_PROGRAMS <= known_options()


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.name)
def test_keys_named_in_the_docs_exist(page: Path) -> None:
    source = "".join(path.read_text("utf-8") for path in (ROOT / "app").rglob("*.py"))
    text = page.read_text("utf-8")
    for leader in re.findall(rf"{re.escape(LEADER)} ([a-z])\b", text):
        assert f"<leader>{leader}" in source, leader
    for key in re.findall(r"\b(?:ctrl|alt|shift)\+(?!click)[a-z]+\b", text):
        assert re.search(rf"{re.escape(key)}\b", source), key


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.name)
def test_settings_named_in_the_docs_exist(page: Path) -> None:
    sections: dict[str, list[str]] = {}
    for section in (DOCS / "reference" / "configuration.md").read_text("utf-8").split("\n## ")[1:]:
        path = re.sub(r"[A-Z]{2,}", "*", section.partition("\n")[0].replace("Top level", ""))
        sections[path] = re.findall(r"^\| `([\w-]+)` \|", section, re.MULTILINE)
    keys = [f"{path}.{key}".lstrip(".") for path, known in sections.items() for key in known]
    for named in SPAN.findall(page.read_text("utf-8")):
        first, dot, _ = named.partition(".")
        if dot and first in sections[""] and re.fullmatch(r"[\w.<>-]+", named):
            assert any(fnmatch.fnmatchcase(named, key) for key in keys), named


def test_the_settings_of_the_readme_load(installed: InstalledProgram) -> None:
    (text,) = re.findall(r"^```jsonc\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    (installed.home / "config").mkdir()
    (installed.home / "config" / "config.jsonc").write_text(text)
    found = loaded(installed)
    assert (found.notices, found.config.model) == ((), "local/qwen3-coder")


def test_the_hook_in_the_docs_rejects_a_change(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    (script,) = examples("hook")
    (settings,) = [each for each in examples("config") if "PreToolUse" in each.text]
    file = installed.project / "check-edit.sh"
    file.write_text(script.text)
    file.chmod(0o755)
    given = {
        **config_for(scripted.server),
        **json.loads(re.sub(r",(\s*[}\]])", r"\1", settings.text)),
    }
    write_config(installed.home, given)
    calls = [
        Call("write", {"file_path": f"{at}/a.py", "content": "x\n"}) for at in ("vendor", "own")
    ]
    scripted.server.script(*map(answer, calls), answer(Text("done")))
    done = ask(installed, "--auto-approve", "edit")
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert "vendor/ is not edited by hand" in str(scripted.server.requests[-1].body["messages"])
    assert sorted(path.parent.name for path in installed.project.glob("*/a.py")) == ["own"]


def test_the_plugin_in_the_docs_works(installed: InstalledProgram, scripted: ServerThread) -> None:
    (plugin,) = examples("plugin")
    write_config(installed.home, config_for(scripted.server))
    folder = installed.home / "config" / "plugins"
    folder.mkdir()
    (folder / "team.py").write_text(plugin.text)
    scripted.server.script(answer(Call("weather", {"city": "Oslo"})), answer(Text("done")))
    done = ask(installed, "--auto")
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert "Oslo: sunny" in str(scripted.server.requests[-1].body["messages"])


@pytest.mark.parametrize("example", examples("theme"), ids=named)
def test_the_theme_in_the_docs_is_valid(tmp_path: Path, example: Example) -> None:
    (tmp_path / "sea.json").write_text(example.text)
    themes, faults = load_themes(tmp_path)
    assert ([theme.name for theme in themes], faults) == (["sea"], [])


def ask(installed: InstalledProgram, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "opencode_py.py"), "run", "go", *words],
        cwd=installed.project, env=installed.env, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_every_kind_of_json_line_is_in_the_table() -> None:
    text = (DOCS / "scripting.md").read_text("utf-8")
    table = text.partition("## JSON lines")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`[^|]+`) \|", table, re.MULTILINE)
    documented = {name for cells in rows for name in re.findall(r"`(\w+)`", cells)}
    source = inspect.getsource(writers)
    written = set(re.findall(r'_line\(\s*"(\w+)"', source)) | {"text", "reasoning"}
    assert written == documented
