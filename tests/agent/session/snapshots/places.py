"""Folders with snapshots."""

import hashlib
from pathlib import Path


def place(tmp_path: Path) -> Path:
    """The folder of the snapshots."""
    name = hashlib.sha256(str(tmp_path / "project").encode()).hexdigest()[:24]
    return tmp_path / "snapshots" / name
