"""Programs that run what follows them (security facts, 7.1): both are judged (spec 3, B2)."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from agent.permission.programs.subcommands import ALONE, flag_steps
from agent.permission.programs.wrapper_table import (
    OPAQUE,
    POSIX,
    RUNNERS,
    SHELLS,
    WRAPPERS,
    Wrapper,
)
from agent.permission.syntax.lexicon import names
from agent.permission.syntax.words import Word, as_written, literal_word, one_word


class Inner(NamedTuple):
    """What a wrapper runs: *words*, or the shell *codes*.

    *inert* wrappers need no rule of their own. *more* tells that paths are added at run time
    (find), *fed* that any arguments are (xargs). *sets* are variables given to it, with their
    values. *strict* says why what runs is not known; *obeys* tells that it may be text that the
    line holds elsewhere, such as what is piped to a shell; *moves* that it runs in another folder.
    """

    words: tuple[Word, ...] = ()
    codes: tuple[str, ...] = ()
    inert: bool = False
    more: bool = False
    fed: bool = False
    sets: tuple[tuple[str, str], ...] = ()
    strict: str = ""
    obeys: bool = False
    moves: bool = False


_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=")
_CODE_LATER = {
    "flock": "c", "sg": "c", "script": "c", "su": "c", "runuser": "c", "vagrant": "c",
    "expect": "c", "nix-shell": "", "nix": "c", "chokidar": "c", "nodemon": "x", "machinectl": "c",
}  # fmt: skip
"""Programs with shell code behind a flag that may stand behind operands: its letter."""
_CODE_WORDS = frozenset({"--command", "--run", "--exec", "--on-change", "--to-command"})
_OPTIONS = names(
    "errexit nounset pipefail noglob noclobber extglob globstar nullglob failglob dotglob"
)
"""Options of a shell that change no command."""
_GIVEN = re.compile(r":{3,4}\+?")
_PLACE = re.compile(r"\{[\w./#%-]*\}")
"""Where ``parallel`` puts an argument."""
_COMPOSE = frozenset({"docker", "podman", "nerdctl", "kubectl", "oc"})
_OBEYING = names(
    "at batch crontab ssh mosh rsh rlogin telnet gdb lldb nc script su newgrp login nix-shell "
    "expect machinectl capsh bwrap nsjail systemd-nspawn flatpak-spawn schroot proot toolbox "
    "distrobox lxc-attach wsl limactl cmd cmd.exe powershell.exe osascript"
)
"""Run what they read from standard input, most of them with a shell."""


_RUNNER_NAMES = frozenset(first for first, *_ in RUNNERS)
_LONGEST_NAME = max(map(len, RUNNERS))
_QUICK_RUNNERS = frozenset({"npx", "bunx", "uvx"})
LISTED = (
    SHELLS | OPAQUE | _RUNNER_NAMES | _QUICK_RUNNERS | {*_CODE_LATER, *WRAPPERS, "command", "arch"}
)
"""Programs that this module has a word on."""


def runner(base: str, words: Sequence[Word]) -> bool:
    """Whether ``uv run`` and the like start the line: a rule may name them with a program."""
    return _runner(base, words) is not None or base in _QUICK_RUNNERS


def is_wrapper(base: str) -> bool:
    """Whether *base* is a program that runs others, whatever its arguments."""
    return base in WRAPPERS or base in SHELLS or base in OPAQUE


def _runner(base: str, words: Sequence[Word]) -> tuple[Wrapper, int] | None:
    """How *base* runs others, and how many of *words* tell it: ``uv --quiet run`` does in three."""
    if base not in _RUNNER_NAMES:
        return None
    name, at = [base], 1
    found: tuple[Wrapper, int] | None = None
    while True:
        wrapper = RUNNERS.get(tuple(name))
        if wrapper is not None:
            found = wrapper, at
        while at < len(words) and words[at].text.startswith("-"):
            step, *more = flag_steps(base, words[at].text)
            if more:
                return found
            at += step
        if at >= len(words) or len(name) == _LONGEST_NAME:
            return found
        name.append(words[at].text)
        at += 1


def unwrap(base: str, words: Sequence[Word]) -> Inner | None:
    """What the command runs besides itself; None when it is no wrapper. *words* hold the name."""
    if base in _CODE_LATER:
        found = _after(base, words)
        if found is not None:
            return found
    if base == "command" and any(re.match(r"-\w*[vV]", word.text) for word in words[1:2]):
        return None
    if base == "arch" and len(words) == 1:
        return None
    if base in SHELLS:
        return _shell(base, words[1:])
    if base in OPAQUE:
        inner = _opaque(base, words[1:])
        return inner if inner.strict else None
    runs = _runner(base, words)
    if runs is not None:
        wrapper, length = runs
        inner = _step(wrapper, words[length:], base if length == 1 else "the runner")
        flags = [word.text for word in words[1:length] if word.text.startswith("-")]
        return inner._replace(moves=inner.moves or not ALONE.issuperset(flags))
    wrapper = WRAPPERS.get(base)
    return None if wrapper is None else _step(wrapper, words[1:], base)


def _after(base: str, words: Sequence[Word]) -> Inner | None:
    """The shell code that stands behind a flag of *base*, None where there is none."""
    letter = _CODE_LATER[base]
    for at, word in enumerate(words[1:], 1):
        flag, joined, value = word.text.partition("=")
        short = re.fullmatch(rf"-[a-zA-Z]*?{letter}(.*)", word.text, re.DOTALL) if letter else None
        if flag in _CODE_WORDS and joined:
            return Inner(codes=(value,), strict=f"{base} runs it elsewhere")
        if flag not in _CODE_WORDS and (short is None or word.text.startswith("--")):
            continue
        if short is not None and short[1]:
            return Inner(codes=(short[1],), strict=f"{base} runs it elsewhere")
        rest = words[at + 1 :]
        if not rest:
            return None
        # nix takes words, the others one text; both are read as shell code.
        if not rest[0].literal:
            return Inner(strict="its code is known at run time only", obeys=True)
        code = as_written(rest) if base == "nix" else rest[0].text
        plain = base in ("flock", "sg")
        return Inner(codes=(code,), strict="" if plain else f"{base} runs it elsewhere")
    return None


def _step(wrapper: Wrapper, words: Sequence[Word], name: str) -> Inner:
    """Over the wrapper's own flags and operands to the program it runs."""
    at = 0
    while at < len(words) and words[at].text.startswith("-") and words[at].text != "-":
        text = words[at].text
        if not words[at].literal:
            return Inner(strict=f"a flag of {name} is known at run time only", obeys=True)
        code = _code_of(wrapper, words, at)
        if code is not None:
            return _then(wrapper, code, words[at + code[1] :], name)
        at += 1
        if text == "--":
            break
        taken = 0 if name == "nice" and re.fullmatch(r"-\d+", text) else _taken(wrapper, text)
        if taken is None:
            return Inner(strict=f"the flag {text} of {name} is not known", obeys=True)
        if not all(map(one_word, words[at : at + taken])):
            return Inner(strict=f"{words[at].source} may split into other words", obeys=True)
        at += taken
    if not all(word.literal for word in words[at : at + wrapper.skip]):
        return Inner(strict=f"an operand of {name} is known at run time only", obeys=True)
    # The priority may be left out.
    left_out = name == "chrt" and at < len(words) and not words[at].text.isdigit()
    at += 0 if left_out else wrapper.skip
    if wrapper.skip and at < len(words) and words[at].text == "--":
        at += 1
    sets: list[tuple[str, str]] = []
    while wrapper.sets and at < len(words):
        found = _ASSIGNMENT.match(words[at].text)
        if found is None:
            break
        if not one_word(words[at]):
            return Inner(strict=f"{words[at].source} may split into other words", obeys=True)
        sets.append((found[1], words[at].text[found.end() :]))
        at += 1
    rest = tuple(words[at:])
    if not rest:
        runs_nothing = name in ("exec", "env", "xargs", "command", "builtin")
        strict = "" if runs_nothing else f"{name} starts something that is not named"
        return Inner(inert=wrapper.inert, sets=tuple(sets), strict=strict, obeys=bool(strict))
    before = words[: len(words) - len(rest)]
    moves = bool(wrapper.moves) and any(re.match(wrapper.moves, word.text) for word in before)
    return _runs(wrapper, rest, tuple(sets), _marks(name, before))._replace(moves=moves)


