"""The cost of the analysis of a long line, in calls instead of seconds."""

import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from types import FrameType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.permission.read_rules import ReadRules
from agent.permission.rules import Rule, evaluate
from agent.permission.sandbox_policy.kept_files import keep_files
from agent.permission.shell.analysis import analyze
from agent.permission.shell.findings import Findings
from agent.permission.shell.paths import MAX_DIRS, Workspace
from agent.permission.shell.walker import Walker
from agent.permission.syntax.source import CannotAnalyzeError
from agent.records.requests import PermissionNeed

SHAPES: dict[str, Callable[[int], str]] = {
    "distinct commands": lambda n: f"c{n} a; ",
    "pipeline": lambda n: f"c{n} a | ",
    "and": lambda n: f"c{n} && ",
    "paths": lambda n: f"cat /x{n}; ",
    "outside": lambda n: f"rm ../x{n}; ",
    "redirections": lambda n: f"a > b{n}; ",
    "folders": lambda n: f"cd a{n}; ",
    "folders with work in them": lambda n: f"cd /srv/a{n} && npm i --prefix ./x{n} && rm -rf b; ",
    "folders and back": lambda n: f"cd a{n} && ls && cd ..; ",
    "shells": lambda n: f"sh -c a{n}; ",
    "shells of two": lambda n: f"bash -c 'a | b{n}'; ",
    "substitutions": lambda n: f'echo "$(a{n})"; ',
    "backticks": lambda n: f"c `a{n}`; ",
    "streams": lambda n: f"c <(a{n}); ",
    "variables": lambda n: f"c $a{n}; ",
    "quoted variables": lambda n: f'c "a $b{n} c"; ',
    "assignments": lambda n: f"x{n}=1; ",
    "lists": lambda n: f"c {{a,b{n}}}; ",
    "patterns": lambda n: f"c *a{n}; ",
    "patterns in folders": lambda n: f"rm */a{n}; ",
    "wrappers": lambda n: f"sudo env a{n}; ",
    "finders": lambda n: f"find . -exec a{n} \\; ; ",
    "finders of files": lambda n: f"fd x -x rm a{n}; ",
    "programs": lambda n: f"python -c 'a{n}'; ",
    "loops": lambda n: f"for x in a{n}; do b{n}; done; ",
    "cases": lambda n: f"case a{n} in b) c;; esac; ",
    "functions": lambda n: f"f{n}() {{ a; }}; ",
    "git": lambda n: f"git push a{n}; ",
    "written and run": lambda n: f"echo a{n} x | sh; ",
    "words": lambda n: f"a{n} ",
    "quoted words": lambda n: f"'a {n}' ",
    "words with variables": lambda n: f'"a$b{n}" ',
}


def line(make: Callable[[int], str], length: int) -> str:
    text, count = "", 0
    while len(text) < length:
        text += make(count)
        count += 1
    return text.rstrip("&|; ")


@contextmanager
def counted() -> Generator[list[int]]:
    """Count the calls made inside, including those of Python's own functions."""
    calls = [0]

    def seen(_frame: FrameType, event: str, _argument: object) -> None:
        calls[0] += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        yield calls
    finally:
        sys.setprofile(before)


def cost(text: str, folder: Path) -> int:
    with counted() as calls:
        analyze(text, directory=str(folder), project=str(folder), home="/home/u")
    return calls[0]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_line_of_twice_the_length_costs_about_twice(shape: str, tmp_path: Path) -> None:
    """A step for each pair of commands would make a long line slow."""
    make = SHAPES[shape]
    cost(line(make, 100), tmp_path)  # load and compile modules first
    short, long = (cost(line(make, length), tmp_path) for length in (2_000, 4_000))
    assert long < 2.5 * short


@pytest.mark.parametrize("shape", SHAPES)
def test_each_character_of_a_line_costs_few_calls(shape: str, tmp_path: Path) -> None:
    """On the reference machine, 50 ms for 10,000 characters are some 70 calls for each."""
    cost(line(SHAPES[shape], 100), tmp_path)
    assert cost(line(SHAPES[shape], 4_000), tmp_path) < 4_000 * 40


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("eval " * 800 + "rm x", id="evals"),
        pytest.param("eval " * 39 + "w " * 1_900, id="words in evals"),
        pytest.param('echo "$(' * 400 + "rm x" + ')"' * 400, id="substitutions"),
        pytest.param("cd a; " * 660, id="the same folder"),
        pytest.param("sudo " * 800 + "rm x", id="wrappers"),
        pytest.param("(" * 2_000 + "rm x" + ")" * 2_000, id="subshells"),
        pytest.param("f() { " * 400 + "a; " + "}; " * 400, id="functions"),
        pytest.param("find . -exec " * 300 + "rm x \\;", id="finders"),
        pytest.param("xargs " * 660 + "rm", id="fed wrappers"),
        pytest.param("echo " + "`" * 4_000, id="backticks"),
        pytest.param('c "' * 1_300, id="quotes"),
    ],
)
def test_nesting_costs_few_calls_for_each_character(text: str, tmp_path: Path) -> None:
    cost("eval ls; echo $(a)", tmp_path)
    assert cost(text, tmp_path) < len(text) * 60


