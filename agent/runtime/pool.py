"""The runtimes of the folders that clients of one process work in."""

import asyncio
import json
import os
from collections.abc import Mapping
from pathlib import Path

from agent.config.paths import Paths
from agent.files import Editor
from agent.process import Terminals
from agent.records.errors import ConfigError
from agent.records.json import Json
from agent.records.tool_facts import Answering
from agent.runtime.runtime import Runtime, open_runtime


class RuntimePool:
    """Runtimes by folder and by the settings that a client passes; each is opened once.

    *editor* is the client's files and *terminals* where its commands run; both are None until the
    client has offered them. *answering* are the answers that the client can get from its user.
    """

    def __init__(self, env: Mapping[str, str], answering: Answering = "choice") -> None:
        self.editor: Editor | None = None
        self.terminals: Terminals | None = None
        self.answering: Answering = answering
        self._env = env
        self._opened: dict[tuple[str, str], Runtime] = {}
        self._opening = asyncio.Lock()

    @property
    def paths(self) -> Paths:
        """The program's own folders."""
        return Paths.find(self._env)

    async def open(self, folder: str, overrides: Mapping[str, Json] | None = None) -> Runtime:
        """Return the runtime of *folder* with *overrides*, settings in the form of a file.

        Raises ``ConfigError`` for a path that is not absolute, and what ``open_runtime`` raises.
        """
        path = Path(folder)
        if not path.is_absolute():
            raise ConfigError(f"The folder {folder} is not absolute: give its full path.")
        key = (_real_path(path), json.dumps(overrides or {}, sort_keys=True))
        async with self._opening:
            if key not in self._opened:
                runtime = await open_runtime(
                    path,
                    env=self._env,
                    overrides=overrides,
                    editor=self.editor,
                    terminals=self.terminals,
                    answering=self.answering,
                )
                runtime.mcp.start()
                self._opened[key] = runtime
            return self._opened[key]

    async def open_any(self, folder: str | None) -> Runtime:
        """Return a runtime that can read the store: of *folder*, an open folder, or this one."""
        if folder is not None or not self._opened:
            return await self.open(folder if folder is not None else str(Path.cwd()))
        return next(iter(self._opened.values()))

    async def close(self) -> None:
        async with self._opening:
            await asyncio.gather(*(runtime.close() for runtime in self._opened.values()))
            self._opened.clear()


def _real_path(path: Path) -> str:
    return os.path.realpath(path)
