"""Programs that run what follows them (security facts, 7.1): both are judged (spec 3, B2)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent.permission.lexicon import names
from agent.permission.shell_words import Word, as_written, literal_word


@dataclass(frozen=True, slots=True)
class Inner:
    """What a wrapper runs: *words*, or the shell *code*.

    *inert* wrappers need no rule of their own. *more* tells that paths are added at run time
    (find), *fed* that any arguments are (xargs). *sets* are names of variables given to it.
    *strict* says why what runs is not known.
    """

    words: tuple[Word, ...] = ()
    code: str | None = None
    inert: bool = False
    more: bool = False
    fed: bool = False
    sets: tuple[str, ...] = ()
    strict: str = ""


@dataclass(frozen=True, slots=True)
class _Wrapper:
    """*flags* stand alone, *values* take the next word (or are joined), *skip* operands
    come before the program."""

    flags: str = ""
    values: str = ""
    long: str = ""
    long_values: str = ""
    skip: int = 0
    inert: bool = False
    fed: bool = False


_WRAPPERS = {
    "nohup": _Wrapper(inert=True),
    "nice": _Wrapper(values="n", long_values="--adjustment", inert=True),
    "timeout": _Wrapper("v", "ks", "--foreground --preserve-status --verbose",
                        "--kill-after --signal", skip=1, inert=True),
    "stdbuf": _Wrapper(values="ioe", long_values="--input --output --error", inert=True),
    "command": _Wrapper("p", inert=True),
    "builtin": _Wrapper(), "time": _Wrapper("pqvV", "f"),
    "exec": _Wrapper("cl", "a"),
    "sudo": _Wrapper("AbEHKknPSvi", "ugpCrtTUhDR", "--preserve-env --non-interactive --login",
                     "--user --group --chdir"),
    "doas": _Wrapper("nLs", "uC"),
    "env": _Wrapper("i0v", "uC", "--ignore-environment --null --debug", "--unset --chdir"),
    "ionice": _Wrapper("t", "cnpPu"),
    "setsid": _Wrapper("cfw", long="--ctty --fork --wait"),
    "chrt": _Wrapper("bdfiroRa", "TPD", skip=1),
    "taskset": _Wrapper("a", "c", skip=1),
    "flock": _Wrapper("sxneuoF", "wE", skip=1),
    "xargs": _Wrapper(
        "0rtpxoie", "InPsLdaE",
        "--null --no-run-if-empty --verbose --exit --open-tty",
        "--replace --max-args --max-procs --max-chars --max-lines --delimiter --arg-file",
        fed=True,
    ),
    "watch": _Wrapper("bdegtcxpw", "n", "--differences --color --exec", "--interval"),
    "busybox": _Wrapper(), "toybox": _Wrapper(),
    "strace": _Wrapper("fFqvdhTtcCwyiknDVxz", "eOsSauPbIE"),
    "ltrace": _Wrapper("fSLitTrcC", "epsnulAab"),
    "setarch": _Wrapper("RvBFILSTXZ", skip=1), "nsenter": _Wrapper("mupUiCnT", "tSGrw"),
    "fakeroot": _Wrapper("u", "lsib"), "xvfb-run": _Wrapper("a", "enfpsw"),
    "pkexec": _Wrapper(long_values="--user"), "firejail": _Wrapper("q", "", "--quiet --net"),
    "chronic": _Wrapper("ev"), "entr": _Wrapper("acdnprsz"), "valgrind": _Wrapper("qv"),
    "screen": _Wrapper("dmDAqRx", "Sec"), "ssh-agent": _Wrapper("csDd", "at"),
    "unbuffer": _Wrapper("p"), "rlwrap": _Wrapper(),
    "winpty": _Wrapper(), "caffeinate": _Wrapper("dimsu", "tw"), "torsocks": _Wrapper(),
    "proxychains": _Wrapper("q", "f"), "proxychains4": _Wrapper("q", "f"),
    "unshare": _Wrapper("imnpuUCTfrc", "RwSG"), "chroot": _Wrapper(skip=1),
    "runuser": _Wrapper("m", "ugGs"), "setpriv": _Wrapper(), "noglob": _Wrapper(),
    "systemd-run": _Wrapper("tPqdG", "puM"), "nocorrect": _Wrapper(),
    "parallel": _Wrapper("kqX0", "jINnaS", fed=True),
    "npx": _Wrapper("yq", "p", "--yes --no --no-install --quiet", "--package"),
    "bunx": _Wrapper(), "uvx": _Wrapper("q", "", "--quiet", "--from --with --python"),
}  # fmt: skip

_RUNNERS: dict[tuple[str, ...], _Wrapper] = {
    ("uv", "run"): _Wrapper("q", "p", "--quiet --frozen --locked --no-sync --isolated --active "
                            "--all-extras --no-project --offline",
                            "--extra --group --python --with"),
    ("uv", "tool", "run"): _Wrapper(), ("poetry", "run"): _Wrapper(), ("pdm", "run"): _Wrapper(),
    ("pipenv", "run"): _Wrapper(), ("rye", "run"): _Wrapper(), ("hatch", "run"): _Wrapper(),
    ("pixi", "run"): _Wrapper(), ("bundle", "exec"): _Wrapper(), ("pipx", "run"): _Wrapper(),
    ("npm", "exec"): _Wrapper(long="--yes --no --"), ("npm", "x"): _Wrapper(long="--yes --no --"),
    ("pnpm", "exec"): _Wrapper(), ("pnpm", "dlx"): _Wrapper(), ("yarn", "exec"): _Wrapper(),
    ("yarn", "dlx"): _Wrapper(), ("bun", "x"): _Wrapper(), ("mise", "exec"): _Wrapper(),
    ("dotenv", "run"): _Wrapper(), ("direnv", "exec"): _Wrapper(skip=1),
    ("dotenv",): _Wrapper("q", "f"), ("conda", "run"): _Wrapper("v", "np", "--no-capture-output"),
    ("mamba", "run"): _Wrapper("v", "np"), ("nix", "run"): _Wrapper(),
    ("ip", "netns", "exec"): _Wrapper(skip=1), ("pyenv", "exec"): _Wrapper(),
    ("rbenv", "exec"): _Wrapper(), ("asdf", "exec"): _Wrapper(), ("mise", "x"): _Wrapper(),
    ("tox", "exec"): _Wrapper(values="e"), ("perf", "stat"): _Wrapper("adv", "erxo"),
    ("op", "run"): _Wrapper(), ("doppler", "run"): _Wrapper(),
    ("aws-vault", "exec"): _Wrapper(skip=1),
    ("heroku", "run"): _Wrapper("x", "as"),
    ("tmux", "new-session"): _Wrapper("AdDEPX", "cefFnstxy"),
    ("tmux", "new"): _Wrapper("AdDEPX", "cefFnstxy"),
    ("tmux", "new-window"): _Wrapper("abdkPS", "ceFnt"),
    ("gcloud", "compute", "ssh"): _Wrapper(skip=1),
}  # fmt: skip

SHELLS = names("sh bash dash zsh ksh mksh ash fish rbash")
REMOTE = names("ssh su script docker podman nerdctl kubectl oc gdb")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=")


def runner(words: Sequence[Word]) -> bool:
    """Whether ``uv run`` and the like start the line: a rule may name them with a program."""
    return _runner(words) is not None or words[0].text in ("npx", "bunx", "uvx")


def _runner(words: Sequence[Word]) -> tuple[_Wrapper, int] | None:
    for length in (3, 2, 1):
        found = _RUNNERS.get(tuple(word.text for word in words[:length]))
        if found is not None:
            return found, length
    return None


def unwrap(base: str, words: Sequence[Word]) -> Inner | None:
    """What the command runs besides itself; None when it is no wrapper. *words* hold the name."""
    if base in ("flock", "sg"):
        code = _after(words, "-c")
        if code is not None:
            return code
    if base == "sg":
        return Inner(strict="sg starts a shell")
    if base == "command" and any(re.match(r"-\w*[vV]", word.text) for word in words[1:2]):
        return None
    if base in SHELLS:
        return _shell(words[1:])
    if base in REMOTE:
        inner = _remote(base, words[1:])
        return inner if inner.strict or inner.code is not None else None
    found = _runner(words)
    if found is not None:
        return _step(found[0], words[found[1] :], "the runner")
    wrapper = _WRAPPERS.get(base)
    return None if wrapper is None else _step(wrapper, words[1:], base)


def _after(words: Sequence[Word], flag: str) -> Inner | None:
    """The shell code that stands behind *flag*, None where there is none."""
    at = next((i for i, word in enumerate(words) if word.text == flag), len(words))
    if at + 1 >= len(words):
        return None
    code = words[at + 1]
    if not code.literal:
        return Inner(strict="its code is known at run time only")
    return Inner(code=code.text)


def _step(wrapper: _Wrapper, words: Sequence[Word], name: str) -> Inner:
    """Over the wrapper's own flags and operands to the program it runs."""
    at = 0
    while at < len(words) and words[at].text.startswith("-") and words[at].text != "-":
        text = words[at].text
        if not words[at].literal:
            return Inner(strict=f"a flag of {name} is known at run time only")
        at += 1
        if text == "--":
            break
        taken = 0 if name == "nice" and re.fullmatch(r"-\d+", text) else _taken(wrapper, text)
        if taken is None:
            return Inner(strict=f"the flag {text} of {name} is not known")
        at += taken
    if not all(word.literal for word in words[at : at + wrapper.skip]):
        return Inner(strict=f"an operand of {name} is known at run time only")
    at += wrapper.skip
    sets: list[str] = []
    while name in ("env", "sudo", "doas") and at < len(words):
        found = _ASSIGNMENT.match(words[at].text)
        if found is None:
            break
        if not words[at].known and not all(part.quoted for part in words[at].parts):
            return Inner(strict=f"{words[at].source} may split into other words")
        sets.append(found[1])
        at += 1
    rest = tuple(words[at:])
    if not rest:
        runs_nothing = name in ("exec", "env", "xargs", "command", "builtin")
        strict = "" if runs_nothing else f"{name} starts something that is not named"
        return Inner(inert=wrapper.inert, sets=tuple(sets), strict=strict)
    if name in ("watch", "parallel"):
        return Inner(code=as_written(rest), fed=wrapper.fed)
    return Inner(rest, inert=wrapper.inert, fed=wrapper.fed, sets=tuple(sets))


