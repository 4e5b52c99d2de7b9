"""Programs whose flags run other programs or write files (security facts, 7.2).

A rule for the program does not cover such a use: what happens is not told by its name. Each
check gives the reason, or an empty text where nothing of the kind was found. A word that is
only known at run time may be such a flag, so for these programs it counts as one.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent.permission.interpreters import INTERPRETERS, interpreter
from agent.permission.lexicon import names
from agent.permission.shell_words import Word

Check = Callable[[Sequence[Word]], str]


@dataclass(frozen=True, slots=True)
class Flags:
    """Dangerous flags of one program: whole *long* names and *short* letters."""

    long: tuple[str, ...] = ()
    short: str = ""

    def reason(self, words: Sequence[Word]) -> str:
        for word in words:
            if word.text == "--":
                return ""
            if not word.known and word.may_be_option:
                return f"the argument {word.source} may be a flag that runs or writes something"
            for text in word.values or (word.text,):
                if self.hit(text):
                    return f"{text} may run another program or write a file"
        return ""

    def hit(self, text: str) -> bool:
        if text.startswith("--"):
            name = text.split("=", 1)[0]
            return any(flag == name or flag.startswith(name) for flag in self.long)
        if text.startswith("-"):
            return text in self.long or any(letter in text[1:] for letter in self.short)
        return False


def _flags(text: str) -> Flags:
    names = text.split()
    long = tuple(name for name in names if name.startswith("-"))
    return Flags(long, "".join(name for name in names if not name.startswith("-")))


_FLAGS = {
    "sort": _flags("--compress-program --output --temporary-directory --files0-from o T"),
    "split": _flags("--filter"),
    "rg": _flags("--pre --hostname-bin"),
    "ack": _flags("--pager --ackrc --files-from"),
    "ag": _flags("--pager"),
    "scp": _flags("o F S J"),
    "sftp": _flags("o F S b J D"),
    "rsync": _flags("--rsh --rsync-path --log-file --files-from --daemon e"),
    "man": _flags("--pager --html --config-file --local-file P H C l"),
    "less": _flags("--log-file --LOG-FILE --lesskey-file --lesskey-src o O k"),
    "zip": _flags("--unzip-command --test TT T"),
    "make": _flags("--eval --file --makefile f E"),
    "gmake": _flags("--eval --file --makefile f E"),
    "cmake": _flags("-P -E -C --toolchain"),
    "go": _flags("-exec -toolexec -vettool -overlay --exec --toolexec --vettool -C -modfile"),
    "cargo": _flags("--config --manifest-path C"),
    "npm": _flags("--script-shell --node-options --prefix --globalconfig --userconfig --call c C"),
    "pip": _flags("--python --config-settings --global-option --target"),
    "curl": _flags("--config --upload-file --proxy --preproxy --remote-name --remote-name-all "
                   "--remote-header-name --next --output-dir --dump-header --cookie-jar --trace "
                   "--trace-ascii --libcurl --stderr --netrc-file --engine --unix-socket "
                   "K T x O J D c"),
    "wget": _flags("--input-file --use-askpass --execute --config --directory-prefix --output-file "
                   "--append-output --post-file --body-file i e P o a"),
    "mysql": _flags("--pager --execute --defaults-file --init-command e"),
    "psql": _flags("--command --file --output --log-file c f o L"),
    "jq": _flags("--from-file --rawfile --slurpfile -L f"),
    "strace": _flags("--output o"),
    "date": _flags("--set --file --reference s f r"),
    "tree": _flags("-o --fromfile R"),
    "file": _flags("--compile --magic-file --files-from C m f"),
}  # fmt: skip

_FIND = names("-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls -files0-from")


def find(words: Sequence[Word]) -> str:
    """``-exec`` and the like are followed as wrappers; here what can't be followed."""
    for word in words:
        if not word.known and word.may_be_option:
            return f"the argument {word.source} may be an action of find"
        for text in word.values or ():
            if text == "-delete":
                return "-delete removes what is found"
            if text in _FIND and not text.startswith(("-exec", "-ok")):
                return f"{text} writes or reads a file"
    return ""


def _fd(words: Sequence[Word]) -> str:
    return Flags(("--exec", "--exec-batch"), "xX").reason(words)


_SED_COMMAND = (
    r"(?:(?:\d+|\$|/(?:[^/\\\n]|\\.)*/)(?:,(?:[+~]?\d+|\$|/(?:[^/\\\n]|\\.)*/))?!?)?\s*"
    r"(?:[pdqDPGgHhxNn=]|s([/|#,:@!])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gpiI\d]*)"
)
_SED = re.compile(rf"\s*{_SED_COMMAND}\s*")


def sed_is_plain(script: str) -> bool:
    """Whether *script* only selects and replaces: no ``e``, ``w``, ``r`` or labels."""
    at = 0
    while at < len(script):
        found = _SED.match(script, at)
        if found is None or found.end() == at:
            return False
        at = found.end()
        if at < len(script):
            if script[at] not in ";\n":
                return False
            at += 1
    return True


def sed(words: Sequence[Word]) -> str:
    scripts: list[str] = []
    operands = list(words)
    index = 0
    while index < len(operands):
        text = operands[index].text
        if not operands[index].known and (not scripts or operands[index].may_be_option):
            return f"the argument {operands[index].source} may be a script or a flag"
        if text in ("-e", "--expression"):
            index += 1
            scripts += [operands[index].text] if index < len(operands) else []
        elif text.startswith("--expression="):
            scripts.append(text.split("=", 1)[1])
        elif text.startswith("-") and text != "-":
            letters = text in ("--quiet", "--silent", "--regexp-extended", "--posix", "--debug")
            if not letters and not re.fullmatch(r"-[nErsuz]+", text):
                return f"{text} may change files or read a script"
        elif not scripts:
            scripts.append(text)
        index += 1
    if not all(map(sed_is_plain, scripts)):
        return "the script of sed may run a command or write a file"
    return ""


