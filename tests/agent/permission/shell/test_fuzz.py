"""One denied command in generated nestings, run by a real bash with a stand-in program.

Whenever bash ran the stand-in, the analysis must not have allowed the line: neither if
everything else is allowed and the stand-in denied, nor if only harmless commands are allowed.
``make soak`` tries many more.
"""

import os
import random
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from agent.permission.rules import DEFAULT_RULES, Rule, evaluate
from agent.permission.shell.analysis import command_needs
from tests.support.after_turn import trial

BUDGET = 6_000 if os.environ.get("CANCEL_POINTS") == "0" else 300
"""Lines of each depth of nesting."""

NAME = "forbidden"

SPELLINGS = (
    "forbidden x",
    'for""bidden x',
    "\\forbidden x",
    "f'orbid'den x",
    "$'\\x66orbidden' x",
    "$'\\146orbidden' x",
    '"forbidden" x',
    "forb\\idden x",
    "for\\\nbidden x",
    "A=1 forbidden x",
    "A=1 B=$HOME forbidden x",
    "./bin/forbidden x",
    "bin/../bin/forbidden x",
    "env forbidden x",
    "env -i PATH=bin forbidden x",
    "env -S 'forbidden x'",
    "command forbidden x",
    "command -p -- forbidden x || bin/forbidden x",
    "exec forbidden x",
    "exec -a z forbidden x",
    "nohup forbidden x",
    "timeout 5 forbidden x",
    "timeout -k 1 --signal=TERM 5 forbidden x",
    "nice -n 5 forbidden x",
    "stdbuf -o0 forbidden x",
    "setsid -w forbidden x",
    "time forbidden x",
    "! forbidden x",
    "xargs forbidden < /dev/null",
    "echo x | xargs -n1 forbidden",
    "echo x | xargs -I{} forbidden {}",
    "find bin -maxdepth 0 -exec forbidden {} ;".replace(" ;", " \\;"),
    "find bin -maxdepth 0 -execdir ../forbidden {} + -o -exec forbidden {} +",
    "sh -c 'forbidden x'",
    'bash -c "forbidden x"',
    "bash -ec 'cd . && forbidden x'",
    "sh -c 'eval forbidden x'",
    "eval forbidden x",
    "eval 'forbidden x'",
    'eval "for""bidden" x',
    "builtin command forbidden x",
    "a=forbidden; $a x",
    "a=forbid; ${a}den x",
    "f() { forbidden x; }; f",
    "function f { forbidden x; }; f",
    "trap 'forbidden x' EXIT",
    "echo forbidden x | sh",
    "printf 'forbidden x' | bash",
    "sh <<< 'forbidden x'",
    "bash -s <<< 'forbidden x'",
    "sh <<EOF\nforbidden x\nEOF\n",
    "sh <<'EOF'\nforbidden x\nEOF\n",
    ". /dev/stdin <<< 'forbidden x'",
    "source <(echo forbidden x)",
    ". <(printf %s 'forbidden x')",
    "coproc forbidden x; wait",
    "{ forbidden x; }",
    "(forbidden x)",
    "PATH=bin:$PATH forbidden x",
    "awk 'BEGIN{system(\"forbidden x\")}'",
    "python3 -c \"import os; os.system('forbidden x')\"",
    "git -c alias.z='!forbidden x' z",
    "tar -cf /dev/null --checkpoint=1 --checkpoint-action=exec='forbidden x' bin",
    "sed -n '1e forbidden x' bin/forbidden",
    "make -s -f - <<< 'all: ; @forbidden x'",
)

