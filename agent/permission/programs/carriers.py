"""Programs whose flags run other programs or write files (security facts, 7.2).

A rule for the program does not cover such a use: what happens is not told by its name. Each
check gives the reason, or an empty text where nothing of the kind was found. A word that is
only known at run time may be such a flag, so for these programs it counts as one.
"""

import itertools
import re
from collections.abc import Callable, Sequence

from agent.permission.programs.carrier_table import FLAGS, Flags
from agent.permission.programs.interpreters import INTERPRETERS, interpreter, without_version
from agent.permission.syntax.lexicon import names
from agent.permission.syntax.words import Word, one_word

Check = Callable[[Sequence[Word]], str]


def flagged(flags: Flags, words: Sequence[Word]) -> str:
    """Why *words* may hold one of *flags*, empty where they do not."""
    for word in words:
        if word.text == "--":
            return ""
        if not word.known and word.may_be_option:
            return f"the argument {word.source} may be a flag that runs or writes something"
        for text in word.values or (word.text,):
            if flags.hit(text):
                return f"{text} may run another program or write a file"
    return ""


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
    return flagged(Flags(("--exec", "--exec-batch"), "xX"), words)


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
        if program is None and not one_word(word):
            return f"{word.source} may split into a program of awk"
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
    flags = Flags(
        ("--checkpoint-action", "--to-command", "--use-compress-program", "--info-script",
         "--new-volume-script", "--rsh-command", "--rmt-command", "--absolute-names",
         "--index-file", "--files-from", "--directory"),
        "IFPTC",
    )  # fmt: skip
    reason = flagged(flags, words)
    if reason:
        return reason
    cluster = words[0].text if words else ""
    if not cluster.startswith("-") and set("IFPTC") & set(cluster):
        return f"{cluster} may run another program"
    if any(re.match(r"[\w.@-]+:", word.text) for word in words):
        return "an archive on another machine is reached through a remote shell"
    return ""


_NO_FILE = ("-", "/dev/null")


def _valued(text: str, letters: str, following: str) -> str | None:
    """The value of a short option in *letters*, which may end a cluster: its rest, or else the
    word *following* it. None where *text* has no such option."""
    found = re.match(rf"-[a-zA-Z0-9#]*?[{letters}](.*)", text, re.DOTALL)
    return (found[1] or following) if found else None


def _curl(words: Sequence[Word]) -> str:
    reason = flagged(FLAGS["curl"], words)
    texts = [word.text for word in words]
    for text, following in itertools.zip_longest(texts, texts[1:], fillvalue=""):
        target = following if text == "--output" else _valued(text, "o", following)
        if target is not None and target not in _NO_FILE:
            return reason or f"writes {target}"
        if text.startswith(("--output=", "file:")):
            return reason or f"{text} reads or writes a file"
        header = following if text == "--header" else _valued(text, "H", following)
        if (header or "").startswith("@"):
            return "sends the contents of a file"
        value = _valued(text, "dF", following)
        if re.match(r"--(data[a-z-]*|form|json|variable|url-query)", text):
            value = text.partition("=")[2] or following
        if value is not None and ("@" in value or "<" in value):
            return "sends the contents of a file"
    return reason


def _wget(words: Sequence[Word]) -> str:
    texts = [word.text for word in words]
    for text, following in itertools.zip_longest(texts, texts[1:], fillvalue=""):
        target = _valued(text, "O", following)
        if text.startswith("--output-d"):
            target = text.partition("=")[2] or following
        if target is not None and target not in _NO_FILE:
            return f"writes {target}"
    return flagged(FLAGS["wget"], words)


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


def _pager(words: Sequence[Word]) -> str:
    """less and its like take commands of their own after a plus."""
    for word in words:
        if word.text.startswith("+") or not word.known:
            return f"{word.source} may run a command in the pager"
    return flagged(FLAGS["less"], words)


def _xxd(words: Sequence[Word]) -> str:
    operands = [word for word in words if not re.fullmatch(r"-.*|\d+", word.text)]
    reverse = any(re.fullmatch(r"-r.*|-[a-z]*r", word.text) for word in words)
    return "the second operand of xxd is written" if reverse or len(operands) > 1 else ""


_NPM_SETTINGS = re.compile(
    r"(script-shell|node-options|prefix|globalconfig|userconfig|shell|editor|git)\b"
)


def _npm(words: Sequence[Word]) -> str:
    texts = [word.text for word in words]
    if set(texts[:2]) & {"config", "set", "c"} and any(map(_NPM_SETTINGS.match, texts)):
        return "the setting changes what npm runs"
    return flagged(FLAGS["npm"], words)


def _make(words: Sequence[Word]) -> str:
    for word in words:
        if re.match(r"\.?[A-Z_]*(SHELL|MAKEFLAGS|MAKEFILES)[A-Z_]*[:+?]?=", word.text):
            return f"{word.text} changes what make runs"
    return flagged(FLAGS["make"], words)


_CHECKS: dict[str, Check] = {
    "find": find, "fd": _fd, "fdfind": _fd, "sed": sed, "gsed": sed, "awk": awk, "gawk": awk,
    "mawk": awk, "nawk": awk, "tar": tar, "gtar": tar, "bsdtar": tar, "curl": _curl,
    "wget": _wget, "uniq": _uniq, "less": _pager, "more": _pager, "most": _pager, "xxd": _xxd,
    "npm": _npm, "pnpm": _npm, "sqlite3": _database, "make": _make, "gmake": _make,
    **dict.fromkeys(("vi", "vim", "nvim", "view", "ex", "ed", "emacs", "rvim"), _editor),
}  # fmt: skip


LISTED = frozenset({*_CHECKS, *FLAGS, "mysql", "psql"})
"""Programs that this module has a word on."""


def is_carrier(base: str) -> bool:
    """Whether some arguments of *base* run other programs or write files."""
    kind = without_version(base)
    return base in _CHECKS or base in FLAGS or kind in INTERPRETERS or kind in FLAGS


def carried(base: str, words: Sequence[Word]) -> str:
    """Why a rule for *base* does not cover this use of it; *words* are its arguments."""
    kind = without_version(base)
    if kind in INTERPRETERS:
        return interpreter(kind, words)
    check = _CHECKS.get(base)
    if check is not None:
        return check(words)
    if base in ("mysql", "psql"):
        return flagged(FLAGS[base], words) or _database(words)
    flags = FLAGS.get(base) or FLAGS.get(kind)
    return flagged(flags, words) if flags is not None else ""
