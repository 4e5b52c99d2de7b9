"""Network tools."""

from agent.permission.programs.record import Command, Option, Program, Wrapper

PROGRAMS = (
    Program(
        "aria2c",
        effect="network",
        options=(
            Option("--input-file -i", effect="read", value="path"),
            Option("--dir -d --out -o", effect="write", value="path"),
            Option(
                "--on-download-complete --on-download-error --on-download-start",
                effect="execute",
                value="code",
            ),
            Option("--conf-path", effect="execute", value="path"),
        ),
    ),
    Program(
        "curl",
        exact=True,
        version="--version -V",
        effect="network",
        syntax="curl",
        texts="-H --header",
        options=(
            Option(
                "-d -F --data --data-ascii --data-binary --data-raw --data-urlencode --form "
                "--form-string --json --variable --url-query",
                value="content",
            ),
            Option("--upload-file -T --netrc-file", effect="read", value="path"),
            Option("--proxy -x --preproxy --unix-socket --doh-url", effect="network", value="text"),
            Option("--next", effect="network"),
            Option("-o --output", effect="write", value="path", harmless="- /dev/null"),
            Option("--remote-name -O --remote-name-all --remote-header-name -J", effect="write"),
            Option(
                "--output-dir --dump-header -D --cookie-jar -c --trace --trace-ascii --libcurl "
                "--stderr --etag-save --hsts --alt-svc",
                effect="write",
                value="path",
            ),
            Option("--config -K", effect="execute", value="path"),
            Option("--engine", effect="execute", value="text"),
        ),
    ),
    Program("dig", effect="network", options=(Option("-f -k", effect="read", value="path"),)),
    Program("fping", effect="network", options=(Option("-f", effect="read", value="path"),)),
    Program("ftp lftp", effect="network", elsewhere="command", runs_input="escapes"),
    Program("mail mailx", effect="network", runs_input="escapes"),
    Program("grpcurl", always=2, effect="network"),
    Program(
        "ip",
        always=2,
        clusters=False,
        unrated="-n -netns -f -family -rcvbuf",
        options=(Option("-b -batch", effect="execute", value="text"),),
        subcommands=(
            Command("addr link neigh route rule", always=3),
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
        options=(
            Option("-iL", effect="read", value="path"),
            Option("-oN -oX -oG -oA", effect="write", value="path"),
            Option("--script", effect="execute", value="text"),
            Option("--datadir", effect="execute", value="path"),
        ),
    ),
    Program("nmcli", always=2, subcommands=(Command("connection device", always=3),)),
    Program(
        "restic",
        options=(
            Option("--password-command", effect="execute", value="path"),
            Option("-o", effect="execute", value="text"),
        ),
    ),
    Program(
        "rsync",
        network="*",
        exact=True,
        effect="write",
        operands="copy",
        options=(
            Option("--files-from", effect="read", value="path"),
            Option(
                "--log-file --partial-dir --temp-dir --backup-dir", effect="write", value="path"
            ),
            Option("--rsh -e --rsync-path", effect="execute", value="code"),
            Option("-M", effect="execute", value="text"),
            Option("--daemon", effect="execute"),
            Option("--config", effect="execute", value="path"),
        ),
    ),
    Program(
        "scp",
        exact=True,
        effect="network",
        options=(
            Option("-J", effect="network", value="text"),
            Option("-o", effect="execute", value="text"),
            Option("-F -S", effect="execute", value="code"),
        ),
    ),
    Program(
        "sftp",
        exact=True,
        effect="network",
        elsewhere="command",
        options=(
            Option("-J", effect="network", value="text"),
            Option("-o", effect="execute", value="text"),
            Option("-F -S", effect="execute", value="code"),
            Option("-b -D", effect="execute", value="path"),
        ),
    ),
    Program(
        "smbclient",
        effect="network",
        options=(Option("--command -c", effect="execute", value="code"),),
    ),
    Program(
        "ss",
        options=(
            Option("-F", effect="read", value="path"),
            Option("--diag -D", effect="write", value="path"),
            Option("-K", effect="write"),
        ),
    ),
    Program(
        "tcpdump",
        options=(
            Option("-F", effect="read", value="path"),
            Option("-w", effect="write", value="path"),
            Option("-z", effect="execute", value="code"),
        ),
    ),
    Program(
        "tshark",
        options=(
            Option("-w", effect="write", value="path"),
            Option("-X", effect="execute", value="text"),
        ),
    ),
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
        options=(
            Option("--input-file -i --post-file --body-file", effect="read", value="path"),
            Option("-O --output-document", effect="write", value="path", harmless="- /dev/null"),
            Option(
                "--directory-prefix -P --output-file -o --append-output -a --save-cookies "
                "--warc-file",
                effect="write",
                value="path",
            ),
            Option("--use-askpass --execute -e", effect="execute", value="code"),
            Option("--config", effect="execute", value="path"),
        ),
    ),
)
