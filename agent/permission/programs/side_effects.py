"""Side effects of arguments: a rule for a program does not cover a use of it that runs another
program or reads, writes or sends something because of an option.

Each check returns the reason, "" where it finds nothing of the kind. A word that is only known at
run time can be such an option, so for these programs it counts as one.
"""

import fnmatch
import re
from collections.abc import Callable, Sequence

from agent.permission.programs.arguments import Arguments, parse, with_dash
from agent.permission.programs.record import Program, Syntax
from agent.permission.programs.scripts import awk_reason, sed_reason
from agent.permission.syntax.words import Word, glob_pattern


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
    return effect_reason(parse(program, words))


def effect_reason(arguments: Arguments) -> str:
    """Return the reason why one of the options runs or writes something, "" if none does."""
    if arguments.unsure is not None:
        source = arguments.unsure.source
        return f"{source} can turn into an option that runs a program or writes a file"
    for each in arguments.options:
        if each.has_effect():
            return f"{each.word.text} can run another program or write a file"
        content = each.option is not None and each.option.value == "content"
        if content and any({"@", "<"} & set(value.text) for value in each.values):
            return "sends the contents of a file"
    return ""


_VERSION = frozenset({"--version", "-V", "-v", "--help", "-h", "version"})


def _interpreter(base: str, program: Program, words: Sequence[Word]) -> str:
    """Find code in an option or on standard input. A script by name, and ``-m`` of Python, are
    covered: the pattern names the program that runs."""
    name = base.rstrip("0123456789.").removesuffix("-")
    arguments = parse(program, words, leading=True)
    script = arguments.operands[0] if arguments.operands else None
    before = words[: arguments.length + 1]
    unknown = next((word for word in before if not word.known), None)
    if unknown is not None:
        return f"runs {unknown.source}, which is not known in advance"
    for each in arguments.options:
        text = each.word.text
        module = name in ("python", "pypy") and each.name == "-m" and text.endswith("m")
        if module and each.values and each.values[0].literal:
            return ""
        if each.has_effect():
            return f"{text} runs {name} code, which can do anything"
    if script is None:
        versions = bool(words) and all(word.text in _VERSION for word in words)
        return "" if versions else f"runs whatever {name} code is piped into it"
    if script.text == "-":
        return f"runs whatever {name} code is piped into it"
    evaluates = name == "deno" and script.text in ("eval", "repl")
    return f"{script.text} runs {name} code, which can do anything" if evaluates else ""


def _find(program: Program, words: Sequence[Word]) -> str:
    """``-exec`` and the like are followed as wrappers; the other actions are found here."""
    arguments = parse(program, words)
    unsure = arguments.unsure
    if unsure is not None and _can_be_action(program, unsure):
        return f"{unsure.source} can turn into an action that runs, writes or deletes something"
    for each in arguments.options:
        if each.name == "-delete":
            return "-delete deletes every file that it finds"
        if each.has_effect() and not each.name.startswith(("-exec", "-ok")):
            return f"{each.name} can write or read another file"
    return ""


def _can_be_action(program: Program, word: Word) -> bool:
    """Return whether bash can make an action of *word*: ``*.py`` matches the name of none."""
    return word.values is None or any(
        fnmatch.fnmatchcase(action, glob_pattern(value))
        for value in word.values
        for action in program.side_effects
    )


def _sed(program: Program, words: Sequence[Word]) -> str:
    arguments = parse(program, words)
    reason = effect_reason(arguments) or _unrecorded(arguments)
    return reason or sed_reason(_scripts(arguments))


def _awk(program: Program, words: Sequence[Word]) -> str:
    arguments = parse(program, words)
    reason = effect_reason(arguments) or _unrecorded(arguments)
    return reason or awk_reason(_scripts(arguments))


def _unrecorded(arguments: Arguments) -> str:
    for each in arguments.options:
        if each.option is None:
            return f"{each.word.text} can change files or run a script"
    return ""


def _scripts(arguments: Arguments) -> str | None:
    """Return the program in the arguments, None if it is known only at run time."""
    words = [
        each.values[-1]
        for each in arguments.options
        if each.values and each.option is not None and each.option.gives_pattern
    ]
    words = words or arguments.operands[:1]
    return "\n".join(word.text for word in words) if all(word.literal for word in words) else None


def _tar(program: Program, words: Sequence[Word]) -> str:
    reason = _options(program, with_dash(words))
    if not reason and any(re.match(r"[\w.@-]+:", word.text) for word in words):
        return "opens a remote shell on another machine"
    return reason


def _curl(program: Program, words: Sequence[Word]) -> str:
    reason = _options(program, words)
    if reason:
        return reason
    arguments = parse(program, words)
    if any(word.text.startswith("file:") for word in arguments.operands):
        return "reads a local file, given as a file: address"
    sends = any(each.values[-1].text.startswith("@") for each in arguments.given("-H", "--header"))
    return "sends the contents of a file" if sends else ""


def _one(program: Program, words: Sequence[Word]) -> str:
    """uniq and xxd: a second operand is written."""
    arguments = parse(program, words)
    reason = effect_reason(arguments)
    written = len(arguments.operands) > 1
    return reason or ("overwrites the second file" if written else "")


_DATABASE_COMMAND = re.compile(
    r"\\!|\\o|\\copy|\.(shell|system|load|import|output|once|read)|PROGRAM|edit\(", re.IGNORECASE
)


def _database(program: Program, words: Sequence[Word]) -> str:
    reason = _options(program, words) if program.side_effects else ""
    if reason:
        return reason
    for word in words:
        if not word.known:
            return f"{word.source} is not known in advance, and can contain a command"
        if _DATABASE_COMMAND.search(word.text):
            return "can run another program, or read or write a file"
    return ""


def _editor(_program: Program, words: Sequence[Word]) -> str:
    for word in words:
        if word.text.startswith(("+", "-")) or not word.known:
            return f"{word.source} can run a command in the editor"
    return ""


def _pager(program: Program, words: Sequence[Word]) -> str:
    """less and its like take commands of their own after a plus."""
    for word in words:
        if word.text.startswith("+") or not word.known:
            return f"{word.source} can run a command in the pager"
    return _options(program, words)


_NPM_SETTINGS = re.compile(
    r"(script-shell|node-options|prefix|globalconfig|userconfig|shell|editor|git)\b"
)


def _npm(program: Program, words: Sequence[Word]) -> str:
    texts = [word.text for word in words]
    if set(texts[:2]) & {"config", "set", "c"} and any(map(_NPM_SETTINGS.match, texts)):
        return "can change which programs npm runs"
    return _options(program, words)


def _make(program: Program, words: Sequence[Word]) -> str:
    for word in words:
        if re.match(r"\.?[A-Z_]*(SHELL|MAKEFLAGS|MAKEFILES)[A-Z_]*[:+?]?=", word.text):
            return f"{word.text} can change what make runs"
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
    "uniq": _one,
}
"""Programs some of whose arguments run others or write files, beside their options."""


def has_side_effects(program: Program) -> bool:
    """Return whether some arguments run other programs or write files."""
    return program.interpreter or program.syntax in _CHECKS or bool(program.side_effects)