def _taken(wrapper: _Wrapper, text: str) -> int | None:
    """How many words after the flag *text* belong to it; None for a flag that is not known."""
    if text.startswith("--"):
        flag, joined, _ = text.partition("=")
        if flag in wrapper.long_values.split():
            return 0 if joined else 1
        return 0 if flag in wrapper.long.split() else None
    for index, letter in enumerate(text[1:], 1):
        if letter in wrapper.values:
            return 1 if index == len(text) - 1 else 0
        if letter not in wrapper.flags:
            return None
    return 0


def _shell(words: Sequence[Word]) -> Inner:
    """``sh -c CODE``, a script by name, or code from standard input."""
    code = False
    for word in words:
        text = word.text
        if not word.literal:
            return Inner(strict=f"{word.source} may be code or a script")
        if code and not text.startswith(("-", "+")):
            return Inner(code=text)
        if text in ("--version", "--help"):
            return Inner()
        if text.startswith("--") and text not in ("--norc", "--noprofile", "--posix", "--login"):
            return Inner(strict=f"the flag {text} of a shell is not known")
        if re.fullmatch(r"[-+][a-zA-Z]+", text):
            if set(text) & set("sioO"):
                return Inner(strict=f"the flag {text} makes a shell read code from elsewhere")
            code = code or "c" in text
        elif not text.startswith("--"):
            return Inner()
    return Inner(strict="a shell runs what it reads from standard input")


