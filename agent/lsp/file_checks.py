"""Checks after a tool has edited a file: formatters first, then the errors that language servers
report."""

import asyncio
import logging
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

from agent.bus import Bus
from agent.config.model import Config
from agent.lsp.formatters import Formatter, active_formatters
from agent.lsp.records import Diagnostic
from agent.lsp.servers import active_servers
from agent.lsp.service import LspService
from agent.permission.sandbox.service import CommandSandbox
from agent.process import Capture, Command, FinishedCommand, SpillStore, run
from agent.records.errors import ToolError

log = logging.getLogger(__name__)

FORMAT_TIMEOUT = 15.0
"""Seconds for one formatter. What it changed until then stays."""

MAX_SHOWN = 20
"""Errors of one file that the model is shown; more do not help it."""

MAX_OTHER_FILES = 5
"""Further files whose errors are shown in addition to those of the edited one."""

HEAD = "The language server reports errors in {path}. Mend those that this change brought in:"
MORE = "… and {count} more"


class FileChecks:
    """Formats files after an edit and reports their errors."""

    def __init__(
        self,
        servers: LspService,
        find: Callable[[], Sequence[Formatter]],
        project: Path,
        env: Mapping[str, str],
        spills: SpillStore,
        sandbox: CommandSandbox | None = None,
    ) -> None:
        """*find* looks for the active formatters; *env* is what they are started with."""
        self._servers = servers
        self._find = find
        self._project = project
        self._env = env
        self._spills = spills
        self._sandbox = sandbox

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
            if await asyncio.to_thread(formatter.applies_to, path, self._project):
                problem = await self._run(formatter, path)
                if problem:
                    problems.append(problem)
        return " ".join(problems)

    async def error_report(self, paths: Sequence[str]) -> str:
        """Return the errors in *paths* as text for the model.

        Empty where there are none, or where none came in time.
        """
        served = [path for path in paths if self._servers.serves(path)]
        if not served:
            return ""
        found = await self._servers.diagnostics(served[: MAX_OTHER_FILES + 1])
        return "\n\n".join(
            self._file_report(path, errors)
            for path in served
            if (errors := [d for d in found.get(path, ()) if d.severity == "error"])
        )

    def _file_report(self, path: str, errors: Sequence[Diagnostic]) -> str:
        file = Path(path)
        inside = file.is_relative_to(self._project)
        shown = str(file.relative_to(self._project)) if inside else path
        lines = [HEAD.format(path=shown)]
        lines += [f"  {diagnostic_line(error)}" for error in errors[:MAX_SHOWN]]
        if len(errors) > MAX_SHOWN:
            lines.append(f"  {MORE.format(count=f'{len(errors) - MAX_SHOWN:,}')}")
        return "\n".join(lines)

    async def _run(self, formatter: Formatter, path: str) -> str:
        capture = Capture(self._spills, max_lines=200, max_bytes=16_384)
        argv = formatter.argv(path)
        if self._sandbox is not None:
            try:
                argv = await self._sandbox.wrap_formatter(argv, path, str(self._project))
            except ToolError as error:
                return f"The formatter {formatter.id} was not run. {error}"
        command = Command(
            argv=argv,
            directory=str(self._project),
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
            lines = done.output.text.strip().splitlines()
            why = f": {lines[-1][:200]}" if lines else ""
            return f"The formatter {formatter.id} ended with code {done.exit_code}{why}."
        return ""


def diagnostic_line(one: Diagnostic) -> str:
    """Return one diagnostic as a line: position, severity, message, source."""
    message = " ".join(one.message.split())
    source = " ".join(text for text in (one.source, one.code) if text)
    tail = f" ({source})" if source else ""
    return f"{one.line}:{one.column} {one.severity}: {message}{tail}"


def _ignore_output(text: str) -> None:
    del text


@dataclass(frozen=True, slots=True)
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
) -> CodeServices:
    """Return the language servers and formatters of the settings, none of them started.

    *env* is the environment of their processes. In a folder that the user did not trust (*safe* is
    false) there are none.
    """
    which = partial(shutil.which, path=env.get("PATH"))
    servers = LspService(
        lambda: active_servers(config.lsp, which) if safe else (), project, env, bus
    )
    file_checks = FileChecks(
        servers,
        lambda: active_formatters(config.formatter, which) if safe else (),
        project,
        env,
        spills,
        sandbox,
    )
    return CodeServices(servers, file_checks)
