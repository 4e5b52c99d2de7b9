"""Programs that run a command as another user."""

from agent.permission.programs.record import Option, Program, Wrapper

PROGRAMS = (
    Program(
        "doas",
        operands="command",
        wrapper=Wrapper(variables=True),
        options=(
            Option("-n -L -s"),
            Option("-u -C", value="text"),
        ),
    ),
    Program(
        "gosu libfaketime pidproxy setuidgid su-exec",
        operands="command",
        wrapper=Wrapper(operands_before=1),
    ),
    Program(
        "pkexec",
        operands="command",
        wrapper=Wrapper(),
        options=(Option("--user", value="text"),),
    ),
    Program(
        "runuser",
        operands="command",
        code_options="-c",
        wrapper=Wrapper(),
        options=(
            Option("-m -l -p"),
            Option("-u -g -G -s -w --user --group", value="text"),
        ),
    ),
    Program(
        "setpriv",
        operands="command",
        wrapper=Wrapper(),
        options=(
            Option("--no-new-privs --clear-groups --keep-groups --init-groups --reset-env --dump"),
            Option(
                "--reuid --regid --ruid --euid --rgid --egid --groups "
                "--bounding-set --inh-caps --ambient-caps --securebits "
                "--selinux-label",
                value="text",
            ),
        ),
    ),
    Program(
        "sg",
        code_options="-c",
        wrapper=Wrapper(operands_before=1, named=True),
        options=(Option("-c", value="code"),),
    ),
    Program(
        "sudo",
        operands="command",
        wrapper=Wrapper(variables=True),
        options=(
            Option(
                "-A -b -E -H -K -k -n -P -S -v --preserve-env --non-interactive "
                "--background --set-home --stdin --askpass --reset-timestamp"
            ),
            Option(
                "-u -g -p -C -r -t -T -U -h --user --group --prompt --host "
                "--close-from --command-timeout",
                value="text",
            ),
            Option("-i --login", effect="chdir"),
            Option("-D -R --chdir --chroot", effect="chdir", value="text"),
        ),
    ),
)
