"""Programs that run others elsewhere, later or as another user."""

from agent.permission.programs.record import Option, Program, Wrapper, wrapping

PROGRAMS = (
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
