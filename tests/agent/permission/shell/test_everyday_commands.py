"""A measure of over-asking: some 260 lines of everyday work with the expected verdict."""

from collections.abc import Iterator
from pathlib import Path

from agent.permission.rules import DEFAULT_RULES, STRENGTH, Rule, evaluate
from agent.permission.shell.analysis import command_needs
from agent.records.requests import Action

DATA = Path(__file__).resolve().parents[3] / "data" / "everyday_commands.txt"
FOLDER, HOME = "/home/u/shop", "/home/u"

MAX_OVER_ASKED = 0.03

RULES = tuple(
    Rule("bash", f"{name} *", "allow", "config")
    for name in (
        "git", "npm", "pytest", "make", "cargo", "go", "ruff", "mypy", "uv run", "npx tsc",
        "tsc", "docker compose",
    )
)  # fmt: skip


def lines() -> Iterator[tuple[str, str, str]]:
    """Yield the expected verdict, ``by default`` or ``with rules``, and the line."""
    verdict = how = ""
    for row in DATA.read_text("utf-8").splitlines():
        if row.startswith("== "):
            verdict, how = row[3:].split(" ", 1)
        elif row and not row.startswith("# "):
            yield verdict, how, row.replace("|", "\n") if "END" in row else row


def verdict(line: str, how: str) -> Action:
    rules = (*DEFAULT_RULES, *(RULES if how == "with rules" else ()))
    needs = command_needs(line, directory=FOLDER, project=FOLDER, home=HOME)
    found: list[Action] = [evaluate(need, rules).action for need in needs]
    return max(["allow", *found], key=STRENGTH.__getitem__)


def test_everyday_lines_that_only_read_hardly_ever_ask() -> None:
    allowed = [(how, line) for expected, how, line in lines() if expected == "allow"]
    over = [line for how, line in allowed if verdict(line, how) != "allow"]
    assert len(allowed) >= 180
    assert len(over) <= MAX_OVER_ASKED * len(allowed), over


def test_everyday_lines_that_change_something_ask() -> None:
    asked = [(how, line) for expected, how, line in lines() if expected == "ask"]
    under = [line for how, line in asked if verdict(line, how) != "ask"]
    assert len(asked) >= 60
    assert under == []
