"""The ``bash`` tool: run one command in a new shell."""

import asyncio
import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import AliasChoices, Field

from agent.installation import documentation_folder
from agent.permission.rules import UNSANDBOXED
from agent.permission.sandbox_policy.service import CommandSandbox, WrappedCommand
from agent.process import (
    Capture,
    Command,
    FinishedCommand,
    RunningCommand,
    TerminalMissing,
    TerminalPlace,
    TerminalRefused,
    run,
    run_in_terminal,
    start,
)
from agent.records.blocks import ShellBlock, ToolLabel
from agent.records.errors import ToolError
from agent.records.frozen import frozen
from agent.records.requests import PermissionNeed, PermissionReply
from agent.records.tool_facts import ToolFacts
from agent.tools.core.tool import Plan, Result, ToolContext, ToolSpec
from agent.tools.core.tool_args import ToolArgs
from agent.tools.core.truncate import Truncated, Truncator
from agent.tools.files.paths import ToolPath, outside_need, resolve_path, show_path
from agent.tools.shell.results import (
    NO_SERVER,
    blocked_notes,
    describe_shell,
    format_seconds,
    is_exit_one_normal,
    keep_files,
    sandbox_requests,
    shell_block,
    shell_output,
)
from agent.tools.shell.safe_git import GitWrapper, SafeGit, git_wrapper, safe_git
from agent.tools.shell.settings import BashSettings, bash_variables
from agent.tools.shell.shells import Shells

if TYPE_CHECKING:  # loads the grammar of shells and the programs that are known
    from agent.permission.shell.analysis import Analysis

log = logging.getLogger(__name__)

MIN_MILLISECONDS = 1_000
"""A smaller time limit is meant in seconds: models confuse the two, and nothing can run in so
few milliseconds."""

MAX_COMMAND = 100_000
"""Bytes of a command: Linux allows 131,072 in one argument."""

MAX_IN_TERMINAL = 30_000
"""Bytes of a command for an editor's terminal, which can quote it for another shell."""

NOTE_LINES, NOTE_BYTES = 8, 1_024
"""The size of the notes on the end of a command, within the limits of the output."""

HEADING = "Run this command?"
BACKGROUND_HEADING = "Run this command in the background?"
UNSANDBOXED_HEADING = "Run this command without the sandbox?"

EARLY_EXIT = 0.5
"""Seconds to wait for a background command that fails at once, to report that."""

BACKGROUND_HINT = (
    "You are notified when it ends. bash_output with the id {id} reads its output, or ends it with "
    "kill. It is killed when the program closes."
)


class BashArgs(ToolArgs):
    """Arguments of ``bash``."""

    command: str = Field(description="The command to run", min_length=1)
    description: str | None = Field(
        default=None, description="What the command does, in five to ten words"
    )
    workdir: str | None = Field(
        default=None,
        description="The folder to run in (default: the session's directory)",
    )
    timeout: int | None = Field(default=None, gt=0, description="Time limit in milliseconds")
    background: bool = Field(
        default=False,
        validation_alias=AliasChoices("background", "run_in_background"),
        description="Start it and return at once",
    )
    watch: str | None = Field(
        default=None,
        description="With background: report when it prints this text (alternatives: a|b)",
    )
    network: str | None = Field(
        default=None,
        description="Why the command needs the network, if it does",
    )
    unsandboxed: str | None = Field(
        default=None,
        description="Why the command cannot run in the sandbox, if it cannot",
    )


@frozen
class BashPlan:
    """A command as it was shown."""

    command: str
    directory: str
    identity: tuple[int, int]
    """The device and inode of the folder."""

    timeout: float | None
    """The time limit in seconds, None without one (in the background only)."""

    where: str = ""
    """The folder for users, "" for that of the session."""

    notes: tuple[str, ...] = ()
    """Notes for the model."""

    background: bool = False
    watch: str = ""
    """The text to watch for in its output."""
    description: str = ""
    git: SafeGit | None = None
    """Its git commands that need no approval."""
    sandboxed: bool = False
    """It runs in a sandbox, unless it is allowed without."""
    kept: tuple[str, ...] = ()
    """The files that are hidden from it in the sandbox, absolute and resolved."""
    kept_notes: tuple[str, ...] = ()


