"""``opencode-py run``: one prompt without the full screen, from its arguments to its exit code."""

import argparse
import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from agent.records.frozen import frozen
from app.cli.command_support import (
    USAGE,
    command_parser,
    dollars,
    exit_later,
    positive_int,
    report,
    run_command,
)
from app.cli.parser import add_mode_options
from app.cli.run.standard_input import StandardInput
from app.session_state.prompt_preparation import STOPPED, PromptPreparation
from app.startup.launch import pause_gc, resume_gc

if TYPE_CHECKING:
    from agent.records.errors import OpencodePyError
    from agent.records.json import Json
    from agent.records.messages import Session
    from agent.runtime.headless import HeadlessRun
    from agent.runtime.runtime import Runtime
    from agent.session.api import PromptInput
    from app.cli.run.foreign_formats import ClaudeLines
    from app.cli.run.writers import Writer


STREAMED = "stream-json"

MAX_NAMED = 6
"""Ignored files that are named."""

TERMINATED = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
"""Exit codes after a signal, as shells return them."""


class RunSignals:
    """Handles the signals of the running loop from its creation on.

    The first one stops the preparation, or else the turn; the second exits the program at once.
    Ignored signals stay ignored.
    """

    def __init__(self) -> None:
        self.preparation = PromptPreparation()
        self.code: int | None = None
        self._loop = asyncio.get_running_loop()
        self._turn: Callable[[], Coroutine[object, object, None]] | None = None
        self._cancelling: asyncio.Task[None] | None = None
        for number in TERMINATED:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._loop.add_signal_handler(number, self._stop, number)

    def set_cancel(self, turn: Callable[[], Coroutine[object, object, None]]) -> None:
        """Stop the run with *turn* from now on."""
        self._turn = turn

    def _stop(self, number: signal.Signals) -> None:
        if self.code is not None:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        self.code = TERMINATED[number]
        exit_later(self.code)
        if not self.preparation.stop() and self._turn is not None:
            self._cancelling = self._loop.create_task(self._turn())


@frozen
class PreparedRun:
    """Everything that a turn needs."""

    headless: "HeadlessRun"
    session: "Session"
    prompt: "PromptInput | None"
    """None if prompts come on standard input."""


def parser() -> argparse.ArgumentParser:
    result = command_parser(
        "run",
        "Send one prompt, print the answer and exit. Piped input is added to the prompt.",
        epilog="Exit codes: 0 done, 1 failed, 2 wrong usage, 3 something was refused for lack of "
        "permission, 4 a limit was reached, 130 interrupted. No one can answer questions here: "
        "what the rules do not allow is refused, unless --auto-approve or --auto allows it.",
    )
    add = result.add_argument
    # opencode starts a server for each run: here there is none that the port could be for.
    add("--port", help=argparse.SUPPRESS)
    add(
        "message",
        nargs="*",
        help="the prompt; /NAME … is a command, @FILE attaches a file, "
        "a - at the end waits for standard input",
    )
    add("-f", "--file", action="append", default=[], metavar="PATH", help="attach this file")
    _add_model(result)
    add("-c", "--continue", dest="resume", action="store_true", help="continue the latest session")
    add("-s", "--session", metavar="ID", help="continue this session")
    add("--fork", action="store_true", help="with -c or -s: fork the session")
    add("-C", "--directory", default=".", metavar="FOLDER", help="the folder to work in")
    add(
        *("-w", "--worktree"),
        metavar="NAME",
        help="work in a new git worktree of this name, with its own branch",
    )
    add("--title", metavar="TEXT", help="the title of a new session")
    add("--command", metavar="NAME", help="a slash command, as if the message began with /NAME")
    _add_permissions(result)
    add("--pure", action="store_true", help="do not load plugins")
    _add_output(result)
    _add_limits(result)
    return result


def _add_model(result: argparse.ArgumentParser) -> None:
    add = result.add_argument
    add("-m", "--model", metavar="PROVIDER/MODEL", help="the model to use")
    add("--agent", metavar="NAME", help="the agent (build, plan, …)")
    add("--effort", metavar="LEVEL", help="the reasoning effort (low, medium, high, …)")


def _add_permissions(result: argparse.ArgumentParser) -> None:
    add = result.add_argument
    add(
        "--trust",
        action="store_true",
        help="use the folder's own settings, programs and instructions in this run; not stored",
    )
    add_mode_options(result)
    add(
        "--sandbox",
        choices=("auto", "required", "off"),
        help="run commands in a sandbox if there is one, always, or never (default: auto)",
    )
    add(
        "--auto-approve",
        action="append",
        default=[],
        metavar="PERMISSION[:PATTERN]",
        help="allow this without asking, such as edit or 'bash:npm test *'",
    )
    add(
        "--deny",
        action="append",
        default=[],
        metavar="PERMISSION[:PATTERN]",
        help="refuse this, as a deny rule does",
    )