def _then(wrapper: Wrapper, code: tuple[Inner, int], words: Sequence[Word], name: str) -> Inner:
    """The code of one flag, and what the *words* behind it run: ``hyperfine --setup a b``."""
    first = code[0]
    if first.strict or not words:
        return first
    later = _step(wrapper, words, name)
    return later._replace(codes=(*first.codes, *later.codes), inert=False)


def _runs(
    wrapper: Wrapper, rest: tuple[Word, ...], sets: tuple[tuple[str, str], ...], marks: str
) -> Inner:
    if wrapper.each or wrapper.joined:
        known = all(word.known for word in rest)
        strict = "" if known else "its code is known at run time only"
        if wrapper.fed and known:
            return _parallel(rest)
        codes = tuple(word.text for word in rest) if wrapper.each else (as_written(rest),)
        return Inner(codes=codes, strict=strict, obeys=not known)
    if wrapper.fed and marks and marks in rest[0].text:
        return Inner(strict="its program is read at run time", obeys=True)
    return Inner(rest, inert=wrapper.inert, fed=wrapper.fed, sets=sets)


def _parallel(rest: tuple[Word, ...]) -> Inner:
    """``parallel COMMAND ::: a b`` runs the command with each argument, in the place of ``{}`` or
    behind it; without ``:::`` with each line that it reads."""
    texts = [word.text for word in rest]
    at = next((at for at, text in enumerate(texts) if _GIVEN.fullmatch(text)), len(rest))
    head = as_written(rest[:at])
    given = [text for text in texts[at + 1 :] if not _GIVEN.fullmatch(text)]
    reads = at == len(rest) or "::::" in texts[at]
    program = head.split(" ")[0]
    if "{=" in head or (reads and (not program or _PLACE.search(program))):
        return Inner(codes=(head,), strict="parallel makes up what it runs", obeys=True)
    if reads:
        plain = not re.search(r"[^\w\s./:@%+=,{}-]", head) and all(" " not in x for x in texts[:at])
        return Inner(rest[:at], fed=True) if plain else Inner(codes=(head,))
    codes = [_PLACE.sub(lambda _, text=text: text, head) for text in given]
    if not _PLACE.search(head):
        codes = [f"{head} {text}".strip() for text in given]
    if len(given) < len(texts) - at - 1:  # of several lists it takes one of each together
        strict = "parallel puts what it runs together from several lists"
        return Inner(codes=tuple(codes), strict=strict, obeys=True)
    return Inner(codes=tuple(codes))


