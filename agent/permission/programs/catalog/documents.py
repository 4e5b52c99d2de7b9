"""Documents, media, structured data and keys."""

from agent.permission.programs.record import Command, Option, Program

PROGRAMS = (
    Program("cowsay", options=(Option("-f", effect="execute", value="path"),)),
    Program("doxygen hugo jekyll mkdocs sphinx-build", always=1),
    Program(
        "exiftool",
        clusters=False,
        options=(
            Option("-p", effect="read", value="path"),
            Option("-w -o", effect="write", value="path"),
            Option("-config", effect="execute", value="path"),
            Option("-if", effect="execute", value="text"),
            Option("-execute", effect="execute", value="unknown"),
        ),
    ),
    Program("ffmpeg", clusters=False, options=(Option("-report", effect="write"),)),
    Program("gimp", options=(Option("--batch -b", effect="execute", value="unknown"),)),
    Program(
        "gpg",
        options=(
            Option("--homedir", effect="read", value="path"),
            Option("--keyserver-options", effect="network", value="text"),
            Option("--output -o", effect="write", value="path"),
            Option("--photo-viewer", effect="execute", value="code"),
            Option("--exec-path", effect="execute", value="path"),
        ),
    ),
    Program(
        "jq",
        always=1,
        version="--version -V",
        effect="read",
        operands="pattern",
        abbreviates=False,
        syntax="jq",
        flags="-r -S -M -C -c -e -a -s -j -n -R --raw-output --compact-output --sort-keys --slurp "
        "--tab --null-input --raw-input --join-output --ascii-output --color-output "
        "--monochrome-output --exit-status --seq --stream --unbuffered",
        texts="--indent",
        options=(
            Option("--arg --argjson", value="text", length=2),
            Option("--rawfile --slurpfile", value="path", length=2),
            Option("--from-file -f -L", effect="execute", value="path"),
        ),
    ),
    Program(
        "latex lualatex pdflatex pdftex tex xelatex",
        clusters=False,
        options=(Option("-shell-escape --shell-escape -enable-write18", effect="execute"),),
    ),
    Program(
        "openssl",
        always=2,
        runs_code=True,
        version="--version -V",
        clusters=False,
        options=(
            Option("-out -writerand", effect="write", value="unknown"),
            Option("-engine -provider -provider-path -config", effect="execute", value="unknown"),
        ),
        subcommands=(Command("req rsa s_client x509", always=3),),
    ),
    Program(
        "pandoc",
        always=1,
        options=(
            Option("--output -o --extract-media", effect="write", value="path"),
            Option("--filter -F --pdf-engine", effect="execute", value="code"),
            Option("--lua-filter -L", effect="execute", value="path"),
        ),
    ),
    Program(
        "ssh-keygen",
        options=(
            Option("-f", effect="read", value="path"),
            Option("-D", effect="execute", value="path"),
            Option("-Y", effect="execute", value="text"),
        ),
    ),
    Program(
        "xmllint",
        options=(
            Option("--output", effect="write", value="path"),
            Option("--shell", effect="execute"),
        ),
    ),
    Program(
        "yq",
        always=1,
        options=(
            Option("--inplace -i", effect="write"),
            Option("--split-exp -s", effect="write", value="path"),
            Option("--from-file", effect="execute", value="path"),
        ),
    ),
)