class BashTool:
    """Runs commands; *shells* are those in the background. Without a *sandbox* commands are not
    restricted."""

    spec = ToolSpec(
        name="bash",
        verb="Bash",
        aliases=("shell", "sh", "run_command", "execute_command", "run_shell_command"),
        kept_end="tail",
    )
    facts = ToolFacts(action="ask", kind="execute", claude_name="Bash", in_claude_settings=True)
    args = BashArgs

    def __init__(
        self,
        settings: BashSettings,
        truncator: Truncator,
        shells: Shells,
        sandbox: CommandSandbox | None = None,
    ) -> None:
        self._sandbox = sandbox
        self._settings = settings
        self._truncator = truncator
        documentation = documentation_folder()
        self._readable = (
            str(truncator.spills.folder),
            *((documentation,) if documentation else ()),
        )
        self._shells = shells
        self.spec = replace(self.spec, variables=bash_variables(settings, truncator, sandbox))

    def concurrency_safe(self, args: BashArgs) -> bool:
        from agent.permission.shell.analysis import is_read_only  # only commands need it

        # Only changes matter here, not where the command reads: with the root as the project
        # every path is inside.
        return not args.background and is_read_only(
            args.command, directory="/", project="/", shell=self._settings.shell[0]
        )

    async def prepare(self, args: BashArgs, ctx: ToolContext) -> Plan[BashPlan]:
        command = args.command.strip()
        _check(command)
        timeout, notes = self._timeout(args)
        place = resolve_path(args.workdir or ctx.directory, ctx)
        directory, moved = _directory(place, ctx, named=bool(args.workdir))
        line, needs = self._analyze(command, directory, ctx)
        sandboxed = await self._is_sandboxed(ctx)
        plain = sandboxed and not (args.network or args.unsandboxed)
        needs, kept, kept_notes = await keep_files(needs, line, directory, ctx, hides=plain)
        if sandboxed:
            needs = (*needs, *sandbox_requests(command, needs, args.network, args.unsandboxed))
        where = _where(directory, ctx)
        note = ": ".join(filter(None, (f"in {where}" if where else "", args.description)))
        return Plan(
            label=ToolLabel("You ran" if ctx.by_user else "Bash", _first_line(command), note),
            payload=BashPlan(
                command,
                directory,
                _identity(directory),
                timeout,
                where,
                (*notes, *moved),
                background=args.background,
                watch=args.watch or "",
                description=args.description or "",
                git=safe_git(line),
                sandboxed=sandboxed,
                kept=kept,
                kept_notes=kept_notes,
            ),
            sandboxed=sandboxed,
            needs=(*(outside_need(place, folder=True) if args.workdir else ()), *needs),
            blocks=(
                ShellBlock(
                    command,
                    directory=directory if where else "",
                    description=args.description or "",
                ),
            ),
            heading=_heading(needs, background=args.background),
        )

    async def _is_sandboxed(self, ctx: ToolContext) -> bool:
        """Return whether the call runs in a sandbox unless it is allowed without. A command that
        the user typed never does. Raises ``ToolError`` if it has to and there is none."""
        return self._sandbox is not None and not ctx.by_user and await self._sandbox.is_in_force()

    async def _wrapped(self, call: BashPlan, ctx: ToolContext) -> WrappedCommand | None:
        """Return the command in its sandbox, None if it was allowed without."""
        if self._sandbox is None or not call.sandboxed or ctx.sandbox.level == "none":
            return None
        return await self._sandbox.wrap(
            (*self._settings.shell, call.command),
            ctx.sandbox,
            directory=call.directory,
            session_directory=ctx.directory,
            project=ctx.project,
            kept=call.kept,
        )

    def _analyze(
        self, command: str, directory: str, ctx: ToolContext
    ) -> tuple["Analysis", tuple[PermissionNeed, ...]]:
        """Return the analysis of *command*, and its needs in the shell of the settings."""
        from agent.permission.shell.analysis import analyze, needs_in_shell  # only commands need it

        gone = not Path(ctx.directory).is_dir()
        line = analyze(
            command,
            directory=directory,
            project=ctx.project,
            readable=self._readable,
            start=directory if gone else ctx.directory,
        )
        return line, needs_in_shell(line, self._settings.shell[0])

    def _check_as_shown(self, plan: Plan[BashPlan], ctx: ToolContext, *, asked: bool) -> None:
        """Raise ``ToolError`` if the folder is another one than that which was judged; if the user
        was *asked*, also if a link that was put there meanwhile makes the line reach more."""
        call = plan.payload
        there = os.path.lexists(call.directory)  # if it is gone, it is not started
        if there and _identity(call.directory) != call.identity:
            raise ToolError(
                f"The folder {call.where or call.directory} was replaced after this command was "
                "checked, so nothing was run. Look at what is there now, then repeat the command."
            )
        if not asked:
            return
        for need in self._analyze(call.command, call.directory, ctx)[1]:
            paths = need.permission in ("read", "edit", "external_directory")
            if paths and need.default_action != "allow" and need not in plan.needs:
                raise ToolError(
                    f"While the user was being asked, files that this command reaches changed: "
                    f"{need.shown or need.pattern}. Nothing was run. Look at what is there now, "
                    "then repeat the command."
                )

    def _timeout(self, args: BashArgs) -> tuple[float | None, tuple[str, ...]]:
        if args.timeout is None:
            return (None if args.background else self._settings.default_timeout), ()
        wanted, notes = args.timeout / 1000, ()
        if args.timeout < MIN_MILLISECONDS:
            wanted = float(args.timeout)
            notes = (f"timeout={args.timeout} was taken as seconds; it is in milliseconds.",)
        most = self._settings.max_timeout
        if args.background or wanted <= most:
            return wanted, notes
        return most, (f"The time limit was lowered to {most * 1000:.0f} ms, the highest allowed.",)

    async def execute(
        self, plan: Plan[BashPlan], reply: PermissionReply | None, ctx: ToolContext
    ) -> Result:
        call = plan.payload
        self._check_as_shown(plan, ctx, asked=reply is not None and not ctx.by_user)
        env = self._settings.environment()
        if call.git is None or reply is not None or ctx.by_user:
            return await self._execute(call, env, None, ctx)
        # Nobody approved the line.
        wrapper = await git_wrapper(call.git, env)
        if wrapper is None:
            return await self._execute(call, env, None, ctx)
        try:
            return await self._execute(call, wrapper.environment, wrapper, ctx)
        finally:
            wrapper.close_if_unused()

    async def _execute(
        self, call: BashPlan, env: Mapping[str, str], wrapper: GitWrapper | None, ctx: ToolContext
    ) -> Result:
        limits = self._truncator.limits
        capture = Capture(self._truncator.spills, max_lines=limits.lines, max_bytes=limits.bytes)
        wrapped = await self._wrapped(call, ctx)
        command = Command(
            argv=wrapped.argv if wrapped else (*self._settings.shell, call.command),
            directory=call.directory,
            env=env,
            timeout=call.timeout,
        )
        try:
            if call.background:
                self._shells.check_limit()
                done = await start(command, capture)
            else:
                # Only a shell of this program can be sandboxed, or find the wrapper of git.
                own = wrapper is not None or wrapped is not None
                done = await self._run_in_foreground(command, capture, ctx, alone=own)
        except OSError as error:
            return _not_started(call, error)
        if isinstance(done, RunningCommand):
            on_end = wrapper.keep() if wrapper is not None else None
            return await self._run_in_background(call, done, ctx, on_end, wrapped)
        if wrapper is not None:
            done = replace(done, output=wrapper.translated(done.output))
        output = self._truncator.apply_captured(
            done.output, note_lines=NOTE_LINES, note_bytes=NOTE_BYTES
        )
        return _result(call, done, output, wrapped)

    async def _run_in_foreground(
        self, command: Command, capture: Capture, ctx: ToolContext, *, alone: bool
    ) -> FinishedCommand | RunningCommand:
        """Run in a terminal of the user's editor if there is one, else in a shell; *alone* if the
        command needs a sandbox or an environment that a terminal cannot give it."""
        size = len(command.argv[-1].encode("utf-8", "replace"))
        # BASH_ENV, by which a command in a terminal is tracked, works only with bash.
        bash = Path(command.argv[0]).name == "bash"
        if ctx.terminals is not None and not alone and bash and size <= MAX_IN_TERMINAL:
            place = TerminalPlace(ctx.terminals, ctx.root_id, ctx.on_terminal)
            passing = self._settings.terminal_environment()
            try:
                return await run_in_terminal(place, command, passing, capture, ctx.progress)
            except TerminalMissing as missing:
                log.info("the editor opens no terminal: %s", missing)
            except TerminalRefused as refused:
                raise ToolError(f"The user's editor did not run the command: {refused}") from None
        with self._shells.detachable(ctx) as detach:
            return await run(command, capture, ctx.progress, detach)

    async def _run_in_background(
        self,
        call: BashPlan,
        started: RunningCommand,
        ctx: ToolContext,
        on_end: Callable[[], None] | None,
        wrapped: WrappedCommand | None,
    ) -> Result:
        """Hand the *started* command over to the background, and say how to use it."""
        info = self._shells.adopt(
            started,
            ctx,
            command=call.command,
            description=call.description,
            directory=call.directory,
            timeout=call.timeout if call.background else None,
            on_end=on_end,
            explain=partial(blocked_notes, wrapped),
        )
        how = "The user moved it to the background, where it continues"
        with self._shells.reading(info.id):
            if call.background:
                try:
                    ended = await self._shells.wait_for_exit(info.id, EARLY_EXIT)
                except asyncio.CancelledError:
                    # Nothing else would know its id.
                    await self._shells.kill(info.id, known=True)
                    raise
                how = "It has already ended" if ended else "It was started in the background"
            info, taken = await self._shells.read(info.id, info.root_id, 0)
        if call.watch and info.state == "running":
            self._shells.watch(info.id, call.watch)
        ran = info.state == "running"
        offline = ran and wrapped is not None and not wrapped.policy.network
        notes = (
            f"{how}: {describe_shell(info)}",
            *((BACKGROUND_HINT.format(id=info.id),) if ran else ()),
            *((NO_SERVER,) if offline else ()),
            *self._shells.end_notes(info.id),
            *(call.kept_notes if wrapped is not None else ()),
            *call.notes,
        )
        return Result(
            shell_output(taken, notes),
            label=ToolLabel(
                "Bash",
                _first_line(call.command),
                " ".join(filter(None, (f"in {call.where}" if call.where else "", f"as {info.id}"))),
            ),
            blocks=(
                shell_block(call.command, taken.text, info.exit_code, "" if ran else notes[0]),
            ),
            facts=("background",) if ran else (),
            exit_code=info.exit_code,
            failed=not ran and info.exit_code != 0,
        )


