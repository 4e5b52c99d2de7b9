"""The rules of the code base that a program can check.

Import layers are import-linter contracts (``make check``); the modules that are really loaded are
tested here in fresh interpreters.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted([*ROOT.glob("app/**/*.py"), *ROOT.glob("agent/**/*.py"), ROOT / "opencode_py.py"])

MAX_LINES = 600
MAX_FUNCTION_LINES = 60
MAX_SUPPRESSIONS = 40
SUPPRESSION = re.compile(r"(# noqa\S*(:\s*[A-Z0-9, ]+)?|# (?:type|pyright): ignore\S*)(.*)$")


@pytest.fixture(scope="module")
def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text("utf-8")) for path in SOURCES}


def test_files_are_small() -> None:
    lines = {path: path.read_text("utf-8").count("\n") for path in SOURCES}
    assert not [f"{path.relative_to(ROOT)}: {n}" for path, n in lines.items() if n > MAX_LINES]


def test_functions_fit_a_screen(trees: dict[Path, ast.Module]) -> None:
    long = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno + 1 > MAX_FUNCTION_LINES
    ]
    assert not long


def test_no_test_module_imports_another() -> None:
    imports = re.compile(r"^from tests\.[\w.]*\btest_\w+ import", re.MULTILINE)
    found = [path for path in ROOT.glob("tests/**/*.py") if imports.search(path.read_text("utf-8"))]
    assert not found


def test_folders_of_tests_mirror_the_packages() -> None:
    tests = [*ROOT.glob("tests/agent/**/test_*.py"), *ROOT.glob("tests/app/**/test_*.py")]
    folders = {path.parent.relative_to(ROOT / "tests") for path in tests}
    assert not [str(folder) for folder in folders if not (ROOT / folder).is_dir()]


def test_no_module_is_a_catch_all() -> None:
    assert not [path for path in SOURCES if path.stem in {"utils", "util", "helpers", "misc"}]


def test_suppressions_are_few_and_have_a_reason() -> None:
    found = {
        f"{path.relative_to(ROOT)}:{number}": match[3].strip(" -()")
        for path in SOURCES
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if (match := SUPPRESSION.search(line))
    }
    assert not [place for place, reason in found.items() if not reason]
    assert len(found) <= MAX_SUPPRESSIONS


RIDDLE = re.compile(r"(What|Which|How|Whether|Those)\b")
CODE = re.compile(
    r"\bspec \d|\b(?:spec|reference) \d+\.\d|\([A-Z]\d{1,2}[a-z]?(?:, [A-Z]\d{1,2}[a-z]?)*\)"
)


def test_docstrings_name_the_thing(trees: dict[Path, ast.Module]) -> None:
    """A first line that begins with What, Which, How or Whether is a riddle, not a name."""
    riddles = [
        f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}"
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and RIDDLE.match(ast.get_docstring(node) or "")
    ]
    assert not riddles


NAMED = re.compile(r"``((?:agent|app)(?:\.\w+)+)")


def test_modules_named_in_the_code_exist() -> None:
    """Each name between double backquotes is a module, a package, or a name in one."""
    unknown = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in SOURCES
        for name in NAMED.findall(path.read_text("utf-8"))
        if not _exists(name)
    ]
    assert not unknown


def _exists(name: str) -> bool:
    place = ROOT
    for at, part in enumerate(parts := name.split(".")):
        place /= part
        if (file := place.with_suffix(".py")).is_file():
            return all(re.search(rf"\b{one}\b", file.read_text("utf-8")) for one in parts[at + 1 :])
        if not place.is_dir():
            return part in place.with_name("__init__.py").read_text("utf-8")
    return True


def test_rules_are_stated_in_words() -> None:
    """No reference to a numbered document that the repository does not contain."""
    pages = [*ROOT.glob("docs/**/*.md"), *ROOT.glob("*.md"), *ROOT.glob("tests/**/*.py")]
    coded = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in (*SOURCES, *pages)
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if CODE.search(line)
    ]
    assert not coded


def test_broad_excepts_are_at_named_boundaries(trees: dict[Path, ast.Module]) -> None:
    """One tool call, one turn, one subscriber, one function of a plugin; in a front end one event
    and one action."""
    allowed = {
        "agent/bus.py",
        "agent/hooks/execution.py",
        "agent/plugins/loading.py",
        "agent/session/turn/executor.py",
        "agent/session/turn_runner.py",
        "agent/tools/pipeline.py",
        "app/acp/open_session.py",
        "app/terminal/tasks.py",
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


def test_style_sheets_have_no_universal_selectors() -> None:
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


def test_only_the_litellm_worker_imports_litellm(trees: dict[Path, ast.Module]) -> None:
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


def test_the_agent_package_loads_no_terminal_code_and_no_litellm() -> None:
    modules = sorted(
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in ROOT.glob("agent/**/*.py")
        if path.stem != "worker"
    )
    names = loaded("\n".join(f"import {module}" for module in modules))
    assert not names & {"textual", "rich", "litellm"}


def test_help_loads_next_to_nothing() -> None:
    names = loaded(
        "import sys, io, contextlib\nfrom app.cli.main import main\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        "    main(['--help'])"
    )
    assert not names & {"textual", "rich", "pydantic", "asyncio", "sqlite3", "litellm", "httpx2"}


def test_each_style_sheet_styles_only_its_own_screen() -> None:
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
