"""The ``bash`` tool: one command in a shell of its own (spec 3, ``bash``)."""

import os
import re
import shlex
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from agent.display import ShellBlock, ToolLabel
from agent.errors import ToolError
from agent.permission.bash import bash_needs, read_only
from agent.process import (
    Capture,
    Command,
    Finished,
    child_environment,
    run,
    shell_argv,
    strict_environment,
)
from agent.questions import PermissionReply
from agent.tools.base import Plan, Result, ToolArgs, ToolContext, ToolSpec
from agent.tools.paths import ToolPath, outside_need, resolve_path
from agent.tools.truncate import Limits, Truncated, Truncator, cut

DEFAULT_TIMEOUT = 120.0
MAX_TIMEOUT = 600.0
"""Seconds (spec 3, ``bash``)."""

MAX_COMMAND = 100_000
"""Bytes of a command: Linux takes 131,072 in one argument."""

NOTE_LINES, NOTE_BYTES = 8, 1_024
"""Room for the words about how the command ended, within the limits of the output."""

BLOCK = Limits(lines=200, bytes=10_000)
"""What the transcript keeps of an output, beside what the model reads."""

ANSWERS = frozenset({"grep", "egrep", "fgrep", "rg", "diff", "cmp", "test", "[", "[["})
"""Commands whose exit code 1 is an answer and no failure (spec 1, L8)."""

GIT_ANSWERS = frozenset({"grep", "diff"})

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


class BashArgs(ToolArgs):
    """Arguments of ``bash``."""

    command: str = Field(description="The command to run", min_length=1)
    description: str | None = Field(
        default=None, description="What the command does, in five to ten words"
    )
    workdir: str | None = Field(
        default=None,
        description="The folder to run in, relative to the session's directory (the default)",
    )
    timeout: int | None = Field(
        default=None, gt=0, description="Time limit in milliseconds (not seconds)"
    )


@dataclass(frozen=True, slots=True)
class BashPlan:
    """What runs, frozen when it was shown. *timeout* is in seconds; *notes* go to the model."""

    command: str
    directory: str
    timeout: float
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BashSettings:
    """*secret_names* are variables that no command gets to see; time limits in seconds.

    *strict* passes on a short list of harmless variables only, and those named by *kept*.
    """

    secret_names: Collection[str] = ()
    strict: bool = False
    kept: Collection[str] = ()
    default_timeout: float = DEFAULT_TIMEOUT
    max_timeout: float = MAX_TIMEOUT
    env: Mapping[str, str] | None = None

    def environment(self) -> dict[str, str]:
        """What a command is started with."""
        inherited = os.environ if self.env is None else self.env
        if self.strict:
            return strict_environment(inherited, self.secret_names, self.kept)
        return child_environment(inherited, self.secret_names)


