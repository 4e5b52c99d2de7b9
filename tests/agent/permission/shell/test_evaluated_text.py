"""Text that bash evaluates as an expression: substitutions in it run, however quoted.

``[[ "a[\\$(x)]" -eq 0 ]]`` looks like a comparison and runs x. A real bash shows which lines do.
"""

import itertools
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from agent.permission.rules import DEFAULT_RULES, Rule, evaluate
from agent.permission.shell.analysis import command_needs
from agent.permission.shell.paths import Workspace, paths_of
from agent.permission.syntax.words import read_word

NAME = "forbidden"

EVALUATING = (
    "[ -v {} ]",
    "[[ -v {} ]]",
    "test -v {}",
    "[ 1 -eq 1 -a -v {} ]",
    "[[ -n x && -v {} ]]",
    "[[ {} -eq 0 ]]",
    "[[ 0 -lt {} ]]",
    "[[ ! {} -ne 0 ]]",
    "while [[ {} -lt 0 ]]; do :; done",
    "echo $(( {} ))",
    "echo $[ {} ]",
    "(( y = {} ))",
    "case 1 in $(( {} ))) ;; esac",
    "cat <<< $(( {} ))",
    "echo ${{q:-$(( {} ))}}",
    "let z={}",
    "declare -i z={}",
    "y=([{}]=3)",
    "y=(1 2); y[{}]=3",
    "y=(1 2); echo ${{y[{}]}}",
    "y=abc; echo ${{y:0:{}}}",
    "printf -v {} x",
    "read {} <<< y",
    "unset {}",
)
"""Places where text is an expression, or a name whose subscript is one."""

WRITTEN = (
    "'a[$(forbidden x)]'",
    '"a[\\$(forbidden x)]"',
    "a[\\$\\(forbidden\\ x\\)]",
    "'a[`forbidden x`]'",
    '"a[\\`forbidden x\\`]"',
    "$'a[\\x24(forbidden x)]'",
    "$'a[$\\x28forbidden x)]'",
    "$'a[\\x60forbidden x\\x60]'",
    "'a[$''(forbidden x)]'",
    '"a["\'$\'"(forbidden x)]"',
    'a["\\$(forbidden x)"]',
    "\"a[\\$\"'(forbidden x)]'",
)
"""The text ``a[$(forbidden x)]``, in all ways of writing it in a shell."""

KEPT = (
    "d='$'; ",
    "d='a[$(forbidden x)]'; ",
    'd="a[\\$(forbidden x)]"; ',
    "for d in 'a[$(forbidden x)]'; do :; done; ",
)
GIVEN = ('"a[${d}(forbidden x)]"', '"$d"', "$d", "d", "a[d]")
"""The same text in a variable, whole or in part."""

LINES = [
    *(place.format(text) for place in EVALUATING for text in WRITTEN),
    *(
        kept + place.format(text)
        for kept, place, text in itertools.product(KEPT, EVALUATING, GIVEN)
    ),
]

NARROW = (
    Rule("bash", "*", "ask", "test"),
    *(Rule("bash", f"{name} *", "allow", "test") for name in ("echo", "test", "cat", "read", "[")),
)
DENIED = (Rule("*", "*", "allow", "test"), Rule("bash", f"{NAME} *", "deny", "test"))


def answer(folder: Path, line: str, rules: tuple[Rule, ...] = ()) -> str:
    needs = command_needs(
        line, directory=str(folder), project=str(folder), home=str(folder / "home")
    )
    evaluated = [evaluate(need, (*DEFAULT_RULES, *rules)).action for need in needs]
    return max(evaluated, key=["allow", "ask", "deny"].index, default="allow")


def run(folder: Path, script: str, *arguments: str) -> str:
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-s", *arguments],
        cwd=folder, input=script, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env={"PATH": f"{folder}/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}, timeout=300, check=False,
    ).stdout  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evaluated")
    program = folder / "bin" / NAME
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n: > {folder}/ran\n", "utf-8")
    program.chmod(0o755)
    return folder


def running(folder: Path) -> list[str]:
    """Return the lines for which bash runs the stand-in; one bash tries them in subshells."""
    tries = (
        f"rm -f ran; (eval {shlex.quote(line)}) < /dev/null > /dev/null; [ -f ran ] && echo {at}"
        for at, line in enumerate(LINES)
    )
    return [LINES[int(at)] for at in run(folder, "\n".join(tries)).split()]


def test_code_in_evaluated_text_never_runs_without_approval(folder: Path) -> None:
    found = running(folder)
    assert len(found) > len(LINES) // 3
    for rules in ((), NARROW, DENIED):
        assert [line for line in found if answer(folder, line, rules) == "allow"] == []


@pytest.mark.parametrize(
    "line",
    [
        "[ -v HOME ]",
        "[[ -v list[3] ]]",
        "[[ $# -eq 0 ]] && echo 'costs $5'",
        "n=3; [[ $n -gt 2 ]] && echo yes",
        'echo $(( 2 * 3 )) "a\\$b"',
        "x=([0]=a [1]=b); echo ${x[1]}",
        'x=(a "b c" [d]); echo done',
        "if [[ 3 -lt 4 ]]; then awk '{print $1}' list.txt; fi",
        "[[ $line == *'$('* ]] && echo found",
        "[[ $(cat list.txt) == x && 2 -lt 3 ]] && echo same",
        "[[ $(ls | wc -l) -gt 3 ]] && echo many",
        "echo $(( $(wc -l < list.txt) * 2 ))",
        "[[ $(grep -c '^a' list.txt) -gt 0 ]] && echo yes",
        'cat <<X\n{"n": $(( 1 + 2 )), "of": "x"}\nX',
    ],
)
def test_plain_tests_and_arithmetic_ask_nothing(folder: Path, line: str) -> None:
    assert answer(folder, line) == "allow"


