"""The system, its processes and services."""

from agent.permission.programs.record import Command, Option, Program, Wrapper, printer

PROGRAMS = (
    Program("cal", effect="read", operands="text"),
    Program("crontab", exact=True, elsewhere="command", runs_input="shell"),
    printer(
        "date",
        syntax="date",
        gnu_prefix=True,
        flags="-u -R --utc --universal --rfc-email --iso-8601 --debug",
        texts="-d -v --date --rfc-3339",
        paths="-r --reference",
        reads="--file -f",
        options=(Option("-I", value="joined"), Option("--set -s", effect="write", value="text")),
    ),
    Program(
        "dmesg",
        reads="--file -F",
        options=(
            Option("--clear -C -c --console-off -D", effect="write"),
            Option("-n", effect="write", value="text"),
        ),
    ),
    Program(
        "free",
        always=1,
        effect="read",
        operands="none",
        flags="-b -k -m -g -h -t -l -v -w --bytes --kibi --mebi --gibi --human --si --total",
        texts="-s -c",
    ),
    printer("groups sleep"),
    Program("expr", effect="read", operands="text", complete=True),
    Program("locale", effect="read", operands="none", flags="-a -m"),
    printer(
        "pgrep",
        flags="-a -c -f -i -l -n -o -v -w -x --full --list-full --list-name --count --exact",
        texts="-d -g -G -P -s -t -u -U --parent --euid --uid",
    ),
    Program("halt poweroff", destructive=True),
    Program(
        "hostname",
        always=1,
        effect="read",
        operands="none",
        flags="-a -A -d -f -i -I -s --fqdn --short --ip-address --all-ip-addresses",
    ),
    printer("id", flags="-a -g -G -n -r -u -z --group --groups --name --real --user --zero"),
    Program(
        "journalctl",
        always=2,
        unrated="-H --host -M --machine -t --type -p --property -n --lines -o --output --root "
        "--state",
        options=(
            Option(
                "--rotate --vacuum-size --vacuum-time --vacuum-files --flush",
                effect="write",
                value="unknown",
            ),
        ),
    ),
    Program("killall pkill reboot shutdown", exact=True, destructive=True),
    Program("launchctl service", always=2),
    Program("logrotate", writes="--log -l --state -s"),
    Program("lscpu whoami", always=1, effect="read", operands="none"),
    Program("lsof top", always=1),
    Program("nproc", always=1, effect="read", operands="none", flags="--all", texts="--ignore"),
    Program(
        "perf",
        subcommands=(
            Command("stat", wrapper=Wrapper(), flags="-a -d -v", texts="-e -r -x -o"),
            Command("record", wrapper=Wrapper(), flags="-a -g", texts="-e -F -o"),
        ),
    ),
    printer(
        "ps",
        syntax="ps",
        flags="-A -a -d -e -f -F -H -j -l -L -M -N -T -w -y --forest --no-headers --headers",
        texts="-C -g -G -o -O -p -q -s -t -u -U --pid --ppid --user --format --sort --group --tty",
    ),
    Program(
        "systemctl",
        always=2,
        unrated="--machine -t --type -p --property -n --lines -o --output --state",
        options=(
            Option("-H --host -M", effect="network", value="text"),
            Option("--root", effect="write", value="text"),
        ),
    ),
    Program(
        "tmux",
        always=2,
        unrated="-L -S -f -c -T",
        subcommands=(
            Command(
                "new new-session",
                wrapper=Wrapper(joined=True),
                flags="-A -d -D -E -P -X",
                texts="-c -e -f -F -n -s -t -x -y",
            ),
            Command(
                "new-window neww",
                wrapper=Wrapper(joined=True),
                flags="-a -b -d -k -P -S",
                texts="-c -e -F -n -t",
            ),
            Command(
                "split-window",
                wrapper=Wrapper(joined=True),
                flags="-b -d -f -h -I -v -P -Z",
                texts="-c -e -l -t -F",
            ),
            Command("respawn-pane", wrapper=Wrapper(joined=True), flags="-k", texts="-c -e -t"),
            Command("run-shell", wrapper=Wrapper(joined=True), flags="-b -C", texts="-c -d -t"),
            Command(
                "send send-keys",
                wrapper=Wrapper(each=True),
                flags="-F -H -K -l -M -R -X",
                texts="-N -t",
            ),
        ),
    ),
    Program("tty", always=1, effect="read", operands="none", flags="-s"),
    Program(
        "uname",
        always=1,
        effect="read",
        operands="none",
        flags="-a -s -n -r -v -m -p -i -o --all --kernel-name --nodename --kernel-release "
        "--kernel-version --machine --processor --hardware-platform --operating-system",
    ),
    Program("uptime", always=1, effect="read", operands="none", flags="-p -s --pretty --since"),
)
