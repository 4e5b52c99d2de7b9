"""Programs that run others: the command or shell code that they run.

Both the wrapper and what it runs need approval.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from agent.permission.programs.arguments import Given, parse
from agent.permission.programs.lookup import program
from agent.permission.programs.options_to_name import COMMON_FLAGS, option_lengths
from agent.permission.programs.record import UNKNOWN, Command, Program, Wrapper
from agent.permission.syntax.source import word_set
from agent.permission.syntax.words import Word, as_written, is_one_word


class Inner(NamedTuple):
    """The command or the code that a wrapper runs."""

    words: tuple[Word, ...] = ()
    codes: tuple[str, ...] = ()
    """Shell code, which comes in place of words."""

    inert: bool = False
    """True if the wrapper needs no rule of its own."""

    adds_paths: bool = False
    """True if paths are added at run time (find)."""

    adds_arguments: bool = False
    """True if any arguments are added at run time (xargs)."""

    replaced: str = ""
    """The text in whose place they are put; empty if they follow the words."""

    from_input: bool = False
    """True if what is added are the words or lines of its input."""

    exact: bool = False
    """True if what is added is taken as it is: not split at spaces, no quotes removed."""

    sets: tuple[tuple[str, str], ...] = ()
    """Variables given to the command, with their values."""

    reason: str = ""
    """The reason why it is not known what runs; empty if it is."""

    runs_text: bool = False
    """True if it can run text that the line holds elsewhere, such as what is piped to a shell."""

    chdir: bool = False
    """True if it runs in another folder."""


_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=")
_CODE_OPTIONS = frozenset({"--command", "--run", "--exec", "--on-change", "--to-command"})
"""Options with shell code, of all programs that have one after operands."""
_SHELL_OPTIONS = word_set(
    "errexit nounset pipefail noglob noclobber extglob globstar nullglob failglob dotglob"
)
"""Options of a shell, after ``-o``, that change no command."""
_UNKNOWN_CODE = "runs code that is not known in advance"
_ARGUMENT_LIST = re.compile(r":{3,4}\+?")
_OTHER_INPUT = ("-a", "--arg-file", "-d", "--delimiter")
"""Options with which xargs reads another file, or takes apart what it reads in another way."""
_PLACEHOLDER = re.compile(r"\{[\w./#%-]*\}")
"""The place of an argument in a command of ``parallel``."""


def is_named_with_program(base: str, words: Sequence[Word]) -> bool:
    """Return whether the command is like ``uv run``: a rule can name it together with the program
    that it runs."""
    known = program(base)
    if known is None:
        return False
    named = known.wrapper is not None and known.wrapper.named
    return named or _wrapping_subcommand(known, words) is not None


def _wrapping_subcommand(known: Program, words: Sequence[Word]) -> tuple[Command, int] | None:
    """Return the subcommand that runs a program, and the number of *words* that name it: it is
    three for ``uv --quiet run``."""
    found: tuple[Command, int] | None = None
    command: Command = known
    at = 1
    while command.subcommands:
        while at < len(words) and words[at].text.startswith("-"):
            length, *others = option_lengths(known, words[at].text)
            if others or known.syntax == "git":
                return found
            at += length
        inner = command.subcommand.get(words[at].text) if at < len(words) else None
        if inner is None:
            break
        command, at = inner, at + 1
        if command.wrapper is not None:
            found = command, at
    return found


def unwrap(base: str, words: Sequence[Word]) -> Inner | None:
    """Return what the command runs besides itself; None if it is no wrapper. *words* begin with
    the name."""
    known = program(base)
    if known is None:
        return None
    if known.code_options:
        found = _code_after_operands(base, known, words)
        if found is not None:
            return found
    if base == "command" and any(re.match(r"-\w*[vV]", word.text) for word in words[1:2]):
        return None
    if base == "arch" and len(words) == 1:
        return None
    if known.shell_kind:
        return _shell(base, known, words[1:])
    if known.elsewhere:
        inner = _elsewhere(base, known, words[1:])
        return inner if inner.reason else None
    subcommand = _wrapping_subcommand(known, words)
    if subcommand is not None:
        command, length = subcommand
        inner = _step(command, words[length:], "the runner")
        flags = [word.text for word in words[1:length] if word.text.startswith("-")]
        return inner._replace(chdir=inner.chdir or not COMMON_FLAGS.issuperset(flags))
    return None if known.wrapper is None else _step(known, words[1:], base)


def _code_after_operands(base: str, known: Program, words: Sequence[Word]) -> Inner | None:
    """Return the shell code after an option, None if there is none."""
    letter = next((name[1] for name in known.code_options.split() if len(name) == 2), "")
    for at, word in enumerate(words[1:], 1):
        flag, joined, value = word.text.partition("=")
        short = re.fullmatch(rf"-[a-zA-Z]*?{letter}(.*)", word.text, re.DOTALL) if letter else None
        if flag in _CODE_OPTIONS and joined:
            return Inner(codes=(value,), reason=_elsewhere_reason(base))
        if flag not in _CODE_OPTIONS and (short is None or word.text.startswith("--")):
            continue
        if short is not None and short[1]:
            return Inner(codes=(short[1],), reason=_elsewhere_reason(base))
        rest = words[at + 1 :]
        if not rest:
            return None
        # nix takes words, the others one text; both are read as shell code.
        if not rest[0].literal:
            return Inner(reason=_UNKNOWN_CODE, runs_text=True)
        code = as_written(rest) if base == "nix" else rest[0].text
        plain = base in ("flock", "sg")
        return Inner(codes=(code,), reason="" if plain else _elsewhere_reason(base))
    return None


def _elsewhere_reason(base: str) -> str:
    return f"{base} runs this outside the current shell, where less can be checked"


def _step(command: Command, words: Sequence[Word], name: str) -> Inner:
    """Step over the wrapper's own options and operands to the program that it runs."""
    wrapper = command.wrapper or Wrapper()
    arguments = parse(command, words, leading=True)
    at = arguments.length
    inner = _of_options(command, arguments.options, words, name)
    if inner is not None:
        return inner
    if not all(word.literal for word in words[at : at + wrapper.operands_before]):
        return Inner(reason=f"an argument of {name} is not known in advance", runs_text=True)
    # The priority of chrt is optional.
    absent = name == "chrt" and at < len(words) and not words[at].text.isdigit()
    at += 0 if absent else wrapper.operands_before
    if wrapper.operands_before and at < len(words) and words[at].text == "--":
        at += 1
    sets: list[tuple[str, str]] = []
    while wrapper.variables and at < len(words):
        found = _ASSIGNMENT.match(words[at].text)
        if found is None:
            break
        if not is_one_word(words[at]):
            return Inner(reason=_splits_reason(words[at]), runs_text=True)
        sets.append((found[1], words[at].text[found.end() :]))
        at += 1
    rest = tuple(words[at:])
    if not rest:
        runs_nothing = name in ("exec", "env", "xargs", "command", "builtin")
        reason = "" if runs_nothing else "runs a program that is not named here"
        return Inner(inert=wrapper.inert, sets=tuple(sets), reason=reason, runs_text=bool(reason))
    options = arguments.options
    chdir = wrapper.chdir or any(each.option and each.option.effect == "chdir" for each in options)
    inner = _run(wrapper, rest, tuple(sets), _replaced_text(name, options))
    return inner._replace(
        chdir=chdir,
        from_input=wrapper.appends and not arguments.given(*_OTHER_INPUT),
        exact=bool(wrapper.appends and arguments.given("-0", "--null")),
    )


