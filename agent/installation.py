"""The installed program: its version, and the documentation for the model."""

from functools import cache
from pathlib import Path


@cache
def documentation_folder() -> str | None:
    """Return the real path of the folder with the documentation, None if it is not installed.

    A wheel has it inside this package, a checkout beside it.
    """
    package = Path(__file__).resolve().parent
    for folder in (package / "docs", package.parent / "docs"):
        if (folder / "reference" / "keys-and-commands.md").is_file():
            return str(folder)
    return None


# The program's distribution, by the name under which package indexes know it.

DISTRIBUTION = "opencode-py-agent"
"""Another project has the name of the command, ``opencode-py``."""


@cache
def own_version() -> str:
    """Return the version of the installed distribution."""
    from importlib.metadata import (  # 15 ms, which few starts need
        PackageNotFoundError,
        version,
    )

    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "unknown (not installed)"
