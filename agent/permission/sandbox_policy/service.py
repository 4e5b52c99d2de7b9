"""The sandbox of an opened folder: what this machine has, and commands wrapped in it."""

import asyncio
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from agent.permission.sandbox_policy.command_policy import SandboxFolders, policy_of
from agent.records.errors import ToolError
from agent.records.frozen import frozen
from agent.records.sandbox import ProgramSandbox, SandboxGrant, SandboxSetting, program_grant

if TYPE_CHECKING:  # loaded with the first command
    from agent.process.sandbox import Sandbox, SandboxPolicy

REQUIRED = (
    "Commands run only in a sandbox here (the setting bash.sandbox is required), and none works on "
    "this machine, so nothing was run. {reason} Install bubblewrap (the program bwrap), or ask the "
    "user to change the setting."
)
UNAVAILABLE = (
    "Its settings require a sandbox ({sandbox}), and none works on this machine. {reason} "
    "Install bubblewrap (the program bwrap), or set its sandbox to off."
)
MISSING = "Commands run without a sandbox. {reason} Install bubblewrap to have one."


class SandboxUnavailable(ToolError):
    """A program has to run in a sandbox and this machine has none, so it was not started."""


@frozen
class SandboxStatus:
    """The sandbox of commands, for users."""

    setting: SandboxSetting
    name: str
    """The mechanism, "none" without one."""
    reason: str
    """A sentence on why there is none, or no better one; "" otherwise."""


@frozen
class WrappedCommand:
    """A command in the sandbox."""

    argv: tuple[str, ...]
    policy: "SandboxPolicy"


def _find(setting: SandboxSetting) -> "Sandbox":
    from agent.process.sandbox import find_sandbox  # not needed at the start

    return find_sandbox(setting)


class CommandSandbox:
    """Wraps commands in the sandbox of this machine, which is looked for once, with the first
    command. *on_missing* is called with a sentence if the setting is ``auto`` and there is none;
    *find* looks for the sandbox and runs in a thread.
    """

    def __init__(
        self,
        setting: SandboxSetting,
        folders: SandboxFolders,
        *,
        find: Callable[[SandboxSetting], "Sandbox"] = _find,
        on_missing: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.setting: SandboxSetting = setting
        self._folders = folders
        self._find = find
        self._on_missing = on_missing
        self._finding = asyncio.Lock()
        self._found: Sandbox | None = None

    @property
    def found(self) -> SandboxStatus | None:
        """Return what was found, None before the first command. With the setting ``off`` nothing
        has to be found."""
        if self._found is None:
            return SandboxStatus("off", "none", "") if self.setting == "off" else None
        return SandboxStatus(self.setting, self._found.name, self._found.reason)

    async def status(self) -> SandboxStatus:
        """Return what this machine has; looks for it if that was not done yet."""
        sandbox = await self._sandbox()
        return SandboxStatus(self.setting, sandbox.name, sandbox.reason)

    async def is_in_force(self) -> bool:
        """Return whether commands run in a sandbox. Raises ``SandboxUnavailable`` if they have to
        and this machine has none."""
        if self.setting == "off":
            return False
        sandbox = await self._sandbox()
        if sandbox.name == "none" and self.setting == "required":
            raise SandboxUnavailable(REQUIRED.format(reason=sandbox.reason))
        return sandbox.name != "none"

    async def wrap(
        self,
        argv: tuple[str, ...],
        grant: SandboxGrant,
        *,
        directory: str,
        session_directory: str,
        project: str,
        kept: Sequence[str] = (),
    ) -> WrappedCommand:
        """Return *argv*, to be run in *directory*, with the sandbox that *grant* describes, which
        hides the files *kept* too."""
        sandbox = await self._sandbox()

        def wrapped() -> WrappedCommand:
            policy = policy_of(
                grant,
                self._folders,
                directory=session_directory,
                project=project,
                kept=kept,
            )
            return WrappedCommand(sandbox.wrap(argv, policy, directory), policy)

        return await asyncio.to_thread(wrapped)

    async def wrap_formatter(
        self, argv: tuple[str, ...], path: str, project: str
    ) -> tuple[str, ...]:
        """Return *argv* of a formatter that runs in *project*. It can write the file *path*, and
        what a command can, without the network. Raises ``SandboxUnavailable`` as ``is_in_force``
        does."""
        if not await self.is_in_force():
            return argv
        grant = SandboxGrant(
            "workspace-write",
            folders=(os.path.dirname(path),),
            writes_outside=True,
            guarded=(path,),
        )
        wrapped = await self.wrap(
            argv, grant, directory=project, session_directory=project, project=project
        )
        return wrapped.argv

    async def wrap_program(
        self, argv: tuple[str, ...], sandbox: ProgramSandbox, *, directory: str, project: str
    ) -> tuple[str, ...]:
        """Return *argv*, to be started in *directory*, in the *sandbox* that the user's settings
        give this program, whatever ``bash.sandbox`` is. Raises ``SandboxUnavailable``."""
        if sandbox == "off":
            return argv
        found = await asyncio.to_thread(self._find, "required")
        if found.name == "none":
            raise SandboxUnavailable(UNAVAILABLE.format(sandbox=sandbox, reason=found.reason))

        def wrapped() -> tuple[str, ...]:
            grant = program_grant(sandbox, directory)
            policy = policy_of(grant, self._folders, directory=project, project=project)
            return found.wrap(argv, policy, directory)

        return await asyncio.to_thread(wrapped)

    async def _sandbox(self) -> "Sandbox":
        async with self._finding:
            if self._found is None:
                self._found = await asyncio.to_thread(self._find, self.setting)
                if self._found.name == "none" and self.setting == "auto":
                    self._on_missing(MISSING.format(reason=self._found.reason))
            return self._found
