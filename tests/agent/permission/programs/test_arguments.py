"""Options and operands as getopt reads them, and the scripts of sed, awk and jq."""

import itertools
from pathlib import Path

import pytest

from agent.permission.programs.lookup import records
from agent.permission.rules import DEFAULT_RULES, evaluate
from agent.permission.shell.analysis import command_needs

FOLDER, HOME = "/home/u/shop", "/home/u"


def asks(line: str) -> bool:
    needs = command_needs(line, directory=FOLDER, project=FOLDER, home=HOME)
    return any(evaluate(need, DEFAULT_RULES).action != "allow" for need in needs)


READERS = [
    (name, each)
    for name, each in records().items()
    if each.effect == "read" and each.syntax in ("", "uniq") and each.operands != "none"
]


@pytest.mark.parametrize("name", [name for name, each in READERS if each.side_effects])
def test_each_spelling_of_an_option_with_a_side_effect_asks(name: str) -> None:
    known = records()[name]
    harmless = [each for each in known.named(effect="none", value="none") if len(each) == 2]
    for option in known.side_effects:
        spellings = [f"{option} x", f"{option}=x", f"f {option} x"]
        if option.startswith("--"):
            shorter = [option[:end] for end in range(3, len(option))]
            spellings += [one for one in shorter if one not in known.option]
        elif known.clusters:
            spellings += [f"{option}x", *(f"{flag}{option[1]} x" for flag in harmless[:3])]
        for spelling in spellings:
            assert asks(f"{name} {spelling} f"), spelling


@pytest.mark.parametrize("name", [name for name, _ in READERS])
def test_an_option_that_is_not_recorded_proves_nothing(name: str) -> None:
    assert asks(f"{name} --frobnicate f")


@pytest.mark.parametrize(("name", "first"), itertools.product(["uniq", "xxd"], ["-", "f", "./-"]))
def test_a_second_operand_that_is_written_asks(name: str, first: str) -> None:
    assert asks(f"{name} {first} out")
    assert asks(f"{name} -- {first} out")
    assert not asks(f"{name} {first}")


WRITES = [
    *(f"sed '{address}{command}' f" for address in ("", "1", "$", "/x/", "1,/[;]/", r"\,x,") for
      command in ("w out", "r .env", "e", "e ls", "W out", "R x", "s/a/b/e", "s/a/b/w out",
                  "{p;w out\n}", "s#[#]#x#e", "p;p;e")),
    "sed 's[a[b[e' f", "sed 's/[/]/x/e' f", "sed 'y/a/b/;w x' f", "sed -n '/[/]/w x' f",
    "sed -nf x f", "sed -ne p -e 'w x' f", "sed --expr=e f", "sed --in f", "sed 'a\\' -e 'w x' f",
    *(f"awk '{script}' f" for script in (
        'BEGIN{print ";" > "../x"}', '{print "}" >> "x"}', '{print "a" | "sh"}', '/"/{print > "x"}',
        '{printf("a") > "x"}', 'BEGIN{print "#"; system("ls")}', '{print /[}]/ > "x"}',
        '{"ls" | getline}', 'BEGIN{while((getline l < "../x")>0) print l}', '{print $1, $2 > $3}',
        'if (1) /"/ ; system("ls") #"/', 'BEGIN{exit /"/; system("ls") #"/}', '@load "x"',
        'BEGIN{ARGV[1]="../x"; ARGC=2}', 'BEGIN{print ENVIRON["K"]}', '{print 1system("ls")}',
        '{print\n}\n{print "a" |& "sh"}', '{print a ?\n1 :\n2 > "x"}',
    )),
    "jq env f", "jq '$ENV.K' f", "jq '$ ENV' f", 'jq \'"\\(env.K)"\' f',
    'jq \'import "x" as y; .\' f',
    "jq '.a, env' f", "jq '\"#\" | env' f", "jq -f x f", "jq -L . . f", "jq '. # \\\nenv' f",
]  # fmt: skip


