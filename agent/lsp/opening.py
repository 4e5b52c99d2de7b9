"""The language servers and formatters of a folder, as its settings have them."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from agent.bus import Bus
from agent.config.model import Config
from agent.lsp.aftercare import EditChecks
from agent.lsp.formatters import active_formatters
from agent.lsp.servers import active_servers
from agent.lsp.service import LspService
from agent.process import SpillStore


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
