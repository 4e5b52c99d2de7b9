"""Words are expanded before options are read: brace lists, variables and patterns.

The expansion is compared with a real bash on generated words and lines.
"""

import itertools
import os
import random
import shlex
import subprocess
from pathlib import Path

import pytest

from agent.permission.rules import DEFAULT_RULES, Rule, evaluate, strictest
from agent.permission.shell.analysis import analyze, is_read_only
from agent.permission.syntax.source import CannotAnalyzeError
from agent.permission.syntax.words import brace_words, plain, read_word
from agent.records.requests import Action

BUDGET = 20_000 if os.environ.get("CANCEL_POINTS") == "0" else 2_000
"""Words that are generated."""

FOLDER, HOME = "/srv/shop", "/home/ann"


def bash(script: str, *, folder: Path | None = None) -> bytes:
    return subprocess.run(
        ["bash", "--noprofile", "--norc"], input=script.encode(), cwd=folder, timeout=120,
        capture_output=True, check=False, env={"LC_ALL": "C.UTF-8", "HOME": HOME, "PATH": "/bin"},
    ).stdout  # fmt: skip


def verdict(line: str, *rules: Rule, folder: str = FOLDER) -> Action:
    found = analyze(line, directory=folder, project=folder, home=HOME)
    actions: list[Action] = ["allow"]
    actions += [evaluate(need, (*DEFAULT_RULES, *rules)).action for need in found.needs]
    return strictest(*actions)


def expanded(word: str) -> list[str] | None:
    """Return what *word* becomes, None if it is not known."""
    try:
        words = brace_words(read_word(word, ()))
    except CannotAnalyzeError:
        return None
    return [plain(each.raw) for each in words] if all(each.known for each in words) else None


PIECES = (
    "{", "}", ",", "..", "{a,b}", "{1..3}", "{c..e}", "{3..1..2}", "{01..3}", "a", "-e", "x", "1",
    "{,b}", "{{a,b},c}", "'{'", "\\,", '"}"', "{x}", "{}", ".", "~", "{a..c..2}", "{-1..1}",
)  # fmt: skip


def test_brace_lists_become_the_words_that_bash_makes() -> None:
    rng = random.Random(3)
    words = ["".join(rng.choices(PIECES, k=rng.randint(1, 6))) for _ in range(BUDGET)]
    words = [word for word in words if "~" not in word[:1] and "{~" not in word]
    script = "\n".join(f"printf '%s\\0' a {word}; printf '\\1'" for word in words)
    rows = bash(f"HOME=\nset -f\n{script}").split(b"\1")
    assert len(rows) == len(words) + 1
    known = 0
    for word, row in zip(words, rows, strict=False):
        found = expanded(word)
        if found is not None:
            known += 1
            made = [text.decode() for text in row.split(b"\0")[1:-1]]
            # A tilde after a list is the home folder, which other tests look at.
            assert found == made or "~" in word or ("'" in word and "'{'" in word), word
    assert known > BUDGET // 2


ESCAPES = (
    "\\x2e", "\\x{2e}", "\\x{0000002e}", "\\x{2e", "\\x2", "\\x", "\\u2e", "\\u002e", "\\U0000002e",
    "\\U2e", "\\u", "\\56", "\\056", "\\0056", "\\156", "\\400", "\\cA", "\\c\\\\", "\\c?", "\\e",
    "\\E", "\\a", "\\n", "\\\\", "\\'", '\\"', "\\?", "\\q", "a", "env", "6", "e", "}", "{",
    "\\x{}", "\\x41g", "\\t", "\\v", "\\8",
)  # fmt: skip


def test_each_escape_of_a_quoted_text_has_the_value_that_bash_gives_it() -> None:
    texts = ["".join(pair) for pair in itertools.product(ESCAPES, repeat=2)]
    script = "\n".join(f"printf '%s\\0' $'{text}'x" for text in texts)
    rows = bash(script).split(b"\0")
    for text, row in zip(texts, rows, strict=False):
        try:
            found = read_word(f"$'{text}'x", ()).text
        except CannotAnalyzeError:
            continue
        if found.isascii():  # bytes of other characters are written in another way
            assert found.encode() == row, text