def _add_output(result: argparse.ArgumentParser) -> None:
    add = result.add_argument
    add(
        "--format",
        choices=("text", "json", "opencode", "claude", "claude-result"),
        default="text",
        help="json: one event per line; opencode: the lines of opencode run --format json; claude: "
        "those of claude -p --output-format stream-json; claude-result: only their last line",
    )
    add(
        "--deltas",
        action="store_true",
        help="also print text as it streams (--format json or claude)",
    )
    add("--thinking", action="store_true", help="also print reasoning (--format opencode)")
    add(
        "--input-format",
        choices=("text", "stream-json"),
        default="text",
        help="stream-json: prompts are lines of standard input, as Claude Code's SDKs write them "
        "(--format claude)",
    )
    add(
        "--permission-prompt-tool",
        choices=("stdio",),
        help="with --input-format stream-json: ask the program there instead of refusing",
    )
    add("--print-logs", action="store_true", help="also write the log to standard error")


def _add_limits(result: argparse.ArgumentParser) -> None:
    add = result.add_argument
    add("--max-steps", type=positive_int, metavar="N", help="end after this many model calls")
    add(
        "--check",
        metavar="COMMAND",
        help="continue turn after turn until this command exits with 0",
    )
    add(
        "--max-rounds",
        type=positive_int,
        default=10,
        metavar="N",
        help="with --check: end after this many turns (default: 10)",
    )
    add("--max-tokens", type=positive_int, metavar="N", help="end after this many tokens")
    add(
        "--fallback-model",
        action="append",
        metavar="MODEL",
        help="continue with this model if the first one fails; can be repeated",
    )
    add("--max-cost", type=dollars, metavar="DOLLARS", help="end after this cost in US dollars")
    add(
        "--target-tokens",
        type=positive_int,
        metavar="N",
        help="keep going until about this many tokens are written",
    )


def main(argv: list[str]) -> int:
    from app.cli.foreign_flags import ForeignOption, own_words  # for both commands

    try:
        words = own_words(argv)
    except ForeignOption as error:
        return report(str(error), USAGE)
    return run_command(parser(), words, _run_prompt, handles_signals=True)


def _run_prompt(arguments: argparse.Namespace) -> int:
    arguments.directory = Path(arguments.directory).expanduser()
    arguments.file = [str(Path(name).expanduser().resolve()) for name in arguments.file]
    error = _usage_error(arguments)
    if error:
        return report(error, USAGE)
    if arguments.input_format == STREAMED:
        return asyncio.run(_run(arguments, "", ""))
    words: list[str] = arguments.message
    awaited = words[-1:] == ["-"]  # that is standard input
    message = " ".join(words[:-1] if awaited else words)
    source = StandardInput(sys.stdin)
    piped = source.read(needed=awaited or not (message.strip() or arguments.command))
    if not (message.strip() or piped.strip() or arguments.command):
        return report("Nothing to do: pass a prompt as an argument, or pipe it in.", USAGE)
    code = asyncio.run(_run(arguments, message, piped))
    source.report_late()
    return code


def _usage_error(arguments: argparse.Namespace) -> str:
    if arguments.resume and arguments.session:
        return "Use either --continue or --session, not both."
    if arguments.fork and not (arguments.resume or arguments.session):
        return "--fork needs the session to copy: add --continue or --session ID."
    if not arguments.directory.is_dir():
        return f"There is no folder {arguments.directory}."
    streamed = arguments.input_format == STREAMED
    if streamed and arguments.format != "claude":
        return "--input-format stream-json needs --format claude (--output-format stream-json)."
    if streamed and (arguments.message or arguments.file or arguments.command or arguments.check):
        return (
            "With --input-format stream-json, prompts come on standard input: pass no message, "
            "--file, --command or --check."
        )
    if arguments.permission_prompt_tool and not streamed:
        return "--permission-prompt-tool needs --input-format stream-json."
    missing = [name for name in arguments.file if not Path(name).exists()]
    return f"There is no file {missing[0]}." if missing else ""


async def _run(arguments: argparse.Namespace, message: str, piped: str) -> int:
    signals = RunSignals()
    pause_gc()
    from agent.records.errors import NothingToDo, OpencodePyError  # loads the agent package
    from app.startup.logs import start_log  # as above

    start_log(os.environ, sys.stderr if arguments.print_logs else None)
    async with contextlib.AsyncExitStack() as opened:
        try:
            ready = await signals.preparation.run(_prepare(arguments, message, piped, opened))
        except NothingToDo as error:
            return report(error.message, signals.code or 1)
        except OpencodePyError as error:
            _write_failure(arguments, error)
            raise
        if signals.code is not None:  # stopped as it finished
            return report(STOPPED, signals.code)
        return await _turn(arguments, ready, signals)


