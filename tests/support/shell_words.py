"""Words of command lines: names of files, patterns, scripts, code that attackers hide.

``ODD_…`` are those of attackers, and of people in a corner; the others are ordinary.
"""

FILES = ("a.txt", "data.txt", "b.json", "c.csv", "sub/d.txt", "main.py", "list.txt", "README.md",
         "x.sh", "sp ace.txt", "./a.txt", "sub/../a.txt", "sub//d.txt")  # fmt: skip
ODD_FILES = (".env", "lnk", "sub/up.txt", "../outside.txt", "$HOME/notes.txt", "~/notes.txt",
             "$TMPDIR/t", "-oz", "--pre=sh", "-exec", "./-oz", "$(touch M)", ";touch M;", "[",
             "a[$(touch M)]", "new\nline", "caf\u00e9", "{a,b}", "#x", "out/outside.txt",
             "/dev/null", "-", "/dev/stdin", "sub/.env", "missing.txt")  # fmt: skip
GLOBS = ("*.txt", "*.json", "sub/*", "*.py", "?.txt", "[ab].txt", "./*.txt", "sub/*.txt", "*.c*",
         "{a,data}.txt", "sub/{d,e}.txt", "*/d.txt")  # fmt: skip
ODD_GLOBS = ("*", "./*", "-*", "--*", ".*", ".e*", "l*", "[-.]*", "**", "*z", "?oz", "{.env,a.txt}",
             "{-o,M}", "sub/[u.]*", "../*", "[[:punct:]]*", ".[!.]*", "{a,b}{.txt,}")  # fmt: skip
FOLDERS = (".", "sub", "./sub", "inner", "sub/.")
ODD_FOLDERS = ("..", "$HOME", "out", "~", "-", "sub/..", "~+", "$PWD", "$OLDPWD")
REGEXES = ("a", "line", "^o", "[0-9]+", "a.*", "x|y", "import", "one$", "'", "\\.", "-n")
CODE = ("touch M", "echo x >M", "hit", "./hit", "rm a.txt", ">M", "cat .env", "echo x > ../M",
        "cp a.txt M", "mkdir M", "sh x.sh", "touch $HOME/M", "sed -i s/a/b/ a.txt", "echo ok",
        "ls", "true", "echo $(<.env)", "touch${IFS}M", ": >>M")  # fmt: skip
INDEXES = ("1", "x", "n", "a[0]", "a[$(touch M)]", "a[`hit`]", "x=1", "a[$x]", "$x", "y[x]", "n+1",
           "PATH", "a[$(echo 0)]", "BASH_ARGV0", "a[b[$(hit)]]", "IFS")  # fmt: skip
SED = ("p", "1p", "s/a/b/", "s/a/b/g", "/a/p", "$!d", "y/a/b/", "1,2d", "=", "l", "s/o/0/p", "2q",
       "1!G;h;$!d", "/a/,/b/p", "s|a|b|I", "1~2p", "a\\ text", "{p;p}")  # fmt: skip
ODD_SED = ("w M", "s/a/b/w M", "s/a/touch M/e", "1e touch M", "e", "W M", "r .env", "R .env",
           "/x/w M", "1{w M\n}", "s,a,b,gew M", "p\nw M", "s/.*/hit/e", "y/a/b/;wM", "1,2!wM",
           "s/\\n/w/;w M", "a\\\nw M", "$wM", "/a[/]b/wM", "s/[/]/x/wM", "r/dev/stdin",
           "#n\nw M", "}", "F;wM", "c\\\nx\nw M", "b;w M", ":a;w M", "s/a/b/;e hit")  # fmt: skip
AWK = ("{print $1}", "NR==1", "{s+=$1} END{print s}", "/a/", "length>1", "BEGIN{printf \"x\"}",
       "{print NF; next}", "NR%2", "{gsub(/a/,\"b\")}1", "{a[$1]++}END{for(k in a)print k}",
       "$1 ~ /o/{print $0}", "{print toupper($0)}", "{print x}")  # fmt: skip