HIDDEN_OPTIONS = {
    "sed p x {}": ("-i", "-e '1e touch M'", "--in-place", "-f x"),
    "find . {}": ("-delete", "-exec touch M \\;", "-fprint x"),
    "sort x {}": ("-o y", "--output=y", "-oy", "--compress-program=x"),
    "rg x {}": ("--pre sh", "--pre=sh"),
    "uniq x {}": ("y",),
    "git diff {}": ("--output=x", "--ext-diff"),
    "tar -tf x.tar {}": ("--to-command=x", "-I x"),
    "date {}": ("-s x",),
    "cat {}": (".env", "../x", "/etc/passwd"),
}
"""Lines with a place for words that must not run unasked."""


def spellings(words: str) -> list[str]:
    parts = shlex.split(words)
    listed = ",".join(map(shlex.quote, parts))
    named = [f"v{at}={shlex.quote(part)}; " for at, part in enumerate(parts)]
    references = " ".join(f'"$v{at}"' for at in range(len(parts)))
    found = [
        f"; {{}} {{{listed},}}",
        f"; {{}} {{{listed},f}}",
        f"{''.join(named)}; {{}} {references}",
        f"for w in {shlex.quote(parts[0])}; do {{}} $w {shlex.join(parts[1:])}; done",
        f"for w in x {shlex.quote(parts[0])}; do {{}} ${{w}} {shlex.join(parts[1:])}; done",
    ]
    if not any(" " in part for part in parts):
        found.append(f"v={shlex.quote(' '.join(parts))}; {{}} $v")
        found.append(f"for v in {shlex.quote(' '.join(parts))}; do {{}} $v; done")
    return [each.lstrip("; ").replace("; ; ", "; ") for each in found]


SPELLED = [
    (line, spelling.replace("{}", line.removesuffix("{}"), 1))
    for line, all_words in HIDDEN_OPTIONS.items()
    for words in all_words
    for spelling in spellings(words)
]


@pytest.mark.parametrize("line", [line for _, line in SPELLED])
def test_an_option_in_a_list_or_variable_is_read_as_one(line: str) -> None:
    assert not is_read_only(line, directory=FOLDER, project=FOLDER, home=HOME)


@pytest.mark.parametrize(
    "line",
    [
        "cat {a,b}.txt",
        "ls -{l,a}",
        "head -n {3,4} x",
        "wc {-l,x}",
        "sed -n {-e,p} x",
        "for f in a b; do sed -n 1,3p $f; done",
        "for n in 1 2; do head -n $n x; done",
        "f='a b'; wc -l $f",
        'f="a b"; cat "$f"',
        "o=-l; wc $o x",
        "for i in {1..3}; do echo $i; done",
        "git log HEAD@{1}",
        "git show stash@{0}",
        "echo {} {a} a{b",
        "wc -l $(git ls-files '*.py')",
        "wc -l $(find . -name '*.py')",
        "for f in $(git ls-files '*.py'); do wc -l $f; done",
        'echo "${a:-x} ${b:-y}"',
        'echo "${a%.py} $b ${c##*/} $((1 + 2))"',
    ],
)
def test_harmless_lists_and_variables_need_no_approval(line: str) -> None:
    assert is_read_only(line, directory=FOLDER, project=FOLDER, home=HOME)


MAY_BE_OPTIONS = (
    "sort *", "sort *.txt", "rg x *", "rg x *.py", "uniq *", "find *", "sed p *", "sed p *.txt",
    "git diff *", "git log *.py", "sort ?x", "sort [!a]*", "sort -u *", "sort *[a-z]", "[ * ]",
    "test -f *", "printf *", "tree *", "sort -*", "uniq src/*", "for f in *; do sort $f; done",
    'for f in *; do sort "$f"; done', "f='*'; sort $f", "date *", "file *", "diff * x -u; sort **",
)  # fmt: skip


@pytest.mark.parametrize("line", MAY_BE_OPTIONS)
def test_a_pattern_that_can_match_an_option_asks(line: str) -> None:
    assert not is_read_only(line, directory=FOLDER, project=FOLDER, home=HOME)
    rules = [Rule("bash", f"{name} *", "allow", "user") for name in ("sort", "rg", "git", "sed")]
    if line.startswith(("sort", "rg", "git", "sed")):
        assert verdict(line, *rules) == "ask"


