"""Programs that run others elsewhere, later or as another user."""

from agent.permission.programs.record import Program

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
)
