"""The needs of command lines by default, and the patterns that "always" would store.

Each row is a line, its verdict, and the patterns that "always" would store for the parts of it
that ask.
"""

from pathlib import Path

import pytest

from agent.permission.rules import ALWAYS, DEFAULT_RULES, Rule, evaluate, strictest
from agent.permission.shell.analysis import command_needs, is_read_only
from agent.records.requests import Action

FOLDER = "/srv/shop"
HOME = "/home/ann"

Row = tuple[str, Action, tuple[str, ...]]

LOOKS = r"""
ls -lah --color=never lib
ls -1 lib/*.py tests
cat -n lib/api.py
cat lib/api.py lib/db.py | wc -l
head -c 200 lib/api.py
tail -n +20 lib/api.py
tail -20 server.log
nl -ba lib/api.py | sed -n '10,20p'
sed -n '1,80p' lib/api.py
sed -n '/def /p' lib/api.py
sed 's/foo/bar/g' lib/api.py | head
awk '{print $1}' names.txt
awk -F: '{print $2}' names.txt | sort -u
awk 'NR==3' names.txt
cut -d / -f 2 names.txt
tr a-z A-Z < names.txt
grep -n "import os" lib/api.py
grep -rn --include='*.py' TODO lib
grep "/api/v1/users" lib/routes.py
grep -E "rm -rf|sudo" notes.txt
grep -c '`' notes.txt
grep -v '^#' notes.txt | sort | uniq -c | sort -rn | head -5
rg -n "class \w+" lib
rg -i -g '*.py' todo
rg -l "eval(" lib tests
rg --files lib | head -40
find lib -name '*.py' -not -path '*/old/*'
find . -maxdepth 2 -type d
git status -sb
git diff --stat
git diff --cached -- lib/api.py
git diff main...HEAD --name-only
git log --oneline --graph -20
git log -p -1 -- lib/api.py
git log --since='2 weeks ago' --author=ann
git show HEAD~2:lib/api.py
git show --stat HEAD
git blame -L 10,20 lib/api.py
git branch
git branch -a
git rev-parse --abbrev-ref HEAD
git ls-files lib
git stash list
git remote -v
git grep -n needle
git status && git diff
git log -1 | cat
cd lib && ls
cd lib && cat ../README.md
(cd lib; ls)
pwd; ls; date
date +%Y-%m-%d
whoami
uname -a
which node
command -v node
node --version
python3 --version
git --version
wc -l < lib/api.py
ls lib 2>/dev/null
ls nowhere 2>&1 | head -1
ls nowhere > /dev/null 2>&1 || echo missing
echo "a && b; c | d > e"
echo 'it costs $5 (five)'
echo done # then rm everything
echo $((2 + 3 * 4))
echo "$HOME"
printf '%-10s %s\n' a b
test -d lib && ls lib
[ -f lib/api.py ] && echo there
[[ -n $x ]] && echo set
for f in lib/*.py; do wc -l "$f"; done
while read -r line; do echo "$line"; done < names.txt
if grep -q x lib/api.py; then echo yes; else echo no; fi
case a in a) echo one;; *) echo other;; esac
basename lib/api.py .py
dirname lib/api.py
realpath lib
stat -c %s lib/api.py
file lib/logo.png
diff -u lib/a.py lib/b.py
comm -12 a.txt b.txt
cmp a.bin b.bin
du -sh lib
df -h
tree -L 2 lib
sha256sum lib/api.py
jq '.name' package.json
jq -r '.scripts | keys[]' package.json
ps aux | grep node
seq 1 5
true
sleep 1
ls | tee /dev/null
ls nowhere 2>&1 | tee /dev/stderr | tail -3
time ls
timeout 10 grep -rn x lib
nice -n 5 wc -l names.txt
""".strip().splitlines()

