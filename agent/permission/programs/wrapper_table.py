"""Programs that run what follows them: their flags, and where the program stands.

What is not listed is not known: an unknown flag makes the line ask. Sources: the manual pages
of the programs; security facts, 7.1.
"""

from dataclasses import dataclass

from agent.permission.syntax.lexicon import names


@dataclass(frozen=True, slots=True)
class Wrapper:
    """*flags* stand alone, *values* take the next word (or are joined), *skip* operands come
    before the program. *code* are flags whose value is shell code.

    *inert* wrappers need no rule of their own; *fed* ones add arguments at run time; *joined*
    ones hand all operands together to a shell, *each* every operand by itself; *sets* take
    variables in front. *moves* matches a flag or operand that has the program run in another
    folder.
    """

    flags: str = ""
    values: str = ""
    long: str = ""
    long_values: str = ""
    skip: int = 0
    inert: bool = False
    fed: bool = False
    code: str = ""
    joined: bool = False
    each: bool = False
    sets: bool = False
    moves: str = ""


_PLAIN = Wrapper()

WRAPPERS = {
    "nohup": Wrapper(inert=True),
    "nice": Wrapper(values="n", long_values="--adjustment", inert=True),
    "timeout": Wrapper("v", "ks", "--foreground --preserve-status --verbose",
                       "--kill-after --signal", skip=1, inert=True),
    "stdbuf": Wrapper(values="ioe", long_values="--input --output --error", inert=True),
    "command": Wrapper("p", inert=True),
    "builtin": _PLAIN,
    "time": Wrapper("apqvV", "fo", "--append --portability --quiet --verbose",
                    "--format --output"),
    "exec": Wrapper("cl", "a"),
    "sudo": Wrapper("AbEHKknPSvi", "ugpCrtTUhDR", "--preserve-env --non-interactive --login "
                    "--background --set-home --stdin --askpass --reset-timestamp",
                    "--user --group --chdir --prompt --host --chroot --close-from "
                    "--command-timeout", sets=True,
                    moves=r"-[a-zA-Z]*[iDR]|--chdir|--chroot|--login"),
    "doas": Wrapper("nLs", "uC", sets=True),
    "env": Wrapper("i0v", "uC", "--ignore-environment --null --debug", "--unset --chdir",
                   code="-S --split-string", sets=True, moves="-[i0v]*C|--chdir"),
    "cross-env": Wrapper(sets=True), "cross-env-shell": Wrapper(sets=True, joined=True),
    "env-cmd": Wrapper(values="fer", long="--silent --verbose --expand-envs --no-override "
                       "--fallback --use-shell -x", long_values="--file --environments"),
    "ionice": Wrapper("t", "cnpPu", "--ignore", "--class --classdata"),
    "setsid": Wrapper("cfw", long="--ctty --fork --wait"),
    "chrt": Wrapper("bdfiroRa", "TPD", skip=1),
    "taskset": Wrapper("ac", long="--all-tasks --cpu-list", skip=1),
    "choom": Wrapper("", "n", "", "--adjust"), "prlimit": Wrapper("v", "o"),
    "cpulimit": Wrapper("fimqvz", "lce", "--foreground --include-children --lazy --quiet "
                        "--verbose --kill", "--limit --cpu"),
    "flock": Wrapper("sxneuoF", "wE", "--nonblock --shared --exclusive --close --unlock "
                     "--no-fork --verbose", "--timeout --conflict-exit-code", skip=1,
                     code="-c --command"),
    "xargs": Wrapper(
        "0rtpxoie", "InPsLdaE",
        "--null --no-run-if-empty --verbose --exit --open-tty --interactive --replace "
        "--max-lines --eof",
        "--max-args --max-procs --max-chars --delimiter --arg-file --process-slot-var",
        fed=True,
    ),
    "watch": Wrapper("bdegtcxpwr", "nq", "--differences --color --exec --beep --errexit "
                     "--chgexit --no-title --precise --no-wrap", "--interval", joined=True),
    "parallel": Wrapper("kqXm0u", "jINnaSLPd", "--keep-order --dry-run --bar --progress --verbose "
                        "--will-cite --null --ungroup --line-buffer --eta --halt-on-error --tag",
                        "--jobs --colsep --joblog --arg-file --delay --retries --timeout --halt "
                        "--results --max-args", fed=True, joined=True),
    "sem": Wrapper("", "j", "--fg --bg", "--id --jobs", joined=True),
    "busybox": _PLAIN, "toybox": _PLAIN,
    "strace": Wrapper("fFqvdhTtcCwyiknDVxz", "eOsSauPbIEo"),
    "ltrace": Wrapper("fSLitTrcC", "epsnulAabo"),
    **{name: Wrapper("RvBFILSTXZ3", long="--verbose --addr-no-randomize")
       for name in ("linux32", "linux64", "i386", "i686", "x86_64")},
    "nsenter": Wrapper("mupUiCnTaFrw", "tSGN", "--mount --net --pid --user --ipc --uts --all",
                       "--target --setuid --setgid", moves="-[a-zA-Z]*[rw]|--root|--wd"),
    "fakeroot": Wrapper("uh", "lsibf"), "fakechroot": Wrapper("s", "lecbd"),
    "xvfb-run": Wrapper("a", "enfpsw", "--auto-servernum", "--server-args --server-num"),
    "pkexec": Wrapper(long_values="--user"),
    "firejail": Wrapper("q", "", "--quiet --net --noprofile --private"),
    "gosu": Wrapper(skip=1), "su-exec": Wrapper(skip=1), "setuidgid": Wrapper(skip=1),
    "chpst": Wrapper("vP012", "uUbenmdofptcr/"), "softlimit": Wrapper("", "dsmlafoprtc"),
    "catchsegv": _PLAIN, "dbus-run-session": Wrapper(long_values="--config-file"),
    "dbus-launch": Wrapper(long="--exit-with-session --sh-syntax --auto-syntax"),
    "faketime": Wrapper("mp", "f", skip=1), "libfaketime": Wrapper(skip=1),
    "chronic": Wrapper("ev"), "ts": Wrapper("nfmd", "LSD"), "tsp": Wrapper("nfmd", "LSD"),
    "entr": Wrapper("acdnprxz", "", code="-s"), "valgrind": Wrapper("qv"),
    "screen": Wrapper("dmDAqRxLU", "SecThTps"), "dtach": Wrapper("Ez", "cAnrN"),
    "ssh-agent": Wrapper("csDd", "atE"), "logsave": Wrapper("asv", skip=1),
    "unbuffer": Wrapper("p"), "rlwrap": Wrapper("acnrimWN", "CDFHPSbfloqstzw"),
    "winpty": _PLAIN, "wine": _PLAIN, "mono": _PLAIN,
    "caffeinate": Wrapper("dimsu", "tw"), "torsocks": Wrapper("iqd", "uPap"), "torify": _PLAIN,
    "tsocks": _PLAIN, "arch": Wrapper(long="-x86_64 -arm64 -arm64e -i386"),
    "proxychains": Wrapper("q", "f"), "proxychains4": Wrapper("q", "f"),
    "unshare": Wrapper("imnpuUCTfrc", "RwSG", "--mount --net --pid --user --ipc --uts --fork "
                       "--map-root-user --mount-proc --kill-child", "--root --wd",
                       moves="-[a-zA-Z]*[wR]|--root|--wd"),
    "chroot": Wrapper(long="--skip-chdir", long_values="--userspec --groups", skip=1,
                      moves=".*"),
    "runuser": Wrapper("mlp", "ugGsw", long_values="--user --group"),
    "setpriv": Wrapper("", "", "--no-new-privs --clear-groups --keep-groups --init-groups "
                       "--reset-env --dump",
                       "--reuid --regid --ruid --euid --rgid --egid --groups --bounding-set "
                       "--inh-caps --ambient-caps --securebits --selinux-label"),
    "noglob": _PLAIN, "nocorrect": _PLAIN, "systemd-inhibit": Wrapper(
        long_values="--what --who --why --mode"),
    "systemd-run": Wrapper("tPqdGr", "puMH", "--user --scope --wait --pty --pipe --quiet "
                           "--collect --no-block --same-dir --remain-after-exit --system",
                           "--unit --property --uid --gid --setenv --slice --description "
                           "--working-directory --machine --on-active --on-calendar",
                           moves="--working-directory"),
    "mpirun": Wrapper("qv", "nHx", "--oversubscribe --allow-run-as-root", "--np --host -np"),
    "mpiexec": Wrapper("qv", "nH", "", "-np"), "srun": Wrapper("", "nNpcGt"),
    "npx": Wrapper("yq", "p", "--yes --no --no-install --quiet --ignore-existing", "--package",
                   code="-c --call"),
    "bunx": Wrapper(long="--bun --silent"), "pnpx": _PLAIN,
    "uvx": Wrapper("qn", "p", "--quiet --no-cache --isolated --offline",
                   "--from --with --python --index-url"),
    "watchexec": Wrapper("cnrpqvN1", "edwisfSEW", "--clear --restart --postpone --quiet "
                         "--verbose --no-shell --no-vcs-ignore",
                         "--exts --watch --ignore --filter --signal --debounce --shell "
                         "--on-busy-update", joined=True),
    "concurrently": Wrapper("rgk", "nclps", "--raw --kill-others --kill-others-on-fail --group "
                            "--no-color --pad-prefix --hide",
                            "--names --prefix --prefix-colors --success --max-processes "
                            "--restart-tries --timings --default-input-target", each=True),
    "hyperfine": Wrapper("iN", "wmMrScnLPDpu",
                         "--ignore-failure --show-output --time-unit --style",
                         "--warmup --runs --min-runs --max-runs --shell --command-name "
                         "--parameter-list --parameter-scan --export-json --export-markdown "
                         "--export-csv --output --reference", each=True,
                         code="--prepare --setup --cleanup --conclude"),
    "dumb-init": Wrapper("cv", "r"), "tini": Wrapper("svgw", "pe"), "pidproxy": Wrapper(skip=1),
}  # fmt: skip
"""By base name."""

