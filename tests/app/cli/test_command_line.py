"""The command line as a whole: what ``--help`` loads, and the commands of other programs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agent.tools.builtin_tools import tool_classes
from app.cli.main import COMMANDS, UNSUPPORTED

ROOT = Path(__file__).resolve().parents[3]
HEAVY = {
    "acp",
    "agent.runtime.runtime",
    "aiosqlite",
    "httpx2",
    "jsonschema",
    "litellm",
    "mcp",
    "opentelemetry",
    "pydantic",
    "rapidfuzz",
    "rich",
    "textual",
    "tree_sitter",
    "yaml",
}
"""The modules that take longest to load. Without them, help takes
less than half of its 150 ms of CPU time."""

ASK = """\
import json, sys
from app.cli.main import main
code = main(json.loads(sys.argv[1]))
print(json.dumps([code, sorted(sys.modules)]), file=sys.stderr)
"""


def loaded(*words: str) -> tuple[int, set[str], str]:
    """Return the exit code, the modules that were loaded, and what was printed."""
    done = subprocess.run(
        [sys.executable, "-c", ASK, json.dumps(words)],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    code, modules = json.loads(done.stderr)
    return code, set(modules), done.stdout


def answered(folder: Path, word: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "opencode_py.py"), word],
        cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("words", [(), *((name,) for name in sorted(COMMANDS))])
def test_help_loads_nothing_heavy(words: tuple[str, ...]) -> None:
    code, modules, printed = loaded(*words, "--help")
    assert (code, HEAVY & modules) == (0, set())
    assert printed.startswith("usage: opencode-py")


def test_the_version_loads_nothing_heavy() -> None:
    code, modules, printed = loaded("--version")
    assert (code, HEAVY & modules) == (0, set())
    assert printed.startswith("opencode-py ")


def test_a_headless_answer_loads_nothing_that_only_calls_need(tmp_path: Path) -> None:
    """Tools with the checks of their arguments, the grammar of shells and ignore files are a third
    of the start."""
    settings = tmp_path / ".config" / "opencode-py"
    settings.mkdir(parents=True)
    (settings / "opencode.json").write_text('{"permission": {"edit": "ask"}, "ui": {"vim": true}}')
    folders = {"HOME": str(tmp_path), "OPENCODE_PY_DATA": str(tmp_path / "data")}
    done = subprocess.run(
        [sys.executable, "-c", ASK, json.dumps(["run", "-m", "demo/offline", "hello"])],
        cwd=tmp_path, env={**os.environ, **folders, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    code, modules = json.loads(done.stderr.splitlines()[-1])
    unneeded = {
        "agent.mcp.tool",
        "agent.permission.programs",
        "agent.permission.shell.analysis",
        "agent.session.prompt.instruction_editor",
        "agent.tools.search.file_index",
        "pathspec",
        "pydantic",
        *(kind.__module__ for kind in tool_classes().values()),
    }
    assert (code, unneeded & set(modules)) == (0, set())


@pytest.mark.parametrize("word", sorted(UNSUPPORTED))
def test_commands_of_other_programs_are_answered_in_a_sentence(tmp_path: Path, word: str) -> None:
    done = answered(tmp_path, word)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("opencode-py ")
    assert done.stderr.rstrip().endswith((".", ")."))
    assert done.stderr.count("\n") == 1


def test_the_commands_of_opencode_are_known() -> None:
    assert {"web", "share", "upgrade", "github"} <= set(UNSUPPORTED)


def test_a_folder_of_such_a_name_is_opened(tmp_path: Path) -> None:
    (tmp_path / "web").mkdir()
    assert "needs a terminal" in answered(tmp_path, "web").stderr
