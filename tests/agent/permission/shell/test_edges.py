"""Edge cases of the analysis: loops that change the folder, disguised names, lines that are partly
understood."""

from pathlib import Path

import pytest

from agent.permission.rules import DEFAULT_RULES, Rule, evaluate, strictest
from agent.permission.shell.analysis import command_needs, is_read_only
from agent.records.requests import Action, PermissionNeed

FOLDER, HOME = "/srv/shop", "/home/ann"


def needs(line: str) -> tuple[PermissionNeed, ...]:
    return tuple(command_needs(line, directory=FOLDER, project=FOLDER, home=HOME))


def under(line: str, *rules: Rule) -> Action:
    """Return the strictest verdict if every command is allowed and *rules* follow."""
    everything = Rule("bash", "*", "allow", "user")
    evaluated = (
        evaluate(need, (*DEFAULT_RULES, everything, *rules)).action for need in needs(line)
    )
    actions: list[Action] = ["allow", *evaluated]
    return strictest(*actions)


def covered(line: str) -> bool:
    """Return whether rules for the first words of its commands let the line run without
    approval."""
    found = needs(line)
    rules = [Rule("bash", f"{n.pattern.split()[0]} *", "allow", "user") for n in found if n.pattern]
    return all(evaluate(need, (*DEFAULT_RULES, *rules)).action == "allow" for need in found)


@pytest.mark.parametrize(
    "line",
    ["'my prog' x", "my\\ prog x", "'-x' y", "'a\\b' x", "shéll x"],
)
def test_no_rule_covers_a_program_with_an_odd_name(line: str) -> None:
    """The pattern would look like another program with arguments."""
    assert not covered(line)
    assert all(need.always is None for need in needs(line))


@pytest.mark.parametrize(
    "line",
    [
        "while :; do cat notes; cd ..; done",
        "until false; do cat notes; pushd /; done",
        "for f in a b; do cat notes; cd ..; done",
        "for ((i = 0; i < 3; i++)); do cat notes; cd ..; done",
        "while :; do cat notes; eval 'cd ..'; done",
    ],
)
def test_a_loop_that_changes_the_folder_reads_elsewhere_the_second_time(line: str) -> None:
    found = needs(line)
    outside = any(need.permission == "external_directory" for need in found)
    reading = [need for need in found if need.pattern == "cat notes"]
    assert reading
    assert outside or all(need.strict == "unknown" for need in reading)
    assert not is_read_only(line, directory=FOLDER, project=FOLDER, home=HOME)
    assert outside or not covered(line)


def test_a_loop_that_stays_reads_where_it_began() -> None:
    assert is_read_only(
        "for f in a b; do cat notes; done", directory=FOLDER, project=FOLDER, home=HOME
    )


@pytest.mark.parametrize("line", ["cd $X; cat /opt/keys/a", "ln -s x y; cd y; cat /opt/keys/a"])
def test_a_path_from_the_root_is_known_in_any_folder(line: str) -> None:
    found = [n.pattern for n in needs(line) if n.permission == "external_directory"]
    assert "/opt/keys/*" in found
    deny = Rule("external_directory", "/opt/keys/*", "deny", "user")
    assert under(line, deny) == "deny"


def test_a_rule_can_name_one_outside_file() -> None:
    deny = Rule("external_directory", "/opt/data/ledger", "deny", "user")
    assert under("cat /opt/data/ledger", deny) == "deny"
    assert under("cat /opt/data/other", deny) == "ask"


@pytest.mark.parametrize(
    "line",
    [
        "( ; rm x",
        "if; then; rm x )",
        "cat <<'E'\nit's\nE\nr\\\nm x",
        'cat <<E\n"\nE\nr\\\nm x',
        "cat <<-E\n\t'\n\tE\nr\\\nm x",
        "echo $((1 << 2)); r\\\nm x",
        "echo rm x | chroot /y",
    ],
)
def test_a_denied_command_is_found_in_a_line_that_is_partly_understood(line: str) -> None:
    assert under(line, Rule("bash", "rm *", "deny", "user")) == "deny"


@pytest.mark.parametrize(
    "line",
    [
        "ls | xargs -I% % x",
        "ls | xargs -I % sh-% x",
        "ls | xargs -i {} x",
        "ls | xargs --replace=@ @ x",
    ],
)
def test_a_program_known_at_run_time_only_asks(line: str) -> None:
    assert not covered(line)


@pytest.mark.parametrize(
    "line",
    [
        "export LD_PRELOAD=/tmp/x.so",
        "export LD_PRELOAD=/tmp/x.so y",
        "export y LD_PRELOAD=/tmp/x.so z",
        "declare -x PATH=/tmp y",
        "readonly BASH_ENV=/tmp/x y=1",
    ],
)
def test_no_rule_covers_a_variable_that_changes_the_program_run(line: str) -> None:
    assert not covered(line)


