"""``debug info``: the facts about the machine and the settings for a bug report."""

import asyncio
import json
import os
import platform
import shutil
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from agent.config.paths import Paths
from agent.records.json import Json, JsonObject
from app.cli.debug.config import read_folder_settings
from app.cli.main import version as own_version
from app.text.sanitize import sanitize_line

PARTS = ("textual", "litellm", "mcp", "agent-client-protocol", "tree-sitter", "httpx2")
PROGRAMS = ("git", "rg", "bash")
VARIABLES = ("TERM", "COLORTERM", "TERM_PROGRAM", "TMUX", "SHELL", "LANG")
"""Variables that affect how the screen is drawn; none of them contains a secret."""


def show_info(directory: Path, *, as_json: bool = False) -> int:
    """Print the facts, one per line or as JSON."""
    facts = asyncio.run(info(directory))
    if as_json:
        print(json.dumps(facts, indent=1))
        return 0
    for name, value in facts.items():
        shown = ", ".join(map(str, value)) if isinstance(value, list) else value
        print(f"{name:24}{sanitize_line(str('–' if shown in (None, '') else shown))}")
    return 0


async def info(directory: Path) -> JsonObject:
    """Return versions, programs, the terminal, and the state of the folder. No keys, no file
    contents."""
    loaded, trust = await read_folder_settings(directory)
    facts: dict[str, Json] = {
        "opencode-py": own_version(),
        "python": platform.python_version(),
        "system": platform.platform(),
        "program": sys.argv[0],
    }
    facts |= {name: _version(name) for name in PARTS}
    facts |= {name: shutil.which(name) for name in PROGRAMS}
    facts |= {name: os.environ.get(name) for name in VARIABLES}
    facts["folder"] = str(directory)
    facts["trust"] = trust.status
    facts["model"] = loaded.config.model
    facts["settings from"] = list(dict.fromkeys(loaded.sources.values()))
    facts["notices"] = list(loaded.notices)
    facts["log"] = str(Paths.find(os.environ).log)
    return facts


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
