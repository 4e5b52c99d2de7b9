"""The flags of programs that are known to only read; see ``readonly``."""

from dataclasses import dataclass, field
from typing import Literal

from agent.permission.syntax.lexicon import names

Operands = Literal["paths", "text", "pattern", "none", "one"]
"""What the operands are: files, plain text, a pattern and then files, nothing, one file."""


@dataclass(frozen=True, slots=True)
class Spec:
    """*short* flags stand alone, *value* flags take a value, *files* flags take a path.

    *long* flags may have a value after ``=``; *taking* ones take the next word too, and
    *long_files* a path.
    """

    operands: Operands
    short: str = ""
    value: str = ""
    files: str = ""
    long: frozenset[str] = field(default_factory=frozenset[str])
    taking: frozenset[str] = field(default_factory=frozenset[str])
    recursive: str = ""
    long_files: frozenset[str] = field(default_factory=frozenset[str])


def _spec(
    operands: Operands, short: str = "", value: str = "", long: str = "", taking: str = "",
    *, files: str = "", recursive: str = "", long_files: str = "",
) -> Spec:  # fmt: skip
    names = frozenset(f"--{name}" for name in long.split())
    takes = frozenset(f"--{name}" for name in taking.split())
    paths = frozenset(f"--{name}" for name in long_files.split())
    takes |= paths
    return Spec(operands, short, value, files, names | takes, takes, recursive, paths)


