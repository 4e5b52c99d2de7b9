"""Text tools."""

from agent.permission.programs.record import Listing, Option, Program

_GREP_OPTIONS = (
    Option(
        "-E -F -G -P -i -v -w -x -y -c -L -l -o -q -s -h -H -n -b -T -U -u -z -Z -a -I -N -V "
        "--basic-regexp --binary --binary-files --byte-offset --color --colour --count "
        "--extended-regexp --files-with-matches --files-without-match --fixed-strings "
        "--ignore-case --initial-tab --invert-match --line-buffered --line-number "
        "--line-regexp --no-filename --no-group-separator --no-ignore-case --no-messages "
        "--null --null-data --only-matching --perl-regexp --quiet --silent --text "
        "--with-filename --word-regexp"
    ),
    Option("-r --recursive", reach="recursive"),
    Option("-R --dereference-recursive", reach="linked"),
    Option("-d --directories", value="text", reach="recursive"),
    Option(
        "-A -B -C -m -D --after-context --before-context --context --devices --exclude "
        "--exclude-dir --group-separator --label --max-count",
        value="text",
    ),
    Option("--include", value="text", reach="chosen"),
    Option("-e --regexp", value="text", gives_pattern=True),
    Option("-f --file", value="path", gives_pattern=True),
    Option("--exclude-from", value="path"),
)
_GREP_MATCHING = (
    "-E -F -G -P -i -v -w -x -s -e -m --extended-regexp --fixed-strings --perl-regexp "
    "--ignore-case --invert-match --word-regexp --line-regexp --regexp --max-count --color"
)
_GREP_LISTINGS = (
    Listing(
        needs="-l -L --files-with-matches --files-without-match",
        keeps=f"{_GREP_MATCHING} -r -R -I -a -n -h -H -Z --null --recursive --no-messages "
        "--dereference-recursive --include --exclude --exclude-dir",
        nul="-Z --null",
        prefixed=True,
    ),
    Listing(keeps=f"{_GREP_MATCHING} -a -z --null-data", nul="-z --null-data", filters=True),
)
_RG_MATCHING = (
    "-i -S -s -F -w -x -v -e -P --ignore-case --smart-case --case-sensitive --fixed-strings "
    "--word-regexp --line-regexp --invert-match --regexp --pcre2 --no-config"
)
_RG_LISTINGS = (
    Listing(
        needs="-l --files-with-matches --files-without-match --files",
        keeps=f"{_RG_MATCHING} -t -T -g -u -. -0 -U -L -n -N -H --type --type-not --glob --iglob "
        "--hidden --no-ignore --no-ignore-vcs --null --multiline --follow --sort --max-depth "
        "--no-messages",
        nul="-0 --null",
        prefixed=True,
    ),
    Listing(keeps=f"{_RG_MATCHING} -N --no-line-number", filters=True),
)
_LINES = Listing(keeps="-n -q -z --lines --quiet --zero-terminated", nul="-z", filters=True)
_AWK_OPTIONS = (
    Option("-F -v --field-separator --assign", value="text"),
    Option("-f --file -i --include -l --load -E --exec", effect="execute", value="path"),
    Option("-e --source", value="text", gives_pattern=True),
    Option("-d --dump-variables -o --pretty-print -p --profile", effect="write", value="joined"),
    Option("-D --debug", effect="execute", value="joined"),
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
        "awk gawk mawk",
        listings=(
            Listing(
                arguments=("{print $2}", "{ print $2 }", "{print $NF}", "{ print $NF }"),
                column="dropped",
                filters=True,
            ),
        ),
        exact=True,
        version="--version -V",
        effect="read",
        operands="pattern",
        ordered=True,
        syntax="awk",
        options=_AWK_OPTIONS,
    ),
    Program(
        "base32 base64 basenc",
        always=1,
        effect="read",
        operands="read",
        gnu_prefix=True,
        options=(
            Option("-d -D -i --decode --ignore-garbage"),
            Option("-w -b --wrap", value="text"),
        ),
    ),
    Program(
        "bc", effect="read", operands="read", options=(Option("-l -q -s -w --mathlib --quiet"),)
    ),
    Program(
        "bzcat xzcat zcat zstdcat",
        always=1,
        effect="read",
        operands="read",
        options=(Option("-q -v -f --quiet --verbose --force"),),
    ),
    Program(
        "cat",
        always=1,
        listings=(Listing(filters=True),),
        version="--version -V",
        effect="read",
        operands="read",
        complete=True,
        gnu_prefix=True,
        options=(
            Option(
                "-A -b -e -E -l -n -s -t -T -u -v --number --number-nonblank --show-all "
                "--show-ends "
                "--show-nonprinting --show-tabs --squeeze-blank"
            ),
        ),
    ),
    Program(
        "cmp",
        always=1,
        effect="read",
        operands="read",
        complete=True,
        options=(
            Option("-b -l -s -v -h -x -z --print-bytes --verbose --quiet --silent"),
            Option("-i -n --ignore-initial --bytes", value="text"),
        ),
    ),
    Program(
        "column",
        always=1,
        effect="read",
        operands="read",
        complete=True,
        options=(
            Option(
                "-t -d -e -L -J -x -h -V --table --table-noheadings --table-header-repeat "
                "--keep-empty-lines --json --fillrows"
            ),
            Option(
                "-n -O -N -l -E -H -R -T -W -r -i -p -c -o -s --table-name --table-order "
                "--table-columns --table-columns-limit --table-noextreme --table-hide "
                "--table-right --table-truncate --table-wrap --tree --tree-id --tree-parent "
                "--output-width --output-separator --separator",
                value="text",
            ),
        ),
    ),
    Program(
        "comm",
        always=1,
        effect="read",
        operands="read",
        complete=True,
        options=(
            Option("-1 -2 -3 -i -z --check-order --nocheck-order --total --zero-terminated"),
            Option("--output-delimiter", value="text"),
        ),
    ),
    Program(
        "cut",
        always=1,
        listings=(Listing(arguments=("-c4-", "-c 4-"), column="dropped", filters=True),),
        effect="read",
        operands="read",
        complete=True,
        options=(
            Option("-n -s -w -z --complement --only-delimited --zero-terminated"),
            Option(
                "-b -c -d -f --bytes --characters --delimiter --fields --output-delimiter",
                value="text",
            ),
        ),
    ),
    Program(
        "dc",
        runs_input="escapes",
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
        recursive=True,
        follows_links=True,
        options=(
            Option(
                "-a -b -B -c -d -e -i -n -q -s -T -t -u -w -y -N -p -E -Z --normal --brief "
                "--report-identical-files --ed --rcs --side-by-side --left-column "
                "--suppress-common-lines --show-c-function --expand-tabs --initial-tab "
                "--suppress-blank-empty --no-dereference --new-file --unidirectional-new-file "
                "--ignore-file-name-case --no-ignore-file-name-case --ignore-case "
                "--ignore-tab-expansion --ignore-trailing-space --ignore-space-change "
                "--ignore-all-space --ignore-blank-lines --text --strip-trailing-cr --minimal "
                "--speed-large-files --color"
            ),
            Option("-r --recursive", reach="linked"),
            Option(
                "-U -C -W -x -F -I -D -S --unified --context --width --exclude --label "
                "--show-function-line --tabsize --ignore-matching-lines --ifdef "
                "--starting-file --horizon-lines --palette --line-format",
                value="text",
            ),
            Option("-X --exclude-from --from-file --to-file", value="path"),
        ),
    ),
    Program("egrep fgrep", always=1, effect="read", operands="pattern", options=_GREP_OPTIONS),
    Program(
        "expand unexpand",
        always=1,
        effect="read",
        operands="read",
        complete=True,
        options=(
            Option("-a -i --all --first-only --initial"),
            Option("-t --tabs", value="text"),
        ),
    ),
    Program(
        "fmt fold",
        always=1,
        effect="read",
        operands="read",
        complete=True,
        options=(
            Option(
                "-b -c -s -t -u --bytes --spaces --crown-margin --split-only --tagged-paragraph "
                "--uniform-spacing"
            ),
            Option("-w -p -g --width --prefix --goal", value="text"),
        ),
    ),
    Program(
        "grep",
        always=1,
        listings=_GREP_LISTINGS,
        version="--version -V",
        effect="read",
        operands="pattern",
        complete=True,
        gnu_prefix=True,
        options=_GREP_OPTIONS,
    ),
    Program(
        "head",
        always=1,
        listings=(_LINES,),
        effect="read",
        operands="read",
        complete=True,
        gnu_prefix=True,
        options=(
            Option("-q -v -z --quiet --silent --verbose --zero-terminated"),
            Option("-n -c --bytes --lines", value="text"),
        ),
    ),
    Program(
        "hexdump hd",
        always=1,
        effect="read",
        operands="read",
        complete=True,
        options=(
            Option(
                "-b -c -C -d -o -v -x -h -V --canonical --no-squeezing --one-byte-octal "
                "--one-byte-char --two-bytes-decimal --two-bytes-octal --two-bytes-hex --color"
            ),
            Option("-L", value="joined"),
            Option("-n -s -e --length --skip --format", value="text"),
            Option("-f --format-file", value="path"),
        ),
    ),
    Program("iconv shuf", options=(Option("--output -o", effect="write", value="path"),)),
    Program(
        "join",
        always=1,
        effect="read",
        operands="read",
        complete=True,
        options=(
            Option("-i -z --ignore-case --check-order --nocheck-order --header --zero-terminated"),
            Option("-1 -2 -a -e -o -t -j -v", value="text"),
        ),
    ),
    Program(
        "nawk",
        exact=True,
        operands="pattern",
        ordered=True,
        syntax="awk",
        options=_AWK_OPTIONS,
    ),
    Program(
        "nl",
        always=1,
        effect="read",
        operands="read",
        complete=True,
        options=(
            Option("-p --no-renumber"),
            Option(
                "-b -d -f -h -i -l -n -s -v -w --body-numbering --section-delimiter "
                "--footer-numbering --header-numbering --line-increment --join-blank-lines "
                "--number-format --number-separator --starting-line-number --number-width",
                value="text",
            ),
        ),
    ),
    Program(
        "numfmt",
        always=1,
        effect="read",
        operands="text",
        options=(
            Option("-z --debug --grouping --zero-terminated --header"),
            Option(
                "-d --delimiter --field --format --from --from-unit --invalid --padding --round "
                "--suffix --to --to-unit",
                value="text",
            ),
        ),
    ),
    Program(
        "od",
        always=1,
        effect="read",
        operands="read",
        complete=True,
        options=(
            Option(
                "-a -b -B -c -d -D -e -f -F -h -H -i -I -l -L -o -O -s -x -X -v "
                "--output-duplicates --traditional"
            ),
            Option("-w -S --width --strings", value="joined"),
            Option(
                "-A -j -N -t --address-radix --endian --skip-bytes --read-bytes --format",
                value="text",
            ),
        ),
    ),
    Program(
        "paste",
        always=1,
        effect="read",
        operands="read",
        complete=True,
        options=(
            Option("-s -z --serial --zero-terminated"),
            Option("-d --delimiters", value="text"),
        ),
    ),
    Program(
        "rev",
        always=1,
        effect="read",
        operands="read",
        complete=True,
        options=(Option("-0 -h -V --zero"),),
    ),
    Program(
        "rg",
        always=1,
        listings=_RG_LISTINGS,
        version="--version -V",
        effect="read",
        operands="pattern",
        recursive=True,
        options=(
            Option(
                "-i -S -s -F -w -x -v -c -l -N -n -H -h -o -U -P -a -p -q -b -0 -I -V "
                "--binary --block-buffered --byte-offset --case-sensitive --column --count "
                "--count-matches --crlf --debug --files-with-matches --files-without-match "
                "--fixed-strings --glob-case-insensitive --heading --help --ignore-case "
                "--include-zero --invert-match --json --line-buffered --line-number "
                "--line-regexp --max-columns-preview --mmap --multiline --multiline-dotall "
                "--no-config --no-filename --no-heading --no-ignore-messages --no-line-number "
                "--no-messages --no-mmap --no-unicode --null --null-data --one-file-system "
                "--only-matching --passthru --pcre2 --pretty --quiet --smart-case --stats --text "
                "--trace --trim --type-list --vimgrep --with-filename --word-regexp"
            ),
            Option("-u -. --hidden --no-ignore --unrestricted --no-ignore-vcs", reach="hidden"),
            Option("-L --follow", reach="linked"),
            Option("-g --glob --iglob", value="text", reach="chosen"),
            Option(
                "-t -T -A -B -C -m -j -M -E -r --after-context --before-context --color --colors "
                "--context --context-separator --encoding --engine --field-match-separator "
                "--max-columns --max-count --max-depth --max-filesize --path-separator "
                "--replace --sort --sortr --threads --type --type-not",
                value="text",
            ),
            Option("-e --regexp", value="text", gives_pattern=True),
            Option("-f --file", value="path", gives_pattern=True),
            Option("--files", gives_pattern=True),
            Option("--ignore-file", value="path"),
            Option("-z --search-zip", effect="execute"),
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
            Option(
                "-n -E -r -s -u -z -a --quiet --silent --regexp-extended --separate --unbuffered "
                "--null-data --posix --debug --sandbox"
            ),
            Option("-e --expression", value="text", gives_pattern=True),
            Option("-l --line-length", value="text"),
            Option("-f --file", effect="execute", value="path", gives_pattern=True),
            Option("-i --in-place", effect="write", value="joined"),
            Option("-I", effect="write", value="text"),
        ),
    ),
    Program(
        "seq",
        always=1,
        listings=(Listing(keeps="-w --equal-width"),),
        effect="read",
        operands="text",
        complete=True,
        options=(
            Option("-w --equal-width"),
            Option("-f -s -t --format --separator", value="text"),
        ),
    ),
    Program(
        "sort",
        always=1,
        listings=(
            Listing(
                keeps="-b -d -f -g -h -i -n -R -r -u -V -z -k -t -s --key --unique --reverse "
                "--numeric-sort --version-sort --random-sort --human-numeric-sort "
                "--zero-terminated",
                nul="-z --zero-terminated",
                filters=True,
            ),
        ),
        effect="read",
        operands="read",
        gnu_prefix=True,
        options=(
            Option(
                "-b -d -f -g -h -i -M -n -R -r -V -u -z -c -C -m -s --check --debug --merge "
                "--dictionary-order --general-numeric-sort --human-numeric-sort --ignore-case "
                "--ignore-leading-blanks --ignore-nonprinting --month-sort --numeric-sort "
                "--random-sort --reverse --stable --unique --version-sort --zero-terminated"
            ),
            Option(
                "-k -t -S --field-separator --key --sort --buffer-size --parallel --batch-size",
                value="text",
            ),
            Option("--random-source", value="path"),
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
        response_files=True,
        options=(
            Option("-a -f -d -w -o --all --data --print-file-name"),
            Option("-n -t -T -e -s --bytes --radix --encoding", value="text"),
        ),
    ),
    Program(
        "tac",
        always=1,
        listings=(Listing(filters=True),),
        effect="read",
        operands="read",
        complete=True,
        options=(
            Option("-b -r --before --regex"),
            Option("-s --separator", value="text"),
        ),
    ),
    Program(
        "tail",
        always=1,
        listings=(_LINES,),
        effect="read",
        operands="read",
        complete=True,
        gnu_prefix=True,
        options=(
            Option(
                "-F -f -q -v -z -r --follow --retry --quiet --silent --verbose --zero-terminated"
            ),
            Option(
                "-n -c -b -s --bytes --lines --pid --sleep-interval --max-unchanged-stats",
                value="text",
            ),
        ),
    ),
    Program(
        "tr",
        always=1,
        listings=(Listing(arguments=(r"\n \0", r"\n  "), filters=True),),
        effect="read",
        operands="text",
        complete=True,
        options=(
            Option("-c -C -d -s -t -u --complement --delete --squeeze-repeats --truncate-set1"),
        ),
    ),
    Program("tsort", effect="read", operands="read", complete=True),
    Program(
        "uniq",
        always=1,
        listings=(Listing(keeps="-d -i -u -z", nul="-z", filters=True),),
        effect="read",
        operands="one",
        syntax="uniq",
        options=(
            Option(
                "-c -d -D -i -u -z --all-repeated --group --count --ignore-case --repeated "
                "--unique --zero-terminated"
            ),
            Option("-f -s -w --skip-fields --skip-chars --check-chars", value="text"),
        ),
    ),
    Program(
        "wc",
        always=1,
        effect="read",
        operands="read",
        complete=True,
        options=(
            Option("-c -l -m -L -w --bytes --chars --lines --max-line-length --words --total"),
        ),
    ),
    Program(
        "xxd",
        always=1,
        effect="read",
        operands="one",
        syntax="uniq",
        clusters=False,
        options=(
            Option("-a -b -C -d -E -e -h -i -p -ps -plain -postscript -r -u -v -autoskip -bits"),
            Option("-c -g -l -n -o -s", value="text"),
        ),
    ),
)
