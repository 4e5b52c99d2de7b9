"""Commands of ``--plain`` on the open session, its model, and the folder."""

import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from agent.records.errors import NothingToDo
from agent.records.memory import MemoryOrigin
from agent.records.messages import Idle, Session
from agent.records.requests import PermissionReply
from app.text.excerpt import excerpt

if TYPE_CHECKING:  # loads the agent package
    from agent.permission.trust.trust import TrustAnswer, TrustQuestion
    from agent.runtime.folder_controls import FolderControls
    from agent.runtime.runtime import Runtime

WIDTH = 80
"""Cells of a page of text."""


class Console(Protocol):
    """The conversation, as far as commands use it."""

    runtime: "Runtime"
    env: Mapping[str, str]

    @property
    def session(self) -> Session | None:
        """The open session."""
        ...

    @property
    def model(self) -> str:
        """The full name of the model that answers the next prompt."""
        ...

    @property
    def agent(self) -> str:
        """The agent that answers the next prompt."""
        ...

    def say(self, text: str) -> None:
        """Print *text*."""
        ...

    async def ask(self, question: str) -> str:
        """Return the line that answers *question*; empty at the end of the input."""
        ...

    async def ask_trust(self, question: "TrustQuestion") -> "TrustAnswer":
        """Return the answer to the question about trust in the folder."""
        ...

    async def ensure_session(self) -> Session:
        """Return the open session, a new one if none is open."""
        ...

    async def open(self, session: Session) -> None:
        """Continue with *session*."""
        ...

    async def start_over(self, folder: Path | None = None) -> None:
        """Have the next prompt begin a session, in *folder* if one is given."""
        ...

    async def send(self, given: str) -> None:
        """Send a prompt and print what happens until the turn is over."""
        ...

    async def run_shell(self, command: str) -> None:
        """Run a command of the user's."""
        ...

    async def interruptible(self, work: Coroutine[object, object, str]) -> str:
        """Return the result of *work*. Raises ``NothingToDo`` if Ctrl+C stops it."""
        ...

    async def follow_until(self, ended: Coroutine[object, object, None]) -> None:
        """Print what happens in the open session until *ended* returns."""
        ...

    async def run_command(self, name: str, argument: str) -> None:
        """Send the prompt of a user's slash command."""
        ...

    async def follow(self, work: Awaitable[object]) -> None:
        """Start *work* in the open session and print what happens until it is over."""
        ...


def controls_of(console: Console) -> "FolderControls":
    from agent.runtime.local_controls import LocalControls  # loads the agent package

    return LocalControls(console.runtime)


class Command(NamedTuple):
    """A command in ``COMMANDS``."""

    argument: str
    summary: str
    run: Callable[[Console, str], Awaitable[None]]
    aliases: tuple[str, ...] = ()


def open_session(console: Console) -> Session:
    if console.session is None:
        raise NothingToDo("No session is open yet: send a prompt first.")
    return console.session


async def effort(console: Console, argument: str) -> None:
    levels = console.runtime.catalog.model(console.model).efforts
    if not levels:
        raise NothingToDo(f"{console.model} has no reasoning levels.")
    if argument not in (*levels, "default"):
        raise NothingToDo(f"The levels are {', '.join(levels)}, and default.")
    session = await console.ensure_session()
    chosen = None if argument == "default" else argument
    await console.runtime.sessions.repository.set_model(session.id, console.model, chosen)
    console.say(f"The effort is {argument}.")


async def fork(console: Console, argument: str) -> None:
    copy = await console.runtime.sessions.repository.fork(open_session(console).id)
    await console.open(copy)
    console.say("Forked. The original session is unchanged.")


async def pin(console: Console, argument: str) -> None:
    """List the messages that can be pinned, or pin or unpin the one with that number."""
    from agent.session.context import pins  # loads the agent package

    store = console.runtime.store
    found = pins.pinnable_messages(await store.messages(open_session(console).id))
    if not argument:
        for number, each in enumerate(found, 1):
            state = "pinned  " if each.pinned else ""
            console.say(f"{number}  {state}{excerpt(' '.join(each.text.split()))}")
        console.say("/pin NUMBER pins or unpins a message." if found else "No messages yet.")
    elif argument.isdecimal() and 0 < int(argument) <= len(found):
        chosen = found[int(argument) - 1]
        await pins.set_pinned(store, chosen.message_id, pinned=not chosen.pinned)
        console.say("Unpinned." if chosen.pinned else "Pinned.")
    else:
        raise NothingToDo("There is no such message. /pin lists them.")


