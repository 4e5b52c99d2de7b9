"""Checks after a tool has edited a file: formatters first, then the errors that language servers
report."""

import asyncio
import logging
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path

from agent.bus import Bus
from agent.config.settings_schema import Config
from agent.lsp.connection import Diagnostic
from agent.lsp.formatters import Formatter, active_formatters
from agent.lsp.servers import active_servers
from agent.lsp.service import LspService
from agent.permission.sandbox_policy.service import CommandSandbox
from agent.process import Capture, Command, FinishedCommand, SpillStore, run
from agent.records.errors import ToolError
from agent.records.frozen import frozen

log = logging.getLogger(__name__)

FORMAT_TIMEOUT = 15.0
"""Seconds for one formatter. What it changed until then stays."""

MAX_SHOWN = 20
"""Errors of one file that the model is shown; more do not help it."""

MAX_OTHER_FILES = 5
"""Further files whose errors are shown in addition to those of the edited one."""

LATE_WAIT = 60.0
"""Seconds for errors that did not come with the result of a change."""

CURRENT_WAIT = 1.0
"""Seconds to check that late errors are those of the file as it is."""

HEAD = "The language server reports errors in {path}. Fix those that this change introduced:"
LATE_HEAD = (
    "The language server has now reported errors in {path}, which you changed before. Fix those "
    "that your change introduced:"
)
MORE = "… and {count} more"


class FileChecks:
    """Formats files after an edit and reports their errors."""

    def __init__(
        self,
        servers: LspService,
        find: Callable[[], Sequence[Formatter]],
        root_of: Callable[[str], Path],
        env: Mapping[str, str],
        spills: SpillStore,
        sandbox: CommandSandbox | None = None,
    ) -> None:
        """*find* looks for the active formatters; *env* is what they are started with. *root_of*
        returns the root of the project of a path."""
        self._servers = servers
        self._find = find
        self._root_of = root_of
        self._env = env
        self._spills = spills
        self._sandbox = sandbox
        self._awaited: dict[tuple[str, str], asyncio.Task[Mapping[str, Sequence[Diagnostic]]]] = {}
        """Diagnostics that are still to come, by session and path."""

    @cached_property
    def formatters(self) -> tuple[Formatter, ...]:
        """The active formatters, in the order in which they run."""
        return tuple(self._find())

    @property
    def has_formatters(self) -> bool:
        """True if any formatter is switched on."""
        return bool(self.formatters)

    def warm_up(self, paths: Sequence[str]) -> None:
        """Start the language servers of files that were read."""
        self._servers.warm_up(paths)

    async def format(self, path: str) -> str:
        """Run the formatters of a file on it, one after the other.

        Returns the failures as sentences, "" if there were none.
        """
        problems: list[str] = []
        for formatter in self.formatters:
            if await asyncio.to_thread(formatter.applies_to, path, self._root_of(path)):
                problem = await self._run(formatter, path)
                if problem:
                    problems.append(problem)
        return " ".join(problems)

    async def error_report(self, session_id: str, paths: Sequence[str]) -> str:
        """Return the errors in *paths*, which the session has changed, as text for the model.

        Empty where there are none. Those that do not come in time are in a later ``late_report``.
        """
        served = [path for path in paths if self._servers.serves(path)][: MAX_OTHER_FILES + 1]
        if not served:
            return ""
        found = await self._servers.diagnostics(served)
        for path in served:
            self._forget(session_id, path)
            if path not in found:
                work = self._servers.diagnostics((path,), LATE_WAIT)
                task = asyncio.create_task(work, name="waiting for diagnostics")
                self._awaited[session_id, path] = task
        return self._report(found, HEAD)

    async def late_report(self, session_id: str) -> str:
        """Return the errors of earlier changes of the session that have come since, as text for the
        model; "" without any. Errors of a text that is no longer in the file are left out."""
        came = [
            (path, task)
            for (session, path), task in self._awaited.items()
            if session == session_id and task.done()
        ]
        for path, _ in came:
            self._forget(session_id, path)
        wrong = [path for path, task in came if any(map(_errors, task.result().values()))]
        if not wrong:
            return ""
        return self._report(await self._servers.diagnostics(wrong, CURRENT_WAIT), LATE_HEAD)

    @property
    def waits(self) -> bool:
        """True if diagnostics of a change are still to come."""
        return not all(task.done() for task in self._awaited.values())

    def close(self) -> None:
        """End the wait for diagnostics."""
        for task in self._awaited.values():
            task.cancel()
        self._awaited.clear()

    def _forget(self, session_id: str, path: str) -> None:
        task = self._awaited.pop((session_id, path), None)
        if task is not None:
            task.cancel()

    def _report(self, found: Mapping[str, Sequence[Diagnostic]], head: str) -> str:
        return "\n\n".join(
            self._file_report(path, errors, head)
            for path, diagnostics in found.items()
            if (errors := _errors(diagnostics))
        )

    def _file_report(self, path: str, errors: Sequence[Diagnostic], head: str) -> str:
        file, project = Path(path), self._root_of(path)
        shown = str(file.relative_to(project)) if file.is_relative_to(project) else path
        lines = [head.format(path=shown)]
        lines += [f"  {diagnostic_line(error)}" for error in errors[:MAX_SHOWN]]
        if len(errors) > MAX_SHOWN:
            lines.append(f"  {MORE.format(count=f'{len(errors) - MAX_SHOWN:,}')}")
        return "\n".join(lines)

    async def _run(self, formatter: Formatter, path: str) -> str:
        capture = Capture(self._spills, max_lines=200, max_bytes=16_384)
        argv, project = formatter.argv(path), str(self._root_of(path))
        if self._sandbox is not None:
            try:
                argv = await self._sandbox.wrap_formatter(argv, path, project)
            except ToolError as error:
                return f"The formatter {formatter.id} was not run. {error}"
        command = Command(
            argv=argv,
            directory=project,
            env={**self._env, **formatter.environment},
            timeout=FORMAT_TIMEOUT,
        )
        try:
            done = await run(command, capture, _ignore_output)
        except OSError as error:
            return f"The formatter {formatter.id} cannot be started: {error.strerror or error}."
        if not isinstance(done, FinishedCommand) or done.timed_out:
            return f"The formatter {formatter.id} took longer than {FORMAT_TIMEOUT:.0f} s."
        if done.exit_code != 0:
            lines = (line.strip() for line in done.output.text.splitlines())
            first = next((line for line in lines if any(map(str.isalnum, line))), "")
            why = f": {first[:200]}" if first else ""
            return f"The formatter {formatter.id} ended with code {done.exit_code}{why}."
        return ""


