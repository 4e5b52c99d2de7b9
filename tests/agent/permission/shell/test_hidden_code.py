"""Code in text that the grammar shows as plain text: where it ends, and that it is found.

Each line is run by a real bash with a stand-in program; where that ran, the line must not be
allowed.
"""

import itertools
import shlex
import subprocess

import pytest

from agent.permission.rules import DEFAULT_RULES, Rule, evaluate, strictest
from agent.permission.shell.analysis import analyze
from agent.records.requests import Action

NAME = "forbidden"

PLACES = (
    "echo {}", 'echo "{}"', "echo ${{q:-{}}}", 'echo "${{q:-{}}}"', "echo ${{q#{}}}",
    "echo ${{q/x/{}}}", "cat <<E\n{}\nE", "cat <<E\na ${{q:-{}}} it's\nE", "cat <<-E\n\t{} \"\n\tE",
    "cat <<E\n${{q:-'{}'}}\nE", "echo \"${{q:-'{}'}}\"", "[[ x == {} ]]", "[[ x =~ {} ]]",
    "case x in {}) :;; esac", "echo $(( {} 1 ))", "for i in {}; do :; done", "v={}", "cat <<< {}",
    "echo ${{q:-${{r:-{}}}}}", 'echo "a ${{q:-b}} {} ${{r:-c}}"', "cat < <(echo {})", "a[0]={}",
    "echo $(echo {})", "echo `echo {}`", "cat <<E\n\\$(a) {}\nE", "echo $[ {} 1 ]", "! : {}",
)  # fmt: skip

CODES = (
    "$(# )\nforbidden)",
    "$(: # it's )\nforbidden)",
    "$(: ')'; forbidden)",
    '$(: ")"; forbidden)',
    "$(: \\); forbidden)",
    "$(case a in a) forbidden;; esac)",
    "$(case a in (a) forbidden;; esac)",
    "$(cat <<F\n)\nF\nforbidden)",
    "$(cat <<'F'\n)'\nF\nforbidden)",
    "$(: ${y:-)}; forbidden)",
    "$(: $'\\')'; forbidden)",
    "$(: `: ')'`; forbidden)",
    '$(: "$(: ")")"; forbidden)',
    "$( (:) ; forbidden)",
    "$( ( (forbidden) ) )",
    "$((1)) $(forbidden)",
    "$(: $((1)) ; forbidden)",
    "`forbidden`",
    "`: \\`forbidden\\``",
    "`: ')' # `; forbidden",
    "`: # )\nforbidden`",
    "${y:-$(forbidden)}",
    "${y:-`forbidden`}",
    "${y:-${z:-$(: # }\nforbidden)}}",
    "$(: <(forbidden))",
    "$(: {a,b}; forbidden)",
    "$(forbidden # )\n)",
    "$(:;# )'\nforbidden)",
    '$(: $[1] ")" ; forbidden)',
    '`: \\"\'\\"; forbidden; : \\"\'\\"`',
    "$(: a#) ; : '; forbidden')",
    "$(: \\# ) ; forbidden",
    "$(f() { forbidden; }; f)",
    "$(if :; then forbidden; fi)",
    "$(: <<< ')'; forbidden)",
    "$(: && \\\nforbidden)",
    "$(: $(# `)\n ); forbidden)",
)

LINES = [place.format(code) for place, code in itertools.product(PLACES, CODES)]
NARROW = tuple(
    Rule("bash", f"{name} *", "allow", "test") for name in ("echo", "cat", ":", "f", "true")
)
DENIED = (Rule("*", "*", "allow", "test"), Rule("bash", f"{NAME} *", "deny", "test"))