def _of_options(
    command: Command, options: Sequence[Given], words: Sequence[Word], name: str
) -> Inner | None:
    """Return the code of an option, or why it is not known what runs; None if the options only
    precede the program."""
    for each in options:
        text = each.word.text
        if not each.word.literal:
            return Inner(reason=f"an option of {name} is not known in advance", runs_text=True)
        if each.option is not None and each.option.value == "code":
            after = words[each.end :]
            return _after_code(command, _code_of(each, after), after, name)
        priority = name == "nice" and re.fullmatch(r"-\d+", text)
        if not priority and (each.option is None or each.option.effect not in ("none", "chdir")):
            return Inner(reason=_option_reason(text), runs_text=True)
        if not all(is_one_word(value) or value.literal for value in each.values):
            return Inner(reason=_splits_reason(each.values[-1]), runs_text=True)
    return None


def _splits_reason(word: Word) -> str:
    return f"{word.source} can turn into several arguments, and so into another command"


def _option_reason(option: str) -> str:
    return f"it is not known what the option {option} does"


def _after_code(command: Command, first: Inner, words: Sequence[Word], name: str) -> Inner:
    """Return the code of one option, and what the *words* after it run: ``hyperfine --setup a
    b``."""
    if first.reason or not words:
        return first
    later = _step(command, words, name)
    return later._replace(codes=(*first.codes, *later.codes), inert=False)