ASKS: list[Row] = [
    ("git push origin main", "ask", ("git push origin main",)),
    ("git commit -m 'Fix the login'", "ask", ("git commit *",)),
    ("git commit -F - <<'END'\nFix it\n\nrm -rf is gone\nEND", "ask", ("git commit *",)),
    ("git add . && git commit -F - << END\nx\nEND", "ask", ("git add *", "git commit *")),
    ("bash - <<'END'\nls\nEND", "ask", ()),
    ("python - <<'END'\nprint(1)\nEND", "ask", ()),
    ("ls | tee out.txt", "ask", ("tee out.txt",)),
    ("git add lib/api.py", "ask", ("git add *",)),
    ("git stash pop", "ask", ("git stash pop *",)),
    ("git remote add up https://a.b/x", "ask", ("git remote add up https://a.b/x",)),
    ("git fetch origin", "ask", ("git fetch origin",)),
    ("git add . && git commit -m x", "ask", ("git add *", "git commit *")),
    ("git status && git pull", "ask", ("git pull",)),
    ("git --no-pager pull", "ask", ()),
    ("git -C ../other pull", "ask", ("cd /srv/other && git pull",)),
    ("git -c user.name=x commit", "ask", ()),
    ("npm test", "ask", ("npm test *",)),
    ("npm run build --watch", "ask", ("npm run build *",)),
    ("npm install left-pad", "ask", ("npm install left-pad",)),
    ("npm --prefix web run build", "ask", ("cd web && npm run build *",)),
    ("pnpm install", "ask", ("pnpm install",)),
    ("pnpm run lint", "ask", ("pnpm run lint *",)),
    ("yarn build", "ask", ("yarn build *",)),
    ("bun test", "ask", ("bun test *",)),
    ("cargo test --release", "ask", ("cargo test *",)),
    ("cargo run -- x", "ask", ()),
    ("go test ./...", "ask", ("go test *",)),
    ("go mod tidy", "ask", ("go mod tidy *",)),
    ("make test", "ask", ("make test *",)),
    ("make -j4 test", "ask", ()),
    ("pytest -q tests", "ask", ("pytest *",)),
    ("ruff check lib", "ask", ("ruff *",)),
    ("uv run pytest -q", "ask", ("uv run pytest *",)),
    ("uv pip install x", "ask", ("uv pip install x",)),
    ("pip install -r dev.txt", "ask", ("pip install -r dev.txt",)),
    ("poetry add x", "ask", ("poetry add x",)),
    ("docker ps", "ask", ("docker ps *",)),
    ("docker compose up", "ask", ("docker compose up *",)),
    ("docker run --rm x", "ask", ()),
    ("kubectl get pods", "ask", ("kubectl get pods *",)),
    ("terraform plan", "ask", ("terraform plan *",)),
    ("gh pr create --fill", "ask", ("gh pr create *",)),
    ("dotnet build", "ask", ("dotnet build *",)),
    ("timeout 60 npm test", "ask", ("npm test *",)),
    ("CI=1 npm test", "ask", ()),
    ("NODE_OPTIONS=--inspect npm test", "ask", ()),
    ("sudo npm install x", "ask", ()),
    ("env npm test", "ask", ()),
    ("ls | xargs wc -l", "allow", ()),
    ("sh build.sh", "ask", ()),
    ("./build.sh", "ask", ("./build.sh",)),
    ("python -c 'print(1)'", "ask", ()),
    ("node -e '1'", "ask", ()),
    ("perl -e 1", "ask", ()),
    ("ssh web uptime", "ask", ()),
    ("source env.sh", "ask", ()),
    ("eval ls", "ask", ()),
    ("find . -name '*.pyc' -delete", "ask", ()),
    ("find . -name '*.py' -exec wc -l {} +", "allow", ()),
    ("sed -i s/a/b/ lib/api.py", "ask", ()),
    ("awk 'BEGIN { system(\"ls\") }'", "ask", ()),
    ("rm -rf build", "ask", ("rm -rf build",)),
    ("rm build/x.o", "ask", ("rm build/x.o",)),
    ("mkdir -p lib/new", "ask", ("mkdir *",)),
    ("cp lib/a.py lib/b.py", "ask", ("cp lib/a.py lib/b.py",)),
    ("mytool a b", "ask", ("mytool a *",)),
    ("mytool --all", "ask", ("mytool --all",)),
    ("mytool $x", "ask", ()),
]

STREAMS = ["diff <(sort a.txt) <(sort b.txt)", "find . -name '*.py' -newer setup.cfg"]
"""A process substitution as an operand; a file that is only read."""

TOO_WIDE: list[tuple[str, str]] = [
    *((name, f"{name} *") for name in ("git", "npm", "yarn", "make", "kubectl", "terraform")),
    ("git stash", "git stash *"),
    ("npm run", "npm run *"),
    ("docker compose", "docker compose *"),
    *((line, "git push *") for line in ("bash -c 'git push'", "eval 'git push'")),
    *((line, "git push *") for line in ("trap 'git push' EXIT", "su -c 'git push'")),
    ("conda run x", "conda run *"),
    ("nix run x", "nix run *"),
    ("ip netns exec a b", "ip netns exec *"),
    ("gcloud compute ssh x", "gcloud compute ssh *"),
    ("tmux new-session x", "tmux new-session *"),
]
"""Patterns that would allow more than was shown: any subcommand of a bare program, code of a shell,
any program that a wrapper runs."""

TABLE: list[Row] = [*((line, "allow", ()) for line in LOOKS), *ASKS]


def test_the_table_is_large_enough_and_has_no_row_twice() -> None:
    lines = [line for line, _, _ in TABLE]
    assert len(lines) == len(set(lines)) >= 120


@pytest.mark.parametrize(("line", "default_action", "stored"), TABLE, ids=[row[0] for row in TABLE])
def test_a_line_asks_and_stores_as_listed(
    line: str, default_action: Action, stored: tuple[str, ...]
) -> None:
    needs = command_needs(line, directory=FOLDER, project=FOLDER, home=HOME)
    asking = [need for need in needs if need.default_action != "allow" or need.strict]
    assert ("ask" if asking else "allow") == default_action, needs
    patterns = {n.always for n in asking if n.permission == "bash" and not n.strict} - {None}
    assert patterns == set(stored)


