"""The values of a variable at each place of a line, compared with a real bash."""

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from agent.permission.shell.analysis import analyze, is_read_only

BUDGET = 4_000 if os.environ.get("CANCEL_POINTS") == "0" else 150
"""Lines that are generated."""

FOLDER, HOME = "/srv/shop", "/home/ann"

SETS = (
    "x={}", "x='{}'", "x={};", "for x in {} {}; do {{}}; done", "read x <<< {}", "unset x",
    "x={} true", "(x={}; {{}})", "x={} | cat", "x={} & wait", "export x={}", "y={}; x=$y",
    "x={{{},b}}", "if false; then x={}; fi", "false && x={}", "true || x={}", "true && x={}",
    "while true; do x={}; break; x={}; done", "for i in 1 2; do {{}}; x={}; done",
    "for i in 1 2; do x={}; continue; x={}; done", "case a in b) x={};; a) x={};; esac",
    "case a in a) x={};& b) {{}}; x={};; esac", "until true; do x={}; done", "{{ x={}; {{}}; }}",
    "eval x={}", "printf -v x {}", "\\read x <<< {}", "re''ad -r x <<< {}", "mapfile -t x <<< {}",
    ": ${{x:={}}}", "true $(x={})", "for x in; do :; done", "for x in {}; do :; done",
    "declare x={}", "let x=1", "((x = 1))", "x={} eval ':; {{}}'", "time x={}", "! x={}",
    "if x={}; then {{}}; else x={}; fi", "bash -c 'x={}'", "x={}; x+=a", "command read x <<< {}",
    "x={}; y=$x; x={}; x=$y", "while read x; do {{}}; done <<< {}",
    "select x in {}; do break; done",
)  # fmt: skip
USES = ('echo y > "$x"', "echo y > $x", 'echo y > "${x}"', "echo y >> $x")


class Lines:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.files = 0

    def name(self) -> str:
        self.files += 1
        return f"f{self.files}"

    def step(self, depth: int) -> str:
        if self.random.random() < 0.4:
            return self.random.choice(USES)
        shape = self.random.choice(SETS)
        count = shape.replace("{{", "").replace("}}", "").count("{}")
        text = shape.format(*(self.name() for _ in range(count)))
        while "{}" in text:
            inner = self.step(depth - 1) if depth else self.random.choice(USES)
            text = text.replace("{}", inner.replace("'", '"'), 1)
        return text.rstrip(";")

    def line(self) -> str:
        return "; ".join([*(self.step(2) for _ in range(3)), self.random.choice(USES)])


def test_each_value_that_a_variable_has_is_known_or_none_is(tmp_path: Path) -> None:
    lines = Lines(7)
    known = 0
    for _ in range(BUDGET):
        line = lines.line()
        folder = tmp_path / "p"
        folder.mkdir()
        found = analyze(line, directory=str(folder), project=str(folder), home=HOME)
        subprocess.run(
            ["bash", "--noprofile", "--norc", "-c", line],
            cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False,
            env={"PATH": os.environ["PATH"]},
        )  # fmt: skip
        written = {str(path) for path in folder.iterdir()}
        shutil.rmtree(folder)
        if not found.problem and not any(need.strict == "unknown" for need in found.needs):
            known += bool(written)
            assert written <= set(found.edits), line
    assert known > BUDGET // 10