def verdict(line: str, rules: tuple[Rule, ...] = ()) -> Action:
    found = analyze(line, directory="/srv/shop", project="/srv/shop", home="/home/u")
    actions: list[Action] = ["allow"]
    actions += [evaluate(need, (*DEFAULT_RULES, *rules)).action for need in found.needs]
    return strictest(*actions)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The lines for which bash runs the stand-in; one bash tries them in subshells."""
    folder = tmp_path_factory.mktemp("hidden")
    program = folder / "bin" / NAME
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n: > {folder}/ran\n", "utf-8")
    program.chmod(0o755)
    tries = (
        f"(eval {shlex.quote(line)}) < /dev/null > /dev/null; wait; "
        f"[ -f ran ] && echo {at} && rm -f ran"
        for at, line in enumerate(LINES)
    )
    numbers = subprocess.run(
        ["bash", "--noprofile", "--norc"], cwd=folder, input="\n".join(tries), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=300, check=False,
        env={"PATH": f"{folder}/bin:/usr/bin:/bin", "LANG": "C.UTF-8"},
    ).stdout  # fmt: skip
    return [LINES[int(number)] for number in numbers.split()]


def test_most_lines_run_the_stand_in(running: list[str]) -> None:
    assert len(running) > len(LINES) // 2


@pytest.mark.parametrize("rules", [(), NARROW, DENIED], ids=["default", "narrow", "denied"])
def test_code_that_bash_runs_is_never_allowed(rules: tuple[Rule, ...], running: list[str]) -> None:
    assert [line for line in running if verdict(line, rules) == "allow"] == []


def test_code_that_bash_runs_is_denied(running: list[str]) -> None:
    missed = [line for line in running if verdict(line, DENIED) != "deny"]
    assert missed == []


@pytest.mark.parametrize(
    "line",
    [
        'echo "${a:-x} ${b:-y}"',
        'echo "${a:-$(pwd)} ${b:-`pwd`}"',
        "cat <<E\n${a:-x} $(pwd) `pwd` $((1 + 2)) it's \"\nE",
        "cat <<E\n$(pwd # a comment )\n) (x) <(y)\nE",
        "cat <<E\nit costs 5$ (or \\$(6)) \\`x\\`\nE",
        "cat <<'E'\n$(rm x) `rm x` ${y\nE",
        "echo ${x#$(pwd)} ${x%%.*} ${x//a/b}",
        "echo ${x:-${y:-${z:-a}}}",
        "echo $(echo ')' \")\" \\)) $(case a in a) pwd;; esac)",
    ],
)
def test_harmless_expansions_need_no_approval(line: str) -> None:
    assert verdict(line) == "allow"


JOINED = (
    "((1<<2))\n# a \\\n{}",
    "echo $[1<<2]\n# a \\\n{}",
    "for ((i=1;i<1<<1;i++)); do :; done\n# a \\\n{}",
    "((1<<2))\ncat <<'E'\nfoo\\\nE\n{}\nE",
    "echo $((1<<2))\ncat <<'E'\nfoo\\\nE\n{}\nE",
    "echo ${{x:1<<2}}\n# a \\\n{}",
    "a[1<<2]=3\n# a \\\n{}\n2",
    "echo \\# \\\n; {}",
    "echo 'a\\\n' # '\n{}",
    'echo "$(: # \\\n{})"',
    "cat <<E$x\nfoo\\\nE$x\n{}",
    "# '\\\n{}",
    ": ;# \\\n{}",
    ": a\\\n# \\\n{}",
    "cat <<E # \\\nE\n{}",
)


@pytest.mark.parametrize("line", [line.format(f"{NAME} x") for line in JOINED])
def test_no_joined_line_hides_a_command(line: str) -> None:
    """A comment is not joined with the next line, and arithmetic is no here-document."""
    ran = subprocess.run(
        ["bash", "--noprofile", "--norc", "-c", f"{NAME}() {{ echo ran >&2; }}\n{line}"],
        capture_output=True, text=True, timeout=20, check=False,
    ).stderr  # fmt: skip
    assert "ran" not in ran or verdict(line, DENIED) == "deny"
    assert "ran" not in ran or verdict(line) == "ask"


@pytest.mark.parametrize(
    "line", ["ls \\\n-l", "echo '#1' \\\n x", "grep -r x \\\n  src \\\n  | head", "# a\nls \\\n-l"]
)
def test_an_everyday_line_on_several_lines_needs_no_approval(line: str) -> None:
    assert verdict(line) == "allow"