CONTEXTS = (
    "{}",
    "true && {}",
    "false || {}",
    "true; {}",
    "true\n{}",
    "{} & wait",
    "( {} )",
    "{{ {}\n}}",
    "if {}; then :; fi",
    "if true; then {}\nfi",
    "if false; then :; elif {}; then :; fi",
    "if false; then :; else {}\nfi",
    "while {}; do break; done",
    "until {}; do break; done",
    "while :; do {}; break; done",
    "for i in 1; do {}\ndone",
    "for i in $({}); do :; done",
    "for ((i=0;i<1;i++)); do {}\ndone",
    "for ((i=0$({});i<0;i++)); do :; done",
    "case a in b) :;; a) {}\n;; esac",
    "case $({}) in *) :;; esac",
    "case a in $({})|a) :;; esac",
    "echo $({})",
    "echo `{}`",
    'echo "$({})"',
    'echo "a $(echo "$({})")"',
    "x=$({})",
    "x=$({}) true",
    "x=(1 $({}))",
    "x=([0]=$({}))",
    "declare x=$({})",
    'export X="$({})"',
    ": ${{X:-$({})}}",
    ': "${{X:=$({})}}"',
    "y=1; echo ${{y:+$({})}}",
    "y=abc; echo ${{y/b/$({})}}",
    "y=abc; echo ${{y:0$({}):1}}",
    "y=abc; echo ${{y#$({})}}",
    "y=(a); echo ${{y[0$({})]}}",
    "echo $(( 1 + 0$({}) ))",
    "(( 0$({}) )) || true",
    "let 'z=1' \"q=0$({})\"",
    "cat <({})",
    "cat < <({})",
    "true > >({}); wait; sleep 0.05",
    "cat <<EOF\n$({})\nEOF\n",
    "cat <<-EOF\n\t$({})\n\tEOF\n",
    'cat <<< "$({})"',
    "cat <<'EOF'; {}\nhi\nEOF\n",
    "[[ -n $({}) ]]",
    "[[ a == $({}) ]]",
    "[[ a =~ $({}) ]]",
    '[ "$({})" ]',
    'test -z "$({})"',
    'echo a > "$({})out"',
    "{} > out",
    "> out {}",
    "{} 2>&1 | cat",
    "true | {}",
    "{} |& cat",
    "! {}",
    "time {}",
    "f() {{ {}\n}}; f",
    "f() ( {}\n); f",
    "true \\\n&& {}",
    "# a comment\n{}",
    "echo '#' ; {}",
    'echo "a;b" ; {}',
    "echo a\\; ; {}",
    "echo {{a,$({})}}",
    "exec 3< <({}); cat <&3",
    "read -r x < <({})",
    "printf '%s' \"${{X-$({})}}\"",
    "mapfile -t x < <({})",
    "echo $'a\\'b' ; {}",
    'echo "\\"" ; {}',
    'echo "`{}`"',
    "local x=$({}) 2>/dev/null",
    "readonly r$RANDOM=$({})",
    "set -- $({})",
    "return $({}) 2>/dev/null",
    "coproc {{ {}\n}}; wait",
    "bash -c '' $({})",
    'eval "x=\\$({})"',
)

BENIGN = ("echo", "true", "cat", "printf", "test", "[", "wait", ":", "sleep", "read", "ls")


class Hole(Exception):
    """A line was allowed that ran the stand-in; it is counted, and the search continues."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the stand-in, which creates the file ``ran``."""
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / "bin").mkdir()
    program = folder / "bin" / NAME
    program.write_text(f"#!/bin/sh\n: > {folder}/ran\n", "utf-8")
    program.chmod(0o755)
    shutil.copy(program, folder / NAME)
    (folder / NAME).chmod(0o755)
    return folder


def ran(place: Path, line: str) -> bool:
    """Return whether bash runs the stand-in for *line*."""
    mark = place / "ran"
    mark.unlink(missing_ok=True)
    environment = {"PATH": f"{place}/bin:/usr/bin:/bin", "HOME": str(place), "LANG": "C.UTF-8"}
    subprocess.run(
        ["bash", "--noprofile", "--norc", "-c", line],
        cwd=place, env=environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=20, check=False,
    )  # fmt: skip
    return mark.exists()


def action(place: Path, line: str, rules: tuple[Rule, ...]) -> str:
    needs = command_needs(line, directory=str(place), project=str(place), home=str(place))
    evaluated = [evaluate(need, (*DEFAULT_RULES, *rules)).action for need in needs]
    return max(evaluated, key=["allow", "ask", "deny"].index, default="allow")


DENYING = (
    Rule("*", "*", "allow", "test"),
    Rule("bash", f"{NAME} *", "deny", "test"),
)
NARROW = (
    Rule("bash", "*", "ask", "test"),
    *(Rule("bash", f"{name} *", "allow", "test") for name in BENIGN),
)


def lines(depth: int) -> list[str]:
    """Return all forms alone, or a seeded sample of nestings of *depth* contexts."""
    if depth == 0:
        return list(SPELLINGS)
    dice = random.Random(depth)
    if depth == 1 and len(CONTEXTS) * len(SPELLINGS) <= BUDGET:
        return [c.format(s) for c in CONTEXTS for s in SPELLINGS]
    made = []
    for _ in range(BUDGET):
        line = dice.choice(SPELLINGS)
        for _ in range(depth):
            line = dice.choice(CONTEXTS).format(line)
        made.append(line)
    return made


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("depth", range(4))
def test_a_denied_command_that_bash_runs_is_never_allowed(place: Path, depth: int) -> None:
    holes: list[tuple[str, str]] = []
    count = 0
    for line in lines(depth):
        if not ran(place, line):
            continue
        count += 1
        with suppress(Hole), trial(f"denied command, {depth} deep"):
            for name, rules in (("denied", DENYING), ("narrow", NARROW)):
                if action(place, line, rules) == "allow":
                    holes.append((name, line))
                    raise Hole
    assert count > len(lines(depth)) // 3
    assert holes == []
