"""Text tools."""

from agent.permission.programs.record import Listing, Option, Program, printer, reader

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
    Program("ack", always=1, reads="--files-from", loads="--ackrc", code="--pager"),
    Program("ag", always=1, code="--pager"),
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
        flags="-d -D -i --decode --ignore-garbage",
        texts="-w -b --wrap",
    ),
    Program("bc", effect="read", operands="read", flags="-l -q -s -w --mathlib --quiet"),
    Program(
        "bzcat xzcat zcat zstdcat",
        always=1,
        effect="read",
        operands="read",
        flags="-q -v -f --quiet --verbose --force",
    ),
    reader(
        "cat",
        listings=(Listing(filters=True),),
        version="--version -V",
        gnu_prefix=True,
        flags="-A -b -e -E -l -n -s -t -T -u -v --number --number-nonblank --show-all --show-ends "
        "--show-nonprinting --show-tabs --squeeze-blank",
    ),
    reader(
        "cmp",
        flags="-b -l -s -v -h -x -z --print-bytes --verbose --quiet --silent",
        texts="-i -n --ignore-initial --bytes",
    ),
    reader(
        "column",
        flags="-t -d -e -L -J -x -h -V --table --table-noheadings --table-header-repeat "
        "--keep-empty-lines --json --fillrows",
        texts="-n -O -N -l -E -H -R -T -W -r -i -p -c -o -s --table-name --table-order "
        "--table-columns --table-columns-limit --table-noextreme --table-hide --table-right "
        "--table-truncate --table-wrap --tree --tree-id --tree-parent --output-width "
        "--output-separator --separator",
    ),
    reader(
        "comm",
        flags="-1 -2 -3 -i -z --check-order --nocheck-order --total --zero-terminated",
        texts="--output-delimiter",
    ),
    reader(
        "cut",
        listings=(Listing(arguments=("-c4-", "-c 4-"), column="dropped", filters=True),),
        flags="-n -s -w -z --complement --only-delimited --zero-terminated",
        texts="-b -c -d -f --bytes --characters --delimiter --fields --output-delimiter",
    ),
    Program("dc", runs_input="escapes", loads="--file -f", code="--expression -e"),
    Program(
        "diff",
        always=1,
        effect="read",
        operands="read",
        recursive=True,
        follows_links=True,
        flags="-a -b -B -c -d -e -i -n -q -s -T -t -u -w -y -N -p -E -Z --normal --brief "
        "--report-identical-files --ed --rcs --side-by-side --left-column --suppress-common-lines "
        "--show-c-function --expand-tabs --initial-tab --suppress-blank-empty --no-dereference "
        "--new-file --unidirectional-new-file --ignore-file-name-case --no-ignore-file-name-case "
        "--ignore-case --ignore-tab-expansion --ignore-trailing-space --ignore-space-change "
        "--ignore-all-space --ignore-blank-lines --text --strip-trailing-cr --minimal "
        "--speed-large-files --color",
        texts="-U -C -W -x -F -I -D -S --unified --context --width --exclude --label "
        "--show-function-line --tabsize --ignore-matching-lines --ifdef --starting-file "
        "--horizon-lines --palette --line-format",
        paths="-X --exclude-from --from-file --to-file",
        options=(Option("-r --recursive", reach="linked"),),
    ),
    Program("egrep fgrep", always=1, effect="read", operands="pattern", options=_GREP_OPTIONS),
    reader("expand unexpand", flags="-a -i --all --first-only --initial", texts="-t --tabs"),
    reader(
        "fmt fold",
        flags="-b -c -s -t -u --bytes --spaces --crown-margin --split-only --tagged-paragraph "
        "--uniform-spacing",
        texts="-w -p -g --width --prefix --goal",
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
    reader(
        "head",
        listings=(_LINES,),
        gnu_prefix=True,
        flags="-q -v -z --quiet --silent --verbose --zero-terminated",
        texts="-n -c --bytes --lines",
    ),
    reader(
        "hexdump hd",
        flags="-b -c -C -d -o -v -x -h -V --canonical --no-squeezing --one-byte-octal "
        "--one-byte-char --two-bytes-decimal --two-bytes-octal --two-bytes-hex --color",
        texts="-n -s -e --length --skip --format",
        paths="-f --format-file",
        options=(Option("-L", value="joined"),),
    ),
    Program("iconv shuf", writes="--output -o"),
    reader(
        "join",
        flags="-i -z --ignore-case --check-order --nocheck-order --header --zero-terminated",
        texts="-1 -2 -a -e -o -t -j -v",
    ),
    Program(
        "nawk", exact=True, operands="pattern", ordered=True, syntax="awk", options=_AWK_OPTIONS
    ),
    reader(
        "nl",
        flags="-p --no-renumber",
        texts="-b -d -f -h -i -l -n -s -v -w --body-numbering --section-delimiter "
        "--footer-numbering --header-numbering --line-increment --join-blank-lines "
        "--number-format --number-separator --starting-line-number --number-width",
    ),
    printer(
        "numfmt",
        flags="-z --debug --grouping --zero-terminated --header",
        texts="-d --delimiter --field --format --from --from-unit --invalid --padding --round "
        "--suffix --to --to-unit",
    ),
    reader(
        "od",
        flags="-a -b -B -c -d -D -e -f -F -h -H -i -I -l -L -o -O -s -x -X -v --output-duplicates "
        "--traditional",
        texts="-A -j -N -t --address-radix --endian --skip-bytes --read-bytes --format",
        options=(Option("-w -S --width --strings", value="joined"),),
    ),
    reader("paste", flags="-s -z --serial --zero-terminated", texts="-d --delimiters"),
    reader("rev", flags="-0 -h -V --zero"),
    Program(
        "rg",
        always=1,
        listings=_RG_LISTINGS,
        version="--version -V",
        effect="read",
        operands="pattern",
        recursive=True,
        flags="-i -S -s -F -w -x -v -c -l -N -n -H -h -o -U -P -a -p -q -b -0 -I -V --binary "
        "--block-buffered --byte-offset --case-sensitive --column --count --count-matches --crlf "
        "--debug --files-with-matches --files-without-match --fixed-strings "
        "--glob-case-insensitive --heading --help --ignore-case --include-zero --invert-match "
        "--json --line-buffered --line-number --line-regexp --max-columns-preview --mmap "
        "--multiline --multiline-dotall --no-config --no-filename --no-heading "
        "--no-ignore-messages --no-line-number --no-messages --no-mmap --no-unicode --null "
        "--null-data --one-file-system --only-matching --passthru --pcre2 --pretty --quiet "
        "--smart-case --stats --text --trace --trim --type-list --vimgrep --with-filename "
        "--word-regexp",
        texts="-t -T -A -B -C -m -j -M -E -r --after-context --before-context --color --colors "
        "--context --context-separator --encoding --engine --field-match-separator --max-columns "
        "--max-count --max-depth --max-filesize --path-separator --replace --sort --sortr "
        "--threads --type --type-not",
        paths="--ignore-file",
        code="--pre --hostname-bin",
        options=(
            Option("-u -. --hidden --no-ignore --unrestricted --no-ignore-vcs", reach="hidden"),
            Option("-L --follow", reach="linked"),
            Option("-g --glob --iglob", value="text", reach="chosen"),
            Option("-e --regexp", value="text", gives_pattern=True),
            Option("-f --file", value="path", gives_pattern=True),
            Option("--files", gives_pattern=True),
            Option("-z --search-zip", effect="execute"),
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
        flags="-n -E -r -s -u -z -a --quiet --silent --regexp-extended --separate --unbuffered "
        "--null-data --posix --debug --sandbox",
        texts="-l --line-length",
        options=(
            Option("-e --expression", value="text", gives_pattern=True),
            Option("-f --file", effect="execute", value="path", gives_pattern=True),
            Option("-i --in-place", effect="write", value="joined"),
            Option("-I", effect="write", value="text"),
        ),
    ),
    printer(
        "seq",
        listings=(Listing(keeps="-w --equal-width"),),
        complete=True,
        flags="-w --equal-width",
        texts="-f -s -t --format --separator",
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
        flags="-b -d -f -g -h -i -M -n -R -r -V -u -z -c -C -m -s --check --debug --merge "
        "--dictionary-order --general-numeric-sort --human-numeric-sort --ignore-case "
        "--ignore-leading-blanks --ignore-nonprinting --month-sort --numeric-sort --random-sort "
        "--reverse --stable --unique --version-sort --zero-terminated",
        texts="-k -t -S --field-separator --key --sort --buffer-size --parallel --batch-size",
        paths="--random-source",
        writes="--output -o --temporary-directory -T",
        reads="--files0-from",
        code="--compress-program",
    ),
    Program(
        "strings",
        always=1,
        effect="read",
        operands="read",
        response_files=True,
        flags="-a -f -d -w -o --all --data --print-file-name",
        texts="-n -t -T -e -s --bytes --radix --encoding",
    ),
    reader(
        "tac",
        listings=(Listing(filters=True),),
        flags="-b -r --before --regex",
        texts="-s --separator",
    ),
    reader(
        "tail",
        listings=(_LINES,),
        gnu_prefix=True,
        flags="-F -f -q -v -z -r --follow --retry --quiet --silent --verbose --zero-terminated",
        texts="-n -c -b -s --bytes --lines --pid --sleep-interval --max-unchanged-stats",
    ),
    printer(
        "tr",
        listings=(Listing(arguments=("\\n \\0", "\\n  "), filters=True),),
        complete=True,
        flags="-c -C -d -s -t -u --complement --delete --squeeze-repeats --truncate-set1",
    ),
    Program("tsort", effect="read", operands="read", complete=True),
    Program(
        "uniq",
        always=1,
        listings=(Listing(keeps="-d -i -u -z", nul="-z", filters=True),),
        effect="read",
        operands="one",
        syntax="uniq",
        flags="-c -d -D -i -u -z --all-repeated --group --count --ignore-case --repeated --unique "
        "--zero-terminated",
        texts="-f -s -w --skip-fields --skip-chars --check-chars",
    ),
    reader("wc", flags="-c -l -m -L -w --bytes --chars --lines --max-line-length --words --total"),
    Program(
        "xxd",
        always=1,
        effect="read",
        operands="one",
        syntax="uniq",
        clusters=False,
        flags="-a -b -C -d -E -e -h -i -p -ps -plain -postscript -r -u -v -autoskip -bits",
        texts="-c -g -l -n -o -s",
    ),
)
