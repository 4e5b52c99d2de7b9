"""The shell and the environment of commands."""

import shutil
from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache

NON_INTERACTIVE: Mapping[str, str] = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "EDITOR": "true",
    "VISUAL": "true",
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "true",
    "GIT_TERMINAL_PROMPT": "0",
    "TERM": "dumb",
}
"""Nothing that a command starts can wait for a user or draw a full screen."""

STARTUP_FILES = frozenset({"BASH_ENV", "ENV"})
"""Variables that make a shell read a file before the command, which ``--norc`` means to stop."""


KEPT = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_*", "TZ", "TMPDIR", "XDG_*",
)  # fmt: skip
"""Variables that a strict environment keeps."""

SECRET_WORDS = (
    "TOKEN", "SECRET", "PASSW", "KEY", "AUTH", "CREDENTIAL", "PRIVATE", "CERT",
)  # fmt: skip
"""Words in a variable's name that indicate a secret."""


def child_environment(env: Mapping[str, str], secret_names: Collection[str]) -> dict[str, str]:
    """The user's environment less *secret_names*, made non-interactive."""
    dropped = STARTUP_FILES.union(secret_names)
    kept = {name: value for name, value in env.items() if name not in dropped}
    return {**kept, **NON_INTERACTIVE}


def strict_environment(
    env: Mapping[str, str], secret_names: Collection[str], also: Collection[str] = ()
) -> dict[str, str]:
    """The harmless few of the user's variables, and those that *also* names.

    Both can end in ``*``. A name of our own list that sounds like a secret is left out.
    """
    kept = {n: value for n, value in env.items() if _named(n, also) or is_harmless(n)}
    return child_environment(kept, secret_names)


def is_harmless(name: str) -> bool:
    """Return whether a variable is one of ``KEPT`` that does not sound like a secret."""
    return _named(name, KEPT) and not any(word in name.upper() for word in SECRET_WORDS)


def _named(name: str, patterns: Collection[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


@lru_cache(maxsize=1)
def shell() -> tuple[str, ...]:
    """The shell's path and options up to ``-c``: bash, or sh where there is none."""
    bash = shutil.which("bash")
    if bash is not None:
        return (bash, "--noprofile", "--norc", "-c")
    return (shutil.which("sh") or "/bin/sh", "-c")


def shell_argv(command: str) -> tuple[str, ...]:
    """The argv that runs *command* in a shell."""
    return (*shell(), command)
