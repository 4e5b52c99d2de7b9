"""Git, called so that nothing in the repository's own configuration can run.

A repository's hooks, filters, file-system monitors, pagers and external diffs are a stranger's
code; the agent's own calls switch them off.
"""

import asyncio
import contextlib
import os
import shutil
from pathlib import Path

HARDENED = (
    *("-c", "core.fsmonitor="),
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.pager=cat"),
    *("-c", "diff.external="),
    *("-c", "safe.bareRepository=explicit"),
    "--no-optional-locks",
    "--no-pager",
)

READS_FILES = frozenset({"status", "diff", "add"})
"""Subcommands that read the work tree, and would run filters."""

TIMEOUT = 2.0
"""Seconds that a call can take; a huge repository must not delay a prompt."""


async def git(directory: str, *arguments: str, timeout: float = TIMEOUT) -> str | None:
    """Return the output of ``git ARGUMENTS`` in *directory*.

    None if there is no git, the folder is no repository, or the call failed or took longer than
    *timeout* seconds.
    """
    settings: tuple[str, ...] = ()
    if arguments[0] in READS_FILES:
        settings = await _no_filters(directory, timeout)
    return await _run(directory, (*settings, *arguments), timeout)


async def _no_filters(directory: str, timeout: float) -> tuple[str, ...]:
    """Return settings that disable the repository's own filters: git would run their commands."""
    names = await _run(
        directory, ("config", "--name-only", "--null", "--get-regexp", r"^filter\."), timeout
    )
    filters = {name.rpartition(".")[0] for name in (names or "").split("\0") if name}
    return tuple(
        word
        for found in sorted(filters)
        for key in ("clean=", "smudge=", "process=", "required=false")
        for word in ("-c", f"{found}.{key}")
    )


async def _run(directory: str, arguments: tuple[str, ...], timeout: float) -> str | None:
    program = shutil.which("git")
    if program is None:
        return None
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    environment |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        process = await asyncio.create_subprocess_exec(
            program,
            *HARDENED,
            *arguments,
            cwd=directory,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:  # the folder is gone or not accessible
        return None
    try:
        output, _ = await asyncio.wait_for(process.communicate(), timeout)
    except BaseException as error:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        if isinstance(error, TimeoutError):
            return None
        raise
    return output.decode("utf-8", "replace") if process.returncode == 0 else None


async def project_root(directory: Path) -> Path:
    """Return the root of the git work tree around *directory*, else *directory* itself.

    It is the nearest folder with a ``.git``: a repository's own settings can name another work tree
    (``core.worktree``), which would inherit the trust in that folder.
    """
    output = await git(str(directory), "rev-parse", "--show-toplevel")
    named = (output or "").strip()
    return await asyncio.to_thread(_checked_root, directory, named) if named else directory


def _checked_root(directory: Path, named: str) -> Path:
    directory = directory.resolve()
    around = (directory, *directory.parents)
    nearest = next((folder for folder in around if os.path.lexists(folder / ".git")), None)
    return nearest if nearest is not None and nearest == Path(named).resolve() else directory
