"""Names of files that one command gives to another: ``find -exec``, ``… | xargs``."""

import os
import subprocess
from pathlib import Path

import pytest

from agent.permission.rules import DEFAULT_RULES, STRENGTH, Rule, evaluate
from agent.permission.shell.analysis import command_needs
from agent.records.requests import Action

DATA = Path(__file__).resolve().parents[3] / "data" / "permission" / "given_names.txt"
FOLDER, HOME = "/home/u/shop", "/home/u"


def lines(expected: str) -> list[str]:
    """Return the lines of one block."""
    found: list[str] = []
    block = ""
    for row in DATA.read_text("utf-8").splitlines():
        if row.startswith("== "):
            block = row[3:]
        elif row and not row.startswith("# ") and block == expected:
            found.append(row)
    return found


def verdict(line: str, folder: str = FOLDER, *rules: Rule) -> Action:
    needs = command_needs(line, directory=folder, project=folder, home=HOME)
    found: list[Action] = [evaluate(need, (*DEFAULT_RULES, *rules)).action for need in needs]
    return max(["allow", *found], key=STRENGTH.__getitem__)


@pytest.mark.parametrize("line", lines("allow"))
def test_a_reader_takes_names_of_the_project_unasked(line: str) -> None:
    assert verdict(line) == "allow"


@pytest.mark.parametrize("line", lines("ask"))
def test_what_more_than_reads_files_of_the_project_asks(line: str) -> None:
    assert verdict(line) == "ask"


def test_a_rule_for_the_program_does_not_cover_names_that_are_added() -> None:
    rule = Rule("bash", "rm *", "allow", "config")
    assert verdict("rm a", FOLDER, rule) == "allow"
    assert verdict("ls | xargs rm", FOLDER, rule) == "ask"
    assert verdict("find . -exec rm {} +", FOLDER, rule) == "ask"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "shop"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "app.py").write_text("x\n")
    return folder


def make(folder: Path, name: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x\n")


@pytest.mark.parametrize(
    ("name", "line", "expected"),
    [
        ("src/.env", "find . -type f -exec cat {} +", "ask"),
        ("src/.env", "find . -name '*.py' -exec cat {} +", "allow"),
        ("src/.env", r"find . \( -name '*.py' -o -name '*.c' \) | xargs cat", "allow"),
        ("src/.env", "find . -name '*.py' -o -type f | xargs cat", "ask"),
        ("src/.env", "find . ! -name '*.py' | xargs cat", "ask"),
        ("src/.env", r"find . ! \( -name '*.py' \) | xargs cat", "ask"),
        ("src/.env", "find . -name '*.py' | xargs grep -r x", "ask"),
        ("src/.env", "rg -l x | xargs cat", "allow"),
        ("src/.env", "rg -l --hidden x | xargs cat", "ask"),
        ("src/.env", "git diff --name-only HEAD~1 | xargs cat", "ask"),
        ("src/.env", "git diff --name-only HEAD~1 -- '*.py' | xargs cat", "allow"),
        ("src/.env", "git diff --name-only HEAD~1 -- ':(exclude)*.py' | xargs cat", "ask"),
        ("src/.env", "ls -A src | xargs cat", "ask"),
        ("src/.env", "ls src | xargs cat", "allow"),
        ("a b.py", "find . -name '*.py' | xargs cat", "allow"),
        ("a /etc/passwd.py", "find . -name '*.py' | xargs cat", "ask"),
        ("a /etc/passwd.py", "find . -name '*.py' -print0 | xargs -0 cat", "allow"),
        ("a /etc/passwd.py", "find . -name '*.py' -exec cat {} +", "allow"),
        ("a /etc/passwd.py", "find . -print0 | grep -v x | xargs -0 cat", "ask"),
        ("a -o.py", "find . -name '*.py' | xargs sort", "ask"),
        ("it's.py", "find . -name '*.py' | xargs cat", "ask"),
        ("x .env", "ls | xargs cat", "ask"),
    ],
)
def test_files_that_exist_decide(shop: Path, name: str, line: str, expected: str) -> None:
    make(shop, name)
    assert verdict(line, str(shop)) == expected


def test_links_out_of_the_project_ask(shop: Path) -> None:
    (shop / "src" / "notes.py").symlink_to("/etc/passwd")
    assert verdict("find . -exec cat {} +", str(shop)) == "ask"
    assert verdict("find . -name '*.py' | xargs cat", str(shop)) == "ask"
    assert verdict("find . -name '*.py' -type f | xargs cat", str(shop)) == "allow"
    assert verdict("find . -name '*.md' | xargs cat", str(shop)) == "allow"
    assert verdict("rg -l x src | xargs cat", str(shop)) == "allow"


def git(folder: Path, *words: str) -> None:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", "-C", str(folder), *words], check=True, env=environment)


def test_only_tracked_files_count_for_git_ls_files(shop: Path) -> None:
    make(shop, "src/.env")
    git(shop, "init", "-q")
    git(shop, "add", "src/app.py")
    for line in ("git ls-files | xargs cat", "git diff --name-only | xargs cat"):
        assert verdict(line, str(shop)) == "allow"
    assert verdict("git ls-files -o | xargs cat", str(shop)) == "ask"
    assert verdict("git diff --name-only --cached | xargs cat", str(shop)) == "ask"
    git(shop, "add", "src/.env")
    assert verdict("git ls-files | xargs cat", str(shop)) == "ask"


def test_another_name_of_a_file_with_secrets_asks(shop: Path) -> None:
    make(shop, ".env")
    make(shop, "plain.txt")
    os.link(shop / ".env", shop / "notes.txt")
    os.link(shop / "plain.txt", shop / "copy.txt")
    assert verdict("cat notes.txt", str(shop)) == "ask"
    assert verdict("sort < notes.txt", str(shop)) == "ask"
    assert verdict("cat copy.txt", str(shop)) == "allow"


def test_another_name_of_a_file_with_secrets_counts_for_searches(shop: Path) -> None:
    make(shop, ".env")
    make(shop, "plain.txt")
    (shop / "sub").mkdir()
    os.link(shop / "plain.txt", shop / "sub" / "copy.txt")
    for line in ("grep -r x sub", "find sub -type f | xargs cat", "rg x sub"):
        assert verdict(line, str(shop)) == "allow"
    os.link(shop / ".env", shop / "sub" / "notes.txt")
    for line in ("grep -r x sub", "find sub -type f | xargs cat", "rg x sub"):
        assert verdict(line, str(shop)) == "ask"