def _errors(diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    return [one for one in diagnostics if one.severity == "error"]


def diagnostic_line(one: Diagnostic) -> str:
    """Return one diagnostic as a line: position, severity, message, source."""
    message = " ".join(one.message.split())
    source = " ".join(text for text in (one.source, one.code) if text)
    tail = f" ({source})" if source else ""
    return f"{one.line}:{one.column} {one.severity}: {message}{tail}"


def _ignore_output(text: str) -> None:
    del text


@frozen
class CodeServices:
    """Language servers and formatters of an opened folder."""

    servers: LspService
    file_checks: FileChecks


def open_code_services(
    config: Config,
    project: Path,
    env: Mapping[str, str],
    bus: Bus,
    spills: SpillStore,
    sandbox: CommandSandbox | None = None,
    *,
    safe: bool,
    root_of: Callable[[str], Path] | None = None,
) -> CodeServices:
    """Return the language servers and formatters of the settings, none of them started. *root_of*
    returns the root of the project of a path, if that is not always *project*.

    *env* is the environment of their processes. In a folder that the user did not trust (*safe* is
    false) there are none.
    """
    which = partial(shutil.which, path=env.get("PATH"))
    servers = LspService(
        lambda: active_servers(config.lsp, which) if safe else (),
        *(project, env, bus),
        root_of=root_of,
    )
    file_checks = FileChecks(
        servers,
        lambda: active_formatters(config.formatter, which) if safe else (),
        root_of or (lambda _: project),
        env,
        spills,
        sandbox,
    )
    return CodeServices(servers, file_checks)
