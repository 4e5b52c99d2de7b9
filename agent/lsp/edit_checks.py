"""What happens to a file once a tool has changed it: formatters, then what the language servers
say of it (spec 10, X6 and X7)."""

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
from agent.process import Capture, Command, FinishedCommand, SpillStore, run

log = logging.getLogger(__name__)

FORMAT_TIMEOUT = 15.0
"""How long one formatter may take. What it did until then stays."""

MAX_SHOWN = 20
"""Errors of one file that the model is told; more do not help it."""

MAX_OTHER_FILES = 5
"""Further files whose errors are told beside those of the changed one."""

HEAD = "The language server reports errors in {path}. Mend those that this change brought in:"
MORE = "… and {count} more"


class EditChecks:
    """*find* looks for the formatters in force; *env* is what they are started with."""

    def __init__(
        self,
        servers: LspService,
        find: Callable[[], Sequence[Formatter]],
        project: Path,
        env: Mapping[str, str],
        spills: SpillStore,
    ) -> None:
        self._servers = servers
        self._find = find
        self._project = project
        self._env = env
        self._spills = spills

    @cached_property
    def formatters(self) -> tuple[Formatter, ...]:
        """The formatters in force, in the order in which they run."""
        return tuple(self._find())

    @property
    def formats(self) -> bool:
        """Whether any formatter is switched on."""
        return bool(self.formatters)

    def touch(self, paths: Sequence[str]) -> None:
        """Files were read: their servers come up meanwhile."""
        self._servers.touch(paths)

    async def format(self, path: str) -> str:
        """Run the formatters of a file on it, one after the other. Returns what went wrong, as
        a sentence, "" if nothing did."""
        problems: list[str] = []
        for formatter in self.formatters:
            if await asyncio.to_thread(formatter.wanted, path, self._project):
                problem = await self._run(formatter, path)
                if problem:
                    problems.append(problem)
        return " ".join(problems)

    async def report(self, paths: Sequence[str]) -> str:
        """The errors in *paths* as text for the model, "" where there are none (or none came
        in time)."""
        served = [path for path in paths if self._servers.serves(path)]
        if not served:
            return ""
        found = await self._servers.diagnostics(served[: MAX_OTHER_FILES + 1])
        return "\n\n".join(
            self._told(path, errors)
            for path in served
            if (errors := [d for d in found.get(path, ()) if d.severity == "error"])
        )

    def _told(self, path: str, errors: Sequence[Diagnostic]) -> str:
        place = Path(path)
        inside = place.is_relative_to(self._project)
        shown = str(place.relative_to(self._project)) if inside else path
        lines = [HEAD.format(path=shown)]
        lines += [f"  {diagnostic_line(error)}" for error in errors[:MAX_SHOWN]]
        if len(errors) > MAX_SHOWN:
            lines.append(f"  {MORE.format(count=f'{len(errors) - MAX_SHOWN:,}')}")
        return "\n".join(lines)

    async def _run(self, formatter: Formatter, path: str) -> str:
        capture = Capture(self._spills, max_lines=200, max_bytes=16_384)
        command = Command(
            argv=formatter.argv(path),
            directory=str(self._project),
            env={**self._env, **formatter.environment},
            timeout=FORMAT_TIMEOUT,
        )
        try:
            done = await run(command, capture, _unheard)
        except OSError as error:
            return f"The formatter {formatter.id} cannot be started: {error.strerror or error}."
        if not isinstance(done, FinishedCommand) or done.timed_out:
            return f"The formatter {formatter.id} took longer than {FORMAT_TIMEOUT:.0f} s."
        if done.exit_code != 0:
            said = done.output.text.strip().splitlines()
            why = f": {said[-1][:200]}" if said else ""
            return f"The formatter {formatter.id} ended with code {done.exit_code}{why}."
        return ""


def diagnostic_line(one: Diagnostic) -> str:
    """One diagnostic as a line: place, kind, message, who says so."""
    message = " ".join(one.message.split())
    source = " ".join(word for word in (one.source, one.code) if word)
    tail = f" ({source})" if source else ""
    return f"{one.line}:{one.column} {one.severity}: {message}{tail}"


def _unheard(text: str) -> None:
    """What a formatter prints on the way is not shown."""
    del text


@dataclass(frozen=True, slots=True)
class CodeServices:
    """What looks after the code of a folder."""

    servers: LspService
    aftercare: EditChecks


def open_code_services(
    config: Config,
    project: Path,
    env: Mapping[str, str],
    bus: Bus,
    spills: SpillStore,
    *,
    safe: bool,
) -> CodeServices:
    """Nothing is looked for or started yet. *env* is that of their processes. In a folder that
    is not *safe* (the user did not trust it) there are none (spec 4, M9)."""
    which = partial(shutil.which, path=env.get("PATH"))
    servers = LspService(
        lambda: active_servers(config.lsp, which) if safe else (), project, env, bus
    )
    aftercare = EditChecks(
        servers,
        lambda: active_formatters(config.formatter, which) if safe else (),
        project,
        env,
        spills,
    )
    return CodeServices(servers, aftercare)