async def _prepare(
    arguments: argparse.Namespace, message: str, piped: str, opened: contextlib.AsyncExitStack
) -> "PreparedRun":
    """Do everything that comes before the turn. What must be closed is pushed on *opened*."""
    from agent.runtime.headless import Approval, HeadlessRun  # loads the agent package
    from app.cli.run.prompt_input import prompt_of  # as above

    runtime = await _open(arguments)
    opened.push_async_callback(runtime.close)
    headless = HeadlessRun(runtime, tuple(Approval.parse(one) for one in arguments.auto_approve))
    for notice in (*runtime.notices, *_untrusted(runtime)):
        report(notice, 0)
    session = await headless.session(
        resume=arguments.resume,
        session_id=arguments.session,
        fork=arguments.fork,
        title=arguments.title or "",
    )
    prompt = None
    if arguments.input_format != STREAMED:
        prompt = await prompt_of(arguments, message, piped, headless, session)
    model: str | None = prompt.model if prompt else arguments.model
    if model and (note := runtime.catalog.unlisted(model)):
        report(f"{note} It is used anyway.")
    _report_effort(runtime, model or session.model, prompt.effort if prompt else arguments.effort)
    await headless.wait_for_servers()
    if arguments.format == "json":  # the others write notices to standard error
        for sentence in headless.missing_servers:
            report(sentence)
    return PreparedRun(headless, session, prompt)


def _untrusted(runtime: "Runtime") -> Iterator[str]:
    """Yield a sentence on what of the folder is ignored because the folder is not trusted."""
    from app.text.sanitize import sanitize_line  # not needed by --help

    trust = runtime.trust
    if trust.status not in {"open", "refused"}:
        return
    found = (
        *(each.name for each in trust.found.steers),
        *(each.source for each in trust.found.runs),
    )
    noticed = {notice.partition(":")[0] for notice in runtime.notices}
    files = dict.fromkeys(name.partition(": ")[0] for name in found)
    names = [sanitize_line(name) for name in files if name not in noticed]
    if not names:
        yield f"{trust.folder} is not trusted. Add --trust to use its files in this run."
        return
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    yield (
        f"{trust.folder} is not trusted, so this is ignored: {', '.join(names[:MAX_NAMED])}{more}. "
        "Add --trust to use it in this run."
    )


def _report_effort(runtime: "Runtime", model: str | None, effort: str | None) -> None:
    """Say that another effort than the requested one is used."""
    from agent.provider.catalog.effort_levels import choose_effort  # loads the agent package

    name = model or runtime.catalog.default_model()
    if note := choose_effort(runtime.catalog.model(name), effort)[1]:
        report(note, 0)


async def _open(arguments: argparse.Namespace) -> "Runtime":
    from agent.runtime.headless import Approval  # loads the agent package
    from agent.runtime.runtime import open_runtime  # as above

    limits = {
        "steps": arguments.max_steps,
        "tokens": arguments.max_tokens,
        "cost": arguments.max_cost,
        "target_tokens": arguments.target_tokens,
    }
    limits = {name: value for name, value in limits.items() if value is not None}
    denied: dict[str, dict[str, str]] = {}
    for each in map(Approval.parse, arguments.deny):
        denied.setdefault(each.permission, {})[each.pattern] = "deny"
    overrides: dict[str, Json] = {
        "model": arguments.model,
        "default_agent": arguments.agent,
        **({"limits": limits} if limits else {}),
        **_fallback(arguments),
        **({"permission": {name: {**rules} for name, rules in denied.items()}} if denied else {}),
        **({"bash": {"sandbox": arguments.sandbox}} if arguments.sandbox else {}),
    }
    env = {**os.environ, **({"OPENCODE_PY_PURE": "1"} if arguments.pure else {})}
    open_folder = partial(
        open_runtime,
        env=env,
        overrides=overrides,
        mode=arguments.mode,
        answering="choice" if arguments.permission_prompt_tool else "none",
        trust_once=arguments.trust,
    )
    runtime = await open_folder(arguments.directory)
    if arguments.worktree is None and arguments.session is None:
        return runtime
    from agent.runtime.worktrees import open_worktree, worktree_of_session  # as above

    folder, notices = None, ()
    try:
        if arguments.worktree is not None:
            folder, notices = await open_worktree(runtime, arguments.worktree, env)
        else:
            place = (runtime.paths, runtime.store, runtime.directory)
            folder = await worktree_of_session(*place, arguments.session)
    except BaseException:
        await runtime.close()
        raise
    if folder is None:
        return runtime
    await runtime.close()
    for notice in (f"Working in {folder}.", *notices):
        report(notice, 0)
    return await open_folder(folder)