@pytest.mark.parametrize(
    "line",
    [
        "[[ $(cat list.txt) -eq 0 ]]",
        "[[ 0 -lt `cat list.txt` ]]",
        "[[ 0 -lt $(<list.txt) ]]",
        "echo $(( $(cat list.txt) + 1 ))",
        "(( $(head -1 list.txt) ))",
        "echo ${q:-$(( $(cat list.txt) ))}",
        "cat <<X\n$(( (2) * $(cat list.txt) ))\nX",
        "echo $(( $(cat list.txt; ls | wc -l) ))",
        "echo $(( $(cat list.txt || ls | wc -l) ))",
        "echo $(( $(wc -l *) ))",
        "echo $(( $(grep -c x * list.txt) ))",
        "echo $(( $(grep -o . list.txt) ))",
    ],
)
def test_the_content_of_a_file_is_not_evaluated_without_approval(folder: Path, line: str) -> None:
    """``a[$(x)]`` in a repository's file would run x."""
    assert answer(folder, line) == "ask"


PATTERNS = (
    ".[^x]nv", ".[!x]nv", ".[[:alpha:]]nv", ".[[:lower:]e]nv", ".[a-f]nv", ".[\\!e]nv", ".[\\^e]nv",
    '.[e"*"]nv', '.[e"]"]nv', ".[]e]nv", ".[e]nv", ".[[=e=]]nv", ".[d-]nv", ".[e-]n[v]", ".?nv",
    "sub/[^a]ey", "sub/[[:print:]]ey", "s[^a]b/key", "[^a]ey.pem", "[[]x]", "k*.pem", "[a/b]",
)  # fmt: skip


def test_a_pattern_finds_all_files_that_bash_finds(folder: Path) -> None:
    """A pattern decides whether a secret is read, so no match can be missed."""
    (folder / "sub").mkdir()
    for name in (".env", "key.pem", "sub/key", "[x]", "a-b"):
        (folder / name).touch()
    place = Workspace(str(folder), str(folder), str(folder / "home"))
    script = "\n".join(f"printf '%s\\t' {pattern}; echo" for pattern in PATTERNS)
    matched = [line.split("\t") for line in run(folder, script).splitlines()]
    assert len(matched) == len(PATTERNS)
    hits = 0
    for pattern, names in zip(PATTERNS, matched, strict=True):
        paths = paths_of(read_word(pattern, ()), frozenset({str(folder)}), place)
        assert paths is not None
        named = {os.path.normpath(path) for path in paths}
        for name in filter(None, names):
            if (folder / name).exists():
                hits += 1
                assert str(folder / name) in named, pattern
    assert hits > len(PATTERNS) // 2


def test_a_secret_matched_by_a_class_asks(folder: Path) -> None:
    (folder / ".env").touch()
    assert answer(folder, "cat .[^x]nv") == "ask"
    assert answer(folder, "cat .[[:alpha:]]nv") == "ask"


SPELLED = (
    "foo \"\\$'\\x72m' x\"",
    "foo 'y=rm; $y x'",
    "foo 'r\\\nm x'",
    "foo 'env rm x'",
)


@pytest.mark.parametrize("line", SPELLED)
def test_other_texts_in_a_line_hide_no_denied_command(folder: Path, line: str) -> None:
    """A composed name is found after any number of texts."""
    rules = (Rule("*", "*", "allow", "test"), Rule("bash", "rm *", "deny", "test"))
    padding = "".join(f"foo 'text {number} here'; " for number in range(250))
    assert answer(folder, line, rules) != "allow"
    assert answer(folder, padding + line, rules) == answer(folder, line, rules)


@pytest.mark.parametrize(
    "line",
    [
        "x=$(cat f); [ $x ]",
        "x=$(cat f); [ $x = y ]",
        "x=$(cat f); test $x = y",
        "[ $(cat f) = y ]",
        "[ `cat f` ]",
        "read x < f; [ $x ]",
        "x=`cat f`; y=$x; [ -n a -a $y ]",
        "x=$(cat f); [ a$x ]",
        "x=$((1))$(cat f); [ $x ]",
    ],
)
def test_text_that_was_read_cannot_become_an_operator(line: str) -> None:
    """A real bash runs a ``-v a[$(…)]`` that the file holds."""
    needs = command_needs(line, directory="/srv/shop", project="/srv/shop", home="/home/u")
    assert any(need.strict == "unknown" for need in needs)


@pytest.mark.parametrize(
    "line",
    [
        'x=$(cat f); [ "$x" = y ]',
        "x=$(cat f); [[ $x = y ]]",
        "n=$(grep -c a f); [ $n -gt 0 ]",
        "[ $(wc -l < f) -gt 3 ]",
        "m=debug; [ $m = debug ]",
        "[ $# -gt 1 ] || [ $? -eq 0 ] || [ $USER = root ]",
        "for f in *.py; do [ -f $f ] && echo $f; done",
    ],
)
def test_a_test_of_quoted_numeric_or_literal_text_does_not_ask(line: str) -> None:
    needs = command_needs(line, directory="/srv/shop", project="/srv/shop", home="/home/u")
    assert not any(need.strict for need in needs)