async def permissions(console: Console, argument: str) -> None:
    """List the rules in force, or revoke the one with that number."""
    from agent.permission.rules import ALWAYS  # loads the agent package
    from agent.session.subagents.subagents import lineage_of  # loads the agent package
    from app.screens.permission_rules import rule_rows  # loads Textual

    runtime, root, child = console.runtime, None, False
    if console.session is not None:
        lineage = await lineage_of(runtime.store, console.session)
        root, child = lineage.root_id, bool(lineage.callers)
    always = await runtime.permissions.current_rules(root)
    rules = (*runtime.agents.rules(console.agent, child=child), *always)
    if not argument:
        group = ""
        for row in rule_rows(rules, trusted=runtime.trust.trusted):
            if row.group != group:
                group = row.group
                console.say(f"{group}:")
            console.say(f"{row.key}  {row.title}  {row.note}".rstrip())
        console.say("/permissions NUMBER revokes one that you chose with “always”.")
        return
    rule = rules[int(argument)] if argument.isdecimal() and int(argument) < len(rules) else None
    if rule is None or rule.source != ALWAYS or root is None:
        raise NothingToDo("Only rules that you chose with “always” can be revoked here.")
    await runtime.permissions.revoke(root, rule.permission, rule.pattern)
    console.say(f"{rule.pattern} will ask again.")


async def trust(console: Console, argument: str) -> None:
    now = await console.runtime.trust.refreshed()
    if now.status == "nothing":
        raise NothingToDo("Nothing in this folder needs your trust.")
    console.say(f"Trust: {now.status}")
    answer = await console.ask_trust(now.question())
    if answer != "later":
        now.save_answer(answer)
        console.say("Saved. Start opencode-py again for it to take effect.")


async def context(console: Console, argument: str) -> None:
    from app.screens.usage import context_usage_text  # loads Textual

    session_id = console.session.id if console.session is not None else None
    found = await controls_of(console).context(session_id, console.model, console.agent)
    console.say(context_usage_text(found, WIDTH).plain)


async def budget(console: Console, argument: str) -> None:
    from app.screens.spending import spending_page  # loads Textual

    session_id = console.session.id if console.session is not None else None
    if argument:
        console.say(await controls_of(console).set_cap(argument, console.ensure_session))
    else:
        console.say(spending_page(await controls_of(console).spending(session_id))(WIDTH).plain)


async def fallback(console: Console, argument: str) -> None:
    from app.screens.model import fallback_text  # loads Textual

    if argument:
        console.say(await controls_of(console).change_fallback(argument))
    else:
        console.say(
            fallback_text(await controls_of(console).fallback(), console.model, time.time()).plain
        )


async def status(console: Console, argument: str) -> None:
    from agent.installation import own_version  # only for this page
    from app.actions.program import (  # loads Textual
        UNTRUSTED,
        Fact,
        sandbox_facts,
        status_text,
    )

    runtime = console.runtime
    trusted = runtime.trust.status in {"trusted", "nothing"}
    facts = [
        Fact("Version", own_version()),
        Fact("Folder", str(runtime.directory)),
        Fact("Trust", "" if trusted else UNTRUSTED),
        *sandbox_facts(await runtime.sandbox.status()),
        Fact("Session", console.session.id if console.session is not None else "none yet"),
        Fact("Settings", ", ".join(dict.fromkeys(runtime.config.sources.values()))),
        Fact("Log", str(runtime.paths.log)),
        *(Fact("Notice", line) for notice in runtime.notices for line in notice.split("\n")),
    ]
    console.say(status_text(facts, WIDTH).plain)


async def instructions(console: Console, argument: str) -> None:
    found = await controls_of(console).guidance()
    for each in found.files:
        console.say(f"{each.source}  {each.characters:,} characters")
    for skill in found.skills:
        console.say(f"skill {skill.name}  {skill.description}")
    for note in found.notes:
        console.say(note)
    if not found.files and not found.skills:
        console.say("No instructions and no skills are loaded.")


async def remember(console: Console, argument: str) -> None:
    if not argument:
        raise NothingToDo("Give the line: /remember LINE.")
    session_id = console.session.id if console.session is not None else ""
    origin = MemoryOrigin("user", time.time(), session_id)
    await _write_lines(console, {" ".join(argument.split()): origin})


async def _write_lines(console: Console, lines: Mapping[str, MemoryOrigin]) -> None:
    """Show the change that adds *lines* to the instructions, and write it if the user agrees."""
    from app.widgets.permission_subject import plain_text  # loads Textual

    request = await controls_of(console).draft_memory(tuple(lines))
    console.say("\n".join(plain_text(request.blocks)))
    if (await console.ask("Write this? yes or no")).strip().lower() in {"y", "yes"}:
        name = await controls_of(console).write_memory(request, PermissionReply("once"), lines)
        console.say(f"Added to {name}.")


