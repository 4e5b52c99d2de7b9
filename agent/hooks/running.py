"""Runs one hook: a program with JSON on its standard input, or a function of a plugin."""

import asyncio
import inspect
import json
import logging
import tempfile
from collections.abc import Mapping
from pathlib import Path

from agent.hooks.answers import parse_answer
from agent.hooks.names import claude_name
from agent.hooks.records import NO_ANSWER, Hook, HookAnswer, HookCall
from agent.process import Capture, Command, Finished, SpillStore, plain, run, shell_argv

BLOCKING_EXIT_CODE = 2
"""The exit code that objects; what the program wrote to standard error is the reason."""

MAX_OUTPUT = 1_048_576
"""Bytes of a hook's output that are read."""

MAX_REASON = 4_000
"""Characters of standard error that are passed on."""

_WRAPPED = ("/bin/sh", "-c", 'exec <"$1" 2>"$2"; shift 2; exec "$@"', "hook")

log = logging.getLogger(__name__)


class HookFailed(Exception):
    """A hook gave no answer; ``str()`` says why."""


async def run_hook(hook: Hook, call: HookCall, env: Mapping[str, str]) -> HookAnswer:
    """What *hook* says of *call*. Raises ``HookFailed``."""
    if hook.function is not None:
        return await _asked(hook, call)
    try:
        with tempfile.TemporaryDirectory(prefix="opencode-py-hook-") as folder:
            return await _run(hook, call, env, Path(folder))
    except OSError as error:
        raise HookFailed(f"cannot be started: {(error.strerror or str(error)).lower()}") from error


async def _asked(hook: Hook, call: HookCall) -> HookAnswer:
    """The answer of a function. The boundary of one hook for any fault of a plugin's."""
    assert hook.function is not None  # looked at by the caller
    try:
        async with asyncio.timeout(hook.timeout):
            said = hook.function(call)
            answer = await said if inspect.isawaitable(said) else said
    except TimeoutError as error:
        raise HookFailed(f"took longer than {hook.timeout:g} seconds") from error
    except Exception as error:
        log.exception("a hook of %s failed", hook.source)
        raise HookFailed(f"failed: {type(error).__name__}: {error}") from error
    return answer or NO_ANSWER


async def _run(hook: Hook, call: HookCall, env: Mapping[str, str], folder: Path) -> HookAnswer:
    given, said = folder / "input.json", folder / "stderr"
    given.write_text(json.dumps(payload(hook, call)), "utf-8")
    said.touch()
    command = Command(
        argv=(*_WRAPPED, str(given), str(said), *shell_argv(hook.command)),
        directory=call.directory,
        env=env,
        timeout=hook.timeout,
    )
    capture = Capture(SpillStore(folder / "spill"), max_lines=MAX_OUTPUT, max_bytes=MAX_OUTPUT)
    done = await run(command, capture)
    assert isinstance(done, Finished)  # nothing detaches it
    if done.timed_out:
        raise HookFailed(f"took longer than {hook.timeout:g} seconds")
    with said.open("rb") as file:
        reason = plain(file.read(MAX_REASON).decode("utf-8", "replace")).strip()
    if done.exit_code == BLOCKING_EXIT_CODE:
        return HookAnswer(decision="deny", reason=reason or "it gave no reason")
    if done.exit_code != 0:
        how = f"exit code {done.exit_code}" if done.exit_code is not None else done.signal
        raise HookFailed(f"failed ({how}){': ' + reason[:500] if reason else ''}")
    try:
        return parse_answer(hook.event, done.output.text)
    except ValueError as error:
        raise HookFailed(str(error)) from error


def payload(hook: Hook, call: HookCall) -> dict[str, object]:
    """What a program reads, in Claude Code's form; tools by the names that it knows."""
    told: dict[str, object] = {
        "session_id": call.session_id,
        "transcript_path": "",
        "cwd": call.directory,
        "hook_event_name": call.event,
        **call.details,
    }
    if hook.foreign and isinstance(name := told.get("tool_name"), str):
        told["tool_name"] = claude_name(name)
    return told
