"""Opening an address in the user's browser, without a shell and detached from the terminal."""

import asyncio
import shutil
import sys
from collections.abc import Awaitable, Callable, Mapping

OpenAddress = Callable[[str], Awaitable[bool]]
"""Opens an http(s) address; returns False where that is not possible."""


def browser_opener(env: Mapping[str, str]) -> OpenAddress:
    """Return a function that opens an address and returns whether it could.

    Without a desktop it never can: a text browser would take over the terminal.
    """
    program = "open" if sys.platform == "darwin" else "xdg-open"
    desktop = sys.platform == "darwin" or any(env.get(n) for n in ("DISPLAY", "WAYLAND_DISPLAY"))
    found = shutil.which(program, path=env.get("PATH")) if desktop else None

    async def open_address(address: str) -> bool:
        if found is None or not address.startswith(("https://", "http://")):
            return False
        nowhere = asyncio.subprocess.DEVNULL
        try:
            await asyncio.create_subprocess_exec(
                found,
                address,
                stdin=nowhere,
                stdout=nowhere,
                stderr=nowhere,
                start_new_session=True,
                env=dict(env),
            )
        except OSError:
            return False
        return True

    return open_address
