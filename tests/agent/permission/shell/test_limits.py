"""The limits of the analysis: beyond them a line asks, and deny rules still apply."""

from pathlib import Path

import pytest

from agent.permission.rules import DEFAULT_RULES, Rule, evaluate, strictest
from agent.permission.shell.analysis import Analysis, analyze
from agent.permission.shell.paths import MAX_DIRS, MAX_MATCHES, MAX_PATTERNS, Workspace
from agent.permission.syntax.source import MAX_ALLOWED_LENGTH, MAX_DEPTH, MAX_LENGTH
from agent.permission.syntax.words import MAX_VALUES
from agent.records.requests import Action

FOLDER, HOME = "/srv/shop", "/home/ann"


def analysis_of(line: str, where: str = FOLDER) -> Analysis:
    return analyze(line, directory=where, project=where, home=HOME)


def without_rm(line: str) -> Action:
    """Return the verdict if everything but ``rm`` is allowed."""
    rules = (Rule("bash", "*", "allow", "user"), Rule("bash", "rm *", "deny", "user"))
    evaluated = [
        evaluate(need, (*DEFAULT_RULES, *rules)).action for need in analysis_of(line).needs
    ]
    return strictest(*evaluated)


def only_looks(line: str, where: str = FOLDER) -> bool:
    needs = analysis_of(line, where).needs
    return all(need.proven for need in needs)


def nested(depth: int, code: str) -> str:
    for _ in range(depth):
        code = f"echo $({code})"
    return code


CHAINS = {
    "wrappers": "nohup ",
    "wrappers with a rule": "sudo ",
    "shells": "eval ",
}


@pytest.mark.parametrize("word", CHAINS.values(), ids=CHAINS)
def test_a_command_nested_too_deeply_asks_and_is_still_denied(word: str) -> None:
    followed, beyond = word * (MAX_DEPTH - 1) + "rm x", word * (MAX_DEPTH + 2) + "rm x"
    assert not analysis_of(followed).problem
    assert analysis_of(beyond).problem
    assert without_rm(followed) == without_rm(beyond) == "deny"


def test_code_in_code_is_followed_as_deep_as_wrappers_are() -> None:
    line = "rm x"
    for depth in range(1, 8):
        line = f"bash -c {quoted(line)}"
        assert not analysis_of(line).problem, depth
        assert without_rm(line) == "deny"


def quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def test_depth_is_counted_for_each_part_separately() -> None:
    """Many shallow nestings in a row are not one deep nesting."""
    for part in ("bash -c 'echo `ls`'", "eval ls", "echo ${x:-`ls`}", "timeout 5 ls"):
        line = "; ".join([part] * (2 * MAX_DEPTH))
        assert not analysis_of(line).problem, part


