"""Slash commands: each becomes a prompt.

Commands and files of a template go through the same pipeline as the model's own calls: the same
rules, permission requests and hooks. The argument after the command is the user's own text: the
files it names are attached like those of any prompt.
"""

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from agent.agents import Agents
from agent.config.loading import LoadedConfig
from agent.custom_commands import (
    CommandInfo,
    TemplatePart,
    available_commands,
    expand_template,
    find_command,
    joined_texts,
    unknown_command,
)
from agent.files import Editor, FileTracker
from agent.records.blocks import Block, ToolLabel
from agent.records.decisions import Decision
from agent.records.errors import CommandError
from agent.records.ids import new_id
from agent.records.json import JsonObject
from agent.records.messages import Session
from agent.records.requests import PermissionNeed, PermissionReply
from agent.session.api import Mention, PromptInput, Subtask
from agent.session.prompt.attachments import ATTACHED
from agent.session.prompt.guidance import Guidance
from agent.session.prompt.mentions import agents_in, mentions_in
from agent.skills import Skill
from agent.tools.core.tool import ToolContext
from agent.tools.pipeline import CallFailed, Pipeline

SKILL = "The user asks for the skill {name}. Follow it.\n\n{text}"

ONLY_FOR_MODEL = (
    "The skill {name} is not a command, since its SKILL.md has user-invocable: false. "
    "Ask the agent to use it."
)


class _SilentObserver:
    """The observer of a call that is not part of a message; the question shows its subject."""

    async def on_running(
        self, arguments: JsonObject, label: ToolLabel, blocks: tuple[Block, ...]
    ) -> None:
        _ = arguments, label, blocks

    def on_request(self, request_id: str | None) -> None:
        _ = request_id

    def on_judging(self) -> None:
        pass

    def on_terminal(self, terminal: str) -> None:
        _ = terminal

    def on_decision(self, consent: Decision) -> None:
        _ = consent


