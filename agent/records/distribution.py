"""The program's distribution, by the name under which package indexes know it."""

from functools import cache

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
