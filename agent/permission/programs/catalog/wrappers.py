"""Programs that run the program named by their operands, some of them elsewhere."""

from agent.permission.programs.record import Option, Program, Wrapper, wrapping

PROGRAMS = (
    Program(
        "arch",
        always=1,
        effect="read",
        operands="none",
        wrapper=Wrapper(),
        clusters=False,
        flags="-x86_64 -arm64 -arm64e -i386",
    ),
    wrapping("busybox catchsegv mono nocorrect noglob torify toybox tsocks wine winpty"),
    wrapping("caffeinate", flags="-d -i -m -s -u", texts="-t -w"),
    wrapping("choom", texts="-n --adjust"),
    wrapping("chpst", flags="-v -P -0 -1 -2", texts="-u -U -b -e -n -m -d -o -f -p -t -c -r -/"),
    wrapping("chronic", flags="-e -v"),
    wrapping(
        "chroot",
        wrapper=Wrapper(operands_before=1, chdir=True),
        flags="--skip-chdir",
        texts="--userspec --groups",
    ),
    wrapping(
        "chrt",
        wrapper=Wrapper(operands_before=1),
        flags="-b -d -f -i -r -o -R -a",
        texts="-T -P -D",
    ),
    wrapping(
        "concurrently",
        wrapper=Wrapper(each=True),
        flags="-r -g -k --raw --kill-others --kill-others-on-fail --group --no-color --pad-prefix "
        "--hide",
        texts="-n -c -l -p -s --names --prefix --prefix-colors --success --max-processes "
        "--restart-tries --timings --default-input-target",
    ),
    wrapping(
        "cpulimit",
        flags="-f -i -m -q -v -z --foreground --include-children --lazy --quiet --verbose --kill",
        texts="-l -c -e --limit --cpu",
    ),
    wrapping("cross-env", wrapper=Wrapper(variables=True)),
    wrapping("cross-env-shell", wrapper=Wrapper(joined=True, variables=True)),
    wrapping("dbus-launch", flags="--exit-with-session --sh-syntax --auto-syntax"),
    wrapping("dbus-run-session", texts="--config-file"),
    wrapping("dtach", flags="-E -z", texts="-c -A -n -r -N"),
    wrapping("dumb-init", flags="-c -v", texts="-r"),
    wrapping("entr", flags="-a -c -d -n -p -r -x -z", options=(Option("-s", value="code"),)),
    wrapping(
        "env",
        gnu_prefix=True,
        wrapper=Wrapper(variables=True),
        flags="-i -0 -v --ignore-environment --null --debug",
        texts="-u --unset",
        folders="-C --chdir",
        options=(Option("-S --split-string", value="code"),),
    ),
    wrapping(
        "env-cmd",
        clusters=False,
        flags="--silent --verbose --expand-envs --no-override --fallback --use-shell -x",
        texts="-f -e -r --file --environments",
    ),
    wrapping("fakechroot", flags="-s", texts="-l -e -c -b -d"),
    wrapping("fakeroot", flags="-u -h", texts="-l -s -i -b -f"),
    wrapping("faketime", wrapper=Wrapper(operands_before=1), flags="-m -p", texts="-f"),
    wrapping("firejail", flags="-q --quiet --net --noprofile --private"),
    wrapping(
        "flock",
        code_options="-c",
        wrapper=Wrapper(operands_before=1),
        flags="-s -x -n -e -u -o -F --nonblock --shared --exclusive --close --unlock --no-fork "
        "--verbose",
        texts="-w -E --timeout --conflict-exit-code",
        options=(Option("-c --command", value="code"),),
    ),
    wrapping(
        "hyperfine",
        always=1,
        wrapper=Wrapper(each=True),
        flags="-i -N --ignore-failure --show-output --time-unit --style",
        texts="-w -m -M -r -S -c -n -L -P -D -p -u --warmup --runs --min-runs --max-runs --shell "
        "--command-name --parameter-list --parameter-scan --export-json --export-markdown "
        "--export-csv --output --reference",
        options=(Option("--prepare --setup --cleanup --conclude", value="code"),),
    ),
    wrapping(
        "i386 i686 linux32 linux64 x86_64",
        flags="-R -v -B -F -I -L -S -T -X -Z -3 --verbose --addr-no-randomize",
    ),
    wrapping("ionice", flags="-t --ignore", texts="-c -n -p -P -u --class --classdata"),
    wrapping("logsave", wrapper=Wrapper(operands_before=1), flags="-a -s -v"),
    wrapping("ltrace", flags="-f -S -L -i -t -T -r -c -C", texts="-e -p -s -n -u -l -A -a -b -o"),
    wrapping("mpiexec", flags="-q -v", texts="-n -H -np"),
    wrapping(
        "mpirun",
        flags="-q -v --oversubscribe --allow-run-as-root",
        texts="-n -H -x --np --host -np",
    ),
    wrapping("nice", gnu_prefix=True, wrapper=Wrapper(inert=True), texts="-n --adjustment"),
    wrapping("nohup", wrapper=Wrapper(inert=True)),
    wrapping(
        "nsenter",
        flags="-m -u -p -U -i -C -n -T -a -F --mount --net --pid --user --ipc --uts --all",
        texts="-t -S -G -N --target --setuid --setgid",
        options=(Option("-r -w", effect="chdir"),),
    ),
    wrapping(
        "parallel",
        wrapper=Wrapper(appends=True, joined=True),
        flags="-k -q -X -m -0 -u --keep-order --dry-run --bar --progress --verbose --will-cite "
        "--null --ungroup --line-buffer --eta --halt-on-error --tag",
        texts="-j -I -N -n -a -S -L -P -d --jobs --colsep --joblog --arg-file --delay --retries "
        "--timeout --halt --results --max-args",
    ),
    wrapping("prlimit", flags="-v", texts="-o"),
    wrapping("proxychains proxychains4", flags="-q", texts="-f"),
    wrapping(
        "rlwrap",
        flags="-a -c -n -r -i -m -W -N",
        texts="-C -D -F -H -P -S -b -f -l -o -q -s -t -z -w",
    ),
    wrapping("screen", flags="-d -m -D -A -q -R -x -L -U", texts="-S -e -c -T -h -p -s"),
    wrapping("sem", wrapper=Wrapper(joined=True), flags="--fg --bg", texts="-j --id --jobs"),
    wrapping("setsid", flags="-c -f -w --ctty --fork --wait"),
    wrapping("softlimit", texts="-d -s -m -l -a -f -o -p -r -t -c"),
    wrapping("srun", texts="-n -N -p -c -G -t"),
    wrapping("ssh-agent", flags="-c -s -D -d", texts="-a -t -E"),
    wrapping(
        "stdbuf",
        gnu_prefix=True,
        wrapper=Wrapper(inert=True),
        texts="-i -o -e --input --output --error",
    ),
    wrapping(
        "strace",
        flags="-f -F -q -v -d -h -T -t -c -C -w -y -i -k -n -D -V -x -z",
        texts="-e -O -s -S -a -u -P -b -I -E -o",
    ),
    wrapping("systemd-inhibit", texts="--what --who --why --mode"),
    wrapping(
        "systemd-run",
        flags="-t -P -q -d -G -r --user --scope --wait --pty --pipe --quiet --collect --no-block "
        "--same-dir --remain-after-exit --system",
        texts="-p -u -M -H --unit --property --uid --gid --setenv --slice --description --machine "
        "--on-active --on-calendar",
        folders="--working-directory",
    ),
    wrapping("taskset", wrapper=Wrapper(operands_before=1), flags="-a -c --all-tasks --cpu-list"),
    wrapping(
        "time",
        gnu_prefix=True,
        flags="-a -p -q -v -V --append --portability --quiet --verbose",
        texts="-f -o --format --output",
    ),
    wrapping(
        "timeout",
        gnu_prefix=True,
        wrapper=Wrapper(operands_before=1, inert=True),
        flags="-v --foreground --preserve-status --verbose",
        texts="-k -s --kill-after --signal",
    ),
    wrapping("tini", flags="-s -v -g -w", texts="-p -e"),
    wrapping("torsocks", flags="-i -q -d", texts="-u -P -a -p"),
    wrapping("ts tsp", flags="-n -f -m -d", texts="-L -S -D"),
    wrapping("unbuffer", flags="-p"),
    wrapping(
        "unshare",
        flags="-i -m -n -p -u -U -C -T -f -r -c --mount --net --pid --user --ipc --uts --fork "
        "--map-root-user --mount-proc --kill-child",
        texts="-S -G",
        folders="-R -w --root --wd",
    ),
    wrapping("valgrind", flags="-q -v"),
    wrapping(
        "watch",
        wrapper=Wrapper(joined=True),
        flags="-b -d -e -g -t -c -x -p -w -r --differences --color --exec --beep --errexit "
        "--chgexit --no-title --precise --no-wrap",
        texts="-n -q --interval",
    ),
    wrapping(
        "watchexec",
        wrapper=Wrapper(joined=True),
        flags="-c -n -r -p -q -v -N -1 --clear --restart --postpone --quiet --verbose --no-shell "
        "--no-vcs-ignore",
        texts="-e -d -w -i -s -f -S -E -W --exts --watch --ignore --filter --signal --debounce "
        "--shell --on-busy-update",
    ),
    wrapping(
        "xargs",
        exact=True,
        gnu_prefix=True,
        wrapper=Wrapper(appends=True, passes_names=True),
        flags="-0 -r -t -p -x -o --null --no-run-if-empty --verbose --exit --open-tty "
        "--interactive --replace --max-lines --eof",
        texts="-I -n -P -s -L -d -a -E --max-args --max-procs --max-chars --delimiter --arg-file "
        "--process-slot-var",
        options=(Option("-i -e -l", value="joined"),),
    ),
    wrapping(
        "xvfb-run",
        flags="-a --auto-servernum",
        texts="-e -n -f -p -s -w --server-args --server-num",
    ),
    # Those that run others elsewhere, later or as another user.
    Program(
        "adb alacritty bsub clush colima daemon daemonize dsh fab foot gnome-terminal gtester "
        "incrontab kitty konsole ld.so multipass nix-store pdsh psexec pssh qsub run-parts runas "
        "sbatch setarch st start-stop-daemon wezterm xterm",
        elsewhere="command",
    ),
    Program("at", exact=True, elsewhere="command", runs_input="shell"),
    Program(
        "batch bwrap capsh cmd cmd.exe flatpak-spawn gdb limactl lldb login newgrp nsjail "
        "powershell.exe proot schroot wsl",
        elsewhere="command",
        runs_input="shell",
    ),
    Program("expect script su", elsewhere="command", runs_input="shell", code_options="-c"),
    Program("mosh nc rlogin rsh telnet", effect="network", elsewhere="command", runs_input="shell"),
    Program("ncat netcat socat", effect="network", elsewhere="command"),
    Program("nix-shell", elsewhere="command", runs_input="shell", code_options="--run"),
    Program(
        "ssh", version="--version -V", effect="network", elsewhere="command", runs_input="shell"
    ),
    wrapping("doas", wrapper=Wrapper(variables=True), flags="-n -L -s", texts="-u -C"),
    wrapping("gosu libfaketime pidproxy setuidgid su-exec", wrapper=Wrapper(operands_before=1)),
    wrapping("pkexec", texts="--user"),
    wrapping("runuser", code_options="-c", flags="-m -l -p", texts="-u -g -G -s -w --user --group"),
    wrapping(
        "setpriv",
        flags="--no-new-privs --clear-groups --keep-groups --init-groups --reset-env --dump",
        texts="--reuid --regid --ruid --euid --rgid --egid --groups --bounding-set --inh-caps "
        "--ambient-caps --securebits --selinux-label",
    ),
    Program(
        "sg",
        code_options="-c",
        wrapper=Wrapper(operands_before=1, named=True),
        options=(Option("-c", value="code"),),
    ),
    wrapping(
        "sudo",
        wrapper=Wrapper(variables=True),
        flags="-A -b -E -H -K -k -n -P -S -v --preserve-env --non-interactive --background "
        "--set-home --stdin --askpass --reset-timestamp",
        texts="-u -g -p -C -r -t -T -U -h --user --group --prompt --host --close-from "
        "--command-timeout",
        folders="-D -R --chdir --chroot",
        options=(Option("-i --login", effect="chdir"),),
    ),
)
