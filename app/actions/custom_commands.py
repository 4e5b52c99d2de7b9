"""The user's own slash commands and the prompts of MCP servers, as actions."""

import shlex
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from agent.records.errors import OpencodePyError, ToolError
from app.action_registry.context import ActionContext
from app.action_registry.registry import Action, find_by_slash
from app.text.sanitize import sanitize_line

if TYPE_CHECKING:  # not loaded for the first frame
    from agent.custom_commands import CommandInfo
    from agent.mcp.records import Prompt, ServerStatus
    from agent.records.messages import Session
    from agent.runtime.runtime import Runtime
    from agent.session.api import PromptInput

    Make = Callable[[Runtime, str, Session, PromptInput], Coroutine[object, object, PromptInput]]

PREFIX = "command."
"""The prefix of the ids of users' commands; the command's name follows, for keybinds."""


def mcp_prompt_actions(statuses: "Iterable[ServerStatus]") -> list[Action]:
    found: dict[str, Action] = {}
    for status in statuses:
        if status.state == "connected":
            for prompt in status.prompts:
                made = _mcp_prompt_action(status.server.name, prompt)
                found.setdefault(made.id, made)
    return list(found.values())


def prompt_arguments(prompt: "Prompt", argument: str) -> dict[str, str]:
    """Parse the arguments of *prompt*: ``name=value``, or in order; the last one takes the rest.

    Raises ``ToolError`` for one that is missing.
    """
    try:
        words = shlex.split(argument)
    except ValueError:  # for example an apostrophe
        words = argument.split()
    names = [one.name for one in prompt.arguments]
    given: dict[str, str] = {}
    rest: list[str] = []
    for word in words:
        name, sign, value = word.partition("=")
        if sign and name in names and name not in given:
            given[name] = value
        else:
            rest.append(word)
    left = [name for name in names if name not in given]
    for place, name in enumerate(left):
        if rest:
            taken = rest if place == len(left) - 1 else rest[:1]
            given[name] = " ".join(taken)
            rest = rest[len(taken) :]
    missing = [one.name for one in prompt.arguments if one.required and not given.get(one.name)]
    if missing:
        raise ToolError(f"{prompt.name} also needs: {', '.join(missing)}.")
    return given


def _mcp_prompt_action(server: str, prompt: "Prompt") -> Action:
    name = "".join(f"{server}:{prompt.name}".split())

    async def make(
        runtime: "Runtime", argument: str, _session: "Session", base: "PromptInput"
    ) -> "PromptInput":
        from agent.mcp.tool import text_of  # loads the agent package

        given = prompt_arguments(prompt, argument)
        answer = await runtime.mcp.prompt(server, prompt.name, given)
        text = text_of(answer.content).strip()
        if not text:
            raise ToolError(f"The MCP server {server} returned an empty prompt.")
        return replace(base, text=text, display_text=base.text)

    hints = (f"<{one.name}>" if one.required else f"[{one.name}]" for one in prompt.arguments)
    return Action(
        id=f"mcp.prompt.{name}",
        title=sanitize_line(prompt.description)
        or f"A prompt of the MCP server {sanitize_line(server)}",
        run=partial(_send, name, make),
        group="Commands",
        slash=(sanitize_line(name),),
        argument=sanitize_line(" ".join(hints)),
        sends_prompt=True,
        note=sanitize_line(f"the prompt of the MCP server {server}"),
    )


def user_command_actions(commands: Iterable["CommandInfo"]) -> list[Action]:
    """Return the actions of *commands*; a built-in command gives way to an action of its name."""
    known = [
        command
        for command in commands
        if command.kind != "built in" or find_by_slash(command.name) is None
    ]
    ends = Counter(command.name.rpartition("/")[2] for command in known)
    return [_user_command_action(command, ends) for command in known]


def _maker(name: str) -> "Make":
    async def make(
        runtime: "Runtime", argument: str, session: "Session", base: "PromptInput"
    ) -> "PromptInput":
        return await runtime.commands.prompt(name, argument, session, base)

    return make


def _user_command_action(command: "CommandInfo", ends: Mapping[str, int]) -> Action:
    """Return the action of a command. One in a folder has its other names (``find_command``) too,
    where these are not taken; *ends* counts the last words of all names."""
    name = command.name
    end = name.rpartition("/")[2]
    others = (name.replace("/", ":"), *([end] if ends[end] == 1 else []))
    aliases = [
        other
        for other in others
        if other != name
        and ((taken := find_by_slash(other)) is None or taken.id == f"{PREFIX}{name}")
    ]

    return Action(
        id=f"{PREFIX}{name}",
        title=sanitize_line(command.description) or f"The {command.kind} {sanitize_line(name)}",
        run=partial(_send, name, _maker(name)),
        group="Commands",
        slash=(name, *dict.fromkeys(aliases)),
        argument=sanitize_line(command.hint),
        sends_prompt=True,
        note=sanitize_line(f"the {command.kind} in {command.source}"),
    )


async def send_command(context: ActionContext, name: str, argument: str) -> None:
    """Send the prompt of the command *name*."""
    await _send(name, _maker(name), context, argument)


async def _send(name: str, make: "Make", context: ActionContext, argument: str) -> None:
    """Send the prompt that *make* returns; a command that cannot be sent returns to the prompt."""
    typed = f"/{name} {argument}".strip()
    try:
        await context.live.send(typed, make=partial(make, context.live.runtime, argument))
    except OpencodePyError:
        if not context.prompt.text:
            context.prompt.set_text(typed)
        raise