class SlashCommands:
    """The commands of an opened folder. Skills are commands too, unless a command has the name."""

    def __init__(
        self,
        loaded: LoadedConfig,
        agents: Agents,
        guidance: Guidance,
        pipeline: Pipeline,
        editor: Editor | None = None,
    ) -> None:
        self._own = available_commands(loaded)
        self._agents = agents
        self._guidance = guidance
        self._pipeline = pipeline
        self._editor = editor

    async def all(self) -> tuple[CommandInfo, ...]:
        """Return all commands, by name."""
        found = await self._guidance.find_skills()
        taken = {known.name for known in self._own}
        skills = [
            _skill_command(skill)
            for skill in found.skills.values()
            if skill.is_command and skill.name not in taken
        ]
        return tuple(sorted((*self._own, *skills), key=lambda known: known.name))

    async def unknown(self, name: str, *others: str) -> CommandError:
        """Return the error for a command that does not exist; *others* exist too."""
        if name in (await self._guidance.find_skills()).skills:
            return CommandError(ONLY_FOR_MODEL.format(name=name))
        return unknown_command(name, (*(each.name for each in await self.all()), *others))

    async def prompt(
        self, name: str, argument: str, session: Session, base: PromptInput, piped: str = ""
    ) -> PromptInput:
        """Return the prompt of the command *name* in *session*; it inherits from *base*.

        *piped* text is added to the argument, but not in command lines. Raises ``CommandError`` for
        an unknown command, or one whose command line or file was refused.
        """
        known = await self.all()
        command = find_command(known, name)
        if command is None:
            raise await self.unknown(name)
        agent = command.agent or base.agent or session.agent
        self._agents.get(agent)
        call = partial(self._call, command, session, agent)
        pieces = expand_template(await self._template(command, call), argument, piped)
        text = "".join([await self._piece_text(command, piece, call) for piece in pieces])
        typed = mentions_in(argument, Path(session.directory))
        files = await self._files(command, pieces, session, typed, call)
        text = "\n\n".join((text.strip(), *files))
        made = replace(
            base,
            text=text,
            display_text=joined_texts(f"/{name} {argument}".strip(), piped),
            mentions=typed,
            agents=agents_in(argument, [each.name for each in self._agents.subagents()]),
            model=command.model or base.model,
            effort=command.effort or (None if command.model else base.effort),
            one_off=True,
        )
        if self._runs_as_subtask(command):
            description = " ".join(command.description.split()[:6]) or f"The command /{name}"
            return replace(made, subtask=Subtask(agent, description, text))
        own = self._agents.get(agent) if command.agent else None
        model = command.model or (own.model if own else None)
        return replace(made, agent=agent, model=model or base.model)

    def _runs_as_subtask(self, command: CommandInfo) -> bool:
        """Return whether a sub-agent runs the command."""
        if command.subtask is not None or command.agent is None:
            return bool(command.subtask)
        return self._agents.get(command.agent).mode == "subagent"

    async def _template(self, command: CommandInfo, call: "_Call") -> str:
        if command.kind != "skill":
            return command.template
        return SKILL.format(name=command.name, text=await call("skill", {"name": command.name}))

    async def _piece_text(self, command: CommandInfo, piece: TemplatePart, call: "_Call") -> str:
        """Return the text of a *piece*; of a command its output."""
        if piece.kind == "text":
            return piece.text
        if command.kind == "skill":  # such marks in a skill are examples
            return f"!`{piece.text}`"
        description = f"For the command /{command.name}"
        return await call("bash", {"command": piece.text.strip(), "description": description})

    async def _files(
        self,
        command: CommandInfo,
        pieces: Sequence[TemplatePart],
        session: Session,
        typed: Sequence[Mention],
        call: "_Call",
    ) -> list[str]:
        """Return the files that the template itself names, each once, except those that the user
        *typed*."""
        if command.kind == "skill":
            return []
        text = "".join(piece.text for piece in pieces if piece.kind == "text")
        return [
            ATTACHED.format(path=mention.path, text=await call("read", _read_arguments(mention)))
            for mention in mentions_in(text, Path(session.directory))
            if mention not in typed
        ]

    async def _call(
        self,
        command: CommandInfo,
        session: Session,
        agent: str,
        tool: str,
        arguments: JsonObject,
    ) -> str:
        """Return the output of a tool. Raises ``CommandError`` when it fails."""
        resolved = self._pipeline.resolve(tool, json.dumps(arguments))
        if isinstance(resolved, CallFailed):
            raise CommandError(f"/{command.name} was not sent: {resolved.error}")
        context = ToolContext(
            session_id=session.id,
            root_id=session.id,
            message_id="",
            call_id=new_id("cal"),
            agent=agent,
            directory=session.directory,
            project=session.project,
            files=FileTracker(self._editor),
            progress=_ignore,
            ask=_never_asks,
        )
        done = await self._pipeline.run(resolved, context, _SilentObserver())
        if isinstance(done, CallFailed):
            what = arguments.get("command") or arguments.get("file_path") or arguments.get("name")
            raise CommandError(f"/{command.name} was not sent: {what}: {done.error}")
        return done.output.strip()


_Call = Callable[[str, JsonObject], Awaitable[str]]
"""A tool by name with its arguments; gives its output."""


def _read_arguments(mention: Mention) -> JsonObject:
    given: JsonObject = {"file_path": mention.path}
    if mention.first is not None:
        given["offset"] = mention.first
        if mention.last is not None:
            given["limit"] = max(1, mention.last - mention.first + 1)
    return given


def _skill_command(skill: Skill) -> CommandInfo:
    return CommandInfo(
        name=skill.name,
        description=skill.description,
        template="",
        kind="skill",
        source=str(skill.path),
    )


def _ignore(text: str) -> None:
    """Ignore the progress of a call."""


async def _never_asks(
    needs: tuple[PermissionNeed, ...], heading: str, blocks: tuple[Block, ...] = (), /
) -> PermissionReply:
    """A placeholder until the pipeline sets its own function."""
    raise AssertionError(heading, needs, blocks)
