"""A user's home, a project, and a loader with its own environment."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent.config.loading import LoadedConfig, load_config
from agent.records.json import Json


@dataclass
class Setting:
    """Writes config files below *root* and loads them as the program does."""

    root: Path
    env: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def project(self) -> Path:
        return self.root / "project"

    def write(self, path: Path, content: str | bytes | Mapping[str, Json]) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1))
        return path

    def own(self, content: str | bytes | Mapping[str, Json]) -> Path:
        return self.write(self.home / ".config" / "opencode-py" / "config.json", content)

    def theirs(self, content: str | bytes | Mapping[str, Json], at: str = "opencode.json") -> Path:
        return self.write(self.project / at, content)

    def load(
        self, overrides: Mapping[str, Json] | None = None, directory: Path | None = None
    ) -> LoadedConfig:
        return load_config(directory or self.project, self.project, self.env, overrides)


@pytest.fixture
def setting(tmp_path: Path) -> Setting:
    made = Setting(tmp_path)
    made.project.mkdir()
    made.env = {
        "HOME": str(made.home),
        "XDG_CONFIG_HOME": str(made.home / ".config"),
        "OPENCODE_PY_DATA": str(made.home / "data"),
    }
    return made
