"""The distribution: its name, what it declares and what it contains."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions, version
from pathlib import Path

from agent.installation import DISTRIBUTION, VERSION

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OWN = {"app", "agent", "opencode_py", "_typeshed"}


def imported(file: Path) -> set[str]:
    """Return the top-level packages that *file* imports, ``import_module`` included."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        match node:
            case ast.Import(names=aliases):
                names |= {alias.name for alias in aliases}
            case ast.ImportFrom(module=str(module), level=0):
                names.add(module)
            case ast.Call(
                func=ast.Attribute(attr="import_module"), args=[ast.Constant(value=name)]
            ):
                names.add(str(name))
    return {name.partition(".")[0] for name in names}


def required(requirements: list[str]) -> set[str]:
    return {normal(re.match(r"[\w.-]+", each)[0]) for each in requirements}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_imported_package_is_declared() -> None:
    files = [*ROOT.glob("app/**/*.py"), *ROOT.glob("agent/**/*.py"), ROOT / "opencode_py.py"]
    names = set[str]().union(*map(imported, files)) - sys.stdlib_module_names - OWN
    owners = packages_distributions()
    undeclared = {
        name
        for name in names
        if not {normal(owner) for owner in owners.get(name, [])} & required(PROJECT["dependencies"])
    }
    assert undeclared - {"opentelemetry"} == set()


def test_the_locks_have_every_declared_package() -> None:
    users = (ROOT / "requirements.lock").read_text()
    tests = (ROOT / "requirements-dev.lock").read_text()
    lowest = (ROOT / "requirements-lowest.lock").read_text()
    dev = PROJECT["optional-dependencies"]["dev"]
    for name in required(PROJECT["dependencies"]):
        for lock in (users, tests, lowest):
            assert re.search(rf"^{name}(\[\w+\])?==", lock, re.MULTILINE), name
    for name in required(dev):
        assert re.search(rf"^{name}==", tests, re.MULTILINE), name
    assert not re.search(r"^(pytest|ruff|basedpyright)==", users, re.MULTILINE), (
        "tools of developers"
    )


def test_the_lowest_versions_are_those_of_the_project() -> None:
    lowest = (ROOT / "requirements-lowest.lock").read_text()
    for each in PROJECT["dependencies"]:
        if bound := re.match(r"([\w.-]+)(?:\[\w+\])?>=([\d.]+)", each):
            locked = re.search(rf"^{normal(bound[1])}(?:\[\w+\])?==([\d.]+)", lowest, re.MULTILINE)
            assert locked is not None
            assert locked[1].startswith(bound[2].removesuffix(".0")), each


def test_the_name_is_not_the_one_of_another_project() -> None:
    assert PROJECT["name"] == DISTRIBUTION != "opencode-py"
    assert PROJECT["scripts"] == {"opencode-py": "opencode_py:main"}
    assert version(DISTRIBUTION) == VERSION
    for page in ("README.md", "docs/troubleshooting.md"):
        text = (ROOT / page).read_text()
        assert not re.search(r"(install|upgrade) opencode-py(?!-agent)\b", text), page


def test_types_are_declared() -> None:
    assert (ROOT / "app" / "py.typed").is_file()
    assert (ROOT / "agent" / "py.typed").is_file()
    assert "Typing :: Typed" in PROJECT["classifiers"]