def test_possible_folders_do_not_double_without_limit(tmp_path: Path) -> None:
    """Each ``cd x;`` can have failed, which doubles the possible folders."""
    text = "".join(f"cd a{n}; " for n in range(40)) + "rm b"
    found = analyze(text, directory=str(tmp_path), project=str(tmp_path), home="/home/u")
    assert len(found.needs) < 40 * MAX_DIRS
    removal = next(need for need in found.needs if need.pattern == "rm b")
    assert removal.strict == "unknown", "where it would remove is not known"


LISTED: list[str] = []
WATCHED: set[str] = set()


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if event in ("os.listdir", "os.scandir") and str(arguments[0]).rstrip("/") in WATCHED:
        LISTED.append(event)


@lru_cache(maxsize=1)
def _start_watching() -> None:
    sys.addaudithook(_watch)  # stays: it looks at nothing that is not watched


@contextmanager
def listings(folder: Path) -> Generator[list[str]]:
    """Yield a list that gets an entry for each time that *folder* is listed."""
    _start_watching()
    before, name = len(LISTED), os.path.realpath(folder)
    seen: list[str] = []
    WATCHED.add(name)
    try:
        yield seen
    finally:
        WATCHED.discard(name)
        seen += LISTED[before:]


def test_a_folder_is_listed_once_for_all_patterns_of_a_line(tmp_path: Path) -> None:
    for name in ("a1", "a2", ".env", "b1.txt"):
        (tmp_path / name).write_text("x", "utf-8")
    folder = os.path.realpath(tmp_path)
    with listings(tmp_path) as seen:
        found = analyze(
            "cat a*; cat .e*; cat *1; cat *.txt; cat z*; cat [ab]?",
            directory=folder, project=folder, home="/home/u",
        )  # fmt: skip
    assert len(seen) == 1
    read = {need.pattern for need in found.needs if need.permission == "read"}
    assert {"a1", "a2", ".env", "b1.txt"} <= read


RECURSIVE = (
    "grep -r x{n} .", "rg x{n}", "rg -g '*.{n}' x", "grep -r x --include='*.{n}' .",
    "find . -name '{n}*' | xargs cat", "find . -name '{n}*' -exec grep -l x {{}} +",
    "find sub -name '{n}*' -print0 | xargs -0 head -n{n}", "git ls-files '*.{n}' | xargs cat",
)  # fmt: skip
"""Commands that read what is in a folder, with a number that makes each of them another one."""


@pytest.mark.parametrize("pattern", RECURSIVE)
def test_a_folder_is_scanned_as_often_for_many_readers_as_for_one(
    pattern: str, tmp_path: Path
) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.txt").write_text("x", "utf-8")
    (tmp_path / ".git").mkdir()
    folder = os.path.realpath(tmp_path)

    def scans(commands: int) -> int:
        text = "; ".join(pattern.format(n=n) for n in range(commands))
        with listings(tmp_path / "sub") as seen:
            found = analyze(text, directory=folder, project=folder, home="/home/u")
            rule = Rule("read", "sub/b.txt", "deny", "global")
            rules = ReadRules(((rule,),), lambda need: evaluate(need, (rule,)), folder)
            keep_files(found.needs, found.reaches, rules, directory=folder, hides=True)
        return len(seen)

    assert 1 <= scans(100) <= scans(1)


def _needs(code: str) -> list[PermissionNeed] | str:
    """Return the needs of nested *code*; a sentence if it cannot be analyzed."""
    found = Findings(Workspace("/srv/shop", "/srv/shop", "/home/u"))
    try:
        Walker(found).analyze_code(code, frozenset({"/srv/shop"}))
    except CannotAnalyzeError:
        return "cannot be analyzed"
    return found.needs


WORD = st.sampled_from(
    [
        *(
            "a",
            "ls",
            "rm",
            "cat",
            "/etc/passwd",
            "../b",
            ".env",
            "-rf",
            "-c",
            "sudo",
            "env",
            "time",
        ),
        *("eval", "export", "read", "git", "push", "find", ".", "-delete", "-exec", "trap", "cd"),
        *("python", "x.py", "sh", "if", "then", "done", "function", "coproc", "nice", "5", "a=b"),
        *("%", "@", ":", "//a", "+x", "1", "-", "--", "unset", "exec", "source", "select", "in"),
    ]
)


@settings(max_examples=500)
@given(st.lists(WORD, min_size=1, max_size=5))
def test_plain_code_means_the_same_as_to_the_grammar(words: list[str]) -> None:
    """A command of plain words is not parsed, but one with a trailing blank is."""
    assert _needs(" ".join(words)) == _needs(" ".join(words) + " ")
