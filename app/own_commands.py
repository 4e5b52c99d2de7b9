"""The user's own slash commands as actions, beside those of the program (spec 10, K8)."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from agent.records.errors import OpencodePyError
from app.clean import clean_line
from app.commands import Action
from app.context import Context

if TYPE_CHECKING:  # the first frame needs none of it
    from agent.commands import CommandInfo

PREFIX = "command."
"""What their ids begin with; the name follows, for keybinds."""


def own_actions(commands: Iterable["CommandInfo"]) -> list[Action]:
    """An action for each of *commands*."""
    return [_action(command) for command in commands]


def _action(command: "CommandInfo") -> Action:
    name = command.name

    async def run(context: Context, argument: str) -> None:
        typed = f"/{name} {argument}".strip()
        runtime = context.live.runtime
        try:
            await context.live.send(
                typed,
                make=lambda session, base: runtime.commands.prompt(name, argument, session, base),
            )
        except OpencodePyError:
            if not context.prompt.text:
                context.prompt.put(typed)
            raise

    return Action(
        id=f"{PREFIX}{name}",
        title=clean_line(command.description) or f"The {command.kind} {clean_line(name)}",
        run=run,
        group="Commands",
        slash=(name,),
        argument=clean_line(command.hint),
        prompts=True,
        note=clean_line(f"the {command.kind} in {command.source}"),
    )
