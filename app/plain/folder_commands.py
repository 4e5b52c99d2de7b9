"""Commands of ``--plain`` on the folder: its rules, trust, instructions, memory and servers."""

import time
from collections.abc import Mapping

from agent.mcp.records import STATE_LABELS
from agent.records.errors import NothingToDo
from agent.records.memory import MemoryOrigin
from agent.records.requests import PermissionReply
from app.plain.command import WIDTH, Console, controls_of, open_session


async def permissions(console: Console, argument: str) -> None:
    """List the rules in force, or revoke the one with that number."""
    from agent.permission.rules import ALWAYS  # loads the agent package
    from app.screens.permission_rules import rule_rows  # loads Textual

    session, controls = console.session, controls_of(console)
    found = await controls.rules(session.id if session is not None else None, console.agent)
    if not argument:
        group = ""
        for row in rule_rows(found.rules, trusted=found.trusted):
            if row.group != group:
                group = row.group
                console.say(f"{group}:")
            console.say(f"{row.key}  {row.title}  {row.note}".rstrip())
        console.say("/permissions NUMBER revokes one that you chose with “always”.")
        return
    known = argument.isdecimal() and int(argument) < len(found.rules)
    rule = found.rules[int(argument)] if known else None
    if rule is None or rule.source != ALWAYS or session is None:
        raise NothingToDo("Only rules that you chose with “always” can be revoked here.")
    await controls.revoke_rule(session.id, rule.permission, rule.pattern)
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


async def status(console: Console, argument: str) -> None:
    from agent.installation import VERSION  # only for this page
    from app.actions.program import (  # loads Textual
        UNTRUSTED,
        Fact,
        sandbox_facts,
        status_text,
    )

    runtime, found = console.runtime, await controls_of(console).status()
    facts = [
        Fact("Version", VERSION),
        Fact("Folder", str(runtime.directory)),
        Fact("Trust", "" if found.trusted else UNTRUSTED),
        *sandbox_facts(found.sandbox),
        Fact("Session", console.session.id if console.session is not None else "none yet"),
        Fact("Settings", ", ".join(found.settings)),
        Fact("Log", found.log),
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
    from app.actions.instructions import NOTHING_WRITTEN  # loads Textual
    from app.widgets.permission_subject import plain_text

    request = await controls_of(console).draft_memory(tuple(lines))
    console.say("\n".join(plain_text(request.blocks)))
    if (await console.ask("Write this? yes or no")).strip().lower() in {"y", "yes"}:
        name = await controls_of(console).write_memory(request, PermissionReply("once"), lines)
        console.say(f"Added to {name}.")
    else:
        console.say(NOTHING_WRITTEN)


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
    from agent.session.prompt.templates import init_prompt  # loads the agent package

    console.runtime.trust.trust_own_file()
    await console.send(init_prompt(argument))


async def servers(console: Console, argument: str) -> None:
    statuses = console.runtime.mcp.statuses()
    for status in statuses:
        state = STATE_LABELS[status.state]
        console.say(f"{status.server.name}: {state} {status.reason}".rstrip())
    if not statuses:
        console.say("No MCP server is configured.")


async def language_servers(console: Console, argument: str) -> None:
    from app.screens.servers import lsp_text  # loads Textual

    code = await controls_of(console).code()
    console.say(lsp_text(code.statuses, code.specs, code.formatters).plain)


async def stats(console: Console, argument: str) -> None:
    from app.screens.usage import DEFAULT_DAYS, stats_text  # loads Textual

    if argument and not (argument.isdigit() and int(argument)):
        raise NothingToDo("Give a number of days, such as /stats 7.")
    days = int(argument) if argument else DEFAULT_DAYS
    rows = await console.runtime.store.usage_rows(time.time() - days * 86_400)
    console.say(stats_text(rows, WIDTH).plain)
