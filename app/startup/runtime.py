"""Loading the runtime for a front end."""

import asyncio
import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from agent.records.json import Json
from app.startup import gc
from app.startup.options import LaunchOptions

if TYPE_CHECKING:
    from agent.permission.trust.trust import AskTrust
    from agent.runtime.runtime import Runtime


async def load_runtime(
    launch: LaunchOptions,
    env: Mapping[str, str],
    ask_trust: "AskTrust | None" = None,
    *,
    wait_for_subagents: bool = False,
) -> "Runtime":
    """Import the agent package and open the runtime for *launch*.

    The import runs in a thread: keys echo meanwhile. *ask_trust* is asked before the folder's files
    run anything; without it no question is shown. With *wait_for_subagents*, turns wait for their
    sub-agents in the background.
    """
    await asyncio.to_thread(importlib.import_module, "agent.runtime.runtime")
    gc.resume()
    from agent.runtime.runtime import open_runtime  # loaded just above

    overrides: dict[str, Json] = {"model": launch.model, "default_agent": launch.agent}
    return await open_runtime(
        launch.directory,
        env=env,
        overrides=overrides,
        auto=launch.auto,
        ask_trust=ask_trust,
        wait_for_background=wait_for_subagents,
    )