def _marks(name: str, flags: Sequence[Word]) -> str:
    """The text that ``xargs -I`` replaces; empty without it."""
    for at, word in enumerate(flags):
        found = re.fullmatch(r"(?:-[a-zA-Z0-9]*[Ii]|--replace=?)(.*)", word.text)
        if name == "xargs" and found:
            after = flags[at + 1].text if at + 1 < len(flags) else ""
            return found[1] or (after if word.text.endswith("I") else "") or "{}"
    return ""


def _code_of(wrapper: Wrapper, words: Sequence[Word], at: int) -> tuple[Inner, int] | None:
    """The shell code of a flag of *wrapper* at *at* and how many words both take, None if it is
    another flag."""
    text = words[at].text
    for flag in wrapper.code.split():
        joined = text.removeprefix(flag).removeprefix("=")
        short = not flag.startswith("--")
        ends = short and re.fullmatch(rf"-[a-zA-Z]*{flag[1:]}", text) is not None
        if text == flag or ends:
            if at + 1 >= len(words):
                return Inner(strict=f"{text} has no code", obeys=True), 1
            code, taken = words[at + 1], 2
        elif (text.startswith(flag) and short) or text.startswith(flag + "="):
            code, taken = literal_word(joined), 1
        else:
            continue
        if not code.known:
            return Inner(strict="its code is known at run time only", obeys=True), taken
        if flag in ("-S", "--split-string"):
            whole = as_written((code, *words[at + taken :]))
            return Inner(codes=(whole,), strict="env splits it in a way of its own"), taken
        return Inner(codes=(code.text,)), taken
    return None


