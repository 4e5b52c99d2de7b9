"""The rules of spec 0 that are checked, not hoped for: A1, A2, A8 and A10.

Import layers are import-linter contracts (``make check``); what is really loaded is tested
here in fresh interpreters.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted([*ROOT.glob("app/**/*.py"), *ROOT.glob("agent/**/*.py"), ROOT / "opencode_py.py"])

MOST_LINES = 400
MOST_FUNCTION_LINES = 60
MOST_METHODS = 20
LONG_ON_PURPOSE: dict[str, str] = {}
"""File → why it may be longer: data tables only (A2)."""

FRAMEWORK_HOOK = re.compile(r"(on|watch|action|render|validate|compute|key)_|compose$|render$|__")


@pytest.fixture(scope="module")
def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text("utf-8")) for path in SOURCES}


def test_a2_files_are_small() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for path in SOURCES
        if (lines := path.read_text("utf-8").count("\n")) > MOST_LINES
    }
    assert not [f"{name}: {lines}" for name, lines in long.items() if name not in LONG_ON_PURPOSE]


def test_a2_functions_fit_a_screen(trees: dict[Path, ast.Module]) -> None:
    long = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno + 1 > MOST_FUNCTION_LINES
    ]
    assert not long


def test_a2_no_class_knows_everything(trees: dict[Path, ast.Module]) -> None:
    large = []
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                own = [
                    child.name
                    for child in node.body
                    if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
                    and not FRAMEWORK_HOOK.match(child.name)
                ]
                if len(own) > MOST_METHODS:
                    large.append(f"{path.relative_to(ROOT)} {node.name}: {len(own)}")
    assert not large


def test_a10_no_room_for_leftovers() -> None:
    assert not [path for path in SOURCES if path.stem in {"utils", "util", "helpers", "misc"}]


def test_a10_suppressions_have_a_reason() -> None:
    bare = []
    for path in SOURCES:
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            ignored = re.search(
                r"(# noqa\S*(:\s*[A-Z0-9, ]+)?|# (?:type|pyright): ignore\S*)(.*)$", line
            )
            if ignored and not ignored.group(3).strip(" -()"):
                bare.append(f"{path.relative_to(ROOT)}:{number}")
    assert not bare


def test_a7_broad_excepts_stand_at_named_boundaries(trees: dict[Path, ast.Module]) -> None:
    """One tool call, one turn, one subscriber, one function of a plugin; in the UI one event and
    one action."""
    allowed = {
        "agent/bus.py",
        "agent/hooks/running.py",
        "agent/plugins/loading.py",
        "agent/session/turn/executor.py",
        "agent/session/runner.py",
        "agent/tools/pipeline.py",
        "app/session/event_pump.py",
        "app/toolkit/tasks.py",
    }
    broad = {
        str(path.relative_to(ROOT))
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ExceptHandler)
        and isinstance(node.type, ast.Name)
        and node.type.id == "Exception"
    }
    assert broad <= allowed


def test_a8_no_universal_selectors() -> None:
    for sheet in ROOT.glob("app/**/*.tcss"):
        rules = re.sub(r"/\*.*?\*/", "", sheet.read_text("utf-8"), flags=re.DOTALL)
        assert not re.search(r"(^|[\s,>}])\*", rules), sheet
        assert not re.search(r"#[0-9a-fA-F]{6}\b", rules), f"{sheet}: theme variables only"


def loaded(code: str) -> set[str]:
    """Top-level modules that a fresh interpreter has loaded after *code*."""
    program = f"{code}\nimport sys\nprint(*{{m.split('.')[0] for m in sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return set(done.stdout.split())


def test_r1a_one_module_knows_litellm(trees: dict[Path, ast.Module]) -> None:
    """Whoever else imports it loads it into the program itself."""
    imported = {
        path.stem
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if (isinstance(node, ast.Import) and any(a.name.startswith("litellm") for a in node.names))
        or (isinstance(node, ast.ImportFrom) and (node.module or "").startswith("litellm"))
        or (
            isinstance(node, ast.Call)
            and ast.unparse(node.func).endswith("import_module")
            and "litellm" in ast.unparse(node.args[0])
        )
    }
    assert imported == {"worker"}


def test_a1_the_harness_loads_no_terminal_and_no_litellm() -> None:
    modules = sorted(
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in ROOT.glob("agent/**/*.py")
        if path.stem != "worker"
    )
    names = loaded("\n".join(f"import {module}" for module in modules))
    assert not names & {"textual", "rich", "litellm"}


def test_a1_help_loads_next_to_nothing() -> None:
    names = loaded(
        "import sys, io, contextlib\nfrom app.cli.main import main\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        "    main(['--help'])"
    )
    assert not names & {"textual", "rich", "pydantic", "asyncio", "sqlite3", "litellm", "httpx2"}


def test_u_no_sheet_lays_out_what_is_another_screens() -> None:
    """A screen's sheet holds for all screens once it was loaded: a rule that begins with an id
    is for the one screen that has this id, else opening a page would lay out the session anew."""
    named: dict[str, set[str]] = {}
    for sheet in ROOT.glob("app/**/*.tcss"):
        for selectors in re.findall(r"([^{}]+)\{", sheet.read_text("utf-8")):
            for selector in selectors.split(","):
                if begins := re.match(r"\s*#([\w-]+)", selector):
                    named.setdefault(begins[1], set()).add(sheet.name)
    assert len(named) > 20
    assert not {name: sheets for name, sheets in named.items() if len(sheets) > 1}
