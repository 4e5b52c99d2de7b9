"""Network tools."""

from agent.permission.programs.record import Command, Option, Program, Wrapper

PROGRAMS = (
    Program(
        "aria2c",
        effect="network",
        writes="--dir -d --out -o",
        reads="--input-file -i",
        loads="--conf-path",
        code="--on-download-complete --on-download-error --on-download-start",
    ),
    Program(
        "curl",
        exact=True,
        version="--version -V",
        effect="network",
        syntax="curl",
        texts="-H --header",
        writes="--output-dir --dump-header -D --cookie-jar -c --trace --trace-ascii --libcurl "
        "--stderr --etag-save --hsts --alt-svc",
        reads="--upload-file -T --netrc-file",
        loads="--config -K",
        executes="--engine",
        options=(
            Option(
                "-d -F --data --data-ascii --data-binary --data-raw --data-urlencode --form "
                "--form-string --json --variable --url-query",
                value="content",
            ),
            Option("--proxy -x --preproxy --unix-socket --doh-url", effect="network", value="text"),
            Option("--next", effect="network"),
            Option("-o --output", effect="write", value="path", harmless="- /dev/null"),
            Option("--remote-name -O --remote-name-all --remote-header-name -J", effect="write"),
        ),
    ),
    Program("dig", effect="network", reads="-f -k"),
    Program("fping", effect="network", reads="-f"),
    Program("ftp lftp", effect="network", elsewhere="command", runs_input="escapes"),
    Program("mail mailx", effect="network", runs_input="escapes"),
    Program("grpcurl", always=2, effect="network"),
    Program(
        "ip",
        always=2,
        clusters=False,
        unrated="-n -netns -f -family -rcvbuf",
        executes="-b -batch",
        groups="addr link neigh route rule",
        subcommands=(
            Command(
                "netns",
                always=3,
                subcommands=(Command("exec", wrapper=Wrapper(operands_before=1)),),
            ),
            Command("vrf", subcommands=(Command("exec", wrapper=Wrapper(operands_before=1)),)),
        ),
    ),
    Program(
        "nmap",
        effect="network",
        clusters=False,
        writes="-oN -oX -oG -oA",
        reads="-iL",
        loads="--datadir",
        executes="--script",
    ),
    Program("nmcli", always=2, groups="connection device"),
    Program("restic", loads="--password-command", executes="-o"),
    Program(
        "rsync",
        network="*",
        exact=True,
        effect="write",
        operands="copy",
        writes="--log-file --partial-dir --temp-dir --backup-dir",
        reads="--files-from",
        loads="--config",
        code="--rsh -e --rsync-path",
        executes="-M",
        options=(Option("--daemon", effect="execute"),),
    ),
    Program(
        "scp",
        exact=True,
        effect="network",
        code="-F -S",
        executes="-o",
        options=(Option("-J", effect="network", value="text"),),
    ),
    Program(
        "sftp",
        exact=True,
        effect="network",
        elsewhere="command",
        loads="-b -D",
        code="-F -S",
        executes="-o",
        options=(Option("-J", effect="network", value="text"),),
    ),
    Program("smbclient", effect="network", code="--command -c"),
    Program("ss", writes="--diag -D", reads="-F", options=(Option("-K", effect="write"),)),
    Program("tcpdump", writes="-w", reads="-F", code="-z"),
    Program("tshark", writes="-w", executes="-X"),
    Program("ufw", always=2),
    Program(
        "daphne gunicorn http-server hypercorn json-server live-server serve uvicorn "
        "waitress-serve webpack-dev-server",
        network="*",
    ),
    Program(
        "wget",
        exact=True,
        effect="network",
        writes="--directory-prefix -P --output-file -o --append-output -a --save-cookies "
        "--warc-file",
        reads="--input-file -i --post-file --body-file",
        loads="--config",
        code="--use-askpass --execute -e",
        options=(
            Option("-O --output-document", effect="write", value="path", harmless="- /dev/null"),
        ),
    ),
)
