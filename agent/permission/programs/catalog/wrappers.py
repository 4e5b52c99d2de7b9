"""Programs that run the program named by their operands."""

from agent.permission.programs.record import Option, Program, Wrapper

PROGRAMS = (
    Program(
        "arch",
        always=1,
        effect="read",
        operands="none",
        wrapper=Wrapper(),
        clusters=False,
        options=(Option("-x86_64 -arm64 -arm64e -i386"),),
    ),
    Program(
        "busybox catchsegv mono nocorrect noglob torify toybox tsocks wine winpty",
        operands="command",
        wrapper=Wrapper(),
    ),
    Program(
        "caffeinate",
        operands="command",
        wrapper=Wrapper(),
        options=(
            Option("-d -i -m -s -u"),
            Option("-t -w", value="text"),
        ),
    ),
    Program(
        "choom",
        operands="command",
        wrapper=Wrapper(),
        options=(Option("-n --adjust", value="text"),),
    ),
    Program(
        "chpst",
        operands="command",
        wrapper=Wrapper(),
        options=(
            Option("-v -P -0 -1 -2"),
            Option("-u -U -b -e -n -m -d -o -f -p -t -c -r -/", value="text"),
        ),
    ),
    Program("chronic", operands="command", wrapper=Wrapper(), options=(Option("-e -v"),)),
    Program(
        "chroot",
        operands="command",
        wrapper=Wrapper(operands_before=1, chdir=True),
        options=(
            Option("--skip-chdir"),
            Option("--userspec --groups", value="text"),
        ),
    ),
    Program(
        "chrt",
        operands="command",
        wrapper=Wrapper(operands_before=1),
        options=(
            Option("-b -d -f -i -r -o -R -a"),
            Option("-T -P -D", value="text"),
        ),
    ),
    Program(
        "concurrently",
        operands="command",
        wrapper=Wrapper(each=True),
        options=(
            Option(
                "-r -g -k --raw --kill-others --kill-others-on-fail --group "
                "--no-color --pad-prefix --hide"
            ),
            Option(
                "-n -c -l -p -s --names --prefix --prefix-colors --success "
                "--max-processes --restart-tries --timings --default-input-target",
                value="text",
            ),
        ),
    ),
    Program(
        "cpulimit",
        operands="command",
        wrapper=Wrapper(),
        options=(
            Option(
                "-f -i -m -q -v -z --foreground --include-children --lazy --quiet --verbose --kill"
            ),
            Option("-l -c -e --limit --cpu", value="text"),
        ),
    ),
    Program("cross-env", operands="command", wrapper=Wrapper(variables=True)),
    Program("cross-env-shell", operands="command", wrapper=Wrapper(joined=True, variables=True)),
    Program(
        "dbus-launch",
        operands="command",
        wrapper=Wrapper(),
        options=(Option("--exit-with-session --sh-syntax --auto-syntax"),),
    ),
    Program(
        "dbus-run-session",
        operands="command",
        wrapper=Wrapper(),
        options=(Option("--config-file", value="text"),),
    ),
    Program(
        "dtach",
        operands="command",
        wrapper=Wrapper(),
        options=(
            Option("-E -z"),
            Option("-c -A -n -r -N", value="text"),
        ),
    ),
    Program(
        "dumb-init",
        operands="command",
        wrapper=Wrapper(),
        options=(
            Option("-c -v"),
            Option("-r", value="text"),
        ),
    ),
    Program(
        "entr",
        operands="command",
        wrapper=Wrapper(),
        options=(
            Option("-a -c -d -n -p -r -x -z"),
            Option("-s", value="code"),
        ),
    ),
    Program(
        "env",
        operands="command",
        gnu_prefix=True,
        wrapper=Wrapper(variables=True),
        options=(
            Option("-i -0 -v --ignore-environment --null --debug"),
            Option("-u --unset", value="text"),
            Option("-S --split-string", value="code"),
            Option("-C --chdir", effect="chdir", value="text"),
        ),
    ),
    Program(
        "env-cmd",
        operands="command",
        wrapper=Wrapper(),
        clusters=False,
        options=(
            Option("-f -e -r --file --environments", value="text"),
            Option("--silent --verbose --expand-envs --no-override --fallback --use-shell -x"),
        ),
    ),
    Program(
        "fakechroot",
        operands="command",
        wrapper=Wrapper(),
        options=(
            Option("-s"),
            Option("-l -e -c -b -d", value="text"),
        ),
    ),
    Program(
        "fakeroot",
        operands="command",
        wrapper=Wrapper(),
        options=(
            Option("-u -h"),
            Option("-l -s -i -b -f", value="text"),
        ),
    ),
    Program(
        "faketime",
        operands="command",
        wrapper=Wrapper(operands_before=1),
        options=(
            Option("-m -p"),
            Option("-f", value="text"),
        ),
    ),
    Program(
        "firejail",
        operands="command",
        wrapper=Wrapper(),
        options=(Option("-q --quiet --net --noprofile --private"),),
    ),
    Program(
        "flock",
        operands="command",
        code_options="-c",
        wrapper=Wrapper(operands_before=1),
        options=(
            Option(
                "-s -x -n -e -u -o -F --nonblock --shared --exclusive --close "
                "--unlock --no-fork --verbose"
            ),
            Option("-w -E --timeout --conflict-exit-code", value="text"),
            Option("-c --command", value="code"),
        ),
    ),
    Program(
        "hyperfine",
        always=1,
        operands="command",
        wrapper=Wrapper(each=True),
        options=(
            Option("-i -N --ignore-failure --show-output --time-unit --style"),
            Option(
                "-w -m -M -r -S -c -n -L -P -D -p -u --warmup --runs --min-runs "
                "--max-runs --shell --command-name --parameter-list "
                "--parameter-scan --export-json --export-markdown --export-csv "
                "--output --reference",
                value="text",
            ),
            Option("--prepare --setup --cleanup --conclude", value="code"),
        ),
    ),
    Program(
        "i386 i686 linux32 linux64 x86_64",
        operands="command",
        wrapper=Wrapper(),
        options=(Option("-R -v -B -F -I -L -S -T -X -Z -3 --verbose --addr-no-randomize"),),
    ),
    Program(
        "ionice",
        operands="command",
        wrapper=Wrapper(),
        options=(
            Option("-t --ignore"),
            Option("-c -n -p -P -u --class --classdata", value="text"),
        ),
    ),
    Program(
        "logsave",
        operands="command",
        wrapper=Wrapper(operands_before=1),
        options=(Option("-a -s -v"),),
    ),
    Program(
        "ltrace",
        operands="command",
        wrapper=Wrapper(),
        options=(
            Option("-f -S -L -i -t -T -r -c -C"),
            Option("-e -p -s -n -u -l -A -a -b -o", value="text"),
        ),
    ),
    Program(
        "mpiexec",
        operands="command",
        wrapper=Wrapper(),
        options=(
            Option("-q -v"),
            Option("-n -H -np", value="text"),
        ),
    ),
    Program(
        "mpirun",
        operands="command",
        wrapper=Wrapper(),
        options=(
            Option("-q -v --oversubscribe --allow-run-as-root"),
            Option("-n -H -x --np --host -np", value="text"),
        ),
    ),
    Program(
        "nice",
        operands="command",
        gnu_prefix=True,
        wrapper=Wrapper(inert=True),
        options=(Option("-n --adjustment", value="text"),),
    ),
    Program("nohup", operands="command", wrapper=Wrapper(inert=True)),
    Program(
        "nsenter",
        operands="command",
        wrapper=Wrapper(),
        options=(
            Option("-m -u -p -U -i -C -n -T -a -F --mount --net --pid --user --ipc --uts --all"),
            Option("-t -S -G -N --target --setuid --setgid", value="text"),
            Option("-r -w", effect="chdir"),
        ),
    ),
    Program(
        "parallel",
        operands="command",
        wrapper=Wrapper(appends=True, joined=True),
        options=(
            Option(
                "-k -q -X -m -0 -u --keep-order --dry-run --bar --progress "
                "--verbose --will-cite --null --ungroup --line-buffer --eta "
                "--halt-on-error --tag"
            ),
            Option(
                "-j -I -N -n -a -S -L -P -d --jobs --colsep --joblog --arg-file "
                "--delay --retries --timeout --halt --results --max-args",
                value="text",
            ),
        ),
    ),
    Program(
        "prlimit",
        operands="command",
        wrapper=Wrapper(),
        options=(
            Option("-v"),
            Option("-o", value="text"),
        ),
    ),
    Program(
        "proxychains proxychains4",
        operands="command",
        wrapper=Wrapper(),
        options=(
            Option("-q"),
            Option("-f", value="text"),
        ),
    ),
    Program(
        "rlwrap",
        operands="command",
        wrapper=Wrapper(),
        options=(
            Option("-a -c -n -r -i -m -W -N"),
            Option("-C -D -F -H -P -S -b -f -l -o -q -s -t -z -w", value="text"),
        ),
    ),
    Program(
        "screen",
        operands="command",
        wrapper=Wrapper(),
        options=(
            Option("-d -m -D -A -q -R -x -L -U"),
            Option("-S -e -c -T -h -p -s", value="text"),
        ),
    ),
    Program(
        "sem",
        operands="command",
        wrapper=Wrapper(joined=True),
        options=(
            Option("-j --id --jobs", value="text"),
            Option("--fg --bg"),
        ),
    ),
    Program(
        "setsid",
        operands="command",
        wrapper=Wrapper(),
        options=(Option("-c -f -w --ctty --fork --wait"),),
    ),
    Program(
        "softlimit",
        operands="command",
        wrapper=Wrapper(),
        options=(Option("-d -s -m -l -a -f -o -p -r -t -c", value="text"),),
    ),
    Program(
        "srun",
        operands="command",
        wrapper=Wrapper(),
        options=(Option("-n -N -p -c -G -t", value="text"),),
    ),
    Program(
        "ssh-agent",
        operands="command",
        wrapper=Wrapper(),
        options=(
            Option("-c -s -D -d"),
            Option("-a -t -E", value="text"),
        ),
    ),
    Program(
        "stdbuf",
        operands="command",
        gnu_prefix=True,
        wrapper=Wrapper(inert=True),
        options=(Option("-i -o -e --input --output --error", value="text"),),
    ),
    Program(
        "strace",
        operands="command",
        wrapper=Wrapper(),
        options=(
            Option("-f -F -q -v -d -h -T -t -c -C -w -y -i -k -n -D -V -x -z"),
            Option("-e -O -s -S -a -u -P -b -I -E -o", value="text"),
        ),
    ),
    Program(
        "systemd-inhibit",
        operands="command",
        wrapper=Wrapper(),
        options=(Option("--what --who --why --mode", value="text"),),
    ),
    Program(
        "systemd-run",
        operands="command",
        wrapper=Wrapper(),
        options=(
            Option(
                "-t -P -q -d -G -r --user --scope --wait --pty --pipe --quiet "
                "--collect --no-block --same-dir --remain-after-exit --system"
            ),
            Option(
                "-p -u -M -H --unit --property --uid --gid --setenv --slice "
                "--description --machine --on-active --on-calendar",
                value="text",
            ),
            Option("--working-directory", effect="chdir", value="text"),
        ),
    ),
    Program(
        "taskset",
        operands="command",
        wrapper=Wrapper(operands_before=1),
        options=(Option("-a -c --all-tasks --cpu-list"),),
    ),
    Program(
        "time",
        operands="command",
        gnu_prefix=True,
        wrapper=Wrapper(),
        options=(
            Option("-a -p -q -v -V --append --portability --quiet --verbose"),
            Option("-f -o --format --output", value="text"),
        ),
    ),
    Program(
        "timeout",
        operands="command",
        gnu_prefix=True,
        wrapper=Wrapper(operands_before=1, inert=True),
        options=(
            Option("-v --foreground --preserve-status --verbose"),
            Option("-k -s --kill-after --signal", value="text"),
        ),
    ),
    Program(
        "tini",
        operands="command",
        wrapper=Wrapper(),
        options=(
            Option("-s -v -g -w"),
            Option("-p -e", value="text"),
        ),
    ),
    Program(
        "torsocks",
        operands="command",
        wrapper=Wrapper(),
        options=(
            Option("-i -q -d"),
            Option("-u -P -a -p", value="text"),
        ),
    ),
    Program(
        "ts tsp",
        operands="command",
        wrapper=Wrapper(),
        options=(
            Option("-n -f -m -d"),
            Option("-L -S -D", value="text"),
        ),
    ),
    Program("unbuffer", operands="command", wrapper=Wrapper(), options=(Option("-p"),)),
    Program(
        "unshare",
        operands="command",
        wrapper=Wrapper(),
        options=(
            Option(
                "-i -m -n -p -u -U -C -T -f -r -c --mount --net --pid --user --ipc "
                "--uts --fork --map-root-user --mount-proc --kill-child"
            ),
            Option("-S -G", value="text"),
            Option("-R -w --root --wd", effect="chdir", value="text"),
        ),
    ),
    Program("valgrind", operands="command", wrapper=Wrapper(), options=(Option("-q -v"),)),
    Program(
        "watch",
        operands="command",
        wrapper=Wrapper(joined=True),
        options=(
            Option(
                "-b -d -e -g -t -c -x -p -w -r --differences --color --exec --beep "
                "--errexit --chgexit --no-title --precise --no-wrap"
            ),
            Option("-n -q --interval", value="text"),
        ),
    ),
    Program(
        "watchexec",
        operands="command",
        wrapper=Wrapper(joined=True),
        options=(
            Option(
                "-c -n -r -p -q -v -N -1 --clear --restart --postpone --quiet "
                "--verbose --no-shell --no-vcs-ignore"
            ),
            Option(
                "-e -d -w -i -s -f -S -E -W --exts --watch --ignore --filter "
                "--signal --debounce --shell --on-busy-update",
                value="text",
            ),
        ),
    ),
    Program(
        "xargs",
        exact=True,
        operands="command",
        gnu_prefix=True,
        wrapper=Wrapper(appends=True, passes_names=True),
        options=(
            Option(
                "-0 -r -t -p -x -o --null --no-run-if-empty --verbose --exit "
                "--open-tty --interactive --replace --max-lines --eof"
            ),
            Option("-i -e -l", value="joined"),
            Option(
                "-I -n -P -s -L -d -a -E --max-args --max-procs --max-chars "
                "--delimiter --arg-file --process-slot-var",
                value="text",
            ),
        ),
    ),
    Program(
        "xvfb-run",
        operands="command",
        wrapper=Wrapper(),
        options=(
            Option("-a --auto-servernum"),
            Option("-e -n -f -p -s -w --server-args --server-num", value="text"),
        ),
    ),
)
