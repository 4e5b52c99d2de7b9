"""Files, folders and archives."""

from agent.permission.programs.record import Listing, Option, Program, printer, reader

_FD_OPTIONS = (
    Option(
        "-H -I -u -s -i -g -F -a -0 -p -1 -q --hidden --no-ignore --unrestricted --no-ignore-vcs "
        "--case-sensitive --ignore-case --glob --regex --fixed-strings --absolute-path "
        "--full-path --print0 --prune --quiet --show-errors --one-file-system --follow -L"
    ),
    Option(
        "-t -e -E -d -c -j -S --type --extension --exclude --max-depth --min-depth "
        "--exact-depth --color --threads --size --changed-within --changed-before --owner "
        "--max-results --path-separator",
        value="text",
    ),
    Option("--search-path --ignore-file", value="path"),
    Option("-l --list-details", effect="execute"),
    Option("-C --base-directory", effect="chdir", value="path"),
    Option("--exec -x --exec-batch -X", effect="execute", value="command"),
)
_CHECKSUM_OPTIONS = (Option("-b -t -z --binary --tag --text --zero"),)
_TAR_OPTIONS = (
    Option(
        "-t -z -j -J -Z -a -v -O --list --gzip --gunzip --bzip2 --xz --zstd --lzma --auto-compress "
        "--verbose --to-stdout --numeric-owner --full-time --wildcards --no-wildcards "
        "--ignore-case --block-number --show-stored-names --force-local"
    ),
    Option("--exclude --strip-components --occurrence --owner --group --mode", value="text"),
    Option("-f --file -X --exclude-from", value="path"),
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

_NEWER = "-anewer -cnewer -newer -samefile " + " ".join(
    f"-newer{left}{right}" for left in "aBcm" for right in "aBcm"
)
_FIND_TESTS = (
    "! ( ) , -H -P -a -and -daystart -depth -empty -executable -false -ignore_readdir_race -mount "
    "-nogroup -noleaf -not -nouser -nowarn -o -or -prune -quit -readable -true -warn -writable "
    "-xdev"
)
_FIND_VALUED = (
    "-amin -atime -cmin -ctime -fstype -gid -group -ilname -iname -inum -ipath -iregex "
    "-iwholename -links -lname -maxdepth -mindepth -mmin -mtime -name -path -perm -regex "
    "-regextype -size -type -uid -used -user -wholename -xtype -newerat -newerBt -newerct "
    "-newermt"
)

PROGRAMS = (
    printer("basename", complete=True, flags="-a -z --multiple --zero", texts="-s --suffix"),
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
    Program("cksum sum", always=1, effect="read", operands="read", flags="-r -s"),
    Program("cloc scc tokei", always=1),
    Program(
        "cp install ln mv",
        exact=True,
        effect="write",
        operands="copy",
        gnu_prefix=True,
        paths="-t --target-directory",
    ),
    Program("cpio", writes="--file -F -O", code="--rsh-command --rmt-command"),
    Program("csplit", writes="--prefix -f"),
    Program(
        "dd", exact=True, effect="write", operands="assigned", destructive=True, gnu_prefix=True
    ),
    reader(
        "df",
        flags="-a -h -H -i -k -l -m -P -T -v --all --human-readable --si --inodes --local "
        "--no-sync --sync --portability --print-type --total --output",
        texts="-B -t -x --block-size --type --exclude-type",
    ),
    printer("dirname", complete=True, flags="-z --zero"),
    Program(
        "du",
        always=1,
        effect="read",
        operands="folders",
        complete=True,
        flags="-0 -a -b -c -D -h -H -k -L -l -m -P -s -S -x --all --apparent-size --bytes "
        "--count-links --dereference --dereference-args --human-readable --inodes "
        "--no-dereference --null --one-file-system --separate-dirs --si --summarize --time "
        "--total",
        texts="-d -B -t -I --block-size --exclude --max-depth --threshold --time-style",
        paths="-X --exclude-from",
    ),
    Program(
        "exa eza",
        always=1,
        effect="read",
        operands="folders",
        flags="-1 -a -A -B -d -D -F -g -G -h -H -i -l -m -r -R -S -T -u -U -x --all --long --tree "
        "--oneline --grid --across --recurse --classify --color --icons --git --git-ignore "
        "--header --links --group --reverse --group-directories-first --only-dirs --only-files "
        "--no-permissions --no-filesize --no-user --no-time",
        texts="-L -s -t -I --level --sort --time --time-style --ignore-glob",
    ),
    Program(
        "fd fdfind",
        always=1,
        version="--version -V",
        effect="read",
        operands="pattern",
        syntax="fd",
        listings=(
            Listing(
                keeps="-H -I -u -s -i -g -F -0 -p -1 -t -e -E -d --hidden --no-ignore "
                "--case-sensitive --ignore-case --glob --fixed-strings --full-path --print0 "
                "--type --extension --exclude --max-depth --min-depth",
                nul="-0 --print0",
            ),
        ),
        options=_FD_OPTIONS,
    ),
    Program("fdisk mkswap parted wipefs", destructive=True),
    Program(
        "file",
        always=1,
        effect="read",
        operands="read",
        flags="-b -E -h -i -I -k -L -l -n -N -r -S -v -0 --brief --mime --mime-type "
        "--mime-encoding --extension --apple --keep-going --dereference --no-dereference "
        "--no-buffer --no-pad --print0 --raw",
        texts="-e -F -P --exclude --separator --parameter",
        reads="--magic-file -m --files-from -f",
        options=(Option("--compile -C", effect="write"),),
    ),
    Program(
        "find",
        always=1,
        effect="read",
        operands="folders",
        syntax="find",
        expression=True,
        gnu_prefix=True,
        clusters=False,
        listings=(
            Listing(
                keeps=f"{_FIND_TESTS} {_FIND_VALUED} {_NEWER} -print -print0 -exec",
                nul="-print0",
                prefixed=True,
            ),
        ),
        flags="-print -print0 -ls",
        texts="-D -printf",
        writes="-fprint -fprint0 -fls",
        reads="-files0-from",
        options=(
            Option(_FIND_TESTS),
            Option(_FIND_VALUED, value="text"),
            Option(_NEWER, value="path"),
            Option("-L -follow", effect="read"),
            Option("-delete", effect="write", destructive=True),
            Option("-fprintf", effect="write", value="path", length=2),
            Option("-exec -execdir -ok -okdir", effect="execute", value="command"),
        ),
    ),
    Program(
        "ls",
        always=1,
        listings=(
            Listing(
                keeps="-1 -a -A -d -r -t -S -X -U -v -c -u --all --almost-all --directory "
                "--reverse --sort --zero",
                nul="--zero",
            ),
        ),
        version="--version -V",
        effect="read",
        operands="folders",
        complete=True,
        gnu_prefix=True,
        flags="-b -B -c -C -d -D -f -F -g -G -h -H -i -k -l -L -m -n -N -o -O -p -q -Q -r -R -s "
        "-S -t -u -U -v -x -X -Z -1 -e --author --classify --color --context --dereference "
        "--dereference-command-line --directory --escape --file-type --full-time "
        "--group-directories-first --human-readable --hyperlink --ignore-backups --inode "
        "--kibibytes --literal --no-group --numeric-uid-gid --quote-name --recursive --reverse "
        "--si --size --zero",
        texts="-I -T -w --block-size --format --hide --ignore --indicator-style --quoting-style "
        "--sort --tabsize --time --time-style --width",
        options=(Option("-a -A --all --almost-all", reach="hidden"),),
    ),
    reader(
        "b2sum md5sum sha1sum sha224sum sha256sum sha384sum sha512sum", options=_CHECKSUM_OPTIONS
    ),
    Program("mkdir touch", always=1, effect="write", operands="write", gnu_prefix=True),
    Program("mkfifo mknod", effect="write", operands="write"),
    Program("mkfs", exact=True, destructive=True),
    Program("patch", exact=True, effect="write", operands="change"),
    reader(
        "readlink",
        flags="-f -e -m -n -q -s -v -z --canonicalize --canonicalize-existing "
        "--canonicalize-missing --no-newline --quiet --silent --verbose --zero",
    ),
    Program(
        "realpath",
        always=1,
        effect="read",
        operands="read",
        flags="-e -L -m -P -q -s -z --canonicalize-existing --canonicalize-missing --logical "
        "--no-symlinks --physical --quiet --strip --zero",
        paths="--relative-base --relative-to",
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
        texts="-a --algorithm",
        options=_CHECKSUM_OPTIONS,
    ),
    Program("split", gnu_prefix=True, code="--filter"),
    reader(
        "stat",
        flags="-L -l -n -q -r -s -t -x --dereference --file-system --terse",
        texts="-c --format --printf --cached",
        options=(Option("-f", value="joined"),),
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
        flags="-a -A -c -C -d -D -f -F -g -h -i -J -l -n -N -p -q -Q -r -s -S -t -u -U -v -x -X "
        "--dirsfirst --filesfirst --du --gitignore --ignore-case --inodes --device --matchdirs "
        "--nolinks --noreport --prune --si --sort",
        texts="-L -I -P -T --charset --filelimit --timefmt",
        writes="-o",
        options=(Option("--fromfile", effect="read"), Option("-R", effect="write")),
    ),
    Program(
        "unzip",
        exact=True,
        effect="write",
        operands="change",
        reads_with="-l -t -z -p -c -v -Z",
        flags="-l -t -z -p -c -v -Z -q -C -a -1 -2 -s -m -h",
    ),
    Program("whereis", effect="read", operands="text", flags="-b -m -s"),
    printer("which", flags="-a -s"),
    Program(
        "zipinfo", always=1, effect="read", operands="one", flags="-1 -2 -s -m -l -v -h -z -t -C"
    ),
    Program(
        "zip", exact=True, code="--unzip-command", options=(Option("--test -T", effect="execute"),)
    ),
)
