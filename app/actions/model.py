"""Actions on the model, its effort, and the agent."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from app.commands import action
from app.context import Context
from app.screens.model import ModelScreen
from app.screens.picker import Picker, Row
from app.tasks import ask

if TYPE_CHECKING:  # brings the harness
    from agent.agents import AgentInfo


@action(
    "model.list",
    "Choose the model",
    "Model and agent",
    slash=("model", "models"),
    keys=("<leader>m",),
    argument="[provider/model]",
)
async def model(context: Context, argument: str) -> None:
    catalog = context.live.runtime.catalog
    chosen: str | None = catalog.model(argument).full_name if argument else None
    if chosen is None:
        screen = ModelScreen(catalog.models(), current=context.live.model)
        chosen = await ask(context.app, screen)
    if chosen is not None:
        await context.live.use_model(chosen)


@action(
    "model.effort",
    "Change how much the model reasons",
    "Model and agent",
    slash=("effort", "variants"),
    keys=("ctrl+t",),
    argument="[level]",
)
async def effort(context: Context, argument: str) -> None:
    """Take the named effort, or go to the next one; after the last comes the default."""
    live = context.live
    info = live.runtime.catalog.model(live.model)
    if not info.efforts:
        context.tell(f"{info.name or info.id} has no levels of reasoning.")
        return
    levels: tuple[str | None, ...] = (None, *info.efforts)
    if argument and argument not in info.efforts:
        context.tell(f"The levels are {', '.join(info.efforts)}.", warning=True)
        return
    at = levels.index(live.effort) if live.effort in levels else 0
    await live.use_model(live.model, argument or levels[(at + 1) % len(levels)])


@action(
    "agent.list",
    "Choose the agent",
    "Model and agent",
    slash=("agent", "agents"),
    keys=("<leader>a",),
    argument="[name]",
)
async def agent(context: Context, argument: str) -> None:
    agents = context.live.runtime.agents
    chosen: str | None = agents.get(argument).name if argument else None
    if chosen is None:
        rows = agent_rows(agents.listed())
        screen = Picker("Agents", rows, current=context.live.agent)
        chosen = await ask(context.app, screen)
    if chosen is not None and agents.get(chosen).mode == "subagent":
        context.prompt.put(f"{context.prompt.text}@{chosen} ")
        return
    if chosen is not None:
        await context.live.use_agent(chosen)


def agent_rows(agents: Iterable["AgentInfo"]) -> list[Row]:
    """The user's own to talk to, then those that work for others; each with where it is from."""
    return [
        Row(
            info.name,
            info.name,
            _about(info),
            group="Works for others: its name is put into the prompt"
            if info.mode == "subagent"
            else "Talks to you",
        )
        for info in sorted(agents, key=lambda info: info.mode == "subagent")
    ]


def _about(info: "AgentInfo") -> str:
    """What it is for, its model, and the file that says so."""
    parts = (info.description, info.model or "", info.source)
    return " · ".join(part for part in parts if part)


@action("agent.cycle", "Next agent", "Model and agent", keys=("tab",))
async def cycle(context: Context, argument: str) -> None:
    del argument
    names = [info.name for info in context.live.runtime.agents.primary()]
    at = names.index(context.live.agent) if context.live.agent in names else -1
    await context.live.use_agent(names[(at + 1) % len(names)])
