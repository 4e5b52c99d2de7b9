"""The prompt of ``opencode-py run``: the message, piped input, files, a slash command."""

from argparse import Namespace
from dataclasses import replace
from pathlib import Path

from agent.custom_commands import find_command, joined_texts, parse_slash
from agent.records.messages import Session
from agent.runtime.headless import HeadlessRun
from agent.session.api import Mention, PromptInput
from agent.session.prompt.mentions import agents_in, mentions_in
from agent.session.prompt.templates import init_prompt


async def prompt_of(
    arguments: Namespace, message: str, piped: str, headless: HeadlessRun, session: Session
) -> PromptInput:
    """Return the prompt for *session*. What *message* mentions with an @ is attached, and a slash
    command that it begins with is run; neither applies to *piped* input.

    Raises ``CommandError`` for an unknown command, or one that cannot be sent.
    """
    runtime = headless.runtime
    files = tuple(Mention(name) for name in arguments.file)
    base = PromptInput(
        text=joined_texts(message, piped),
        agent=arguments.agent,
        model=arguments.model,
        effort=arguments.effort,
        mentions=(*files, *mentions_in(message, runtime.directory)),
        agents=agents_in(message, [each.name for each in runtime.agents.subagents()]),
    )
    if arguments.command:
        name, argument = arguments.command.removeprefix("/"), message
    else:
        name, argument = parse_slash(message) or ("", "")
        if not name:
            return base
    if name == "init":
        runtime.trust.trust_own_file()
        return replace(base, text=init_prompt(joined_texts(argument, piped)))
    known = await runtime.commands.all()
    if find_command(known, name) is None:
        if not arguments.command and _is_path(name):
            return base
        raise await runtime.commands.unknown(name, "init")
    made = await headless.command_prompt(name, argument, session, base, piped)
    return replace(made, mentions=tuple(dict.fromkeys((*files, *made.mentions))))


def _is_path(name: str) -> bool:
    """Return whether the message begins with a path such as /tmp or /usr/lib."""
    return "/" in name or Path(f"/{name}").exists()
