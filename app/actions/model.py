"""Actions on the model, its effort, and the agent."""

import asyncio
import time
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from app.action_registry.context import ActionContext
from app.action_registry.registry import action
from app.screens.base.page import PageScreen
from app.screens.base.picker import Picker, Row
from app.screens.model import fallback_text

if TYPE_CHECKING:  # loads the agent package
    from agent.agents import AgentInfo

DEFAULT = "default"
"""The choice of the model's own effort."""

EFFORTS = {
    "none": "no reasoning",
    "minimal": "minimal reasoning",
    "low": "little reasoning",
    "medium": "thinks",
    "high": "long reasoning",
    "xhigh": "longer reasoning",
    "max": "maximum reasoning",
}
"""The meaning of each effort, for the picker."""


@action(
    "model.list",
    "Choose the model",
    "Model and agent",
    slash=("model", "models"),
    keys=("<leader>m",),
    argument="[provider/model]",
)
async def model(context: ActionContext, argument: str) -> None:
    from app.actions.connect import choose_model  # loads the provider catalog

    catalog = context.live.runtime.catalog
    chosen: str | None = catalog.model(argument).full_name if argument else None
    await _use(context, chosen or await choose_model(context))


@action(
    "model.fallback",
    "Fallback models",
    "Model and agent",
    slash=("fallback",),
    argument="[ask, auto, off or retry]",
)
async def fallback(context: ActionContext, argument: str) -> None:
    """Show the models that continue when one fails, or change when they do."""
    controls = context.controls
    if argument:
        context.notify(await controls.change_fallback(argument))
    else:
        found = await controls.fallback()
        page = partial(fallback_text, found, context.live.model, time.time())
        await context.show(PageScreen("Fallback models", page))


@action(
    "model.connect",
    "Connect a provider",
    "Model and agent",
    slash=("connect",),
    argument="[provider]",
)
async def connect_provider(context: ActionContext, argument: str) -> None:
    """Choose a provider, paste its key, choose a model: it can be used at once."""
    from app.actions.connect import connect_and_choose  # loads the provider catalog

    await _use(context, await connect_and_choose(context, argument.strip()))


async def _use(context: ActionContext, chosen: str | None) -> None:
    if chosen is not None:
        await asyncio.to_thread(context.live.runtime.catalog.preferences.add_recent, chosen)
        await context.live.use_model(chosen)


@action(
    "model.effort",
    "Choose how much the model reasons",
    "Model and agent",
    slash=("effort", "variants"),
    argument="[level]",
)
async def effort(context: ActionContext, argument: str) -> None:
    live = context.live
    levels = _levels(context)
    if not levels:
        return
    if argument and argument not in (*levels, DEFAULT):
        context.notify(f"The levels are {', '.join(levels)}, and {DEFAULT}.", warning=True)
        return
    chosen: str | None = argument
    if not argument:
        rows = [Row(DEFAULT, DEFAULT, "the model's default")]
        rows += [Row(level, level, EFFORTS.get(level, "")) for level in levels]
        current = live.effort or DEFAULT
        chosen = await context.show(Picker("Reasoning effort", rows, current=current))
    if chosen is not None:
        await live.use_model(live.model, None if chosen == DEFAULT else chosen)


@action(
    "model.effort_next", "Switch to the next reasoning effort", "Model and agent", keys=("ctrl+t",)
)
async def next_effort(context: ActionContext, argument: str) -> None:
    """Set the next effort; the model's own default follows the last one."""
    live = context.live
    levels: tuple[str | None, ...] = (None, *_levels(context))
    if len(levels) > 1:
        at = levels.index(live.effort) if live.effort in levels else 0
        await live.use_model(live.model, levels[(at + 1) % len(levels)])


def _levels(context: ActionContext) -> tuple[str, ...]:
    """Return the efforts of the model in use, and notify the user if it has none."""
    info = context.live.runtime.catalog.model(context.live.model)
    if not info.efforts:
        context.notify(f"{info.name or info.id} has no reasoning levels.")
    return info.efforts


@action(
    "agent.list",
    "Choose the agent",
    "Model and agent",
    slash=("agent", "agents"),
    keys=("<leader>a",),
    argument="[name]",
)
async def agent(context: ActionContext, argument: str) -> None:
    agents = context.live.runtime.agents
    chosen: str | None = agents.get(argument).name if argument else None
    if chosen is None:
        rows = agent_rows(agents.listed())
        screen = Picker("Agents", rows, current=context.live.agent)
        chosen = await context.show(screen)
    if chosen is not None and agents.get(chosen).mode == "subagent":
        context.prompt.set_text(f"{context.prompt.text}@{chosen} ")
        return
    if chosen is not None:
        await context.live.use_agent(chosen)


def agent_rows(agents: Iterable["AgentInfo"]) -> list[Row]:
    """Return the agents that talk to the user, then sub-agents, each with its source."""
    return [
        Row(
            info.name,
            info.name,
            _about(info),
            group="Sub-agents (choosing one mentions it with @)"
            if info.mode == "subagent"
            else "Primary agents",
        )
        for info in sorted(agents, key=lambda info: info.mode == "subagent")
    ]


def _about(info: "AgentInfo") -> str:
    return " · ".join(part for part in (info.source, info.description, info.model or "") if part)


@action("agent.cycle", "Switch to the next agent", "Model and agent", keys=("tab",))
async def cycle(context: ActionContext, argument: str) -> None:
    names = [info.name for info in context.live.runtime.agents.primary()]
    at = names.index(context.live.agent) if context.live.agent in names else -1
    await context.live.use_agent(names[(at + 1) % len(names)])