async def memory(console: Console, argument: str) -> None:
    """Show the memory file, or go through the lines that the agent proposes for it."""
    from app.actions.instructions import MEMORY_USAGE, NOTHING_NEW, NOTHING_WRITTEN, PROPOSE
    from app.screens.memory import memory_text  # loads Textual

    if argument not in {"", PROPOSE}:
        raise NothingToDo(MEMORY_USAGE)
    if not argument:
        found = await controls_of(console).memory()
        console.say(memory_text(found.path, found.lines, WIDTH).plain)
        return
    session = open_session(console)
    kept: dict[str, MemoryOrigin] = {}
    for line in (proposed := await controls_of(console).propose_memory(session.id)):
        console.say(f"- {line}")
        given = " ".join(
            (await console.ask("y keeps it, n skips it, other text replaces it")).split()
        )
        text = line if given.lower() in {"y", "yes"} else given
        if text and given.lower() not in {"n", "no"}:
            kept[text] = MemoryOrigin("agent", time.time(), session.id, text != line)
    if kept:
        await _write_lines(console, kept)
    else:
        console.say(NOTHING_WRITTEN if proposed else NOTHING_NEW)


async def init(console: Console, argument: str) -> None:
    from agent.session.prompt.slash_commands import init_prompt  # loads the agent package

    console.runtime.trust.trust_own_file()
    await console.send(init_prompt(argument))


async def quick_question(console: Console, argument: str) -> None:
    if not argument:
        raise NothingToDo("Write the question after it: /btw why was that file changed?")
    ask = console.runtime.sessions.quick_questions.ask
    pieces = [piece async for piece in ask(open_session(console).id, argument)]
    console.say("".join(pieces))


async def import_session(console: Console, argument: str) -> None:
    from agent.transfer.importer import import_file  # only for an import

    if not argument:
        raise NothingToDo("Give the file: /import FILE.json.")
    runtime = console.runtime
    folders = {"directory": str(runtime.directory), "project": str(runtime.project)}
    path = runtime.directory / argument
    await console.open(await import_file(runtime.store, path, **folders))


async def subagents(console: Console, argument: str) -> None:
    runtime = console.runtime
    children = await runtime.store.children(open_session(console).id)
    for child in children:
        state = "" if isinstance(runtime.sessions.status(child.id), Idle) else "  works"
        console.say(f"{child.id}  {child.agent}  {child.title or 'Untitled'}{state}")
    console.say("/resume ID opens one." if children else "No sub-agents yet.")


async def shells(console: Console, argument: str) -> None:
    from app.screens.background import shell_rows  # loads Textual

    rows = shell_rows(console.runtime.shells.snapshot(), time.time())
    if argument:
        await console.runtime.shells.kill(argument)
        return
    for row in rows:
        console.say(f"{row.key}  {row.title}  {row.note}".rstrip())
    console.say("/shells ID ends one." if rows else "No background commands yet.")


async def language_servers(console: Console, argument: str) -> None:
    from app.screens.servers import lsp_text  # loads Textual

    code = await controls_of(console).code()
    console.say(lsp_text(code.statuses, code.specs, code.formatters).plain)


async def shell(console: Console, argument: str) -> None:
    if not argument:
        raise NothingToDo("Give the command: /shell COMMAND, or !COMMAND.")
    await console.run_shell(argument)


MORE_COMMANDS: Mapping[str, Command] = {
    "effort": Command("level", "sets how much the model reasons", effort, ("variants",)),
    "fork": Command("", "forks the session", fork),
    "pin": Command("[number]", "lists messages, or pins or unpins one", pin, ("unpin",)),
    "permissions": Command("[number]", "lists the rules, or revokes one", permissions, ("rules",)),
    "trust": Command("", "reviews the trust in this folder", trust),
    "status": Command("", "shows the folder, the sandbox and the settings", status),
    "context": Command("", "shows context usage", context),
    "fallback": Command(
        "[ask, auto, off or retry]", "shows the models that continue when one fails", fallback
    ),
    "budget": Command("[session or day] [amount or off]", "shows or sets spending caps", budget),
    "instructions": Command(
        "", "lists the loaded instructions and skills", instructions, ("skills",)
    ),
    "memory": Command(
        "[propose]", "shows the memory file, or lets the agent propose lines", memory
    ),
    "remember": Command("line", "adds a line to the project's instructions", remember),
    "init": Command("[what matters]", "creates AGENTS.md for this project", init),
    "btw": Command("question", "asks a side question (not saved to the session)", quick_question),
    "import": Command("file", "opens an exported session", import_session),
    "subagents": Command("", "lists the sub-agents of the session", subagents),
    "shells": Command("[ID]", "lists background commands, or ends one", shells, ("bashes",)),
    "shell": Command("command", "runs a command, as !COMMAND does", shell),
    "lsp": Command("", "shows language servers and formatters", language_servers, ("formatters",)),
}
"""The commands by name, without the slash."""
