"""Side effects of arguments: a rule for a program does not cover a use of it that runs another
program or reads, writes or sends something because of an option.

Each check returns the reason, "" where it finds nothing of the kind. A word that is only known at
run time can be such an option, so for these programs it counts as one.
"""

import itertools
import re
from collections.abc import Callable, Sequence

from agent.permission.programs.record import Program, Syntax
from agent.permission.syntax.words import Word, is_one_word


def side_effect_reason(base: str, program: Program, words: Sequence[Word]) -> str:
    """Return the reason why a rule for the program does not cover this use of it, "" if it does;
    *words* are its arguments."""
    if program.interpreter:
        return _interpreter(base, program, words)
    check = _CHECKS.get(program.syntax)
    if check is not None:
        return check(program, words)
    return _options(program, words) if program.side_effects else ""


def _options(program: Program, words: Sequence[Word]) -> str:
    """Check the options against the record."""
    for word in words:
        if word.text == "--":
            return ""
        if not word.known and word.may_be_option:
            return f"the argument {word.source} may be a flag that runs or writes something"
        for text in word.values or (word.text,):
            if program.side_effect(text):
                return f"{text} may run another program or write a file"
    return ""


_VERSION = frozenset({"--version", "-V", "-v", "--help", "-h", "version"})


def _interpreter(base: str, program: Program, words: Sequence[Word]) -> str:
    """Find code in an option or on standard input. A script by name, and ``-m`` of Python, are
    covered: the pattern names the program that runs."""
    name = base.rstrip("0123456789.").removesuffix("-")
    code = program.named(effect="execute")
    skip = False
    for at, word in enumerate(words):
        if not word.known:
            return f"the argument {word.source} may be code or a script"
        text = word.text
        if skip:
            skip = False
            continue
        if text == "-":
            return "the code comes from standard input"
        if text.startswith("--"):
            if any(option.startswith(text.split("=", 1)[0]) for option in code):
                return f"{text} runs code"
        elif text.startswith("-"):
            module = name in ("python", "pypy") and re.fullmatch(r"-[BEIOPsSuq]*m", text)
            if module and at + 1 < len(words) and words[at + 1].literal:
                return ""
            if any(len(option) == 2 and option[1] in text for option in code):
                return f"{text} runs code"
            skip = f"-{text[-1]}" in program.named(effect="none", value="text")
        else:
            evaluates = name == "deno" and text in ("eval", "repl")
            return f"{name} {text} runs code" if evaluates else ""
    if words and all(word.text in _VERSION for word in words):
        return ""
    return "the code comes from standard input"


def _find(program: Program, words: Sequence[Word]) -> str:
    """``-exec`` and the like are followed as wrappers; the other actions are found here."""
    for word in words:
        if not word.known and word.may_be_option:
            return f"the argument {word.source} may be an action of find"
        for text in word.values or ():
            if text == "-delete":
                return "-delete removes what is found"
            if program.side_effect(text) and not text.startswith(("-exec", "-ok")):
                return f"{text} writes or reads a file"
    return ""


_SED_COMMAND = (
    r"(?:(?:\d+|\$|/(?:[^/\\\n]|\\.)*/)(?:,(?:[+~]?\d+|\$|/(?:[^/\\\n]|\\.)*/))?!?)?\s*"
    r"(?:[pdqDPGgHhxNn=]|s([/|#,:@!])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gpiI\d]*)"
)
_SED = re.compile(rf"\s*{_SED_COMMAND}\s*")


def _sed_script_is_plain(script: str) -> bool:
    """Return whether *script* only selects and replaces: no ``e``, ``w``, ``r`` or labels."""
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


def _sed(program: Program, words: Sequence[Word]) -> str:
    plain = program.named(effect="none", value="none")
    letters = "".join(option[1] for option in plain if len(option) == 2)
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
            if text not in plain and not re.fullmatch(f"-[{letters}]+", text):
                return f"{text} may change files or read a script"
        elif not scripts:
            scripts.append(text)
        index += 1
    if not all(map(_sed_script_is_plain, scripts)):
        return "the script of sed may run a command or write a file"
    return ""


def _awk(program: Program, words: Sequence[Word]) -> str:
    letters = "".join(option[1] for option in program.valued)
    script = None
    skip = False
    for word in words:
        text = word.text
        if script is None and not is_one_word(word):
            return f"{word.source} may split into a program of awk"
        if skip:
            skip = False
            continue
        if script is None and text in program.valued:
            skip = True
        elif script is None and text.startswith("-") and not re.match(f"-[{letters}].", text):
            return f"{text} may load code or write a file"
        elif script is None and not text.startswith("-"):
            script = word
    if script is None:
        return ""
    if not script.literal:
        return "the program of awk is known at run time only"
    text = script.text.replace("||", "")
    if re.search(r"system|getline|close|\||@|print[^;}\n]*>", text):
        return "the program of awk may run a command or write a file"
    return ""


