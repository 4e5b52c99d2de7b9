"""Commands of ``--plain`` on work that goes on: worktrees, goals, commands, changes."""

import time
from pathlib import Path

from agent.records.errors import NothingToDo
from app.plain.command import Console
from app.session_state.named_changes import named_changes

UNTIL_STOPPED = "It is repeated here until ctrl+c."

HOW = "Merge this? merge, squash, patch or no"


async def new(console: Console, argument: str) -> None:
    """Begin anew, in a new worktree or the folder that this one was made from if the argument says
    so; the rest of it is the prompt."""
    from agent.runtime.merging import NO_WORKTREE  # loads the agent package
    from agent.runtime.worktrees import find_worktree, open_worktree  # as above

    runtime, folder = console.runtime, None
    option, _, rest = argument.partition(" ")
    if option in {"--worktree", "-w"}:
        name, _, argument = rest.strip().partition(" ")
        folder, notices = await open_worktree(runtime, name, console.env)
        for notice in notices:
            console.say(notice)
    elif option == "--main":
        found = find_worktree(runtime.paths, runtime.project)
        if found is None:
            raise NothingToDo(NO_WORKTREE)
        inside = runtime.directory.relative_to(runtime.project)
        folder, argument = Path(found.source, inside), rest
    await console.start_over(folder)
    if argument.strip():
        await console.send(argument.strip())


async def goal(console: Console, argument: str) -> None:
    from agent.runtime.goal_and_loop import goal_command  # loads the agent package

    given = (console.session, argument, console.ensure_session, console.model)
    if sentence := await goal_command(console.runtime, *given):
        console.say(sentence)
    session, goals = console.session, console.runtime.sessions.goals
    if session is not None and goals.running(session.id):
        await console.follow_until(goals.wait(session.id))


async def loop(console: Console, argument: str) -> None:
    from agent.runtime.goal_and_loop import loop_command  # loads the agent package

    sentence = await loop_command(
        console.runtime, console.session, argument, console.ensure_session
    )
    session, repeated = console.session, console.runtime.sessions.repeated_prompts
    if session is None or repeated.find(session.id) is None:
        console.say(sentence)
        return
    console.say(UNTIL_STOPPED)
    await console.follow_until(repeated.wait(session.id))


async def merge(console: Console, argument: str) -> None:
    """Print what a worktree changed, and merge it or remove it once the user agrees."""
    from agent.runtime import merging  # loads the agent package

    runtime, session = console.runtime, console.session
    name, how = merging.parse_merge(argument)
    worktree = merging.known_worktree(runtime, session, name)
    if how != merging.REMOVE:
        changes = await merging.merge_changes(worktree)
        if not changes.files and not changes.notes:
            raise NothingToDo(f"The worktree {worktree.name} has no changes to merge.")
        console.say(merging.changes_text(changes))
        how = how or (await console.ask(HOW)).strip().lower()
        if how not in merging.MODES:
            console.say("Nothing was merged.")
            return
        console.say(await merging.merge_work(worktree, how, session))
        question = f"Remove the worktree {worktree.name}? yes or no"
        if (await console.ask(question)).strip().lower() not in {"y", "yes"}:
            return
    console.say(await merging.remove_worktree(runtime, worktree))


async def review(console: Console, argument: str) -> None:
    """Print the changes of the working tree, a turn, the session or a branch; any other argument
    has a sub-agent review it."""
    from agent.runtime.merging import changes_text  # loads the agent package

    found = await named_changes(console.runtime, console.session, argument)
    if found is None:
        await console.run_command("review", argument)
    elif found.files:
        console.say(changes_text(found))
    else:
        raise NothingToDo(f"There are no changes to review in {found.title}.")


async def shells(console: Console, argument: str) -> None:
    from app.screens.background import shell_rows  # loads Textual

    rows = shell_rows(console.runtime.shells.snapshot(), time.time())
    if argument:
        await console.runtime.shells.kill(argument)
        return
    for row in rows:
        console.say(f"{row.key}  {row.title}  {row.note}".rstrip())
    console.say("/shells ID ends one." if rows else "No background commands yet.")


async def shell(console: Console, argument: str) -> None:
    if not argument:
        raise NothingToDo("Give the command: /shell COMMAND, or !COMMAND.")
    await console.run_shell(argument)