def _run(
    wrapper: Wrapper, rest: tuple[Word, ...], sets: tuple[tuple[str, str], ...], replaced: str
) -> Inner:
    if wrapper.each or wrapper.joined:
        known = all(word.known for word in rest)
        reason = "" if known else _UNKNOWN_CODE
        if wrapper.appends and known:
            return _parallel(rest)
        codes = tuple(word.text for word in rest) if wrapper.each else (as_written(rest),)
        return Inner(codes=codes, reason=reason, runs_text=not known)
    if wrapper.appends and replaced and replaced in rest[0].text:
        return Inner(reason="runs whatever program its input names", runs_text=True)
    return Inner(
        rest, inert=wrapper.inert, adds_arguments=wrapper.appends, replaced=replaced, sets=sets
    )


def _parallel(rest: tuple[Word, ...]) -> Inner:
    """``parallel COMMAND ::: a b`` runs the command with each argument, in the place of ``{}`` or
    after it; without ``:::`` with each line that it reads."""
    texts = [word.text for word in rest]
    at = next((at for at, text in enumerate(texts) if _ARGUMENT_LIST.fullmatch(text)), len(rest))
    head = as_written(rest[:at])
    given = [text for text in texts[at + 1 :] if not _ARGUMENT_LIST.fullmatch(text)]
    reads = at == len(rest) or "::::" in texts[at]
    program = head.split(" ")[0]
    if "{=" in head or (reads and (not program or _PLACEHOLDER.search(program))):
        return Inner(
            codes=(head,), reason="runs commands that it builds from its input", runs_text=True
        )
    if reads:
        plain = not re.search(r"[^\w\s./:@%+=,{}-]", head) and all(" " not in x for x in texts[:at])
        return Inner(rest[:at], adds_arguments=True) if plain else Inner(codes=(head,))
    codes = [_PLACEHOLDER.sub(lambda _, text=text: text, head) for text in given]
    if not _PLACEHOLDER.search(head):
        codes = [f"{head} {text}".strip() for text in given]
    if len(given) < len(texts) - at - 1:  # of several lists it takes one of each together
        reason = "runs commands that it builds from several lists"
        return Inner(codes=tuple(codes), reason=reason, runs_text=True)
    return Inner(codes=tuple(codes))


def _replaced_text(name: str, options: Sequence[Given]) -> str:
    """Return the text that ``xargs -I`` replaces, "" without that option."""
    for each in options:
        if name == "xargs" and each.name in ("-I", "-i", "--replace"):
            return (each.values[0].text if each.values else "") or "{}"
    return ""


