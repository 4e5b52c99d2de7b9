"""What is done once the first frame stands and nobody waits: what the first prompt would wait for
is loaded, and servers of this machine are looked for (spec 5, R3; spec 9, Q1)."""

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from agent.records.errors import OpencodePyError

if TYPE_CHECKING:  # brings the whole harness
    from agent.runtime.runtime import Runtime


async def warm(runtime: "Runtime", model: str, found: Callable[[], None]) -> None:
    """Make ready to ask *model*, then look for local servers; *found* is called if there are any.

    What fails here fails again, and is told, when it is wanted.
    """
    from agent.provider.local_servers import find_local_servers  # after the first frame

    with contextlib.suppress(OpencodePyError):
        await runtime.clients.preload(runtime.catalog.model(model))
    if await find_local_servers(runtime.catalog):
        found()