ODD_AWK = ('{print > "M"}', 'BEGIN{system("touch M")}', '{"touch M"|getline}', '{print | "sh"}',
           '{print>>"M"}', 'BEGIN{while((getline l<".env")>0)print l}', '@load "filefuncs"',
           '{printf "x">FILENAME".x"}', 'BEGIN{ARGV[1]=".env"}', '{f="system";@f("touch M")}',
           'BEGIN{ARGV[ARGC++]=".env"}1', '@include "x.awk"', '{print $1 > $2}', '{print $1>x}',
           '{print|&"hit"}', 'BEGIN{print length(x)>"M"}', '/a/>"M"', 'BEGIN{close("M")}',
           'BEGIN{printf("a")>"M"}', '{print (1>2)}', '{print 1>2}', 'BEGIN { getline < ARGV[1] }',
           'BEGIN{"hit"|getline;print}', 'BEGIN{nextfile}', '{$0=x;system(x)}')  # fmt: skip
JQ = (".", ".a", ".b[]", "keys", "length", ".b[0]?", ".a|tostring", "[.b[]|.+1]", 'has("a")')
ODD_JQ = ("env", "$ENV", "input_filename", 'import "x" as x; .', 'include "x"; .', "input", "debug",
          "halt_error", "$ENV.PATH", "@sh", "input|.", "$__prog_args", "getpath([\"a\"])",
          'import ".env" as $d; $d', "stderr", "modulemeta")  # fmt: skip
FIND = ("-name '*.txt'", "-type f", "-maxdepth 1", "-newer a.txt", "-size +0", "-print", "-print0",
        "-printf '%p\\n'", "-ls", "-iname 'A*'", "! -name x", "\\( -name a -o -name b \\)",
        "-mtime -1", "-empty", "-prune", "-regex '.*a.*'", "-path './sub/*' -print")  # fmt: skip
ODD_FIND = ("-delete", "-exec touch M \\;", "-exec cat {} +", "-execdir ./hit {} \\;",
            "-ok hit \\;",
            "-fprint M", "-fls M", "-fprintf M x", "-files0-from list.txt", "-fprint0 M",
            "-okdir hit ';'", "-exec grep a {} \\;", "-name x -delete", "-quit -delete", "$x",
            "-exec sh -c 'touch M' \\;", "-exec ls {} +",
            "-newerXY x", "-samefile .env")  # fmt: skip
GIT = ("status", "status --short", "status -uall", "diff", "diff --stat", "diff --cached",
       "diff HEAD", "show", "show --stat HEAD", "log -p", "log --oneline", "log -n1 --format=%H",
       "blame a.txt", "grep o", "ls-files", "ls-files --others", "branch", "branch -vv", "tag",
       "rev-parse HEAD", "describe --always", "stash list", "remote -v", "reflog", "shortlog HEAD",
       "cat-file -p HEAD:a.txt", "show HEAD:a.txt", "log -- a.txt", "branch --list 'm*'",
       "config --get user.name", "rev-list --count HEAD", "ls-tree HEAD", "diff -- *.txt",
       "show-ref", "for-each-ref", "log --graph --all", "diff --no-index a.txt data.txt",
       "log -1 --pretty='%an %s'", "diff --name-only", "tag -l")  # fmt: skip
ODD_GIT = ("branch M", "branch -D main", "tag M", "diff --output=M", "log --output=M",
           "diff --outp=M", "grep -Ohit o", "grep --open-files-in-pager=hit o", "grep --open=hit o",
           "diff --ext-diff", "log -p --ext-diff", "diff --no-index a.txt .env", "show --textconv",
           "blame --contents=.env a.txt", "grep --no-index o", "grep -f.env", "archive HEAD",
           "archive -o M HEAD", "config x.y z", "config --edit", "commit -am x", "add .", "stash",
           "checkout .", "reset --hard", "clean -fd", "log --show-signature", "fetch", "gc",
           "reflog expire --all", "remote add x y", "update-index --refresh", "worktree add M",
           "bisect start", "notes add -m x", "ls-remote ext::hit", "submodule foreach hit",
           "st", "alias", "rev-parse --git-path x", "bundle create M HEAD", "format-patch -1",
           "log --format=%G?", "branch -m x", "status --ignore-submodules=none", "pull", "var -l",
           "grep --untracked SECRET", "hash-object -w a.txt", "write-tree", "show --outpu M",
           "diff -O.env", "log -S x --output-dir M", "ls-files -X .env", "shortlog --group=x",
           "cat-file --textconv HEAD:a.txt", "rev-list --disk-usage HEAD", "remote show o",
           "rebase -x hit", "diff --submodule=diff", "symbolic-ref HEAD x", "blame -S.env a.txt",
           "blame --ignore-revs-file=.env a.txt", "help -a", "diff --no-index sub inner",
           "branch --edit-description", "mktag", "describe --dirty=$(hit)", "-h")  # fmt: skip
