"""The analysis of command lines: verdicts, edits and outside paths."""

import json
import subprocess
from pathlib import Path

import pytest

from agent.permission.rules import Rule
from agent.permission.shell.analysis import (
    Case,
    CaseVerdict,
    analyze,
    command_needs,
    evaluate_case,
    is_read_only,
)

DATA = Path(__file__).parents[3] / "data" / "permission" / "bash.jsonl"
CASES = [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]
FOLDER = "/srv/shop"


def case_verdict(case: dict) -> CaseVerdict:
    rules = tuple(Rule(r["permission"], r["pattern"], r["action"], "given") for r in case["rules"])
    return evaluate_case(Case(case["command"], case["cwd"], case["home"], rules))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_the_given_cases(case: dict) -> None:
    found = case_verdict(case)
    expected = case["expect"] if isinstance(case["expect"], list) else [case["expect"]]
    assert found.action in expected, case["why"]
    if not found.problem:
        seen = {name.rsplit("/", 1)[-1] for name in found.commands}
        assert {name.split()[0].rsplit("/", 1)[-1] for name in case["commands"]} <= seen
    for path in case["external_paths"]:
        assert any(path == p or path.startswith(p.rstrip("/") + "/") for p in found.external_paths)


LOOKS = r"""
ls
ls -la src
pwd
cat README.md
cat README.md | head -20
head -n 5 a.txt b.txt
wc -l src/*.py
grep -rn "rm -rf" src
rg --files
git status
git status --short
git diff
git log --oneline -5
git show HEAD
git diff HEAD~1 2>/dev/null | head -50
find . -name "*.py"
find src -type f | sort | uniq | wc -l
echo "do not rm this"
echo 'a; rm -rf b'
printf '%s\n' x
true && false || true
test -f a.txt && echo yes
cd src && ls
sort a.txt | uniq -c
cut -d: -f1 a.txt
diff a.txt b.txt
# only a comment
stat a.txt
du -sh src
which python3
ls 2>&1
ls > /dev/null
for f in a b; do echo "$f"; done
if test -f x; then cat x; fi
""".strip().splitlines()
HERE = "cat <<'END'\nrm -rf /\nEND"


@pytest.mark.parametrize("line", [*LOOKS, HERE])
def test_everyday_lines_that_only_read_run_without_approval(line: str) -> None:
    needs = command_needs(line, directory=FOLDER, project=FOLDER)
    assert is_read_only(line, directory=FOLDER, project=FOLDER), needs


ASKING = r"""
rm -rf build
mv a b
touch x
echo x > a.txt
echo x >> a.txt
ls | tee a.txt
ls; rm x
ls && rm x
ls & rm x
$(rm x)
echo "$(rm x)"
echo `rm x`
echo ${y:-`rm x`}
cat < <(rm x)
ls > >(rm x)
r''m x
\rm x
$'\x72m' x
"r"'m' x
$X y
r$@m x
/bin/r? x
eval "rm x"
bash -c 'rm x'
sh -c "$X"
echo rm x | sh
bash <<< 'rm x'
env rm x
sudo ls
nohup rm x
timeout 5 rm x
xargs rm < a.txt
find . -delete
find . -exec rm {} \;
find . -fprint x
sed -i s/a/b/ a.txt
sed 's/a/b/e' a.txt
sed -n '1e rm x' a.txt
awk 'BEGIN{system("rm x")}'
sort -o a.txt a.txt
sort --compress-program=./x a.txt
rg --pre ./x y
git -c core.pager=./x log
git -C /tmp/other status
git --exec-path=./x status
git diff --ext-diff
git diff --output=x
git branch -D main
git push
git commit -m x
git stash
PATH=. ls
LD_PRELOAD=./x.so ls
GIT_EXTERNAL_DIFF=./x git diff
PAGER=./x git log
export PATH=.; ls
PS4='$(rm x)'; set -x; ls
ls() { rm x; }; ls
alias ls=rm
time rm x
coproc rm x
! rm x
trap 'rm x' EXIT
command rm x
builtin eval "rm x"
exec rm x
test -v 'a[$(rm x)]'
[[ -v a[$(rm x)] ]]
echo $((a[$(rm x)]))
x='a[$(rm x)]'; echo $((x))
printf -v x y
read PATH < a.txt; ls
source a.sh
. a.sh
python3 -c 'import os'
python3 script.py
node -e 1
perl -e 1
make
npm test
cargo build
curl http://example.org
wget http://example.org
ssh host ls
docker run x
tar -xf a.tar
tar --to-command=./x -tf a.tar
dd if=a of=b
chmod +x a
kill 1
git </dev/null push
ls {rm,-rf,x}; {rm,x}
cat /etc/passwd
cat ../x
cat ~/.ssh/id_rsa
cat .env
cat "$HOME/x"
cd / && cat etc/passwd
ls; cat $(echo /etc/passwd)
./cat a
man ls
vim a.txt
echo ${x@P}
echo ${!x}
declare -i x='a[$(rm x)]'
ls &&& rm x
echo "unterminated
""".strip().splitlines()
ODD = ["TZ=UTC\\\necho rm x", "ls\0rm", "ls \x1b[2K", "g\u0456t status", "ls\u00a0-la"]


