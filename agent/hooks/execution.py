"""Execution of one hook: a program with JSON on its standard input, or a plugin's function.

A program's output is JSON in one of two forms. This program's own is flat, with the keys
``decision``, ``reason``, ``input``, ``output``, ``context``; the other is Claude Code's.
"""

import asyncio
import inspect
import json
import logging
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

from agent.hooks.records import NO_ANSWER, Decision, Hook, HookAnswer, HookCall, HookEvent, covers
from agent.permission.sandbox_policy.service import CommandSandbox, SandboxUnavailable
from agent.process import (
    Capture,
    Command,
    FinishedCommand,
    SpillStore,
    run,
    shell_argv,
    strip_terminal_codes,
)
from agent.records.frozen import frozen
from agent.records.json import Json, JsonObject
from agent.records.tool_facts import claude_name_of

_DECISIONS: dict[str, Decision] = {
    "allow": "allow",
    "approve": "allow",
    "ask": "ask",
    "deny": "deny",
    "block": "deny",
}

CONTEXT_EVENTS: frozenset[HookEvent] = frozenset({"SessionStart", "UserPromptSubmit"})
"""Events whose plain output is added to the model's context."""


def parse_answer(event: HookEvent, output: str) -> HookAnswer:
    """Return the answer in *output*. Raises ``ValueError`` for broken JSON."""
    text = output.strip()
    if not text.startswith("{"):
        return HookAnswer(context=text) if text and event in CONTEXT_EVENTS else NO_ANSWER
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError("its output begins like JSON but is not valid JSON") from error
    raw = cast("JsonObject", value)
    own = raw.get("hookSpecificOutput")
    own = own if isinstance(own, dict) else {}
    inner = own.get("decision")
    inner = inner if isinstance(inner, dict) else {}
    decision = _text(own.get("permissionDecision"), inner.get("behavior"), raw.get("decision"))
    stop = None
    if raw.get("continue") is False:
        stop = _text(raw.get("stopReason"), raw.get("reason")) or "a hook stopped it"
    return HookAnswer(
        decision=_DECISIONS.get(decision.lower()),
        reason=_text(own.get("permissionDecisionReason"), inner.get("message"), raw.get("reason")),
        input=_object(own.get("updatedInput"), inner.get("updatedInput"), raw.get("input")),
        output=_text(
            own.get("updatedToolOutput"), own.get("updatedMCPToolOutput"), raw.get("output")
        )
        or None,
        context=_text(own.get("additionalContext"), raw.get("context")),
        message=_text(raw.get("systemMessage")),
        stop=stop,
    )


def _text(*values: Json) -> str:
    """Return the first of *values* that is a text, "" without one."""
    return next((value for value in values if isinstance(value, str) and value), "")


def _object(*values: Json) -> JsonObject | None:
    return next((value for value in values if isinstance(value, dict)), None)


def claude_name(tool: str) -> str:
    """Claude Code's name for *tool*, the name here if it has none."""
    return claude_name_of(tool) or tool


BLOCKING_EXIT_CODE = 2
"""The exit code that objects; the reason is the program's output on standard error."""

MAX_OUTPUT = 1_048_576
"""Bytes of a hook's output that are read."""

MAX_REASON = 4_000
"""Characters of standard error that are passed on."""

_WRAPPER = ("/bin/sh", "-c", 'exec <"$1" 2>"$2"; shift 2; exec "$@"', "hook")

log = logging.getLogger(__name__)


class HookFailed(Exception):
    """A hook gave no answer; ``str()`` is the reason."""


@frozen(kw_only=True)
class HookPrograms:
    """The environment and the sandbox of hooks that are programs."""

    env: Mapping[str, str]
    sandbox: CommandSandbox
    project: str


async def run_hook(hook: Hook, call: HookCall, programs: HookPrograms) -> HookAnswer:
    """Return the answer of *hook* to *call*. Raises ``HookFailed``."""
    call = as_named(hook, call)
    if hook.function is not None:
        return await _call_function(hook, call)
    if hook.url:
        return await _post(hook, call, programs.env)
    try:
        with tempfile.TemporaryDirectory(prefix="opencode-py-hook-") as folder:
            return await _run_command(hook, call, programs, Path(folder))
    except SandboxUnavailable as error:
        raise HookFailed(f"was not run. {error}") from error
    except OSError as error:
        raise HookFailed(f"cannot be started: {(error.strerror or str(error)).lower()}") from error


def as_named(hook: Hook, call: HookCall) -> HookCall:
    """Return *call* with the name of the tool that *hook* knows: a matcher can name a former tool
    only, and hooks of Claude Code know its arguments by that tool."""
    if not call.former or not covers(hook, call.former):
        return call
    if covers(hook, call.about) and not hook.uses_claude_names:
        return call
    return replace(call, details={**call.details, "tool_name": call.former})


async def _call_function(hook: Hook, call: HookCall) -> HookAnswer:
    """Call a function. Any error of a plugin's code ends here."""
    assert hook.function is not None  # checked by the caller
    try:
        async with asyncio.timeout(hook.timeout):
            result = hook.function(call)
            answer = await result if inspect.isawaitable(result) else result
    except TimeoutError as error:
        raise HookFailed(f"took longer than {hook.timeout:g} seconds") from error
    except Exception as error:
        log.exception("a hook of %s failed", hook.source)
        raise HookFailed(f"failed: {type(error).__name__}: {error}") from error
    return answer or NO_ANSWER