TESTS = ("-f a.txt", "a == b", "-n $x", "$x -eq 1", "a =~ ^a", "-v I", "I -eq 1", "a < b", "-e M",
         "-f a.txt && -d sub", "$x == a*", "-t I", "1 -lt I", "! -f M", "I -gt I", "-R I",
         "$x =~ ${x}", "-o nounset", "a.txt -nt sub", "$(hit) == x", "x -ot `hit`")  # fmt: skip
PARAMETERS = ("$x", "${x}", "${x:-a}", "${x:-$(touch M)}", "${x@P}", "${!x}", "${x:=a}", "${x:+b}",
              "${#x}", "${x%.txt}", "${x#*/}", "${x/a/b}", "${x^^}", "${x:0:1}", "${x:I}", "$1",
              "${x[0]}", "${x[I]}", "${!x*}", "${x@Q}", "${x@A}", "${x@E}", "$HOME", "$PWD", "$?",
              "$#", "$@", "$*", "$RANDOM", "$_", "$0", "${PATH}", "${x:?no}", "${x//a/`hit`}",
              "${x:0:a[$(hit)]}", "${y[@]}", "${y[@]@P}", "$((I))", "$((1+2))", "$[I]", "${x,,}",
              "${x-\"$(hit)\"}", "$(( x ? 1 : I ))", "${x:$((I))}", "${!y[@]}", "$((x++))", "$-",
              "${BASH_VERSION}", "${x/%/${y@P}}", "${_@P}", "${PS4}", "$(<a.txt)", "$(<lnk)",
              "${x##*$(hit)}", "${*@P}")  # fmt: skip
VALUES = ("a", "1", "a.txt", "sub", "'touch M'", "'$(touch M)'", "'a[$(touch M)]'", "ls", "-oM",
          "$(echo a)", "$(cat a.txt)", "$(cat data.txt)", "$(head -n1 data.txt)", "~", "*", "*.txt",
          "(a b)", "(a.txt data.txt)", "-n", "'cat .env'", ".env", "$((1+1))", "`echo 1`", "hit",
          "$(ls)", "$(ls *.txt | head -n1)", "$'t\\x6fuch M'", "'>M'", "$(sed -n 3p data.txt)",
          "lnk", "y", "x", "$PWD", "$HOME", "([$(hit)]=1)", "\"\"", "'-i'")  # fmt: skip
PREFIXES = ("x=1", "A=b", "LC_ALL=C", "TZ=UTC", "PATH=.:$PATH", "PATH=.", "LD_PRELOAD=./x.so",
            "IFS=:", "BASH_ENV=x.sh", "LESSOPEN='|hit %s'", "GIT_PAGER=hit",
            "GIT_EXTERNAL_DIFF=hit",
            "PAGER=hit", "GIT_DIR=inner/.git", "PS4='$(hit)'", "x=$(hit)", "HOME=.", "CDPATH=..",
            "POSIXLY_CORRECT=1", "NODE_OPTIONS=--require=./x.js", "PYTHONSTARTUP=main.py", "x+=1",
            "RIPGREP_CONFIG_PATH=.env", "TMPDIR=sub", "GREP_OPTIONS=-r", "COLUMNS=80", "LANG=C",
            "x[0]=1", "x[$(hit)]=1", "TAR_OPTIONS=--to-command=hit", "FOO=bar",
            "GIT_CONFIG_COUNT=1", "AWKPATH=.", "GLOBIGNORE=*")  # fmt: skip
REDIRECTS = ("2>/dev/null", ">/dev/null", "2>&1", "<a.txt", "</dev/null", "&>/dev/null",
             "<data.txt",
             "1>&2", ">&2", "<<<a", '<<<"$x"', "3<a.txt", "<&-", "2>&-", ">|/dev/null")  # fmt: skip
ODD_REDIRECTS = (">M", ">>M", "2>M", "&>M", ">|M", "<>M", ">&M", "<.env", "{f}>M", ">$x",
                 ">/dev/tty",
                 ">sub/M", ">../M", ">$HOME/M", "<<<$(hit)", "< <(hit)", "> >(hit)", "<lnk", ">'M'",
                 "9>M", ">a.txt", ">$TMPDIR/M", "&>>M", ">\"/dev/null\"x", ">/dev/../M", "3<>M",
                 ">/dev/fd/3", "{x[$(hit)]}<a.txt", ">/dev/stdout", ">$(echo M)",
                 "</dev/tcp/localhost/1", "> *", ">{M,N}", "{PATH}<a.txt")  # fmt: skip
