"""The options that the program was started with, and loading the runtime for them."""

import asyncio
import gc
import importlib
import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from agent.records.frozen import frozen
from agent.records.json import Json

if TYPE_CHECKING:
    from agent.permission.trust.trust import AskTrust
    from agent.records.messages import Session
    from agent.records.requests import PermissionMode
    from agent.runtime.runtime import Runtime
    from agent.session.repository import SessionRepository


@frozen(kw_only=True)
class LaunchOptions:
    """The arguments of ``opencode-py [folder]``."""

    directory: Path
    model: str | None = None
    agent: str | None = None
    effort: str | None = None
    prompt: str | None = None
    """A prompt to send at once."""
    resume: bool = False
    """Open the latest session of the folder."""
    session: str | None = None
    """The id of the session to open."""
    fork: bool = False
    """Open a copy of that session instead of continuing it."""
    worktree: str | None = None
    """The name of a new worktree to work in, "" for any; None for none."""
    mode: "PermissionMode | None" = None
    """The permission mode to start in, None for the one of the settings."""
    sandbox: str | None = None
    """The setting ``bash.sandbox``."""
    plain: bool = False
    port: int | None = None
    """The port on which editors reach the full screen; None for none."""


def pause_gc() -> None:
    """Disable garbage collection until ``resume_gc``."""
    gc.disable()


def resume_gc() -> None:
    """Enable garbage collection if it was paused, without the objects that exist now. A whole
    collection stops everything for 20 ms, so it is made less often than by default."""
    if not gc.isenabled():
        gc.freeze()
        gc.set_threshold(2_000, 10, 20)
        gc.enable()


async def load_runtime(
    launch: LaunchOptions,
    env: Mapping[str, str],
    ask_trust: "AskTrust | None" = None,
    *,
    wait_for_subagents: bool = False,
) -> "Runtime":
    """Import the agent package and open the runtime for *launch*.

    The import runs in a thread: keys echo meanwhile. *ask_trust* is asked before the folder's files
    run anything; without it no question is shown. With *wait_for_subagents*, turns wait for their
    sub-agents in the background.
    """
    await asyncio.to_thread(importlib.import_module, "agent.runtime.runtime")
    resume_gc()
    from agent.runtime.runtime import open_runtime  # loaded just above

    overrides: dict[str, Json] = {"model": launch.model, "default_agent": launch.agent}
    if launch.sandbox is not None:
        overrides["bash"] = {"sandbox": launch.sandbox}
    return await open_runtime(
        launch.directory,
        env=env,
        overrides=overrides,
        mode=launch.mode,
        ask_trust=ask_trust,
        wait_for_background=wait_for_subagents,
    )


async def named_session(repository: "SessionRepository", launch: LaunchOptions) -> "Session | None":
    """Return the session that the command line names, or its copy; None for a new one."""
    session = None
    if launch.session is not None:
        session = await repository.get(launch.session)
    elif launch.resume:
        session = await repository.latest()
    return await repository.fork(session.id) if session is not None and launch.fork else session


# The command that starts this program again, for sentences that tell the user to run it.

NAME = "opencode-py"


def own_command(started: str = "", path: str | None = None) -> str:
    """Return what to type to run this program: its name if the shell finds it there (in *path*, the
    value of ``PATH``), else the file that it was *started* with."""
    file = Path(started or sys.argv[0])
    found = shutil.which(NAME, path=path)
    on_path = found is not None and Path(found).resolve() == file.resolve()
    if on_path or not file.is_file():  # started in another way: the name is all that is known
        return NAME
    file = file.absolute()
    shown = f"./{file.relative_to(Path.cwd())}" if file.is_relative_to(Path.cwd()) else str(file)
    words = [shown] if os.access(file, os.X_OK) else [sys.executable, shown]
    return shlex.join(words)


def resume_command(session_id: str, *words: str) -> str:
    """Return what to type to continue a session, with the *words* of a command or option."""
    return " ".join((own_command(), *words, "-s", session_id))


def with_command(sentence: str, command: str) -> str:
    """Return *sentence* and the *command* to type, which gets a line of its own if both are wider
    than the terminal: one that is broken at the edge is hard to copy."""
    from rich.cells import cell_len  # kept out of start-up

    line = f"{sentence} {command}"
    fits = cell_len(line) <= shutil.get_terminal_size().columns
    return line if fits else f"{sentence}\n{command}"
