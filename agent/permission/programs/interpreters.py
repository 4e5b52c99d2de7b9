"""Interpreters: code in a flag or on standard input is not told by their name."""

import re
from collections.abc import Sequence

from agent.permission.syntax.words import Word

INTERPRETERS = {
    "python": "cm", "pypy": "cm", "node": "eprc", "nodejs": "eprc", "perl": "eEMmISxnp",
    "ruby": "eIrxnpS", "php": "rBRFEfdzc", "lua": "eli", "bun": "epr", "deno": "", "tclsh": "",
    "osascript": "el", "Rscript": "e", "julia": "eEL", "groovy": "e", "elixir": "eSr",
    "pwsh": "cCeEfF", "powershell": "cCeEfF",
}  # fmt: skip
LISTED = frozenset(INTERPRETERS)
"""Programs that this module has a word on."""
_CODE_FLAGS = ("--eval", "--print", "--require", "--import", "--loader", "--experimental-loader",
               "--env-file", "--run", "--process-code", "--process-file", "--check")  # fmt: skip
TAKING = {"python": "XW", "pypy": "XW", "ruby": "C", "node": "C", "nodejs": "C"}
"""Letters of flags that take the next word and run nothing."""
_VERSION = frozenset({"--version", "-V", "-v", "--help", "-h", "version"})


def is_interpreter(base: str) -> bool:
    """Whether *base*, with or without a version behind it, is one of them."""
    return without_version(base) in INTERPRETERS


def without_version(base: str) -> str:
    """The program that ``python3.12`` and ``gcc-12`` are."""
    return base.rstrip("0123456789.").removesuffix("-")


def interpreter(name: str, words: Sequence[Word]) -> str:
    """Code in a flag or on standard input. A script by name, and ``-m`` of Python, are plain:
    the pattern tells what runs."""
    letters = INTERPRETERS[name]
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
            if any(flag.startswith(text.split("=", 1)[0]) for flag in _CODE_FLAGS):
                return f"{text} runs code"
        elif text.startswith("-"):
            module = name in ("python", "pypy") and re.fullmatch(r"-[BEIOPsSuq]*m", text)
            if module and at + 1 < len(words) and words[at + 1].literal:
                return ""
            if set(letters) & set(text[1:]):
                return f"{text} runs code"
            skip = text[-1] in TAKING.get(name, "")
        else:
            evaluates = name == "deno" and text in ("eval", "repl")
            return f"{name} {text} runs code" if evaluates else ""
    if words and all(word.text in _VERSION for word in words):
        return ""
    return "the code comes from standard input"
