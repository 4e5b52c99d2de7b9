"""Of a program that no table knows, no table is asked (spec 3.4, B8): with the same result."""

import ast
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from agent import permission
from agent.permission.programs.builtins import KEYWORDS
from agent.permission.shell.call import Call
from agent.permission.shell.command import Commands
from agent.permission.shell.findings import Findings
from agent.permission.shell.known_programs import listed
from agent.permission.shell.paths import Dirs, Place
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


def _words_of_the_tables() -> set[str]:
    """Every word in every text of the rooms that judge commands."""
    found: set[str] = set()
    for room in Path(permission.__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(room.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= {word for word in re.split(r"[\s:]+", node.value) if _WORD.fullmatch(word)}
    return found


def _judged(
    words: list[str], asked: Callable[[str], bool], sets: tuple[tuple[str, str], ...] = ()
) -> tuple[object, ...]:
    found = Findings(Place("/srv/shop", "/srv/shop", "/home/u"))
    ran: list[tuple[str, Dirs, int]] = []

    def run(text: str, dirs: Dirs, level: int) -> None:
        ran.append((text, dirs, level))

    commands = Commands(found, run, lambda text: (f"peeked {text}",), asked)
    call = Call(tuple(map(literal_word, words)), " ".join(words), frozenset({"/srv/shop"}), sets)
    ends = commands.judge(call)
    return found, ran, ends


def _always(_program: str) -> bool:
    return True


UNLISTED = sorted(word for word in _words_of_the_tables() - KEYWORDS if not listed(word))


def test_b8_the_tables_hold_the_programs_people_use() -> None:
    known = "git npm docker python3.12 find sudo rm psql less mkfs.ext4 sh corepack eval ssh uvx"
    assert all(map(listed, known.split()))
    assert not listed("my-own-script")
    assert len(UNLISTED) > 500


@pytest.mark.parametrize("words", ARGUMENTS, ids=" ".join)
def test_b8_no_table_has_a_word_on_a_program_that_is_not_listed(words: list[str]) -> None:
    """A table that were left out of the list would be passed by."""
    for name in (*UNLISTED, "./x", "/usr/bin/tool", "töol", "-x"):
        assert _judged([name, *words], listed) == _judged([name, *words], _always), name


@pytest.mark.parametrize("name", ["A", "LANG", "BASH_ENV"])
def test_b8_variables_in_front_count_for_any_program(name: str) -> None:
    sets = ((name, "rm x"),)
    assert _judged(["tool", "a b"], listed, sets) == _judged(["tool", "a b"], _always, sets)