@pytest.mark.parametrize(
    "line",
    [
        'echo "$(cat f)"; ((_))',
        "[[ $(cat f) =~ .* ]]; ((BASH_REMATCH))",
        "\\read x < f; ((x))",
        "re''ad x < f; ((x))",
        "command read x < f; echo $((x))",
        "builtin read x < f; echo $((x))",
        "read < f; ((REPLY))",
        "mapfile < f; echo $((MAPFILE))",
        "mapfile -t x < f; echo $((x))",
        "readarray x < f; ((x + 1))",
        "IFS= read -r x < f; ((x))",
        "while read -r x; do ((x)); done < f",
        "while ((x)); do read -r x < f; done",
        "for x in $(cat f); do ((x)); done",
        "x=$(cat f); ((y = x))",
        "x=$(cat f); y=$x; ((y))",
        "x=$(cat f)$(ls | wc -l); ((x))",
        "x=$(cat f # | wc -l\n); ((x))",
        "x=(a b); ((x))",
        "((PWD))",
        "((OLDPWD))",
        "((BASH_COMMAND))",
        "((PIPESTATUS))",
        "((OPTARG))",
        "((COPROC))",
        "((BASH_ARGV))",
        "((DIRSTACK))",
        "((HOME))",
        "((SHELLOPTS))",
        "echo $((_ + 1)) $[_]",
        "[[ _ -eq 1 ]]",
        "[[ $(cat f) =~ x ]]; [[ $BASH_REMATCH -gt 0 ]]",
        "echo ${x:-$((_))}",
        "cat <<E\n$((REPLY))\nE",
        "printf -v x '%s' \"$(cat f)\"; ((x))",
        "getopts a: x; ((OPTARG))",
        "x=1; if test -f y; then x=$(cat f); fi; ((x))",
        "x=1; (x=2); read x < f; ((x))",
        "for i in 1 2; do ((x)); x=$(cat f); done",
    ],
)
def test_text_that_was_read_is_not_calculated_without_approval(line: str) -> None:
    assert not is_read_only(line, directory=FOLDER, project=FOLDER, home=HOME)


@pytest.mark.parametrize(
    "line",
    [
        "((n++))",
        "n=0; for f in *.py; do ((n++)); done; echo $n",
        "for f in *.py; do ((n += 1)); done; echo $((n * 2))",
        "n=$(ls | wc -l); echo $((n + 1))",
        "for ((i = 0; i < 3; i++)); do echo $((i * i)); done",
        "x=1; if test -f y; then x=2; fi; ((x))",
        "x=$(cat f); x=1; ((x))",
        "(x=$(cat f)); ((x))",
        "echo $((RANDOM % 10)) $((SECONDS)) $((LINENO))",
        "i=1; while ((i < 5)); do echo $i; i=$((i + 1)); done",
        "[[ $n -gt 2 ]] && echo yes",
        "x=3; head -n $x a",
        'while IFS= read -r line; do echo "$line"; done < a',
        "x=3; for i in 1 2; do head -n $x a; done",
        'for f in a b; do g="$f.txt"; wc -l "$g"; done',
        "f=src/a.py; wc -l $f && head -3 $f",
    ],
)
def test_calculating_with_numbers_needs_no_approval(line: str) -> None:
    assert is_read_only(line, directory=FOLDER, project=FOLDER, home=HOME)


@pytest.mark.parametrize(
    "line",
    [
        "f=a; for f in .env; do :; done; cat $f",
        "for f in .env; do :; done; for f in a; do break; done; cat $f",
        "f=.env; (f=a); cat $f",
        "f=.env; f=a | true; cat $f",
        "f=.env; for f in; do :; done; cat $f",
        "f=a; [ -f x ] && f=.env; cat $f",
        "f=a; while true; do f=.env; break; f=b; done; cat $f",
        "f=a; for i in 1 2; do cat $f; f=.env; done",
        "cat $f; f=a",
        "f=a eval 'f=.env'; cat $f",
        "f=a; read f < g; cat $f",
        "f=a; bash -c 'cat $f'",
        "if true; then f=a; fi; cat $f",
        "f=a & cat $f",
        "time f=.env; cat $f",
        "time PATH=.; ls",
        "f=a; f=.env :; eval 'cat $f'; f=.env eval 'cat $f'",
    ],
)
def test_a_value_from_another_branch_is_not_missed(line: str) -> None:
    assert not is_read_only(line, directory=FOLDER, project=FOLDER, home=HOME)