@pytest.mark.parametrize("line", ["export y", "export y=1 z=2", "export y=1 z"])
def test_a_rule_covers_a_variable_that_only_the_line_reads(line: str) -> None:
    assert covered(line)


@pytest.mark.parametrize("line", ["echo it costs 5$", "grep 'x'$ lib/api.py", "echo $'\\uf900'"])
def test_a_character_that_expands_nothing_asks_nothing(line: str) -> None:
    assert is_read_only(line, directory=FOLDER, project=FOLDER, home=HOME)


@pytest.mark.parametrize("sign", ["\\ue000", "\\uf8ff", "\\ud800"])
def test_an_unassigned_character_asks(sign: str) -> None:
    assert not covered(f"echo $'{sign}'")


READERS = """
script -q /dev/null | su | su - bob | sudo -s | sudo -i | doas -s | nix-shell | newgrp wheel
login bob | schroot | proot | bwrap --dev /dev | docker exec -i c sh | docker run -i x
podman exec -i c bash | pipenv shell | poetry shell | hatch shell | chroot /y | timeout $T sh
nsenter -t 1 | sg g | expect | machinectl shell
"""


@pytest.mark.parametrize(
    "reader", [x for row in READERS.strip().split("\n") for x in row.split(" | ")]
)
@pytest.mark.parametrize("shape", ["echo rm x | {}", "{} <<< 'rm x'", "{} <<'E'\nrm x\nE"])
def test_a_denied_command_is_denied_where_a_shell_reads_it(reader: str, shape: str) -> None:
    """Also if another user or a container starts the shell."""
    assert under(shape.format(reader), Rule("bash", "rm *", "deny", "user")) == "deny"


@pytest.mark.parametrize("line", ["echo rm x | env", "echo rm x | docker ps", "echo rm x | cat"])
def test_a_word_that_nothing_runs_is_not_denied(line: str) -> None:
    assert under(line, Rule("bash", "rm *", "deny", "user")) != "deny"


def test_a_search_of_a_folder_with_secrets_asks(tmp_path: Path) -> None:
    for name in ("conf/deep/.env", "lib/api.py"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("x")
    where = str(tmp_path)
    assert is_read_only("grep -r KEY lib", directory=where, project=where, home=HOME)
    for line in ("grep -r KEY conf", "grep -rn KEY lib conf", "rg --hidden KEY conf", "grep -r x"):
        assert not is_read_only(line, directory=where, project=where, home=HOME), line


def test_resetting_a_trap_runs_nothing() -> None:
    assert [need.pattern for need in needs("trap - EXIT")] == ["trap - EXIT"]
    assert "rm x" in [need.pattern for need in needs("trap -- 'rm x' EXIT")]


def test_a_number_that_the_shell_counts_is_known() -> None:
    for line in ("echo $# $?", "test $# -gt 0 && ls", "head -n $# a.txt"):
        assert is_read_only(line, directory=FOLDER, project=FOLDER, home=HOME), line


def test_a_sed_with_extended_patterns_only_reads() -> None:
    assert is_read_only("sed -E -n 's/(a)/b/p' lib/x", directory=FOLDER, project=FOLDER, home=HOME)


@pytest.mark.parametrize("line", ["case $(rm x) in a) ls;; esac", "case a in $(rm x)) ls;; esac"])
def test_substitutions_in_a_case_word_are_analyzed(line: str) -> None:
    assert under(line, Rule("bash", "rm *", "deny", "user")) == "deny"


def test_an_archive_on_another_machine_needs_permission() -> None:
    assert not covered("tar tf host:x.tar")


def test_a_search_that_deletes_is_destructive() -> None:
    assert any(need.destructive for need in needs("find . -name x -delete"))
    assert not any(need.destructive for need in needs("find . -name x"))


@pytest.mark.parametrize(
    "line",
    [
        "env -C .git tee config",
        "sudo -D .git tee config",
        "sudo -i cat x",
        "uv --directory .git run cat x",
        "uv run --directory .git tee config",
        "env -C /home/ann/.ssh cat id_ed25519",
        "chroot lib cat x",
    ],
)
def test_a_command_that_runs_in_another_folder_is_not_analyzed_as_if_it_ran_here(line: str) -> None:
    assert not covered(line)


def test_a_program_that_writes_through_a_link_writes_outside(tmp_path: Path) -> None:
    project = tmp_path / "shop"
    project.mkdir()
    (tmp_path / "data").mkdir()
    (project / "link").symlink_to(tmp_path / "data")
    where = str(project)
    for line in (
        "cp a link/x", "rm link/x", "touch link/x", "dd if=a of=link/x", "chmod 600 link/x",
        "echo a > link/x", "cat link/x", "mkdir link/x", "cd link",
    ):  # fmt: skip
        needs_here = command_needs(line, directory=where, project=where, home=HOME)
        outside = [n.pattern for n in needs_here if n.permission == "external_directory"]
        assert outside == [f"{tmp_path.resolve()}/data/*"], line