def awk(words: Sequence[Word]) -> str:
    program = None
    skip = False
    for word in words:
        text = word.text
        if skip:
            skip = False
            continue
        if program is None and text in ("-F", "-v"):
            skip = True
        elif program is None and text.startswith("-") and not re.match(r"-[Fv].", text):
            return f"{text} may load code or write a file"
        elif program is None and not text.startswith("-"):
            program = word
    if program is None:
        return ""
    if not program.literal:
        return "the program of awk is known at run time only"
    text = program.text.replace("||", "")
    if re.search(r"system|getline|close|\||@|print[^;}\n]*>", text):
        return "the program of awk may run a command or write a file"
    return ""


def tar(words: Sequence[Word]) -> str:
    reason = Flags(
        ("--checkpoint-action", "--to-command", "--use-compress-program", "--info-script",
         "--new-volume-script", "--rsh-command", "--rmt-command", "--absolute-names",
         "--index-file", "--files-from", "--directory"),
        "IFPTC",
    ).reason(words)  # fmt: skip
    if reason:
        return reason
    cluster = words[0].text if words else ""
    if not cluster.startswith("-") and set("IFPTC") & set(cluster):
        return f"{cluster} may run another program"
    if any(re.match(r"[\w.@-]+:", word.text) for word in words):
        return "an archive on another machine is reached through a remote shell"
    return ""


def _curl(words: Sequence[Word]) -> str:
    reason = _FLAGS["curl"].reason(words)
    texts = [word.text for word in words]
    for at, text in enumerate(texts):
        target = texts[at + 1] if at + 1 < len(texts) else ""
        if text in ("-o", "--output") and target not in ("-", "/dev/null"):
            return f"writes {target}"
        if text.startswith(("--output=", "file:")) or re.match(r"-[a-zA-Z]*o.", text):
            return reason or f"{text} reads or writes a file"
        if re.match(r"(-[dF]|--data[a-z-]*|--form|--json|--variable|--url-query)", text):
            value = text.removeprefix(text[:2]) if text[1:2] != "-" else text.partition("=")[2]
            if "@" in (value or target) or "<" in (value or target):
                return "sends the contents of a file"
    return reason


def _wget(words: Sequence[Word]) -> str:
    texts = [word.text for word in words]
    for at, text in enumerate(texts):
        if text in ("-O", "--output-document"):
            target = texts[at + 1] if at + 1 < len(texts) else ""
            return "" if target in ("-", "/dev/null") else f"writes {target}"
        if re.match(r"-[a-zA-Z]*O.|--output-d", text) and not text.endswith(("O-", "=-")):
            return f"{text} writes a file"
    return _FLAGS["wget"].reason(words)


def _uniq(words: Sequence[Word]) -> str:
    operands = [word for word in words if not word.text.startswith("-")]
    return "the second operand of uniq is written" if len(operands) > 1 else ""


def _database(words: Sequence[Word]) -> str:
    for word in words:
        if not word.known:
            return f"the argument {word.source} may hold a command"
        if re.search(r"\\!|\\o|\\copy|\.(shell|system|load|import|output|once|read)|PROGRAM|edit\(",
                     word.text, re.IGNORECASE):  # fmt: skip
            return "it may start another program or touch a file"
    return ""


def _editor(words: Sequence[Word]) -> str:
    for word in words:
        if word.text.startswith(("+", "-")) or not word.known:
            return f"{word.source} may run a command in the editor"
    return ""


def _make(words: Sequence[Word]) -> str:
    for word in words:
        if re.match(r"\.?[A-Z_]*(SHELL|MAKEFLAGS|MAKEFILES)[A-Z_]*[:+?]?=", word.text):
            return f"{word.text} changes what make runs"
    return _FLAGS["make"].reason(words)


_CHECKS: dict[str, Check] = {
    "find": find, "fd": _fd, "fdfind": _fd, "sed": sed, "gsed": sed, "awk": awk, "gawk": awk,
    "mawk": awk, "nawk": awk, "tar": tar, "gtar": tar, "bsdtar": tar, "curl": _curl,
    "wget": _wget, "uniq": _uniq, "sqlite3": _database, "make": _make, "gmake": _make,
    **dict.fromkeys(("vi", "vim", "nvim", "view", "ex", "ed", "emacs", "rvim"), _editor),
}  # fmt: skip


def is_carrier(base: str) -> bool:
    """Whether some arguments of *base* run other programs or write files."""
    kind = re.sub(r"[\d.]+$", "", base)
    return base in _CHECKS or base in _FLAGS or kind in INTERPRETERS or kind in _FLAGS


def carried(base: str, words: Sequence[Word]) -> str:
    """Why a rule for *base* does not cover this use of it; *words* are its arguments."""
    kind = re.sub(r"[\d.]+$", "", base)
    if kind in INTERPRETERS:
        return interpreter(kind, words)
    check = _CHECKS.get(base)
    if check is not None:
        return check(words)
    if base in ("mysql", "psql"):
        return _FLAGS[base].reason(words) or _database(words)
    flags = _FLAGS.get(base) or _FLAGS.get(kind)
    return flags.reason(words) if flags is not None else ""
