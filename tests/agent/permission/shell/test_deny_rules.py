"""Deny rules: a denied command is denied however it is written."""

import shlex

import pytest

from agent.permission.rules import Rule, evaluate, strictest
from agent.permission.shell.analysis import command_needs
from agent.records.requests import Action

FOLDER = "/srv/shop"
HOME = "/home/ann"
RULES = (Rule("bash", "*", "allow", "user"), Rule("bash", "rm *", "deny", "user"))

DENIED = [
    "rm x", "ls; rm x", "/bin/rm x", "r''m x", "\\rm x", "A=1 rm x", "sudo rm x", "sudo -u a rm x",
    "sudo -- rm x", "sudo A=1 rm x", "env rm x", "env A=1 rm x", "env -u A rm x", "env -i rm x",
    "xargs rm x", "xargs -0 -n1 rm", "timeout 5 rm x", "timeout -k 5 9 rm x", "nohup nice rm x",
    "stdbuf -o0 rm x", "bash -c 'rm x'", "bash -lc 'rm x'", "bash -O extglob -c 'rm x'",
    'sh -c "bash -c \'rm x\'"', "eval 'rm x'", "eval rm x", "echo $(rm x)", "echo `rm x`",
    "echo ${y:-`rm x`}", "echo ${y#$(rm x)}", "cat <<EOF\n$(rm x)\nEOF", "find . -exec rm x ';'",
    "find . -exec sh -c 'rm x' ';'", "find . -delete", "fd -x rm", "trap 'rm x' EXIT",
    "ls() { rm x; }", "time rm x", "! rm x", "coproc rm x", "coproc N { rm x; }", "rm </dev/null x",
    "if ls; then rm x; fi", "ls\nrm x", "rm\tx", "rm  x", "my\\\ntool; rm x", "rm x; echo 'open",
    "busybox rm x", "exec rm x", "exec -a n rm x", "sudo --unknown rm x", "watch 'rm x'",
    "su -c 'rm x'", "runuser -l bob -c 'rm x'", "runuser -u bob -- rm x",
    "ssh h rm x", "docker run x rm y", "kubectl exec p -- rm x", "uv run rm x",
    "npm exec -- rm x", "cat a > >(rm x)", "git bisect run rm x", "git rebase --exec 'rm x' m",
    "parallel rm ::: x", "complete -C 'rm x' y", "$(echo rm) x", "for y in rm; do $y x; done",
    "for y in rm; do sudo $y x; done", "for y in rm; do eval $y x; done",
    "for\\\n y in rm; do $y x; done", "fo\\\nr y in rm; do $y x; done",
    "git bisect run /bin/rm", "foo 'a b' -- $x; git bisect run ./rm",
    "for y in rm; do timeout 3 $y x; done", "for y in rm; do sh -c \"$y x\"; done",
]  # fmt: skip

RUNNERS = [
    "flock l -c 'rm x'", "setarch x86_64 rm x", "nsenter rm x", "fakeroot rm x", "xvfb-run rm x",
    "pkexec rm x", "firejail rm x", "chronic rm x", "entr rm x", "sg g -c 'rm x'", "conda run rm x",
    "nix run rm x", "ip netns exec a rm x", "pyenv exec rm x", "rbenv exec rm x", "mise x -- rm x",
    "dotenv -- rm x",
]  # fmt: skip
"""Programs that run the command in their operands."""

FED_TO_A_SHELL = [
    "bash <<< 'rm x'", "bash <<'E'\nrm x\nE", "echo 'rm x' | sh", "sh -s <<< 'rm x'",
]  # fmt: skip
"""Literal code on a shell's standard input."""


def action_of(line: str) -> Action:
    """Return the strictest verdict if everything but ``rm`` is allowed."""
    needs = command_needs(line, directory=FOLDER, project=FOLDER, home=HOME)
    actions: list[Action] = ["allow", *(evaluate(need, RULES).action for need in needs)]
    return strictest(*actions)


@pytest.mark.parametrize("line", DENIED)
def test_a_denied_command_is_denied_however_it_is_written(line: str) -> None:
    assert action_of(line) == "deny"


@pytest.mark.parametrize(
    "line", ["echo rm x", "grep 'rm x' a.txt", "ls # rm x", "cat <<'E'\nrm x\nE", "ls rm", "farm x"]
)
def test_a_word_that_only_looks_like_the_denied_command_is_not_denied(line: str) -> None:
    assert action_of(line) == "allow"


