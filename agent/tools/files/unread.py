"""Plans of changes to files outside the project that the model has not read."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar

from agent.records.errors import ToolError
from agent.records.requests import PermissionNeed
from agent.tools.core.base import ToolContext
from agent.tools.files.paths import ToolPath, read_needs, refuse_system

PlanT = TypeVar("PlanT")


async def plan_unread(
    plan: Callable[[], PlanT], targets: Sequence[ToolPath], ctx: ToolContext
) -> PlanT:
    """Return what *plan* returns, in a thread.

    The reason why it is not possible says something about the files: whether they exist, what is in
    them. Of files outside the project the model learns that only once it may read them.
    """
    for target in targets:
        refuse_system(target)
    try:
        return await asyncio.to_thread(plan)
    except ToolError:
        needs = unread_needs(targets, ctx)
        if needs:
            await ctx.ask(needs, "Read this file?")
        raise


def unread_needs(targets: Sequence[ToolPath], ctx: ToolContext) -> tuple[PermissionNeed, ...]:
    """Return the permissions for reading those *targets* outside the project that the session has
    not read."""
    needs = (
        need
        for path in targets
        if path.outside and ctx.files.seen(ctx.session_id, path.real) is None
        for need in read_needs(path)
    )
    return tuple(dict.fromkeys(needs))