_GREP_LONG = (
    "color colour count files-with-matches files-without-match ignore-case no-ignore-case "
    "invert-match line-number line-regexp word-regexp with-filename no-filename only-matching "
    "quiet silent no-messages text extended-regexp fixed-strings perl-regexp basic-regexp "
    "binary-files byte-offset null initial-tab line-buffered recursive"
)
SPECS = {
    "ls": _spec("paths", "aAbBcCdfFgGhHiklmnNopqQrRsStuUvxXZ1", "ITw",
                "all almost-all color human-readable recursive reverse size sort time full-time "
                "group-directories-first classify directory inode numeric-uid-gid time-style "
                "format ignore hide"),
    "cat": _spec("paths", "AbeEnstTuv", long="number number-nonblank show-all show-ends show-tabs "
                 "squeeze-blank show-nonprinting"),
    "head": _spec("paths", "qvz", "nc", "quiet silent verbose zero-terminated", "lines bytes"),
    "tail": _spec("paths", "qvzr", "nc", "quiet silent verbose zero-terminated", "lines bytes"),
    "wc": _spec("paths", "clmLw", long="lines words bytes chars max-line-length"),
    "nl": _spec("paths", "p", "bdfhilnsvw"),
    "rev": _spec("paths"), "tac": _spec("paths", "br", "s"),
    "pwd": _spec("none", "LP"), "true": _spec("text"), "false": _spec("text"), ":": _spec("text"),
    "sleep": _spec("text"), "exit": _spec("text"), "return": _spec("text"),
    "break": _spec("text"), "continue": _spec("text"), "shift": _spec("text"),
    "wait": _spec("text"), "jobs": _spec("text", "lprs"), "umask": _spec("none", "S"),
    "grep": _spec("pattern", "EFGPivwxycLloqshHnbTUzaIr", "ABCm", _GREP_LONG,
                  "regexp include exclude exclude-dir context after-context before-context "
                  "max-count label", files="f", recursive="r", long_files="file exclude-from"),
    "rg": _spec("pattern", "iSsFwxvclNnHhoUPaLpu0.I", "gtTABCmjMEr",
                "color colors column count count-matches files-with-matches files-without-match "
                "fixed-strings heading no-heading hidden ignore-case invert-match line-number "
                "line-regexp json multiline multiline-dotall no-filename no-ignore no-messages "
                "no-line-number null only-matching passthru pcre2 pretty quiet smart-case sort "
                "sortr stats trim type-list unrestricted vimgrep with-filename word-regexp files "
                "no-config case-sensitive text",
                "glob iglob type type-not regexp context after-context before-context max-count "
                "max-depth max-columns max-filesize replace threads encoding",
                files="f", recursive="*", long_files="file ignore-file"),
    "sort": _spec("paths", "bdfghiMnRrVuzcCms", "kt", "reverse numeric-sort unique ignore-case "
                  "human-numeric-sort version-sort general-numeric-sort check stable", "key "
                  "field-separator"),
    "uniq": _spec("one", "cdDiuz", "fsw", "count repeated unique ignore-case all-repeated"),
    "cut": _spec("paths", "sz", "bcdf", "complement only-delimited",
                 "delimiter fields characters bytes output-delimiter"),
    "tr": _spec("text", "cCdst", long="complement delete squeeze-repeats"),
    "comm": _spec("paths", "123z"), "cmp": _spec("paths", "bls", "in"),
    "diff": _spec("paths", "abBcdeiqrsTtuwyNpEZ", "UCWx",
                  "unified context brief color ignore-all-space ignore-blank-lines ignore-case "
                  "ignore-space-change side-by-side suppress-common-lines recursive new-file "
                  "report-identical-files width exclude label", recursive="r"),
    "column": _spec("paths", "txe", "scoN"), "fold": _spec("paths", "bs", "w"),
    "paste": _spec("paths", "sz", "d"), "join": _spec("paths", "i", "12aeotjv"),
    "expand": _spec("paths", "i", "t"), "unexpand": _spec("paths", "a", "t"),
    "md5sum": _spec("paths", "bt"), "sha1sum": _spec("paths", "bt"),
    "sha256sum": _spec("paths", "bt"), "sha512sum": _spec("paths", "bt"),
    "cksum": _spec("paths"), "shasum": _spec("paths", "bt", "a"),
    "basename": _spec("text", "az", "s"), "dirname": _spec("text", "z"),
    "realpath": _spec("paths", "eLmPqsz", "", "relative-to relative-base canonicalize-missing"),
    "readlink": _spec("paths", "femnqsvz"), "stat": _spec("paths", "Lft", "c", "format printf"),
    "file": _spec("paths", "bLhikrN0"), "strings": _spec("paths", "af", "ntT"),
    "du": _spec("paths", "0abchHklmsSx", "dBt", "summarize human-readable max-depth all total "
                "apparent-size exclude threshold"),
    "df": _spec("paths", "ahHiklmPT", "Bt", "human-readable print-type total"),
    "tree": _spec("paths", "adfiCDhgnNpqrstuvxF", "LIP",
                  "noreport dirsfirst du sort prune gitignore"),
    "xxd": _spec("one", "abeipuE", "clgos"), "od": _spec("paths", "abcdfilosxv", "AjNtw"),
    "hexdump": _spec("paths", "bcCdovx", "ns"),
    "uname": _spec("none", "asnrvmpio", long="all"), "whoami": _spec("none"),
    "id": _spec("text", "gGnruz"),
    "groups": _spec("text"), "hostname": _spec("none", "fsIi"), "uptime": _spec("none", "ps"),
    "nproc": _spec("none", long="all"), "arch": _spec("none"), "tty": _spec("none", "s"),
    "which": _spec("text", "as"), "type": _spec("text", "afptP"), "whereis": _spec("text", "bms"),
    "seq": _spec("text", "w", "fs"), "cal": _spec("text"), "lscpu": _spec("none"),
    "free": _spec("none", "bkmght"),
}  # fmt: skip
SPECS["egrep"] = SPECS["fgrep"] = SPECS["grep"]

FIND_PLAIN = names(
    "-print -print0 -prune -ls -depth -mount -xdev -daystart -empty -not -o -or -a -and ! ( ) , "
    "-true -false -readable -writable -executable -nouser -nogroup -quit -H -P -noleaf "
    "-ignore_readdir_race -warn -nowarn"
)
FIND_VALUE = names(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype "
    "-size -mtime -atime -ctime -mmin -amin -cmin -maxdepth -mindepth -perm -user -group -uid "
    "-gid -links -inum -lname -ilname -printf -fstype -used -newermt -newerct"
)
FIND_FILE = names("-newer -anewer -cnewer -samefile")
"""Their value is a file that is looked at."""

VERSIONED = names(
    "python python3 pip pip3 uv poetry pipenv ruff mypy black node npm npx pnpm yarn bun deno tsc "
    "cargo rustc rustup go gofmt java javac mvn gradle kotlin ruby gem bundle perl php composer "
    "dotnet gcc g++ clang clang++ cc make cmake ninja git gh docker kubectl helm terraform aws "
    "psql sqlite3 rg fd jq curl wget tar bash zsh sh awk sed grep ls cat node20 swift elixir ghc "
    "cabal stack zig nim lua luajit R julia ffmpeg pandoc openssl ssh"
)