@pytest.mark.parametrize(
    "length", [MAX_ALLOWED_LENGTH - 1, MAX_ALLOWED_LENGTH, MAX_ALLOWED_LENGTH + 1]
)
def test_a_line_is_allowed_up_to_the_length_limit(length: int) -> None:
    line = "cat a" + " a" * ((length - 5) // 2)
    line += "a" * (length - len(line))
    assert len(line) == length
    found = analysis_of(line)
    assert bool(found.problem) == (length > MAX_ALLOWED_LENGTH)
    assert only_looks(line) == (length <= MAX_ALLOWED_LENGTH)
    assert found.commands == ("cat",)


@pytest.mark.parametrize("length", [MAX_LENGTH, MAX_LENGTH + 1])
def test_a_line_is_analyzed_up_to_the_maximum_length(length: int) -> None:
    line = "rm x; true "
    line += "a" * (length - len(line))
    assert analysis_of(line).commands == (("rm", "true") if length <= MAX_LENGTH else ())
    assert without_rm(line) == "deny"


@pytest.mark.parametrize(
    ("line", "known"),
    [
        (f"cat {{1..{MAX_VALUES}}}", True),
        (f"cat {{1..{MAX_VALUES + 1}}}", False),
        ("cat {1..16}{1..16}", True),
        ("cat {1..16}{1..17}", False),
        (f"cat {{{','.join('x' * 255)},x}}", True),
        (f"cat {{{','.join('x' * 256)},x}}", False),
        (f"for f in {{1..{MAX_VALUES}}}; do cat $f; done", True),
        (f"for f in {{1..{MAX_VALUES + 1}}}; do cat $f; done", False),
        (f"for f in {{1..{MAX_VALUES}}}; do cat $f$f; done", True),
        ("for f in {1..16}; do for g in {1..16}; do cat $f$g; done; done", True),
        ("for f in {1..17}; do for g in {1..16}; do cat $f$g; done; done", False),
    ],
)
def test_a_word_of_many_values_is_known_up_to_a_number(line: str, known: bool) -> None:
    assert only_looks(line) == known


def test_folders_are_followed_up_to_a_number(tmp_path: Path) -> None:
    where = str(tmp_path)
    steps = MAX_DIRS.bit_length() - 1
    inside = "".join(f"cd d{step}; " for step in range(steps))
    assert only_looks(f"{inside}cat x", where)
    assert not only_looks(f"{inside}cd more; cat x", where)
    many = f"for d in {{1..{MAX_DIRS}}}; do (cd $d && cat x); done"
    assert only_looks(many, where)
    assert not only_looks(many.replace(f"{MAX_DIRS}", f"{MAX_DIRS + 1}"), where)


def test_patterns_are_looked_up_to_a_number() -> None:
    assert only_looks("cat" + " a*" * MAX_PATTERNS)
    assert not only_looks("cat" + "".join(f" a{n}*" for n in range(MAX_PATTERNS + 1)))
    deep = MAX_PATTERNS // 8
    assert only_looks("cat" + "".join(f" */a{n}*" for n in range(deep)))
    assert not only_looks("cat" + "".join(f" */a{n}*" for n in range(deep + 1)))


@pytest.mark.parametrize("count", [MAX_MATCHES, MAX_MATCHES + 1])
def test_a_pattern_can_match_a_limited_number_of_files(count: int, tmp_path: Path) -> None:
    for number in range(count):
        (tmp_path / f"a{number}").touch()
    assert only_looks("cat a*", str(tmp_path)) == (count <= MAX_MATCHES)


def test_each_secret_file_among_many_is_reported(tmp_path: Path) -> None:
    for number in range(120):
        (tmp_path / f"a{number:03}").touch()
        (tmp_path / f"a{number:03}.pem").touch()
    needs = analysis_of("cat a*", str(tmp_path)).needs
    reads = [need for need in needs if need.permission == "read"]
    assert len([need for need in reads if need.default_action == "ask"]) == 120
    assert len([need for need in reads if need.default_action == "allow"]) == 50


def test_a_search_is_checked_for_the_secrets_that_it_would_reach(tmp_path: Path) -> None:
    for name in ("lib/a.py", "node_modules/b/.env", ".git/c.pem", ".hidden/.env"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
    place = Workspace(str(tmp_path), str(tmp_path), "/home/u")
    assert place.secrets_below(str(tmp_path))
    assert not place.secrets_below(str(tmp_path), hidden=False)
    assert not place.secrets_below(str(tmp_path / "lib"))
    assert not place.secrets_below(str(tmp_path / "nowhere"))
    (tmp_path / "lib" / "server.pem").mkdir()
    assert place.secrets_below(str(tmp_path), hidden=False)


PADDING = "true; " * 20


@pytest.mark.parametrize("line", ["foo 'rm x'", "foo --run='rm x'", "foo \"sh -c 'rm x'\""])
def test_a_possible_command_is_found_after_other_texts(line: str) -> None:
    texts = "".join(f"foo 'text {n}'; " for n in range(300))
    assert without_rm(line) == without_rm(f"{texts}{line}") == "ask"


def test_text_in_text_is_analyzed() -> None:
    text = "rm x"
    for _ in range(3):
        text = f"su -c {quoted(text)}"
        assert without_rm(text) == "deny"


@pytest.mark.parametrize(
    "line",
    [
        "\ufeffls", "ls\x00", "ls\x08", "ls\x0b", "ls\x0c", "ls\rrm x", "ls \x1b[2K", "ls\x7f",
        "ls \x85x", "ls \x9fx", "ls \ud800", "ls \ue000", "ls \uf8ff",
    ],
    ids=ascii,
)  # fmt: skip
def test_a_character_that_bash_and_the_parser_can_read_differently_asks(line: str) -> None:
    assert analysis_of(line).problem
    assert not only_looks(line)


@pytest.mark.parametrize(
    "line", ["ls\t-la", "ls\n", "\n\nls", "echo \u00a0x", "echo \uf900 \u0100"]
)
def test_a_character_that_all_shells_read_alike_is_plain(line: str) -> None:
    assert only_looks(line)
    assert not analysis_of(line).problem


@pytest.mark.parametrize("line", ["", " ", "\n", "# x", "# x\n# y\n", " # x", "\n\n# x\n"])
def test_an_empty_line_needs_nothing(line: str) -> None:
    assert analysis_of(line).needs == ()


@pytest.mark.parametrize("line", ["((1))", "[[ -n x ]]", "# x\n((1))", "((1)) # x"])
def test_a_line_that_only_calculates_has_one_need(line: str) -> None:
    assert [(need.pattern, need.default_action) for need in analysis_of(line).needs] == [
        (line, "allow")
    ]