async def _post(hook: Hook, call: HookCall, env: Mapping[str, str]) -> HookAnswer:
    try:
        async with asyncio.timeout(hook.timeout):
            return parse_answer(hook.event, await post(hook, json.dumps(payload(hook, call)), env))
    except TimeoutError as error:
        raise HookFailed(f"took longer than {hook.timeout:g} seconds") from error
    except OSError as error:
        raise HookFailed(f"cannot be reached: {error}") from error
    except ValueError as error:
        raise HookFailed(str(error)) from error


async def _run_command(
    hook: Hook, call: HookCall, programs: HookPrograms, folder: Path
) -> HookAnswer:
    stdin, stderr = folder / "input.json", folder / "stderr"
    stdin.write_text(json.dumps(payload(hook, call)), "utf-8")
    stderr.touch()
    root = hook.folder or call.directory
    argv = await programs.sandbox.wrap_program(
        _argv(hook, root), hook.sandbox, directory=call.directory, project=programs.project
    )
    command = Command(
        # The files are opened outside of the sandbox, which may not let them be written.
        argv=(*_WRAPPER, str(stdin), str(stderr), *argv),
        directory=call.directory,
        env={**programs.env, "CLAUDE_PROJECT_DIR": root},
        timeout=hook.timeout,
    )
    capture = Capture(SpillStore(folder / "spill"), max_lines=MAX_OUTPUT, max_bytes=MAX_OUTPUT)
    done = await run(command, capture)
    assert isinstance(done, FinishedCommand)  # hooks are never moved to the background
    if done.timed_out:
        raise HookFailed(f"took longer than {hook.timeout:g} seconds")
    with stderr.open("rb") as file:
        reason = strip_terminal_codes(file.read(MAX_REASON).decode("utf-8", "replace")).strip()
    if done.exit_code == BLOCKING_EXIT_CODE:
        return HookAnswer(decision="deny", reason=reason or "no reason given")
    if done.exit_code != 0:
        how = f"exit code {done.exit_code}" if done.exit_code is not None else done.signal
        raise HookFailed(f"failed ({how}){': ' + reason[:500] if reason else ''}")
    try:
        return parse_answer(hook.event, done.output.text)
    except ValueError as error:
        raise HookFailed(str(error)) from error


def _argv(hook: Hook, root: str) -> tuple[str, ...]:
    """Return the command line of *hook*: its program and arguments, else a shell's."""
    if hook.arguments is None:
        return shell_argv(hook.command)
    words = (hook.command, *hook.arguments)
    return tuple(word.replace("${CLAUDE_PROJECT_DIR}", root) for word in words)


def payload(hook: Hook, call: HookCall) -> dict[str, object]:
    """Return what a program reads, in Claude Code's form, with tools by the names that it knows."""
    fields: dict[str, object] = {
        "session_id": call.session_id,
        "transcript_path": "",
        "cwd": call.directory,
        "permission_mode": "default",
        "hook_event_name": call.event,
        **call.details,
    }
    if hook.uses_claude_names:
        if isinstance(name := fields.get("tool_name"), str):
            fields["tool_name"] = claude_name(name)
        if isinstance(given := call.details.get("tool_input"), dict):
            fields["tool_input"] = _with_absolute_paths(given, call.directory)
    return fields


def _with_absolute_paths(arguments: JsonObject, directory: str) -> JsonObject:
    """Return *arguments* with the paths of files as Claude Code has them."""
    found = {
        key: str(Path(directory, value))
        for key in ("file_path", "notebook_path", "path")
        if isinstance(value := arguments.get(key), str) and value and not value.startswith("~")
    }
    return {**arguments, **found}


# Hooks that are an address: the input is posted there, the response is the answer.

MAX_RESPONSE = 1_048_576
"""Bytes of a response that are read."""

_VARIABLE = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?")


async def post(hook: Hook, body: str, env: Mapping[str, str]) -> str:
    """Return the response of *hook* to the JSON text *body*.

    Raises ``OSError``, ``ValueError`` or ``TimeoutError`` with the reason.
    """
    import httpx2  # slow to import, and few users have such a hook

    headers = {"content-type": "application/json"} | {
        name: _filled(text, hook, env) for name, text in hook.headers
    }
    try:
        async with (
            httpx2.AsyncClient(timeout=hook.timeout) as client,
            client.stream("POST", hook.url, content=body.encode(), headers=headers) as response,
        ):
            read = b""
            async for chunk in response.aiter_bytes():
                read += chunk
                if len(read) > MAX_RESPONSE:
                    raise ValueError("sent too long a response")
    except httpx2.TimeoutException as error:
        raise TimeoutError from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise OSError(str(error) or type(error).__name__) from error
    if not response.is_success:
        raise ValueError(f"failed (status {response.status_code})")
    return read.decode("utf-8", "replace")


def _filled(text: str, hook: Hook, env: Mapping[str, str]) -> str:
    """Return a header with the variables that *hook* may use; others are empty."""

    def value(found: re.Match[str]) -> str:
        name = found[1]
        own = env if hook.from_project else os.environ
        return own.get(name, "") if name in hook.variables else ""

    return _VARIABLE.sub(value, text).strip()