def _taken(wrapper: Wrapper, text: str) -> int | None:
    """How many words after the flag *text* belong to it; None for a flag that is not known."""
    flag, joined, _ = text.partition("=")
    if flag in wrapper.long_values.split():
        return 0 if joined else 1
    if flag in wrapper.long.split():
        return 0
    if text.startswith("--"):
        return None
    for index, letter in enumerate(text[1:], 1):
        if letter in wrapper.values:
            return 1 if index == len(text) - 1 else 0
        if letter not in wrapper.flags:
            return None
    return 0


def _shell(base: str, words: Sequence[Word]) -> Inner:
    """``sh -c CODE``, a script by name, or code from standard input."""
    code, at = False, 0
    strict = "" if base in POSIX else f"{base} reads it in a way of its own"
    while at < len(words):
        text = words[at].text
        if not words[at].literal:
            return Inner(strict=f"{words[at].source} may be code or a script", obeys=True)
        if text in ("--version", "--help"):
            return Inner()
        if text in ("-", "--") or not re.match(r"[-+]", text):
            at += text in ("-", "--")
            break
        at += 1
        if text.startswith("--") and text not in ("--norc", "--noprofile", "--posix", "--login"):
            strict = f"the flag {text} of a shell is not known"
            continue
        code = code or (text[1] != "-" and "c" in text)
        if text[1] != "-" and set(text) & set("si"):
            strict = f"the flag {text} makes a shell read code from elsewhere"
        named = len(re.findall("[oO]", text)) if text[1:2] != "-" else 0
        if not all(word.text in _OPTIONS for word in words[at : at + named]):
            strict = "it sets options of a shell"
        at += named
    rest = words[at:]
    if rest and not rest[0].literal:
        return Inner(strict=f"{rest[0].source} may be code or a script", obeys=True)
    if code and rest:
        return Inner(codes=(rest[0].text,), strict=strict, obeys=bool(strict))
    if not rest:
        strict = strict or "a shell runs what it reads from standard input"
    return Inner(strict=strict, obeys=bool(strict))


def _opaque(base: str, words: Sequence[Word]) -> Inner:
    """Runs something elsewhere or as someone else; the last words are seen by deny rules too."""
    texts = [word.text for word in words]
    obeys = base in _OBEYING
    if base in _COMPOSE:
        runs = next(
            (at for at, text in enumerate(texts) if text in ("run", "exec", "create")), None
        )
        odd = re.compile(r"(-H|--host|--url|--connection|--privileged|-v|--volume|--mount)\b")
        if runs is None or (runs > 2 and "compose" not in texts):
            risky = any(odd.match(text) for text in texts[:1])
            return Inner(strict=f"{texts[0]} reaches another machine" if risky else "")
        if base in ("kubectl", "oc") and texts[runs] == "create":
            return Inner()
        obeys = True
    if base == "crontab" and texts in (["-l"], ["-u"]):
        return Inner()
    return Inner(strict=f"{base} runs something that is not followed", obeys=obeys)


_ACTION = {"find": re.compile(r"-(?:exec|execdir|ok|okdir)()")}
_FD_ACTION = re.compile(r"-[a-zA-Z]*[xX](.*)|--exec(?:-batch)?(?:=(.*))?", re.DOTALL)


def find_actions(base: str, words: Sequence[Word]) -> list[Inner]:
    """The commands of ``find … -exec … ;`` and ``fd -x …``; *words* are the arguments."""
    found: list[Inner] = []
    at = 0
    while at < len(words):
        action = _ACTION.get(base, _FD_ACTION).fullmatch(words[at].text)
        at += 1
        if action is None:
            continue
        joined = next((text for text in action.groups() if text), "")
        first = (literal_word(joined),) if joined else ()
        end = at
        while (
            end < len(words)
            and words[end].text != ";"
            and not (words[end].text == "+" and words[end - 1].text == "{}")
        ):
            end += 1
        inner = (*first, *words[at:end])
        strict = "" if inner and "{" not in inner[0].text else "what is found is run as a program"
        found.append(Inner(inner, more=True, strict=strict, obeys=bool(strict)))
        at = end + 1
    return found


def delete_alias(words: Sequence[Word]) -> tuple[str, ...]:
    """``find -delete`` also counts as ``rm`` for deny rules."""
    return (
        (as_written([literal_word("rm"), *words]),) if "-delete" in [w.text for w in words] else ()
    )
