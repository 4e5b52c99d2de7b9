"""Opens an address in the user's browser: by argv, away from the terminal (security, class I)."""

import asyncio
import shutil
import sys
from collections.abc import Awaitable, Callable, Mapping

OpenAddress = Callable[[str], Awaitable[bool]]


def browser_opener(env: Mapping[str, str]) -> OpenAddress:
    """What opens an address; it tells whether it could. Without a desktop it never can: what a
    terminal would offer there is a browser that takes the terminal."""
    program = "open" if sys.platform == "darwin" else "xdg-open"
    desktop = sys.platform == "darwin" or any(env.get(n) for n in ("DISPLAY", "WAYLAND_DISPLAY"))
    found = shutil.which(program, path=env.get("PATH")) if desktop else None

    async def open_address(address: str) -> bool:
        if found is None or not address.startswith(("https://", "http://")):
            return False
        nowhere = asyncio.subprocess.DEVNULL
        try:
            await asyncio.create_subprocess_exec(
                found, address, stdin=nowhere, stdout=nowhere, stderr=nowhere,
                start_new_session=True, env=dict(env),
            )  # fmt: skip
        except OSError:
            return False
        return True

    return open_address