def _tar(program: Program, words: Sequence[Word]) -> str:
    reason = _options(program, words)
    if reason:
        return reason
    letters = {option[1] for option in program.side_effects if len(option) == 2}
    cluster = words[0].text if words else ""
    if not cluster.startswith("-") and letters & set(cluster):
        return f"{cluster} may run another program"
    if any(re.match(r"[\w.@-]+:", word.text) for word in words):
        return "an archive on another machine is reached through a remote shell"
    return ""


def _short_value(text: str, letters: str, following: str) -> str | None:
    """Return the value of a short option in *letters*, which can end a cluster: the rest of
    *text*, or the word *following* it. None if *text* has no such option."""
    found = re.match(rf"-[a-zA-Z0-9#]*?[{letters}](.*)", text, re.DOTALL)
    return (found[1] or following) if found else None


def _letters(options: Sequence[str]) -> str:
    return "".join(option[1] for option in options if len(option) == 2)


def _curl(program: Program, words: Sequence[Word]) -> str:
    reason = _options(program, words)
    texts = [word.text for word in words]
    output = program.option["-o"]
    content = program.named(value="content")
    content_names = tuple(option for option in content if option.startswith("--"))
    for text, following in itertools.zip_longest(texts, texts[1:], fillvalue=""):
        target = following if text == "--output" else _short_value(text, "o", following)
        if target is not None and target not in output.harmless.split():
            return reason or f"writes {target}"
        if text.startswith(("--output=", "file:")):
            return reason or f"{text} reads or writes a file"
        header = following if text == "--header" else _short_value(text, "H", following)
        if (header or "").startswith("@"):
            return "sends the contents of a file"
        value = _short_value(text, _letters(content), following)
        if text.startswith(content_names):
            value = text.partition("=")[2] or following
        if value is not None and ("@" in value or "<" in value):
            return "sends the contents of a file"
    return reason


def _wget(program: Program, words: Sequence[Word]) -> str:
    texts = [word.text for word in words]
    output = program.option["-O"]
    for text, following in itertools.zip_longest(texts, texts[1:], fillvalue=""):
        target = _short_value(text, "O", following)
        if text.startswith("--output-d"):
            target = text.partition("=")[2] or following
        if target is not None and target not in output.harmless.split():
            return f"writes {target}"
    return _options(program, words)


def _uniq(_program: Program, words: Sequence[Word]) -> str:
    operands = [word for word in words if not word.text.startswith("-")]
    return "the second operand of uniq is written" if len(operands) > 1 else ""


def _xxd(_program: Program, words: Sequence[Word]) -> str:
    operands = [word for word in words if not re.fullmatch(r"-.*|\d+", word.text)]
    reverse = any(re.fullmatch(r"-r.*|-[a-z]*r", word.text) for word in words)
    return "the second operand of xxd is written" if reverse or len(operands) > 1 else ""


_DATABASE_COMMAND = re.compile(
    r"\\!|\\o|\\copy|\.(shell|system|load|import|output|once|read)|PROGRAM|edit\(", re.IGNORECASE
)


def _database(program: Program, words: Sequence[Word]) -> str:
    reason = _options(program, words) if program.side_effects else ""
    if reason:
        return reason
    for word in words:
        if not word.known:
            return f"the argument {word.source} may hold a command"
        if _DATABASE_COMMAND.search(word.text):
            return "it may start another program or touch a file"
    return ""


def _editor(_program: Program, words: Sequence[Word]) -> str:
    for word in words:
        if word.text.startswith(("+", "-")) or not word.known:
            return f"{word.source} may run a command in the editor"
    return ""


def _pager(program: Program, words: Sequence[Word]) -> str:
    """less and its like take commands of their own after a plus."""
    for word in words:
        if word.text.startswith("+") or not word.known:
            return f"{word.source} may run a command in the pager"
    return _options(program, words)


_NPM_SETTINGS = re.compile(
    r"(script-shell|node-options|prefix|globalconfig|userconfig|shell|editor|git)\b"
)


def _npm(program: Program, words: Sequence[Word]) -> str:
    texts = [word.text for word in words]
    if set(texts[:2]) & {"config", "set", "c"} and any(map(_NPM_SETTINGS.match, texts)):
        return "the setting changes what npm runs"
    return _options(program, words)


def _make(program: Program, words: Sequence[Word]) -> str:
    for word in words:
        if re.match(r"\.?[A-Z_]*(SHELL|MAKEFLAGS|MAKEFILES)[A-Z_]*[:+?]?=", word.text):
            return f"{word.text} changes what make runs"
    return _options(program, words)


_CHECKS: dict[Syntax, Callable[[Program, Sequence[Word]], str]] = {
    "awk": _awk,
    "curl": _curl,
    "database": _database,
    "editor": _editor,
    "fd": _options,
    "find": _find,
    "make": _make,
    "npm": _npm,
    "pager": _pager,
    "sed": _sed,
    "tar": _tar,
    "uniq": _uniq,
    "wget": _wget,
    "xxd": _xxd,
}