def _check(command: str) -> None:
    if not command:
        raise ToolError("The command is empty. Give the command to run.")
    if "\0" in command:
        raise ToolError("The command contains a NUL byte. Write it without one.")
    if len(command.encode()) > MAX_COMMAND:
        raise ToolError(
            f"The command is longer than {MAX_COMMAND:,} bytes. Write a script with the write "
            "tool and run that."
        )


def _directory(place: ToolPath, ctx: ToolContext, *, named: bool) -> tuple[str, tuple[str, ...]]:
    """Return the folder to run in, with a note if it is not the requested one.

    A missing session directory is replaced by the project's, a *named* folder never.
    """
    if Path(place.real).is_dir():
        return place.real, ()
    if named:
        raise ToolError(
            f"The folder {place.shown} does not exist, so nothing was run. Give an existing "
            "folder as workdir, or omit it."
        )
    if not Path(ctx.project).is_dir():
        raise ToolError(
            f"Neither {ctx.directory} nor {ctx.project} exists any more, so nothing was run. "
            "Give an existing folder as workdir."
        )
    note = f"{ctx.directory} does not exist any more: this ran in {ctx.project}."
    return os.path.realpath(ctx.project), (note,)


def _where(directory: str, ctx: ToolContext) -> str:
    """Return *directory* for users, "" for the folder of the session."""
    return "" if directory == os.path.realpath(ctx.directory) else show_path(directory, ctx)


