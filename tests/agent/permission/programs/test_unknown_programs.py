"""A program that is not in the catalog takes a shorter way through the analysis, with the same
result."""

import ast
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from agent import permission
from agent.permission.programs.builtin_effects import KEYWORDS
from agent.permission.programs.lookup import program
from agent.permission.programs.record import UNKNOWN, Program
from agent.permission.shell.command_needs import Commands
from agent.permission.shell.findings import Findings
from agent.permission.shell.paths import Dirs, Workspace
from agent.permission.shell.simple_command import SimpleCommand
from agent.permission.syntax.words import literal_word

_WORD = re.compile(r"[A-Za-z_.][\w.+-]*")

ARGUMENTS = [
    [],
    ["a"],
    ["a", "b c", "/etc/x", ".env", "~/x"],
    ["--version"],
    ["-c", "rm x; y"],
    ["-e", "x"],
    ["-v", "a[$(x)]"],
    ["push", "--force"],
    ["delete", "-R", "x"],
    ["-delete", "-exec", "rm", "x", ";"],
    ["--", "rm", "x"],
    ["run", "--prefix", "x", "rm", "y"],
    ["-o", ".git/config", "../x"],
]


def _words_of_the_code() -> set[str]:
    """Every word in every text of the package."""
    found: set[str] = set()
    for module in Path(permission.__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(module.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= {word for word in re.split(r"[\s:]+", node.value) if _WORD.fullmatch(word)}
    return found


def _analyzed(
    words: list[str],
    lookup: Callable[[str], Program | None],
    sets: tuple[tuple[str, str], ...] = (),
) -> tuple[object, ...]:
    found = Findings(Workspace("/srv/shop", "/srv/shop", "/home/u"))
    ran: list[tuple[str, Dirs, int]] = []

    def run(text: str, dirs: Dirs, level: int) -> None:
        ran.append((text, dirs, level))

    commands = Commands(found, run, lambda text: (f"peeked {text}",), lookup)
    call = SimpleCommand(
        tuple(map(literal_word, words)), " ".join(words), frozenset({"/srv/shop"}), sets
    )
    ends = commands.analyze(call)
    return found, ran, ends


def _as_if_known(name: str) -> Program:
    return program(name) or UNKNOWN


NOT_LISTED = sorted(
    word for word in _words_of_the_code() - KEYWORDS if not (program(word) or program(word.lower()))
)


def test_the_catalog_has_commonly_used_programs() -> None:
    known = "git npm docker python3.12 find sudo rm psql less mkfs.ext4 sh corepack eval ssh uvx"
    assert all(map(program, known.split()))
    assert program("my-own-script") is None
    assert len(NOT_LISTED) > 500


@pytest.mark.parametrize("words", ARGUMENTS, ids=" ".join)
def test_no_check_treats_a_program_specially_that_is_not_in_the_catalog(words: list[str]) -> None:
    for name in (*NOT_LISTED, "./x", "/usr/bin/tool", "töol", "-x"):
        assert _analyzed([name, *words], program) == _analyzed([name, *words], _as_if_known), name


@pytest.mark.parametrize("name", ["A", "LANG", "BASH_ENV"])
def test_variables_in_front_count_for_any_program(name: str) -> None:
    sets = ((name, "rm x"),)
    words = ["tool", "a b"]
    assert _analyzed(words, program, sets) == _analyzed(words, _as_if_known, sets)