@pytest.mark.parametrize(
    "line",
    [
        "ls *",
        "wc -l *.py",
        "cat *.md",
        "grep -r foo src/*",
        "grep foo *",
        "head -3 *",
        "du -sh *",
        "sort -- *",
        "sort ./*",
        "sort src/*.txt",
        "sort a*",
        "sort [a-z]*",
        "rg x src/*",
        "ls -d */",
        "for f in *.py; do wc -l $f; done",
        'for f in src/*; do sort "$f"; done',
        "find *.py",
        "for f in src/*.py; do sed -n 1,3p $f; done",
        "stat *",
        "echo *",
        "cat *",
    ],
)
def test_a_pattern_of_operands_needs_no_approval(line: str) -> None:
    assert is_read_only(line, directory=FOLDER, project=FOLDER, home=HOME)


def test_the_names_of_files_split_where_a_variable_has_no_quotes(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a -o b").touch()
    where = str(tmp_path)
    line = "for f in src/*; do sort {}; done"
    assert not is_read_only(line.format("$f"), directory=where, project=where, home=HOME)
    assert is_read_only(line.format('"$f"'), directory=where, project=where, home=HOME)


def test_a_file_named_like_an_option_that_reads_asks(tmp_path: Path) -> None:
    where = str(tmp_path)
    assert is_read_only("wc *", directory=where, project=where, home=HOME)
    (tmp_path / "--files0-from=x").touch()
    assert not is_read_only("wc *", directory=where, project=where, home=HOME)
    assert is_read_only("wc ./*", directory=where, project=where, home=HOME)


@pytest.mark.parametrize(
    "word",
    [
        ".en{u..w}",
        "$'\\x{2e}env'",
        "$'.\\x65nv'",
        "$'\\056env'",
        "{.env,a}",
        ".{env,a}",
        "~+/.env",
        ".e{n,}v",
        "{.e,}nv",
        "$'\\u2e'env",
        ".e''nv",
        "./{,x}.env",
        "src/../.env",
        ".en$'\\166'",
        "~+/{a,.env}",
        "$'\\x2e'{env,x}",
    ],
)
def test_a_secret_is_seen_however_it_is_spelled(word: str) -> None:
    deny = Rule("read", ".env", "deny", "user")
    assert verdict(f"cat {word}", deny) == "deny"
    assert verdict(f"cat < {word}", deny) == "deny" or "{" in word


@pytest.mark.parametrize(
    "line",
    [
        "r{m..m} -rf x",
        "{rm,-rf,x}",
        "r{m,} x",
        "RM -rf build",
        "Rm x",
        "/bin/RM x",
        "sudo RM x",
        "SUDO rm x",
        "BASH -c 'rm x'",
        "ENV rm x",
        "bash <<< 'rm $'\\115",
        "coproc rm x",
        "coproc { rm x; }",
        "coproc N { r\\m x; }",
        "coproc N (r''m x)",
        "xargs RM",
        "{r,}m x || RM x",
        "coproc if true; then r{m..m} x; fi",
        "for y in RM; do sudo $y x; done",
        "eval RM x",
        "find . -exec Rm {} +",
        "$(echo `RM x`)",
        "r$'\\x{6d}' x",
    ],
)
def test_a_denied_command_is_denied_however_its_name_is_spelled(line: str) -> None:
    rules = (Rule("bash", "*", "allow", "user"), Rule("bash", "rm *", "deny", "user"))
    assert verdict(line, *rules) == "deny"
    upper = (Rule("bash", "*", "allow", "user"), Rule("bash", "RM *", "deny", "user"))
    assert verdict(line, *upper) == "deny"


def test_an_allow_rule_depends_on_case() -> None:
    allow = Rule("bash", "rm *", "allow", "user")
    assert verdict("rm x", allow) == "allow"
    assert verdict("RM x", allow) == "ask"
    assert verdict("mytool X", Rule("bash", "mytool x", "allow", "user")) == "ask"


def test_a_rule_that_asks_for_everything_does_not_ask_for_what_serves_others() -> None:
    rules = (Rule("bash", "*", "ask", "user"), Rule("bash", "git commit *", "allow", "user"))
    assert verdict("cd src && git commit -m x", *rules) == "allow"
    assert verdict("git commit -m \"$(cat <<'E'\nx\nE\n)\"", *rules) == "allow"
    assert verdict("cd src && ls", *rules) == "ask"
    assert verdict("cd .. && git commit -m x", *rules) == "ask"
    assert verdict("cat x && git commit -m x", *rules) == "ask"
    assert verdict("cd src && git commit -m x", *rules, Rule("bash", "cd *", "ask", "u")) == "ask"
    assert verdict("cd src && git commit -m x", *rules, Rule("bash", "cd *", "deny", "u")) == "deny"
