"""Documents, media, structured data and keys."""

from agent.permission.programs.record import Option, Program

PROGRAMS = (
    Program("cowsay", loads="-f"),
    Program("doxygen hugo jekyll mkdocs sphinx-build", always=1),
    Program(
        "exiftool",
        clusters=False,
        writes="-w -o",
        reads="-p",
        loads="-config",
        executes="-if",
        may_execute="-execute",
    ),
    Program("ffmpeg", clusters=False, options=(Option("-report", effect="write"),)),
    Program("gimp", may_execute="--batch -b"),
    Program(
        "gpg",
        writes="--output -o",
        reads="--homedir",
        loads="--exec-path",
        code="--photo-viewer",
        options=(Option("--keyserver-options", effect="network", value="text"),),
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
        loads="--from-file -f -L",
        options=(
            Option("--arg --argjson", value="text", length=2),
            Option("--rawfile --slurpfile", value="path", length=2),
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
        may_execute="-engine -provider -provider-path -config",
        options=(Option("-out -writerand", effect="write", value="unknown"),),
        groups="req rsa s_client x509",
    ),
    Program(
        "pandoc",
        always=1,
        writes="--output -o --extract-media",
        loads="--lua-filter -L",
        code="--filter -F --pdf-engine",
    ),
    Program("ssh-keygen", reads="-f", loads="-D", executes="-Y"),
    Program("xmllint", writes="--output", options=(Option("--shell", effect="execute"),)),
    Program(
        "yq",
        always=1,
        writes="--split-exp -s",
        loads="--from-file",
        options=(Option("--inplace -i", effect="write"),),
    ),
)
