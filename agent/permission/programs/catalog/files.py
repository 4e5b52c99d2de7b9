"""Files, folders and archives."""

from agent.permission.programs.record import Option, Program

_TAR_OPTIONS = (
    Option("-T --files-from", effect="read", value="path"),
    Option("-C --directory", effect="chdir", value="path"),
    Option("-P --absolute-names", effect="write"),
    Option("--index-file", effect="write", value="path"),
    Option(
        "--checkpoint-action --to-command -I --use-compress-program -F "
        "--info-script --new-volume-script --rsh-command --rmt-command",
        effect="execute",
        value="code",
    ),
)

PROGRAMS = (
    Program(
        "basename",
        always=1,
        effect="read",
        operands="text",
        options=(
            Option("-a -z"),
            Option("-s", value="text"),
        ),
    ),
    Program("bsdtar", syntax="tar", options=_TAR_OPTIONS),
    Program(
        "chgrp",
        exact=True,
        effect="write",
        operands="mode",
        options=(Option("-R --recursive", destructive=True),),
    ),
    Program(
        "chmod chown",
        exact=True,
        effect="write",
        operands="mode",
        gnu_prefix=True,
        options=(Option("-R --recursive", destructive=True),),
    ),
    Program("cksum", always=1, effect="read", operands="read"),
    Program("cloc exa eza scc tokei", always=1),
    Program("cp install ln mv", exact=True, effect="write", operands="copy", gnu_prefix=True),
    Program(
        "cpio",
        options=(
            Option("--file -F -O", effect="write", value="path"),
            Option("--rsh-command --rmt-command", effect="execute", value="code"),
        ),
    ),
    Program("csplit", options=(Option("--prefix -f", effect="write", value="path"),)),
    Program(
        "dd",
        exact=True,
        effect="write",
        operands="assigned",
        destructive=True,
        gnu_prefix=True,
    ),
    Program(
        "df",
        always=1,
        effect="read",
        operands="read",
        options=(
            Option("-a -h -H -i -k -l -m -P -T --human-readable --print-type --total"),
            Option("-B -t", value="text"),
        ),
    ),
    Program("dirname", always=1, effect="read", operands="text", options=(Option("-z"),)),
    Program(
        "du",
        always=1,
        effect="read",
        operands="folders",
        options=(
            Option(
                "-0 -a -b -c -h -H -k -l -m -s -S -x --all --apparent-size "
                "--exclude --human-readable --max-depth --summarize --threshold "
                "--total"
            ),
            Option("-d -B -t", value="text"),
        ),
    ),
    Program(
        "fd",
        always=1,
        version="--version -V",
        syntax="fd",
        options=(Option("--exec -x --exec-batch -X", effect="execute", value="unknown"),),
    ),
    Program(
        "fdfind",
        syntax="fd",
        options=(Option("--exec -x --exec-batch -X", effect="execute", value="unknown"),),
    ),
    Program("fdisk mkswap parted wipefs", destructive=True),
    Program(
        "file",
        always=1,
        effect="read",
        operands="read",
        options=(
            Option("-b -L -h -i -k -r -N -0"),
            Option("--magic-file -m --files-from -f", effect="read", value="path"),
            Option("--compile -C", effect="write"),
        ),
    ),
    Program(
        "find",
        always=1,
        effect="read",
        operands="folders",
        syntax="find",
        gnu_prefix=True,
        clusters=False,
        options=(
            Option(
                "! ( ) , -H -P -a -and -daystart -depth -empty -executable -false "
                "-ignore_readdir_race -ls -mount -nogroup -noleaf -not -nouser "
                "-nowarn -o -or -print -print0 -prune -quit -readable -true -warn "
                "-writable -xdev"
            ),
            Option(
                "-amin -atime -cmin -ctime -fstype -gid -group -ilname -iname -inum "
                "-ipath -iregex -iwholename -links -lname -maxdepth -mindepth -mmin "
                "-mtime -name -newerct -newermt -path -perm -printf -regex "
                "-regextype -size -type -uid -used -user -wholename -xtype",
                value="text",
            ),
            Option("-anewer -cnewer -newer -samefile", value="path"),
            Option("-files0-from", effect="read", value="unknown"),
            Option("-delete", effect="write", destructive=True),
            Option("-fprint -fprint0 -fprintf -fls", effect="write", value="unknown"),
            Option("-exec -execdir -ok -okdir", effect="execute", value="unknown"),
        ),
    ),
    Program(
        "ls",
        always=1,
        version="--version -V",
        effect="read",
        operands="folders",
        gnu_prefix=True,
        options=(
            Option(
                "-a -A -b -B -c -C -d -f -F -g -G -h -H -i -k -l -m -n -N -o -p -q "
                "-Q -r -R -s -S -t -u -U -v -x -X -Z -1 --all --almost-all "
                "--classify --color --directory --format --full-time "
                "--group-directories-first --hide --human-readable --ignore --inode "
                "--numeric-uid-gid --recursive --reverse --size --sort --time "
                "--time-style"
            ),
            Option("-I -T -w", value="text"),
        ),
    ),
    Program(
        "md5sum sha1sum sha256sum sha512sum",
        always=1,
        effect="read",
        operands="read",
        options=(Option("-b -t"),),
    ),
    Program("mkdir touch", always=1, effect="write", operands="write", gnu_prefix=True),
    Program("mkfifo mknod", effect="write", operands="write"),
    Program("mkfs", exact=True, destructive=True),
    Program("patch unzip", exact=True, effect="write", operands="change"),
    Program(
        "readlink",
        always=1,
        effect="read",
        operands="read",
        options=(Option("-f -e -m -n -q -s -v -z"),),
    ),
    Program(
        "realpath",
        always=1,
        effect="read",
        operands="read",
        options=(
            Option("-e -L -m -P -q -s -z --canonicalize-missing --relative-base --relative-to"),
        ),
    ),
    Program(
        "rm rmdir shred truncate",
        exact=True,
        effect="write",
        operands="write",
        destructive=True,
        gnu_prefix=True,
    ),
    Program(
        "shasum",
        effect="read",
        operands="read",
        options=(
            Option("-b -t"),
            Option("-a", value="text"),
        ),
    ),
    Program(
        "split",
        gnu_prefix=True,
        options=(Option("--filter", effect="execute", value="code"),),
    ),
    Program(
        "stat",
        always=1,
        effect="read",
        operands="read",
        options=(
            Option("-L -f -t --format --printf"),
            Option("-c", value="text"),
        ),
    ),
    Program(
        "tar",
        exact=True,
        version="--version -V",
        effect="write",
        operands="change",
        syntax="tar",
        gnu_prefix=True,
        options=_TAR_OPTIONS,
    ),
    Program("tee", exact=True, effect="write", operands="write", syntax="tee", gnu_prefix=True),
    Program(
        "tree",
        always=1,
        effect="read",
        operands="folders",
        options=(
            Option(
                "-a -d -f -i -C -D -h -g -n -N -p -q -r -s -t -u -v -x -F "
                "--dirsfirst --du --gitignore --noreport --prune --sort"
            ),
            Option("-L -I -P", value="text"),
            Option("--fromfile", effect="read", value="path"),
            Option("-o", effect="write", value="path"),
            Option("-R", effect="write"),
        ),
    ),
    Program("whereis", effect="read", operands="text", options=(Option("-b -m -s"),)),
    Program("which", always=1, effect="read", operands="text", options=(Option("-a -s"),)),
    Program(
        "zip",
        exact=True,
        options=(
            Option("--unzip-command", effect="execute", value="code"),
            Option("--test -T", effect="execute"),
        ),
    ),
)