def _code_of(given: Given, after: Sequence[Word]) -> Inner:
    """Return the shell code of an option; *after* are the words after it."""
    if not given.values:
        return Inner(reason=f"the code after {given.word.text} is missing", runs_text=True)
    code = given.values[-1]
    if not code.known:
        return Inner(reason=_UNKNOWN_CODE, runs_text=True)
    if given.name in ("-S", "--split-string"):
        return Inner(codes=(as_written((code, *after)),), reason=_read_otherwise("env"))
    return Inner(codes=(code.text,))


def _shell(base: str, known: Program, words: Sequence[Word]) -> Inner:
    """``sh -c CODE``, a script by name, or code from standard input."""
    code, at = False, 0
    reason = "" if known.shell_kind == "posix" else _read_otherwise(base)
    while at < len(words):
        text = words[at].text
        if not words[at].literal:
            return Inner(reason=_unknown_script(words[at]), runs_text=True)
        if text in ("--version", "--help"):
            return Inner()
        if text in ("-", "--") or not re.match(r"[-+]", text):
            at += text in ("-", "--")
            break
        at += 1
        if text.startswith("--") and text not in ("--norc", "--noprofile", "--posix", "--login"):
            reason = _option_reason(text)
            continue
        code = code or (text[1] != "-" and "c" in text)
        if text[1] != "-" and set(text) & set("si"):
            reason = f"{text} makes the shell run code from elsewhere"
        named = len(re.findall("[oO]", text)) if text[1:2] != "-" else 0
        if not all(word.text in _SHELL_OPTIONS for word in words[at : at + named]):
            reason = "sets shell options, which can change what the code does"
        at += named
    rest = words[at:]
    if rest and not rest[0].literal:
        return Inner(reason=_unknown_script(rest[0]), runs_text=True)
    if code and rest:
        return Inner(codes=(rest[0].text,), reason=reason, runs_text=bool(reason))
    if not rest:
        reason = reason or "runs whatever is piped into it"
    return Inner(reason=reason, runs_text=bool(reason))


def _read_otherwise(base: str) -> str:
    return f"{base} can read the code in another way than bash"


def _unknown_script(word: Word) -> str:
    return f"runs {word.source}, which is not known in advance"


_REACHES_OUT = re.compile(r"(-H|--host|--url|--connection|--privileged|-v|--volume|--mount)\b")


def _elsewhere(base: str, known: Program, words: Sequence[Word]) -> Inner:
    """A program that runs something elsewhere or as another user."""
    texts = [word.text for word in words]
    runs_text = known.runs_input == "shell"
    if known.elsewhere == "container":
        runs = next(
            (at for at, text in enumerate(texts) if text in ("run", "exec", "create")), None
        )
        if runs is None or (runs > 2 and "compose" not in texts):
            risky = any(map(_REACHES_OUT.match, texts[:1]))
            return Inner(reason=f"{texts[0]} can reach another machine" if risky else "")
        if base in ("kubectl", "oc") and texts[runs] == "create":
            return Inner()
        runs_text = True
    if base == "crontab" and texts in (["-l"], ["-u"]):
        return Inner()
    reason = f"{base} runs it elsewhere, later or as another user, where it cannot be checked"
    return Inner(reason=reason, runs_text=runs_text)


def find_actions(base: str, words: Sequence[Word]) -> list[Inner]:
    """Return the commands of ``find … -exec … ;`` and ``fd -x …``; *words* are the arguments."""
    found: list[Inner] = []
    for each in parse(program(base) or UNKNOWN, words).options:
        if each.option is None or each.option.value != "command":
            continue
        inner = each.values
        if inner and inner[-1].text in (";", "+"):
            inner = inner[:-1]
        reason = (
            "" if inner and "{" not in inner[0].text else "runs the files that it finds as programs"
        )
        place = "{}" if each.name.startswith(("-exec", "-ok")) else ""
        found.append(
            Inner(
                inner,
                adds_paths=True,
                replaced=place,
                exact=True,
                reason=reason,
                runs_text=bool(reason),
            )
        )
    return found