def _identity(directory: str) -> tuple[int, int]:
    """Return the device and inode of *directory*; none of both for a link or what is missing."""
    try:
        info = os.stat(directory, follow_symlinks=False)  # noqa: PTH116 - a string here
    except OSError:
        return (0, 0)
    linked = os.path.realpath(directory) != directory
    return (0, 0) if linked else (info.st_dev, info.st_ino)


def _heading(needs: tuple[PermissionNeed, ...], *, background: bool) -> str:
    if any(need.permission == UNSANDBOXED for need in needs):
        return UNSANDBOXED_HEADING
    return BACKGROUND_HEADING if background else HEADING


def _first_line(command: str) -> str:
    first, _, rest = command.partition("\n")
    return f"{first} …" if rest else first


def _not_started(call: BashPlan, error: OSError) -> Result:
    reason = error.strerror or str(error)
    text = f"The command could not be started in {call.directory}: {reason}."
    block = ShellBlock(call.command, note=text)
    return Result(text, blocks=(block,), facts=("not started",), failed=True)


def _ending_notes(call: BashPlan, done: FinishedCommand) -> tuple[str, ...]:
    """Return notes on how the command ended, unless it succeeded."""
    notes: list[str] = []
    if done.timed_out:
        notes.append(
            f"Timed out after {format_seconds(call.timeout or 0)}: the command and all it started "
            "were ended. What it printed until then is above."
        )
    elif done.signal:
        notes.append(f"Ended by {done.signal}.")
    elif done.exit_code:
        notes.append(f"Exit code {done.exit_code}.")
    if done.left_running:
        notes.append(
            "A background process of this command still runs. It continues until the program "
            "ends; its further output is not kept."
        )
    return (*notes, *((done.remark,) if done.remark else ()), *call.notes)


def _result(
    call: BashPlan, done: FinishedCommand, output: Truncated, wrapped: WrappedCommand | None
) -> Result:
    notes = (
        *_ending_notes(call, done),
        *blocked_notes(wrapped, done.output.text, done.exit_code),
        *(call.kept_notes if wrapped is not None else ()),
    )
    printed = output.text.rstrip("\n") or "(no output)"
    text = "\n".join((printed, *([""] if notes else []), *(f"({note})" for note in notes)))
    fact = "timed out" if done.timed_out else done.signal
    if not fact and done.exit_code:
        fact = f"exit {done.exit_code}"
    block = shell_block(
        call.command,
        done.output.text,
        done.exit_code,
        " ".join(notes),
        lines=done.output.lines,
    )
    good = done.exit_code == 0 or (done.exit_code == 1 and is_exit_one_normal(call.command))
    return Result(
        text,
        blocks=(block,),
        facts=(fact,) if fact else (),
        exit_code=done.exit_code,
        failed=not good,
        spill=output.spill,
    )