_YES = "--yes --no --"

RUNNERS: dict[tuple[str, ...], Wrapper] = {
    ("uv", "run"): Wrapper("qnv", "p", "--quiet --frozen --locked --no-sync --isolated --active "
                           "--all-extras --no-project --offline --no-dev --dev --exact --verbose "
                           "--all-groups --all-packages --no-cache",
                           "--extra --group --python --with --package --project --directory "
                           "--env-file --with-requirements --with-editable --no-group "
                           "--only-group", moves="--directory"),
    ("uv", "tool", "run"): Wrapper("q", "", "--quiet", "--from --with --python"),
    ("poetry", "shell"): _PLAIN, ("pipenv", "shell"): _PLAIN, ("hatch", "shell"): _PLAIN,
    ("poetry", "run"): _PLAIN, ("pdm", "run"): Wrapper("sv", "p"), ("pipenv", "run"): _PLAIN,
    ("rye", "run"): _PLAIN, ("hatch", "run"): _PLAIN, ("pixi", "run"): Wrapper("q", "e"),
    ("bundle", "exec"): Wrapper(long="--keep-file-descriptors"),
    ("pipx", "run"): Wrapper("", "", "--quiet", "--spec --python"),
    ("npm", "exec"): Wrapper("", "wp", _YES, "--package --workspace", code="-c --call"),
    ("npm", "x"): Wrapper("", "wp", _YES, "--package --workspace", code="-c --call"),
    ("pnpm", "exec"): Wrapper("rc", "", "--parallel --recursive --shell-mode"),
    ("pnpm", "dlx"): Wrapper("c", "", "--silent", "--package"),
    ("yarn", "exec"): _PLAIN, ("yarn", "dlx"): Wrapper("q", "p", "--quiet", "--package"),
    ("bun", "x"): Wrapper(long="--bun --silent"), ("deno", "x"): _PLAIN,
    ("mise", "exec"): _PLAIN, ("mise", "x"): _PLAIN,
    ("dotenv", "run"): _PLAIN, ("dotenv",): Wrapper("qo", "efpc"),
    ("dotenvx", "run"): Wrapper("q", "fk"), ("direnv", "exec"): Wrapper(skip=1),
    ("conda", "run"): Wrapper("v", "np", "--no-capture-output --live-stream", "--cwd",
                             moves="--cwd"),
    ("mamba", "run"): Wrapper("v", "np"), ("micromamba", "run"): Wrapper("", "np"),
    ("nix", "run"): _PLAIN, ("ip", "netns", "exec"): Wrapper(skip=1),
    ("ip", "vrf", "exec"): Wrapper(skip=1),
    ("pyenv", "exec"): _PLAIN, ("rbenv", "exec"): _PLAIN, ("nodenv", "exec"): _PLAIN,
    ("asdf", "exec"): _PLAIN, ("nvm", "exec"): Wrapper(skip=1), ("fnm", "exec"): Wrapper(
        long_values="--using"), ("volta", "run"): Wrapper(long_values="--node --npm --yarn"),
    ("rustup", "run"): Wrapper(long="--install", skip=1),
    ("tox", "exec"): Wrapper(values="e"), ("perf", "stat"): Wrapper("adv", "erxo"),
    ("perf", "record"): Wrapper("ag", "eFo"),
    ("op", "run"): Wrapper(long="--no-masking", long_values="--env-file"),
    ("doppler", "run"): Wrapper("", "pc", "", "--project --config", code="--command"),
    ("infisical", "run"): Wrapper(long_values="--env --path", code="--command"),
    ("aws-vault", "exec"): Wrapper("ns", "d", "--no-session --server", "--duration", skip=1),
    ("chamber", "exec"): Wrapper(skip=1), ("heroku", "run"): Wrapper("x", "as"),
    ("heroku", "local:run"): Wrapper("", "ep"), ("dev", "exec"): _PLAIN, ("devbox", "run"): Wrapper(
        "q", "c"), ("devenv", "shell"): _PLAIN,
    ("tmux", "new-session"): Wrapper("AdDEPX", "cefFnstxy", joined=True),
    ("tmux", "new"): Wrapper("AdDEPX", "cefFnstxy", joined=True),
    ("tmux", "new-window"): Wrapper("abdkPS", "ceFnt", joined=True),
    ("tmux", "neww"): Wrapper("abdkPS", "ceFnt", joined=True),
    ("tmux", "split-window"): Wrapper("bdfhIvPZ", "celtF", joined=True),
    ("tmux", "respawn-pane"): Wrapper("k", "cet", joined=True),
    ("tmux", "run-shell"): Wrapper("bC", "cdt", joined=True),
    ("tmux", "send-keys"): Wrapper("FHKlMRX", "Nt", each=True),
    ("tmux", "send"): Wrapper("FHKlMRX", "Nt", each=True),
    ("cargo", "watch"): Wrapper("cqn", "xwidB", "--clear --why --postpone --no-gitignore",
                                "--exec --watch --ignore --delay --features", code="-s --shell"),
    ("git", "bisect", "run"): _PLAIN,
    ("git", "submodule", "foreach"): Wrapper("q", "", "--recursive --quiet", joined=True),
    ("git", "for-each-repo"): Wrapper(long_values="--config"),
    ("gcloud", "compute", "ssh"): Wrapper(skip=1), ("sg",): Wrapper(skip=1, code="-c"),
}  # fmt: skip
"""By the first words, the longest match first."""

SHELLS = names("sh bash dash zsh ksh mksh ash fish rbash yash csh tcsh posh elvish nu xonsh oksh")

POSIX = names("sh bash dash ash ksh mksh oksh rbash posh")
"""Shells whose code is read here as bash would."""

OPAQUE = names(
    "ssh su script docker podman nerdctl kubectl oc gdb lldb nix nix-shell nix-store vagrant adb "
    "lxc incus lxc-attach machinectl multipass wsl limactl colima expect socat nc ncat netcat "
    "nodemon chokidar npm-run-all run-p run-s turbowatch start-stop-daemon daemonize daemon at "
    "batch crontab capsh run-parts gtester ansible ansible-console salt pssh pdsh clush fab "
    "sbatch qsub bsub ld.so osascript runas psexec cmd powershell.exe cmd.exe mosh rsh rlogin "
    "telnet lftp ftp sftp dsh xterm gnome-terminal konsole kitty alacritty wezterm foot st "
    "setarch incrontab nsjail bwrap systemd-nspawn flatpak-spawn distrobox toolbox newgrp login "
    "schroot proot"
)
"""Run something elsewhere, as someone else, later or in a way that is not followed."""