class BashTool:
    """Runs commands. *truncator* cuts and keeps their output."""

    args = BashArgs

    def __init__(self, settings: BashSettings, truncator: Truncator) -> None:
        self._settings = settings
        self._truncator = truncator
        self.spec = ToolSpec(
            name="bash",
            verb="Bash",
            aliases=("shell", "sh", "run_command", "execute_command", "run_shell_command"),
            keep="tail",
            variables={
                "shell": Path(shell_argv("")[0]).name,
                "platform": sys.platform,
                "default_timeout_ms": f"{settings.default_timeout * 1000:.0f}",
                "max_timeout_ms": f"{settings.max_timeout * 1000:.0f}",
                "max_lines": f"{truncator.limits.lines:,}",
                "max_kib": str(truncator.limits.bytes // 1024),
            },
        )

    def concurrency_safe(self, args: BashArgs) -> bool:
        # Where a command reads makes no difference here, only that it changes nothing: with
        # the root as the project every place is inside.
        return read_only(args.command, directory="/", project="/")

    async def prepare(self, args: BashArgs, ctx: ToolContext) -> Plan[BashPlan]:
        command = args.command.strip()
        _check(command)
        timeout, notes = self._timeout(args.timeout)
        place = resolve_path(args.workdir or ctx.directory, ctx)
        directory, moved = _directory(place, ctx, named=bool(args.workdir))
        kept = str(self._truncator.spills.folder)
        needs = bash_needs(command, directory=directory, project=ctx.project, readable=(kept,))
        return Plan(
            label=ToolLabel("Bash", _first_line(command), args.description or ""),
            payload=BashPlan(command, directory, timeout, (*notes, *moved)),
            needs=(*(outside_need(place, folder=True) if args.workdir else ()), *needs),
            blocks=(ShellBlock(command),),
            heading="Run this command?",
        )

    def _timeout(self, milliseconds: int | None) -> tuple[float, tuple[str, ...]]:
        if milliseconds is None:
            return self._settings.default_timeout, ()
        most = self._settings.max_timeout
        if milliseconds <= most * 1000:
            return milliseconds / 1000, ()
        return most, (f"The time limit was lowered to {most * 1000:.0f} ms, the highest allowed.",)

    async def execute(
        self, plan: Plan[BashPlan], reply: PermissionReply | None, ctx: ToolContext
    ) -> Result:
        _ = reply  # An edited command comes back as a new plan.
        call = plan.payload
        limits = self._truncator.limits
        capture = Capture(self._truncator.spills, max_lines=limits.lines, max_bytes=limits.bytes)
        command = Command(
            argv=shell_argv(call.command),
            directory=call.directory,
            env=self._settings.environment(),
            timeout=call.timeout,
        )
        try:
            done = await run(command, capture, ctx.progress)
        except OSError as error:
            return _not_started(call, error)
        output = self._truncator.apply_captured(
            done.output, note_lines=NOTE_LINES, note_bytes=NOTE_BYTES
        )
        return _result(call, done, output)


def _check(command: str) -> None:
    if not command:
        raise ToolError("The command is empty. Give the command to run.")
    if "\0" in command:
        raise ToolError("The command holds a NUL byte. Write it without one.")
    if len(command.encode()) > MAX_COMMAND:
        raise ToolError(
            f"The command is longer than {MAX_COMMAND:,} bytes. Write a script with the write "
            "tool and run that."
        )


def _directory(place: ToolPath, ctx: ToolContext, *, named: bool) -> tuple[str, tuple[str, ...]]:
    """Where to run, with a note if that is not where it should be (trial CWD).

    A session directory that is gone is replaced by the project's, a *named* folder never.
    """
    if Path(place.real).is_dir():
        return place.real, ()
    if named:
        raise ToolError(
            f"The folder {place.shown} does not exist, so nothing was run. Give an existing "
            "folder as workdir or leave it out."
        )
    if not Path(ctx.project).is_dir():
        raise ToolError(
            f"Neither {ctx.directory} nor {ctx.project} exists any more, so nothing was run. "
            "Give an existing folder as workdir."
        )
    return ctx.project, (f"{ctx.directory} does not exist any more: this ran in {ctx.project}.",)


def _first_line(command: str) -> str:
    first, _, rest = command.partition("\n")
    return f"{first} …" if rest else first


def _not_started(call: BashPlan, error: OSError) -> Result:
    reason = error.strerror or str(error)
    text = f"The command could not be started in {call.directory}: {reason}."
    block = ShellBlock(call.command, note=text)
    return Result(text, blocks=(block,), facts=("not started",), failed=True)


def _ending(call: BashPlan, done: Finished) -> tuple[str, ...]:
    """How the command ended, where that was not simply well."""
    notes: list[str] = []
    if done.timed_out:
        notes.append(
            f"Timed out after {_seconds(call.timeout)}: the command and all it started were "
            "ended. What it printed until then is above."
        )
    elif done.signal:
        notes.append(f"Ended by {done.signal}.")
    elif done.exit_code:
        notes.append(f"Exit code {done.exit_code}.")
    if done.background:
        notes.append(
            "A background process of this command still runs. It goes on until the program "
            "ends; its further output is not kept."
        )
    return (*notes, *call.notes)


def _result(call: BashPlan, done: Finished, output: Truncated) -> Result:
    notes = _ending(call, done)
    printed = output.text.rstrip("\n") or "(no output)"
    text = "\n".join((printed, *([""] if notes else []), *(f"({note})" for note in notes)))
    fact = "timed out" if done.timed_out else done.signal
    if not fact and done.exit_code:
        fact = f"exit {done.exit_code}"
    block = ShellBlock(
        call.command,
        cut(done.output.text, BLOCK, "tail"),
        exit_code=done.exit_code,
        note=" ".join(notes),
    )
    good = done.exit_code == 0 or (done.exit_code == 1 and exit_one_answers(call.command))
    return Result(
        text,
        blocks=(block,),
        facts=(fact,) if fact else (),
        exit_code=done.exit_code,
        failed=not good,
        spill=output.spill,
    )


def _seconds(duration: float) -> str:
    if duration < 60:
        return f"{duration:.1f}s"
    return f"{int(duration) // 60}m{int(duration) % 60:02d}s"


def exit_one_answers(command: str) -> bool:
    """Whether exit code 1 of *command* is an answer: its last command is grep or the like."""
    words = _last_command(command)
    while words and (words[0] == "!" or _ASSIGNMENT.match(words[0])):
        words = words[1:]
    if not words:
        return False
    name = words[0].rpartition("/")[2]
    if name == "git":
        verbs = [word for word in words[1:] if not word.startswith("-")]
        return bool(verbs) and verbs[0] in GIT_ANSWERS
    return name in ANSWERS


def _last_command(command: str) -> list[str]:
    """The words of the last command in *command*; empty where that can't be told simply."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars="();<>|&\n")
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    current: list[str] = []
    last: list[str] = []
    inside = 0
    try:
        for token in lexer:
            if token in {"<(", ">("}:
                inside += 1
            elif inside:
                inside -= token.count(")")
            elif set(token) <= set(";|&()\n"):
                last, current = current or last, []
            else:
                current.append(token)
    except ValueError:
        return []
    return current or last
