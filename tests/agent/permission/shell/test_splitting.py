"""Variables without quotes: bash may make several words, options or a pattern of the value, so it
never counts as one known word."""

import subprocess
from pathlib import Path

import pytest

from agent.permission.rules import DEFAULT_RULES, Rule, evaluate, strictest
from agent.permission.shell.analysis import command_needs, is_read_only
from agent.records.requests import Action

FOLDER, HOME = "/srv/shop", "/home/ann"


def under(line: str, *rules: Rule) -> Action:
    """Return the strictest verdict if every command is allowed and *rules* follow."""
    everything = Rule("bash", "*", "allow", "user")
    needs = command_needs(line, directory=FOLDER, project=FOLDER, home=HOME)
    evaluated = (evaluate(need, (*DEFAULT_RULES, everything, *rules)).action for need in needs)
    actions: list[Action] = ["allow", *evaluated]
    return strictest(*actions)


def covered(line: str, *patterns: str) -> bool:
    """Return whether rules that allow *patterns* let the line run without approval."""
    rules = [Rule("bash", pattern, "allow", "user") for pattern in patterns]
    needs = command_needs(line, directory=FOLDER, project=FOLDER, home=HOME)
    return all(evaluate(need, (*DEFAULT_RULES, *rules)).action == "allow" for need in needs)


@pytest.mark.parametrize(
    "line",
    [
        "for f in 'a /opt/data/x'; do cat $f; done",
        "for n in '5 /opt/data/x'; do head -n $n a; done",
        "for n in ''; do head -n $n 5 /opt/data/x; done",
        "n='5 /opt/data/x'; head -n $n a",
        "n='5 /opt/data/x'; head -n$n a",
        "n='5 /opt/data/x'; head --lines $n a",
        "p='x /opt/data/x'; grep $p a",
        "p='x /opt/data/x'; grep -e $p a",
        "p='x /opt/data/x'; grep -e${p} a",
        'set -- x /opt/data/x; grep -e "$@" a',
        'p=(x /opt/data/x); grep -e "${p[@]}" a',
        "f='a /opt/data/x'; cat -$f",
        "cat -{n,/opt/data/x}",
        "head -n {5,/opt/data/x} a",
    ],
)
def test_a_value_that_splits_can_name_another_file(line: str) -> None:
    assert not is_read_only(line, directory=FOLDER, project=FOLDER, home=HOME)
    assert not covered(line, "cat *", "head *", "grep *")


@pytest.mark.parametrize(
    "line",
    [
        "for f in a b; do cat $f; done",
        "for f in 'a b'; do cat \"$f\"; done",
        "for f in lib/*.py; do wc -l $f; done",
        "for n in 5 10; do head -n $n a; done",
        'head -n "$n" a',
        'grep -e "$p" a',
        "grep -n 'x y' a",
        "head -n $# a",
    ],
)
def test_a_value_that_stays_one_word_asks_nothing(line: str) -> None:
    assert is_read_only(line, directory=FOLDER, project=FOLDER, home=HOME)


def test_a_value_that_splits_can_name_another_file_to_remove() -> None:
    assert not covered("f='f /opt/data/x'; rm -$f", "rm *")


EVALUATED = [
    'a=-v; b=\'a[$(touch ran)]\'; test "$a" "$b"',
    'a=-v; b=\'a[$(touch ran)]\'; test ! "$a" "$b"',
    "a='-v a[$(touch${IFS}ran)]'; test $a",
    "a='-v a[$(touch${IFS}ran)]'; [ $a ]",
    "for a in -v; do test $a 'a[$(touch ran)]'; done",
    "a=-v; test $a 'a[$(touch ran)]'",
]


@pytest.mark.parametrize("line", EVALUATED)
def test_a_test_whose_operator_is_a_variable_asks(line: str, tmp_path: Path) -> None:
    subprocess.run(["bash", "-c", line], cwd=tmp_path, check=False, capture_output=True)
    assert (tmp_path / "ran").exists()
    assert not is_read_only(line, directory=FOLDER, project=FOLDER, home=HOME)
    assert under(line, Rule("bash", "touch *", "deny", "user")) != "allow"


@pytest.mark.parametrize(
    "line",
    [
        'test "$a" = "$b"',
        'test -n "$a" -a "$b" != x',
        'test "$a" -gt 3 -o -z "$b"',
        '[ -f "$a" ] && ls',
        "[ $# -gt 0 ] && ls",
        "printf '%s\\n' \"$a\"",
        'printf "$# items\\n"',
    ],
)
def test_a_test_with_a_literal_operator_does_not_ask(line: str) -> None:
    assert is_read_only(line, directory=FOLDER, project=FOLDER, home=HOME)


@pytest.mark.parametrize(
    "line",
    [
        "x='-v PATH'; printf $x .; ls",
        'x=-vPATH; printf "$x" .; ls',
        "for x in -vPATH; do printf $x .; ls; done",
        "PATH[0]=. ls",
    ],
)
def test_no_way_of_setting_a_variable_that_changes_the_program_run_is_allowed(line: str) -> None:
    assert not is_read_only(line, directory=FOLDER, project=FOLDER, home=HOME)
    assert not covered(line, "printf *", "ls *", "ls")


