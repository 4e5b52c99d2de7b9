"""Text tools."""

from agent.permission.programs.record import Option, Program

_GREP_OPTIONS = (
    Option(
        "-E -F -G -P -i -v -w -x -y -c -L -l -o -q -s -h -H -n -b -T -U -z -a "
        "-I --basic-regexp --binary-files --byte-offset --color --colour "
        "--count --extended-regexp --files-with-matches --files-without-match "
        "--fixed-strings --ignore-case --initial-tab --invert-match "
        "--line-buffered --line-number --line-regexp --no-filename "
        "--no-ignore-case --no-messages --null --only-matching --perl-regexp "
        "--quiet --silent --text --with-filename --word-regexp"
    ),
    Option("-r --recursive", reach="recursive"),
    Option(
        "-A -B -C -m --after-context --before-context --context --exclude "
        "--exclude-dir --include --label --max-count",
        value="text",
    ),
    Option("-e --regexp", value="text", gives_pattern=True),
    Option("-f --file", value="path", gives_pattern=True),
    Option("--exclude-from", value="path"),
)

PROGRAMS = (
    Program(
        "ack",
        always=1,
        options=(
            Option("--files-from", effect="read", value="path"),
            Option("--pager", effect="execute", value="code"),
            Option("--ackrc", effect="execute", value="path"),
        ),
    ),
    Program("ag", always=1, options=(Option("--pager", effect="execute", value="code"),)),
    Program(
        "awk",
        exact=True,
        version="--version -V",
        effect="read",
        operands="pattern",
        syntax="awk",
        options=(Option("-F -v", value="text"),),
    ),
    Program(
        "cat",
        always=1,
        version="--version -V",
        effect="read",
        operands="read",
        gnu_prefix=True,
        options=(
            Option(
                "-A -b -e -E -n -s -t -T -u -v --number --number-nonblank "
                "--show-all --show-ends --show-nonprinting --show-tabs "
                "--squeeze-blank"
            ),
        ),
    ),
    Program(
        "cmp",
        always=1,
        effect="read",
        operands="read",
        options=(
            Option("-b -l -s"),
            Option("-i -n", value="text"),
        ),
    ),
    Program(
        "column",
        always=1,
        effect="read",
        operands="read",
        options=(
            Option("-t -x -e"),
            Option("-s -c -o -N", value="text"),
        ),
    ),
    Program("comm", always=1, effect="read", operands="read", options=(Option("-1 -2 -3 -z"),)),
    Program(
        "cut",
        always=1,
        effect="read",
        operands="read",
        options=(
            Option("-s -z --complement --only-delimited"),
            Option(
                "-b -c -d -f --bytes --characters --delimiter --fields --output-delimiter",
                value="text",
            ),
        ),
    ),
    Program(
        "dc",
        options=(
            Option("--expression -e", effect="execute", value="code"),
            Option("--file -f", effect="execute", value="path"),
        ),
    ),
    Program(
        "diff",
        always=1,
        effect="read",
        operands="read",
        options=(
            Option(
                "-a -b -B -c -d -e -i -q -s -T -t -u -w -y -N -p -E -Z --brief "
                "--color --context --exclude --ignore-all-space "
                "--ignore-blank-lines --ignore-case --ignore-space-change --label "
                "--new-file --report-identical-files --side-by-side "
                "--suppress-common-lines --unified --width"
            ),
            Option("-r --recursive", reach="recursive"),
            Option("-U -C -W -x", value="text"),
        ),
    ),
    Program("egrep fgrep", always=1, effect="read", operands="pattern", options=_GREP_OPTIONS),
    Program(
        "expand",
        always=1,
        effect="read",
        operands="read",
        options=(
            Option("-i"),
            Option("-t", value="text"),
        ),
    ),
    Program(
        "fold",
        always=1,
        effect="read",
        operands="read",
        options=(
            Option("-b -s"),
            Option("-w", value="text"),
        ),
    ),
    Program(
        "gawk mawk",
        exact=True,
        effect="read",
        operands="pattern",
        syntax="awk",
        options=(Option("-F -v", value="text"),),
    ),
    Program(
        "grep",
        always=1,
        version="--version -V",
        effect="read",
        operands="pattern",
        options=_GREP_OPTIONS,
    ),
    Program(
        "head",
        always=1,
        effect="read",
        operands="read",
        gnu_prefix=True,
        options=(
            Option("-q -v -z --quiet --silent --verbose --zero-terminated"),
            Option("-n -c --bytes --lines", value="text"),
        ),
    ),
    Program(
        "hexdump",
        always=1,
        effect="read",
        operands="read",
        options=(
            Option("-b -c -C -d -o -v -x"),
            Option("-n -s", value="text"),
        ),
    ),
    Program("iconv shuf", options=(Option("--output -o", effect="write", value="path"),)),
    Program(
        "join",
        always=1,
        effect="read",
        operands="read",
        options=(
            Option("-i"),
            Option("-1 -2 -a -e -o -t -j -v", value="text"),
        ),
    ),
    Program(
        "nawk",
        exact=True,
        operands="pattern",
        syntax="awk",
        options=(Option("-F -v", value="text"),),
    ),
    Program(
        "nl",
        always=1,
        effect="read",
        operands="read",
        options=(
            Option("-p"),
            Option("-b -d -f -h -i -l -n -s -v -w", value="text"),
        ),
    ),
    Program(
        "od",
        always=1,
        effect="read",
        operands="read",
        options=(
            Option("-a -b -c -d -f -i -l -o -s -x -v"),
            Option("-A -j -N -t -w", value="text"),
        ),
    ),
    Program(
        "paste",
        always=1,
        effect="read",
        operands="read",
        options=(
            Option("-s -z"),
            Option("-d", value="text"),
        ),
    ),
    Program("rev", always=1, effect="read", operands="read"),
    Program(
        "rg",
        always=1,
        version="--version -V",
        effect="read",
        operands="pattern",
        recursive=True,
        options=(
            Option(
                "-i -S -s -F -w -x -v -c -l -N -n -H -h -o -U -P -a -p -0 -I "
                "--case-sensitive --color --colors --column --count --count-matches "
                "--files-with-matches --files-without-match --fixed-strings "
                "--heading --ignore-case --invert-match --json --line-number "
                "--line-regexp --multiline --multiline-dotall --no-config "
                "--no-filename --no-heading --no-line-number --no-messages --null "
                "--only-matching --passthru --pcre2 --pretty --quiet --smart-case "
                "--sort --sortr --stats --text --trim --type-list --vimgrep "
                "--with-filename --word-regexp"
            ),
            Option("-u -. --hidden --no-ignore --unrestricted", reach="hidden"),
            Option(
                "-g -t -T -A -B -C -m -j -M -E -r --after-context --before-context "
                "--context --encoding --glob --iglob --max-columns --max-count "
                "--max-depth --max-filesize --replace --threads --type --type-not",
                value="text",
            ),
            Option("-e --regexp", value="text", gives_pattern=True),
            Option("-f --file", value="path", gives_pattern=True),
            Option("--files", gives_pattern=True),
            Option("--ignore-file", value="path"),
            Option("--pre --hostname-bin", effect="execute", value="code"),
        ),
    ),
    Program(
        "sed",
        exact=True,
        version="--version -V",
        effect="read",
        operands="pattern",
        syntax="sed",
        gnu_prefix=True,
        options=(
            Option("-n -E -r -s -u -z --quiet --silent --regexp-extended --posix --debug"),
            Option("-e --expression", value="text", gives_pattern=True),
        ),
    ),
    Program(
        "seq",
        always=1,
        effect="read",
        operands="text",
        options=(
            Option("-w"),
            Option("-f -s", value="text"),
        ),
    ),
    Program(
        "sort",
        always=1,
        effect="read",
        operands="read",
        gnu_prefix=True,
        options=(
            Option(
                "-b -d -f -g -h -i -M -n -R -r -V -u -z -c -C -m -s --check "
                "--general-numeric-sort --human-numeric-sort --ignore-case "
                "--numeric-sort --reverse --stable --unique --version-sort"
            ),
            Option("-k -t --field-separator --key", value="text"),
            Option("--files0-from", effect="read", value="path"),
            Option("--output -o --temporary-directory -T", effect="write", value="path"),
            Option("--compress-program", effect="execute", value="code"),
        ),
    ),
    Program(
        "strings",
        always=1,
        effect="read",
        operands="read",
        options=(
            Option("-a -f"),
            Option("-n -t -T", value="text"),
        ),
    ),
    Program(
        "tac",
        always=1,
        effect="read",
        operands="read",
        options=(
            Option("-b -r"),
            Option("-s", value="text"),
        ),
    ),
    Program(
        "tail",
        always=1,
        effect="read",
        operands="read",
        gnu_prefix=True,
        options=(
            Option("-q -v -z -r --quiet --silent --verbose --zero-terminated"),
            Option("-n -c --bytes --lines", value="text"),
        ),
    ),
    Program(
        "tr",
        always=1,
        effect="read",
        operands="text",
        options=(Option("-c -C -d -s -t --complement --delete --squeeze-repeats"),),
    ),
    Program(
        "unexpand",
        effect="read",
        operands="read",
        options=(
            Option("-a"),
            Option("-t", value="text"),
        ),
    ),
    Program(
        "uniq",
        always=1,
        effect="read",
        operands="one",
        syntax="uniq",
        options=(
            Option("-c -d -D -i -u -z --all-repeated --count --ignore-case --repeated --unique"),
            Option("-f -s -w", value="text"),
        ),
    ),
    Program(
        "wc",
        always=1,
        effect="read",
        operands="read",
        options=(Option("-c -l -m -L -w --bytes --chars --lines --max-line-length --words"),),
    ),
    Program(
        "xxd",
        always=1,
        effect="read",
        operands="one",
        syntax="xxd",
        options=(
            Option("-a -b -e -i -p -u -E"),
            Option("-c -l -g -o -s", value="text"),
        ),
    ),
)
