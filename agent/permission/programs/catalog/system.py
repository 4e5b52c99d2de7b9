"""The system, its processes and services."""

from agent.permission.programs.record import Command, Option, Program, Wrapper

PROGRAMS = (
    Program("cal", effect="read", operands="text"),
    Program("crontab", exact=True, elsewhere="command", runs_input="shell"),
    Program(
        "date",
        always=1,
        effect="read",
        operands="text",
        syntax="date",
        gnu_prefix=True,
        options=(
            Option("-u -R --utc --universal --rfc-email --iso-8601 --debug"),
            Option("-I", value="joined"),
            Option("-d -v --date --rfc-3339", value="text"),
            Option("-r --reference", value="path"),
            Option("--file -f", effect="read", value="path"),
            Option("--set -s", effect="write", value="text"),
        ),
    ),
    Program(
        "dmesg",
        options=(
            Option("--file -F", effect="read", value="path"),
            Option("--clear -C -c --console-off -D", effect="write"),
            Option("-n", effect="write", value="text"),
        ),
    ),
    Program(
        "free",
        always=1,
        effect="read",
        operands="none",
        options=(
            Option("-b -k -m -g -h -t -l -v -w --bytes --kibi --mebi --gibi --human --si --total"),
            Option("-s -c", value="text"),
        ),
    ),
    Program("groups sleep", always=1, effect="read", operands="text"),
    Program("expr", effect="read", operands="text", complete=True),
    Program("locale", effect="read", operands="none", options=(Option("-a -m"),)),
    Program(
        "pgrep",
        always=1,
        effect="read",
        operands="text",
        options=(
            Option("-a -c -f -i -l -n -o -v -w -x --full --list-full --list-name --count --exact"),
            Option("-d -g -G -P -s -t -u -U --parent --euid --uid", value="text"),
        ),
    ),
    Program("halt poweroff", destructive=True),
    Program(
        "hostname",
        always=1,
        effect="read",
        operands="none",
        options=(Option("-a -A -d -f -i -I -s --fqdn --short --ip-address --all-ip-addresses"),),
    ),
    Program(
        "id",
        always=1,
        effect="read",
        operands="text",
        options=(Option("-a -g -G -n -r -u -z --group --groups --name --real --user --zero"),),
    ),
    Program(
        "journalctl",
        always=2,
        options=(
            Option(
                "--rotate --vacuum-size --vacuum-time --vacuum-files --flush",
                effect="write",
                value="unknown",
            ),
            Option(
                "-H --host -M --machine -t --type -p --property -n --lines -o "
                "--output --root --state",
                effect="unknown",
                value="text",
            ),
        ),
    ),
    Program("killall pkill reboot shutdown", exact=True, destructive=True),
    Program("launchctl service", always=2),
    Program("logrotate", options=(Option("--log -l --state -s", effect="write", value="path"),)),
    Program("lscpu whoami", always=1, effect="read", operands="none"),
    Program("lsof top", always=1),
    Program(
        "nproc",
        always=1,
        effect="read",
        operands="none",
        options=(Option("--all"), Option("--ignore", value="text")),
    ),
    Program(
        "perf",
        subcommands=(
            Command(
                "stat",
                wrapper=Wrapper(),
                options=(
                    Option("-a -d -v"),
                    Option("-e -r -x -o", value="text"),
                ),
            ),
            Command(
                "record",
                wrapper=Wrapper(),
                options=(
                    Option("-a -g"),
                    Option("-e -F -o", value="text"),
                ),
            ),
        ),
    ),
    Program(
        "ps",
        always=1,
        effect="read",
        operands="text",
        syntax="ps",
        options=(
            Option("-A -a -d -e -f -F -H -j -l -L -M -N -T -w -y --forest --no-headers --headers"),
            Option(
                "-C -g -G -o -O -p -q -s -t -u -U --pid --ppid --user --format --sort --group "
                "--tty",
                value="text",
            ),
        ),
    ),
    Program(
        "systemctl",
        always=2,
        options=(
            Option("-H --host -M", effect="network", value="text"),
            Option("--root", effect="write", value="text"),
            Option(
                "--machine -t --type -p --property -n --lines -o --output --state",
                effect="unknown",
                value="text",
            ),
        ),
    ),
    Program(
        "tmux",
        always=2,
        options=(Option("-L -S -f -c -T", effect="unknown", value="text"),),
        subcommands=(
            Command(
                "new new-session",
                wrapper=Wrapper(joined=True),
                options=(
                    Option("-A -d -D -E -P -X"),
                    Option("-c -e -f -F -n -s -t -x -y", value="text"),
                ),
            ),
            Command(
                "new-window neww",
                wrapper=Wrapper(joined=True),
                options=(
                    Option("-a -b -d -k -P -S"),
                    Option("-c -e -F -n -t", value="text"),
                ),
            ),
            Command(
                "split-window",
                wrapper=Wrapper(joined=True),
                options=(
                    Option("-b -d -f -h -I -v -P -Z"),
                    Option("-c -e -l -t -F", value="text"),
                ),
            ),
            Command(
                "respawn-pane",
                wrapper=Wrapper(joined=True),
                options=(
                    Option("-k"),
                    Option("-c -e -t", value="text"),
                ),
            ),
            Command(
                "run-shell",
                wrapper=Wrapper(joined=True),
                options=(
                    Option("-b -C"),
                    Option("-c -d -t", value="text"),
                ),
            ),
            Command(
                "send send-keys",
                wrapper=Wrapper(each=True),
                options=(
                    Option("-F -H -K -l -M -R -X"),
                    Option("-N -t", value="text"),
                ),
            ),
        ),
    ),
    Program("tty", always=1, effect="read", operands="none", options=(Option("-s"),)),
    Program(
        "uname",
        always=1,
        effect="read",
        operands="none",
        options=(
            Option(
                "-a -s -n -r -v -m -p -i -o --all --kernel-name --nodename --kernel-release "
                "--kernel-version --machine --processor --hardware-platform --operating-system"
            ),
        ),
    ),
    Program(
        "uptime",
        always=1,
        effect="read",
        operands="none",
        options=(Option("-p -s --pretty --since"),),
    ),
)
