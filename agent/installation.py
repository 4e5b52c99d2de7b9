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


VERSION = "0.1.0"
"""The version of the program. ``pyproject.toml`` takes it from here: asking the installed package
for it would be a third of the time of ``--version``."""
