"""Commands of ``--plain`` on work that goes on by itself, worktrees and changes."""

from collections.abc import Mapping

from agent.records.errors import NothingToDo
from app.console.more_commands import Command, Console
from app.session.named_changes import named_changes

UNTIL_STOPPED = "It is repeated here until ctrl+c."
HOW = "Merge this? merge, squash, patch or no"


async def goal(console: Console, argument: str) -> None:
    from agent.runtime.goal_command import goal_command  # loads the agent package

    given = (console.session, argument, console.ensure_session, console.model)
    if sentence := await goal_command(console.runtime, *given):
        console.say(sentence)
    session, goals = console.session, console.runtime.sessions.goals
    if session is not None and goals.running(session.id):
        await console.follow_until(goals.wait(session.id))


async def loop(console: Console, argument: str) -> None:
    from agent.runtime.goal_command import loop_command  # loads the agent package

    sentence = await loop_command(
        console.runtime, console.session, argument, console.ensure_session
    )
    session, loops = console.session, console.runtime.sessions.loops
    if session is None or loops.find(session.id) is None:
        console.say(sentence)
        return
    console.say(UNTIL_STOPPED)
    await console.follow_until(loops.wait(session.id))


async def merge(console: Console, argument: str) -> None:
    """Print what a worktree changed, and merge it or remove it once the user agrees."""
    from agent.runtime import merge_command as merging  # loads the agent package

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
    from agent.runtime.merge_command import changes_text  # loads the agent package

    found = await named_changes(console.runtime, console.session, argument)
    if found is None:
        await console.run_command("review", argument)
    elif found.files:
        console.say(changes_text(found))
    else:
        raise NothingToDo(f"There are no changes to review in {found.title}.")


WORK_COMMANDS: Mapping[str, Command] = {
    "goal": Command(
        "goal --check command, or pause, resume, stop", "works until a check passes", goal
    ),
    "loop": Command("10m prompt", "repeats a prompt at an interval", loop),
    "merge": Command(
        "[name] [merge, squash, patch or remove]", "merges or removes a worktree", merge
    ),
    "review": Command(
        "[turn, session, branch NAME or pr NUMBER]", "prints changes", review, ("diff",)
    ),
}
"""The commands by name, without the slash."""