def _fallback(arguments: argparse.Namespace) -> "dict[str, Json]":
    models: list[Json] = arguments.fallback_model or []
    return {"fallback": {"models": models, "mode": "auto"}} if models else {}


async def _turn(arguments: argparse.Namespace, ready: "PreparedRun", signals: "RunSignals") -> int:
    from agent.runtime.headless import LIMIT  # loads the agent package

    if ready.prompt is None:
        return await _streamed(arguments, ready, signals)
    headless, session = ready.headless, ready.session
    signals.set_cancel(lambda: headless.stop(session))
    writer = _writer(arguments, headless.runtime)
    resume_gc()
    default = headless.runtime.catalog.default_model()
    writer.start(session, arguments.model or session.model or default)
    prompt, missed, rounds = ready.prompt, "", 0
    while True:
        async with contextlib.aclosing(headless.run(session, prompt)) as events:
            async for event in events:
                writer.take(event)
        ending, rounds = headless.result, rounds + 1
        if ending is None:  # the bus was closed
            return report("The run was interrupted.", 1)
        if not arguments.check or ending.outcome != "completed" or signals.code is not None:
            break
        following, missed = await _check(arguments, ready, rounds)
        if following is None:
            break
        prompt, headless.result = following, None
    writer.end(ending)
    code = report(missed, LIMIT) if missed and ending.outcome == "completed" else ending.exit_code
    return code if signals.code is None else signals.code


async def _streamed(
    arguments: argparse.Namespace, ready: "PreparedRun", signals: "RunSignals"
) -> int:
    """Run the turns that a program asks for on standard input."""
    from app.cli.run.streamed_input import StreamedRun  # only for such programs
    from app.terminal.input_lines import InputLines  # as above

    lines = InputLines(sys.stdin.fileno(), "prompts")
    writer = _claude_lines(arguments, ready.headless.runtime)
    streamed = StreamedRun(arguments, ready.headless, ready.session, lines, writer)

    async def stop() -> None:
        lines.end()
        await streamed.interrupt()

    signals.set_cancel(stop)
    resume_gc()
    code = await streamed.run()
    return code if signals.code is None else signals.code


async def _check(
    arguments: argparse.Namespace, ready: "PreparedRun", rounds: int
) -> "tuple[PromptInput | None, str]":
    """Run the check after that many rounds. Return the next prompt, None for the end, and a
    sentence if the check did not pass."""
    from agent.session.api import PromptInput  # loads the agent package
    from agent.session.goals import AGAIN  # as above

    goals = ready.headless.runtime.sessions.goals
    passed, outcome = await goals.check(ready.session.id, arguments.check)
    sentence = f"Round {rounds}: the check {outcome}."
    if passed:
        report(sentence, 0)
        return None, ""
    if passed is None or rounds >= arguments.max_rounds:
        return None, sentence
    report(sentence, 0)
    assert ready.prompt is not None, "a check follows a prompt"
    text = AGAIN.format(check=arguments.check, outcome=outcome, text=ready.prompt.visible_text)
    return PromptInput(text=text), sentence


def _write_failure(arguments: argparse.Namespace, error: "OpencodePyError") -> None:
    """Write the end of a run that could not begin, for readers of JSON lines."""
    from agent.records.messages import ErrorInfo  # loads the agent package
    from agent.runtime.headless import HeadlessResult  # as above

    if arguments.format != "text":
        what = ErrorInfo(type(error).__name__, error.message)
        ending = HeadlessResult("failed", "", what, refused=(), usage=None, cost=None)
        _writer(arguments, None).end(ending)


def _writer(arguments: argparse.Namespace, runtime: "Runtime | None") -> "Writer":
    from app.cli.run.writers import JsonLines, TextWriter  # loads the agent package

    if arguments.format == "text":
        return TextWriter(sys.stdout, sys.stderr)
    if arguments.format == "json":
        return JsonLines(sys.stdout, deltas=arguments.deltas)
    if arguments.format == "opencode":
        from app.cli.run.foreign_formats import OpencodeLines  # only for this format

        return OpencodeLines(sys.stdout, sys.stderr, thinking=arguments.thinking)
    return _claude_lines(arguments, runtime)


def _claude_lines(arguments: argparse.Namespace, runtime: "Runtime | None") -> "ClaudeLines":
    from app.cli.run.foreign_formats import ClaudeLines  # only for these formats

    return ClaudeLines(
        sys.stdout,
        sys.stderr,
        runtime,
        deltas=arguments.deltas,
        only_result=arguments.format == "claude-result",
    )
