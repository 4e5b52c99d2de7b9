"""Flags by which programs run other programs, read code or write files (security facts, 7.2).

Names that begin with a dash are whole flags, the others are single letters. Sources: the manual
pages, and the public catalogue of programs that get around restricted shells.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Flags:
    """Dangerous flags of one program: whole *long* names and *short* letters."""

    long: tuple[str, ...] = ()
    short: str = ""

    def hit(self, text: str) -> bool:
        """Whether *text* is one of the flags, shortened or with a value joined to it."""
        name = re.split("[=:]", text, maxsplit=1)[0]
        if text.startswith("--"):
            return any(flag == name or (len(name) > 2 and flag.startswith(name))
                       for flag in self.long)  # fmt: skip
        if text.startswith("-"):
            return name in self.long or any(letter in text[1:] for letter in self.short)
        return False


def _flags(text: str) -> Flags:
    names = text.split()
    long = tuple(name for name in names if name.startswith("-"))
    return Flags(long, "".join(name for name in names if not name.startswith("-")))


FLAGS = {
    "sort": _flags("--compress-program --output --temporary-directory --files0-from o T"),
    "jobs": _flags("x"), "split": _flags("--filter"), "csplit": _flags("--prefix f"),
    "shuf": _flags("--output o"), "iconv": _flags("--output o"),
    "rg": _flags("--pre --hostname-bin"),
    "ack": _flags("--pager --ackrc --files-from"), "ag": _flags("--pager"),
    "scp": _flags("o F S J"), "sftp": _flags("o F S b J D"),
    "rsync": _flags("--rsh --rsync-path --log-file --files-from --daemon --config --partial-dir "
                    "--temp-dir --backup-dir e M"),
    "man": _flags("--pager --html --config-file --local-file P H C l"),
    "less": _flags("--log-file --LOG-FILE --lesskey-file --lesskey-src --tag-file o O k T"),
    "bat": _flags("--pager --generate-config-file"), "delta": _flags("--pager"),
    "zip": _flags("--unzip-command --test -TT T"),
    "cpio": _flags("--rsh-command --rmt-command --file F O"),
    "make": _flags("--eval --file --makefile f E"), "just": _flags("--shell --justfile f"),
    "rake": _flags("--execute --require e p E r"),
    "cmake": _flags("-P -E -C --toolchain"), "ctest": _flags("-S --script --build-and-test"),
    "go": _flags("-exec -toolexec -vettool -overlay --exec --toolexec --vettool -C -modfile"),
    "cargo": _flags("--config C"), "rustc": _flags("C Z o"),
    "javac": _flags("-processor -processorpath -J"),
    "java": _flags("-javaagent -agentpath -agentlib -XX"),
    **dict.fromkeys(("gcc", "g++", "cc", "c++"), _flags("-wrapper -specs -fplugin -B")),
    **dict.fromkeys(("clang", "clang++"), _flags("-fplugin -load -Xclang -B")),
    "ld": _flags("--plugin -plugin"),
    "npm": _flags("--script-shell --node-options --globalconfig --userconfig --call c"),
    "pnpm": _flags("--script-shell --config"), "yarn": _flags("--use-yarnrc"),
    "pip": _flags("--python --config-settings --global-option --build-option --target"),
    "gem": _flags("--editor --config-file e"), "pylint": _flags("--init-hook --load-plugins"),
    "mvn": _flags("--settings --global-settings -s -gs"),
    "gradle": _flags("--init-script --build-file --settings-file I b c"),
    "eslint": _flags("--rulesdir --output-file o"), "ruff": _flags("--output-file o"),
    "curl": _flags("--config --upload-file --proxy --preproxy --remote-name --remote-name-all "
                   "--remote-header-name --next --output-dir --dump-header --cookie-jar --trace "
                   "--trace-ascii --libcurl --stderr --netrc-file --engine --unix-socket "
                   "--etag-save --hsts --alt-svc --doh-url K T x O J D c"),
    "wget": _flags("--input-file --use-askpass --execute --config --directory-prefix --output-file "
                   "--append-output --post-file --body-file --save-cookies --warc-file i e P o a"),
    "aria2c": _flags("--on-download-complete --on-download-error --on-download-start --conf-path "
                     "--input-file --dir --out d o i"),
    "mysql": _flags("--pager --execute --defaults-file --init-command --tee e"),
    "mongosh": _flags("--eval --file f"), "redis-cli": _flags("--eval --rdb"),
    "psql": _flags("--command --file --output --log-file c f o L"),
    "jq": _flags("--from-file --rawfile --slurpfile -L f"),
    "yq": _flags("--inplace --from-file --split-exp i s"), "xmllint": _flags("--output --shell"),
    "tcpdump": _flags("z w F"), "tshark": _flags("w X"),
    "nmap": _flags("--script --datadir -oN -oX -oG -oA -iL"),
    "openssl": _flags("-engine -provider -provider-path -out -writerand -config"),
    "date": _flags("--set --file --reference s f r"), "tree": _flags("-o --fromfile R"),
    "file": _flags("--compile --magic-file --files-from C m f"),
    "journalctl": _flags("--rotate --vacuum-size --vacuum-time --vacuum-files --flush"),
    "dmesg": _flags("--clear --console-off --file C c D F n"),
    "kubectl": _flags("--kubeconfig --server --token --as"),
    "helm": _flags("--post-renderer --kubeconfig --kube-apiserver --kube-token"),
    "terraform": _flags("-plugin-dir"), "aws": _flags("--endpoint-url"),
    "docker": _flags("--host --context --config H"), "systemctl": _flags("--host --root H M"),
    "gpg": _flags("--photo-viewer --exec-path --output --keyserver-options --homedir o"),
    "exiftool": _flags("-config -if -p -w -o -execute"), "ffmpeg": _flags("-report"),
    "pandoc": _flags("--filter --lua-filter --output --pdf-engine --extract-media o F L"),
    **dict.fromkeys(("tex", "latex", "pdflatex", "xelatex", "lualatex", "pdftex"),
                    _flags("-shell-escape --shell-escape -enable-write18")),
    "dpkg": _flags("--root --pre-invoke --post-invoke --admindir"),
    **dict.fromkeys(("apt", "apt-get"), _flags("--option --config-file o c")),
    **dict.fromkeys(("dnf", "yum"), _flags("--config --setopt --installroot c")),
    "rpm": _flags("--eval --pipe --define --root E D r"), "ip": _flags("-batch -b"),
    "dig": _flags("f k"), "fping": _flags("f"), "ss": _flags("--diag F D K"),
    "nano": _flags("--speller s"), "logrotate": _flags("--log --state l s"),
    "ctags": _flags("--options f o"), "gimp": _flags("--batch b"),
    "fzf": _flags("--preview --bind --listen --with-shell"),
    "octave": _flags("--eval"), "dc": _flags("--expression --file e f"),
    "restic": _flags("--password-command -o"), "cowsay": _flags("f"), "cobc": _flags("x o"),
    "puppet": _flags("--execute e"), "smbclient": _flags("--command c"),
    "ssh-keygen": _flags("D f Y"), "update-alternatives": _flags("--install --force"),
}  # fmt: skip
"""By program; ``cc`` counts for ``cc-12`` and the like too."""