@pytest.mark.parametrize("line", WRITES)
def test_a_script_that_does_more_than_read_asks(line: str) -> None:
    assert asks(line)


READS = r"""
sed -ne '1,5p' f
sed -nE '/(a|b)/p' f
sed 's,[/],x,' f
sed -n '/a/,/b/{/c/!p;q}' f
sed ':a;N;$!ba;s/\n/,/g' f
sed -e 's/a/b/' -e '$!d' f
sed '/w x/d; s/e/w/' f
sed '2q;# w x' f
awk '{ if ($1 > 5) print "big > x"; else print "a | b" }' f
awk '/system|>/ { n++ } END { print n / 2 }' f
awk -F'|' '$2 ~ /[a-z]x/ || $3 >= 1 { print $1 }' f
awk '{ print ($1 > 2), length($0) }' f
jq '.env, ."env", {env: 1}' f
jq -r --arg a b '.[$a] | "\(.x) # env"' f
jq '.a # env' f
git grep -nie x -- src
git log -p -5 --format=%H -- a.py
git branch --sort=-committerdate
git tag -l 'v*' --sort=-creatordate
git config --get user.name
tar -tzf a.tgz
tar tf a.tar
unzip -l a.zip
xxd -ps f
sort -k2,2n -t, f
rg -n x -g '*.py'
less f
x=(*.py src/*); echo "${#x[@]}"
echo ${y:-*.py}
echo ${y:-${z:-a}}
for f in *.py src/*; do echo "$f"; done
[ -f *.py ]
git log --diff-merges=first-parent -p
"""


@pytest.mark.parametrize("line", READS.strip().splitlines())
def test_a_script_that_only_reads_does_not_ask(line: str) -> None:
    assert not asks(line)


ASKING = r"""
git grep --op=vi x
git grep -O x
git diff --ext
git diff --ou=x
git branch -l -M x
git branch -v new
git remote -v update
git config user.name x
git config --list
git stash show -p --output=x
git grep --untracked --no-exclude-standard x .env
sort --comp=x f
sort -uo f f
rg '' -g .env
rg '' -g '.e?v'
rg -g '**/*.pem' x
grep -r --include=.env x .
grep -r --include='.e*' x .
git log -p -- '*.pem'
tar tf host:x.tar
unzip -l a.zip -d ..
echo ~/.ssh/*
test -f ../x
x=(../*); echo "${x[@]}"
x+=(~/.ssh/*); echo ${#x[*]}
x=([1]=../*); echo ${x[1]}
x=(/etc/*); printf '%s\n' "${x[3]}"
echo ${y:-../*}
echo ${y-~/.ssh/*}
echo ${y:-${z:-/etc/*}}
echo ${y:-$HOME/*}
echo ${PWD%/*}/*
echo $OLDPWD/*
printf '%s\n' $y/.ssh/*
echo ~-/*
echo ~root/*
for f in ../*; do true; done
for f in $y/*; do echo "$f"; done
[ ../* ]
[ -n ~/.ssh/* ]
command -v ../*
git log --diff-merges=remerge
git log --diff-merges r
git show --diff-m=remerge
yarn --version
cargo --version
go version
ruby --version
"""


@pytest.mark.parametrize("line", ASKING.strip().splitlines())
def test_a_line_that_looks_like_a_reader_asks(line: str) -> None:
    assert asks(line)


@pytest.mark.parametrize("name", [".tool-versions", "mise.toml"])
def test_a_version_call_asks_where_the_folder_chooses_the_program(
    tmp_path: Path, name: str
) -> None:
    folder = str(tmp_path)

    def proven() -> bool:
        needs = command_needs("node --version", directory=folder, project=folder, home=HOME)
        return all(need.default_action == "allow" for need in needs)

    assert proven()
    (tmp_path / name).write_text("nodejs path:./evil")
    assert not proven()