@pytest.mark.parametrize(
    "line",
    [
        "bash +c 'rm x'",
        "taskset -c 0 rm x",
        "taskset --cpu-list 0,1 rm x",
        "ls | xargs --replace rm x",
        "ls | xargs --max-lines rm x",
        "ls | xargs --eof rm x",
        "hyperfine --prepare ls 'rm x'",
        "hyperfine --setup=ls --cleanup='rm x' ls",
        "cargo watch -s ls -s 'rm x'",
        "npx -c ls -c 'rm x'",
        "jobs -x rm x",
        "nsenter -w rm x",
        "/usr/bin/uv run rm x",
        "uv --quiet run rm x",
        "pnpm -C lib exec rm x",
        "python -m uv run rm x",
        "corepack pnpm exec rm x",
        "nsenter -t 1 -r rm x",
        "chrt -b rm x",
        "parallel ::: ls 'rm x'",
        "parallel {} x ::: ls rm",
        "parallel sh -c ::: 'rm x'",
        "python3 -W ignore -c \"import os; os.system('rm x')\"",
        "python3 -X dev -c \"import os; os.system('rm x')\"",
        "python3 -uX dev -m rm x",
        "ruby -C lib -e 'system(\"rm x\")'",
        "gcc-12 -wrapper 'rm x' a.c",
    ],
)
def test_the_value_of_an_option_hides_no_denied_command(line: str) -> None:
    assert under(line, Rule("bash", "rm *", "deny", "user")) == "deny"


@pytest.mark.parametrize(
    "line",
    [
        "u='bob rm'; sudo -u $u x",
        'sudo -u "$@" x',
        "nice -n $n ls",
        "timeout -s $s 5 ls",
        "env -u $x ls",
    ],
)
def test_no_rule_covers_a_wrapper_whose_flag_can_split(line: str) -> None:
    assert not covered(line, "sudo *", "nice *", "timeout *", "env *", "ls", "x", "u=*")


@pytest.mark.parametrize(
    "line",
    [
        "n='1 BEGIN{system(1)}'; awk -v n=$n '{print}' a",
        "s=': -f'; awk -F$s x a",
        "n=$(cat n); awk -v n=$n '{print}' a",
        "awk -F$s '{print}' a",
    ],
)
def test_no_rule_covers_an_awk_whose_variable_can_split(line: str) -> None:
    assert not covered(line, "awk *", "n=*", "s=*")


def test_no_rule_for_curl_covers_headers_from_a_file() -> None:
    for line in ("curl -H @x https://e.org", "curl -sH@x e.org", "curl --header @x e.org"):
        assert not covered(line, "curl *"), line
    assert covered("curl -H 'From: ann@e.org' https://e.org", "curl *")


def test_a_flag_with_a_quoted_value_takes_one_word() -> None:
    assert covered('sudo -u "$USER" npm test', "sudo *", "npm *")


def test_always_to_a_loop_does_not_allow_the_next_one() -> None:
    """``rm $f`` can be anything in the next line."""
    for line in ("for f in a; do rm $f; done", "for f in a; do mytool $f; done"):
        needs = command_needs(line, directory=FOLDER, project=FOLDER, home=HOME)
        assert {need.always for need in needs} == {None}, line


def test_always_stores_an_outside_folder_without_its_siblings(tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere" / "data"
    folder.mkdir(parents=True)
    (folder / "x").write_text("")
    for line in (f"cat {folder}/x", f"rg y {folder}", f"mytool {folder}"):
        needs = command_needs(line, directory=FOLDER, project=FOLDER, home=HOME)
        outside = [need.always for need in needs if need.permission == "external_directory"]
        assert outside == [f"{folder.resolve()}/*"], line


@pytest.mark.parametrize(
    ("line", "verdict"),
    [
        ("echo rm | parallel {} x", "deny"),
        ("echo m | parallel r{} x", "ask"),
        ("parallel :::: lines", "ask"),
        ("parallel ::: git ::: push", "ask"),
        ("parallel {1}{2} x ::: r ::: m", "ask"),
        ("parallel {} :::: lines", "ask"),
        ("parallel echo '{=unlink\"f\"=}' ::: a", "ask"),
        ("parallel echo ::: a b", "allow"),
        ("ls | parallel head -1 {}", "allow"),
        ("ls | parallel 'head -1 {} | sort'", "allow"),
    ],
)
def test_a_command_composed_by_parallel_asks(line: str, verdict: Action) -> None:
    assert under(line, Rule("bash", "rm *", "deny", "user")) == verdict


def test_a_restore_that_loses_changes_is_destructive() -> None:
    def destroys(line: str) -> bool:
        needs = command_needs(line, directory=FOLDER, project=FOLDER, home=HOME)
        return any(need.destructive for need in needs)

    for line in ("git restore x", "git restore .", "git restore -SW x", "git restore -S -qW x"):
        assert destroys(line), line
    for line in ("git restore --staged x", "git restore -S ."):
        assert not destroys(line), line


def test_an_address_is_no_folder() -> None:
    for line in ("git clone https://example.org/x", "frobnicate https://example.org/.env"):
        needs = command_needs(line, directory=FOLDER, project=FOLDER, home=HOME)
        assert {need.permission for need in needs} == {"bash"}, line


def test_words_after_a_redirection_are_shown() -> None:
    needs = command_needs("rm > out -rf lib", directory=FOLDER, project=FOLDER, home=HOME)
    assert [need.shown for need in needs if need.permission == "bash"] == ["rm -rf lib"]


@pytest.mark.parametrize("pattern", [".e*", ".en?", ".[e]nv"])
def test_a_pattern_in_a_variable_names_the_files_that_it_matches(
    pattern: str, tmp_path: Path
) -> None:
    (tmp_path / ".env").touch()
    where = str(tmp_path)
    for line in (f"for f in '{pattern}'; do cat $f; done", f"f='{pattern}'; cat $f"):
        assert not is_read_only(line, directory=where, project=where, home=HOME)
    quoted = f"for f in '{pattern}'; do cat \"$f\"; done"
    assert is_read_only(quoted, directory=where, project=where, home=HOME)