def _remote(base: str, words: Sequence[Word]) -> Inner:
    """Runs something elsewhere or as someone else: the last words are judged as code too."""
    texts = [word.text for word in words]
    if base in ("docker", "podman", "nerdctl", "kubectl", "oc"):
        runs = next(
            (at for at, text in enumerate(texts) if text in ("run", "exec", "create")), None
        )
        odd = re.compile(r"(-H|--host|--url|--connection|--privileged|-v|--volume|--mount)\b")
        if runs is None or (runs > 2 and "compose" not in texts):
            risky = any(odd.match(text) for text in texts[:1])
            return Inner(strict=f"{texts[0]} reaches another machine" if risky else "")
        if base in ("kubectl", "oc") and texts[runs] == "create":
            return Inner()
    if base in ("su", "script") and "-c" in texts[:-1]:
        code = words[texts.index("-c") + 1]
        if code.literal:
            return Inner(code=code.text, strict=f"{base} runs it in another shell")
    return Inner(strict=f"{base} runs something that is not followed")


def find_actions(words: Sequence[Word]) -> list[Inner]:
    """The commands of ``find … -exec … ;`` and ``fd -x …``; *words* are the arguments."""
    found: list[Inner] = []
    at = 0
    while at < len(words):
        text = words[at].text
        at += 1
        if text not in ("-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"):
            continue
        end = at
        while (
            end < len(words)
            and words[end].text != ";"
            and not (words[end].text == "+" and words[end - 1].text == "{}")
        ):
            end += 1
        inner = tuple(words[at:end])
        strict = "" if inner and "{}" not in inner[0].text else "what is found is run as a program"
        found.append(Inner(inner, more=True, strict=strict))
        at = end + 1
    return found


def delete_alias(words: Sequence[Word]) -> tuple[str, ...]:
    """``find -delete`` also counts as ``rm`` for deny rules."""
    return (
        (as_written([literal_word("rm"), *words]),) if "-delete" in [w.text for w in words] else ()
    )