@pytest.mark.parametrize("line", [*ASKING, *ODD])
def test_no_disguised_line_runs_without_approval(line: str) -> None:
    assert not is_read_only(line, directory=FOLDER, project=FOLDER)


@pytest.mark.parametrize(
    ("line", "stored"),
    [
        ("git push origin main", None),
        ("git merge main", "git merge *"),
        ("npm run build --watch", "npm run build *"),
        ("npm install left-pad", None),
        ("FOO=1 git push", None),
        ("git -c x=y push", None),
        ("sudo git push", None),
        ("env git push", None),
        ("timeout 5 git merge x", "git merge *"),
        ("bash -c 'x'", None),
        ("python3 -c 'x'", None),
        ("ssh host ls", None),
        ("docker run x", None),
        ("eval x", None),
        ("curl http://example.org", None),
        ("sed -i s/a/b/ x", None),
    ],
)
def test_patterns_that_always_stores(line: str, stored: str | None) -> None:
    needs = command_needs(line, directory=FOLDER, project=FOLDER)
    wide = {n.always for n in needs if n.permission == "bash" and n.always != n.pattern} - {None}
    assert wide == ({stored} if stored else set())


def test_always_stores_a_destructive_line_exactly_or_not_at_all() -> None:
    for line in ("rm -rf build", "git push --force", "git reset --hard"):
        for need in command_needs(line, directory=FOLDER, project=FOLDER):
            assert need.always in {None, need.pattern}, line


def test_each_write_is_an_edit_and_each_path_outside_asks() -> None:
    needs = command_needs("ls > out.txt 2> /var/log/x", directory=FOLDER, project=FOLDER)
    assert {(n.permission, n.pattern) for n in needs if n.permission != "bash"} >= {
        ("edit", "out.txt"),
        ("external_directory", "/var/log/*"),
    }


def test_links_count_as_their_targets(tmp_path: Path) -> None:
    project = tmp_path / "shop"
    project.mkdir()
    (tmp_path / "outside").mkdir()
    (project / "link").symlink_to(tmp_path / "outside")
    found = analyze("cat link/x", directory=str(project), project=str(project))
    assert not is_read_only("cat link/x", directory=str(project), project=str(project))
    assert any("outside" in n.pattern for n in found.needs if n.permission == "external_directory")


def test_lines_that_are_too_long_or_deep_are_not_analyzed() -> None:
    nested = "bash -c ls"
    for _ in range(45):
        nested = f"bash -c {json.dumps(nested)}"[:9_000]
    for line in ("ls " + "a" * 20_000, nested, "$(" * 50 + "ls" + ")" * 50):
        assert not is_read_only(line, directory=FOLDER, project=FOLDER)


def test_read_only_lines_change_nothing_in_real_bash(tmp_path: Path) -> None:
    """Run the table above: no file of the folder changes."""
    (tmp_path / "src").mkdir()
    for name in ("README.md", "a.txt", "b.txt", "src/x.py"):
        (tmp_path / name).write_text("one\ntwo\n")
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    for line in [*LOOKS, HERE]:
        subprocess.run(
            ["bash", "--noprofile", "--norc", "-c", line],
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=30,
        )
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before
