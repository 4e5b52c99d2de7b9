"""The documentation of this program, which the model reads to answer questions about it."""

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