@pytest.mark.parametrize("line", STREAMS)
def test_further_lines_that_only_read_do_not_ask(line: str) -> None:
    assert is_read_only(line, directory=FOLDER, project=FOLDER, home=HOME)


@pytest.mark.parametrize(("line", "wide"), TOO_WIDE, ids=[row[0] for row in TOO_WIDE])
def test_always_is_never_wider_than_the_shown_pattern(line: str, wide: str) -> None:
    needs = command_needs(line, directory=FOLDER, project=FOLDER, home=HOME)
    assert wide not in {need.always for need in needs if not need.strict}


@pytest.mark.parametrize("row", ASKS, ids=[row[0] for row in ASKS])
def test_a_stored_pattern_covers_its_own_command(row: Row) -> None:
    """Otherwise the same line would ask again at once after "always"."""
    for need in command_needs(row[0], directory=FOLDER, project=FOLDER, home=HOME):
        if need.always is not None and not need.strict:
            stored = Rule(need.permission, need.always, "allow", ALWAYS)
            assert evaluate(need, (*DEFAULT_RULES, stored)).action == "allow"


@pytest.mark.parametrize(
    ("line", "pattern", "stored"),
    [
        ("cat /opt/data/x.csv", "/opt/data/*", "/opt/data/*"),
        ("ls /opt/data", "/opt/data/*", "/opt/data/*"),
        ("cat ../other/x", "/srv/other/*", "/srv/other/*"),
        ("cd lib && cat ../../x", "/srv/*", None),
        ("cat /hosts", "/*", None),
        ("ls /", "/*", None),
        ("ls ~", f"{HOME}/*", None),
        ("cat ~/notes.txt", f"{HOME}/*", None),
        ("ls /home", "/home/*", None),
        ("cat ~/desk/notes.txt", f"{HOME}/desk/*", f"{HOME}/desk/*"),
    ],
)
def test_always_stores_outside_folders_unless_they_hold_home_or_the_project(
    line: str, pattern: str, stored: str | None
) -> None:
    needs = command_needs(line, directory=FOLDER, project=FOLDER, home=HOME)
    found = [n for n in needs if n.permission == "external_directory"]
    assert [(n.pattern, n.always, n.default_action) for n in found] == [(pattern, stored, "ask")]


@pytest.mark.parametrize(
    "name",
    [".env", ".env.local", "id_rsa", "server.pem", ".npmrc", ".netrc", "credentials.json"],
)
def test_reading_a_secret_asks_and_an_example_does_not(name: str, tmp_path: Path) -> None:
    where = str(tmp_path)
    needs = command_needs(f"cat {name}", directory=where, project=where, home=HOME)
    assert ("read", name, "ask") in [(n.permission, n.pattern, n.default_action) for n in needs]
    sample = command_needs("cat .env.example", directory=where, project=where, home=HOME)
    assert all(need.default_action == "allow" for need in sample)


@pytest.mark.parametrize("shell", ["/bin/sh", "/usr/bin/zsh", "pwsh.exe", "C:\\Windows\\cmd.exe"])
@pytest.mark.parametrize("line", ["ls", "git status && npm test", "dir & del /q x", "echo a > b"])
def test_a_shell_other_than_bash_asks(line: str, shell: str) -> None:
    """Parsed commands are named, and so denied; none is proven to read, or has a pattern."""
    needs = command_needs(line, directory=FOLDER, project=FOLDER, home=HOME, shell=shell)
    assert needs
    for need in needs:
        assert need.always is None
        assert need.permission != "bash" or (need.default_action, need.strict) == ("ask", "unknown")
    narrow = Rule("bash", "ls *", "allow", "yours")
    assert "allow" not in {evaluate(n, (*DEFAULT_RULES, narrow)).action for n in needs}


def test_a_deny_rule_applies_in_another_shell() -> None:
    needs = command_needs("git status; npm test", directory=FOLDER, project=FOLDER, shell="zsh")
    deny = Rule("bash", "npm *", "deny", "yours")
    assert "deny" in {evaluate(n, (*DEFAULT_RULES, deny)).action for n in needs}


ASK_ALL_BUT = (
    Rule("bash", "*", "ask", "user"),
    Rule("bash", "ls *", "allow", "user"),
    Rule("bash", "echo *", "allow", "user"),
)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('x=5; echo "$x"', "allow"),
        ('n=$(ls | ls); echo "$n files"', "allow"),
        ('arr=(a b); echo "${arr[@]}"', "allow"),
        ("x=$(rm y); echo $x", "ask"),
        ("x=rm; $x y", "ask"),
        ("PATH=./bin; ls", "ask"),
        ("http_proxy=http://h; ls", "ask"),
        ("x=5", "ask"),
    ],
)
def test_setting_a_variable_of_the_line_needs_no_rule(line: str, expected: str) -> None:
    """Only the code in its value, and the commands that use it, ask."""
    needs = command_needs(line, directory="/srv/shop", project="/srv/shop", home="/home/u")
    assert strictest(*(evaluate(need, ASK_ALL_BUT).action for need in needs)) == expected