@pytest.mark.parametrize("line", RUNNERS)
def test_no_runner_hides_a_denied_command(line: str) -> None:
    assert action_of(line) == "deny"


@pytest.mark.parametrize("line", FED_TO_A_SHELL)
def test_code_piped_to_a_shell_is_never_allowed(line: str) -> None:
    assert action_of(line) != "allow"


@pytest.mark.parametrize("line", FED_TO_A_SHELL)
def test_literal_code_piped_to_a_shell_is_analyzed(line: str) -> None:
    assert action_of(line) == "deny"


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("true; " * 60 + "rm x", id="60"),
        pytest.param("true; " * 1_000 + "rm x", id="1000"),
        pytest.param("rm x; " + "true; " * 5_000, id="first of 5000"),
        pytest.param("true; " * 5_000 + "rm x", id="last of 5000"),
        pytest.param("# " + "a" * 41_000 + "\nrm x", id="after 41000 characters"),
        pytest.param(";\n rm x # " + "a" * 201_000, id="after nothing, before 201000 characters"),
        pytest.param("eval " * 39 + "rm x", id="in 39 evals"),
        pytest.param("eval " * 45 + "rm x", id="in 45 evals"),
        pytest.param("eval " * 3_000 + "rm x", id="in 3000 evals"),
        pytest.param("eval ls " + "a" * 16_000 + "; rm x", id="after code that is not followed"),
        pytest.param("sh -c '" + "a; " * 5_100 + "rm x'", id="in code that is not followed"),
        pytest.param("echo $(" * 30 + "rm x" + ")" * 30, id="in 30 substitutions"),
        pytest.param("echo $(" * 900 + "rm x" + ")" * 900, id="in 900 substitutions"),
        pytest.param("echo $(" * 900 + "sudo rm x" + ")" * 900, id="after a name in 900"),
        pytest.param("echo $(" * 900 + "ls $(pwd)" + ")" * 900 + "; rm x", id="after 900"),
        pytest.param("echo $(" * 900 + "a" + ") rm x" * 900, id="around 899"),
    ],
)
def test_padding_does_not_turn_a_deny_into_an_ask(line: str) -> None:
    assert action_of(line) == "deny"


@pytest.mark.parametrize(
    "line", ["for y in push; do git $y; done", "for y in a push; do git $y x; done"]
)
def test_a_subcommand_in_a_variable_is_found(line: str) -> None:
    needs = command_needs(line, directory=FOLDER, project=FOLDER, home=HOME)
    rules = (Rule("bash", "*", "allow", "user"), Rule("bash", "git push *", "deny", "user"))
    assert "deny" in [evaluate(need, rules).action for need in needs]


def test_a_name_that_a_variable_completes_is_not_literal() -> None:
    needs = command_needs("for y in m; do r$y x; done", directory=FOLDER, project=FOLDER, home=HOME)
    assert [evaluate(need, RULES).action for need in needs] == ["ask"]


PADDING = "".join(f"foo 'text {number} here'; " for number in range(250))


@pytest.mark.parametrize("line", [*DENIED, *RUNNERS])
def test_texts_before_it_hide_no_denied_command_in_another(line: str) -> None:
    """The number of texts analyzed before does not matter."""
    text = f"foo {shlex.quote(line)}"
    assert action_of(PADDING + text) == action_of(text)


@pytest.mark.parametrize(
    "line",
    [
        "ed <<< '!rm x'", "ed a <<E\n!rm x\nE", "echo '!rm x' | ed", "ex -s a <<< ':!rm x'",
        "vim -es a <<E\n:r !rm x\nE", "printf '!rm x' | dc", "sqlite3 a <<< '.shell rm x'",
        "sqlite3 a <<< '.sy rm x'", "echo '.once |rm x' | sqlite3 a", "psql db <<< '\\! rm x'",
        "psql db <<< 'copy t from program \"rm x\"'", "echo '\\! rm x' | mysql db",
        "ftp h <<< '!rm x'", "mail a <<< '~!rm x'",
    ],
)  # fmt: skip
def test_a_command_in_the_input_of_an_editor_or_a_database_is_denied(line: str) -> None:
    assert action_of(line) == "deny"


def test_the_input_of_a_database_without_a_command_is_as_the_rule_says() -> None:
    assert action_of("sqlite3 a <<< 'select 1'") == "allow"
