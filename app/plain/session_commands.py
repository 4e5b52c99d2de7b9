"""Commands of ``--plain`` on the open session and on sessions."""

from pathlib import Path

from agent.records.errors import NothingToDo
from agent.records.messages import Idle
from app.plain.command import WIDTH, Console, controls_of, open_session
from app.text.excerpt import excerpt

MAX_LISTED = 20
"""Sessions that are listed."""


async def sessions(console: Console, argument: str) -> None:
    from app.screens.session_list.screen import session_facts  # loads Textual

    del argument
    runtime = console.runtime
    working = await runtime.store.foreign_leases()
    lines = await runtime.sessions.repository.lines(everywhere=False, archived=False)
    for line in lines[:MAX_LISTED]:
        facts = session_facts(line, everywhere=False, here=str(runtime.directory))
        state = "interrupted" if line.id in runtime.recovered else ""
        if line.id in working:
            state = f"working in another opencode-py ({working[line.id].pid})"
        console.say("  ".join(filter(None, (line.id, line.title or "Untitled", facts, state))))
    console.say("/resume ID opens one." if lines else "No sessions yet.")


async def undo(console: Console, argument: str) -> None:
    """Undo the last message with its file changes, after a preview."""
    service = console.runtime.sessions.undo
    plan = await service.plan(open_session(console).id)
    if plan is None:
        raise NothingToDo("Nothing to undo.")
    console.say(f"Undo the message: {plan.text}")
    for file in plan.files:
        what = "changed since; will not be undone" if file.modified_since else file.effect
        console.say(f"  {file.path}  {what}")
    for path, reason in plan.left_paths():
        console.say(f"  {path}  {reason}")
    for sentence in plan.sentences():
        console.say(sentence)
    answer = await console.ask("yes, no, c for only the conversation, or f for only the files")
    match answer.strip().lower():
        case "y" | "yes":
            files, conversation = True, True
        case "c":
            files, conversation = False, True
        case "f" if plan.files:
            files, conversation = True, False
        case _:
            console.say("Nothing was changed.")
            return
    failed = await service.undo(plan, files=files, conversation=conversation, overwrite=False)
    _say_failed(console, failed)
    console.say("Undone. /redo restores it until you send another message.")


async def redo(console: Console, argument: str) -> None:
    failed = await console.runtime.sessions.undo.redo(open_session(console).id)
    if failed is None:
        raise NothingToDo("Nothing to redo.")
    _say_failed(console, failed)
    console.say("Redone.")


def _say_failed(console: Console, failed: tuple[str, ...]) -> None:
    for path in failed:
        console.say(f"{path} could not be changed.")


async def cost(console: Console, argument: str) -> None:
    from agent.session.review.costs import session_costs  # loads the agent package
    from app.screens.usage import cost_text  # loads Textual

    found = await session_costs(console.runtime.store, open_session(console).id)
    console.say(cost_text(found, WIDTH).plain)


async def compact(console: Console, argument: str) -> None:
    session = open_session(console)
    await console.follow(console.runtime.sessions.compaction.start(session.id, argument))


async def rename(console: Console, argument: str) -> None:
    if not argument:
        raise NothingToDo("Give the new title: /rename TITLE.")
    await console.runtime.sessions.repository.rename(open_session(console).id, argument)


async def export(console: Console, argument: str) -> None:
    from agent.redact import all_secrets  # only for an export
    from agent.transfer.exporter import default_name, export

    runtime, session = console.runtime, open_session(console)
    name = argument or default_name(session, "md")
    path = _path_of(runtime.directory, name)
    await export(runtime.store, session.id, path, secrets=all_secrets(console.env))
    console.say(f"Exported to {path}, without what looks like a key.")


async def history(console: Console, argument: str) -> None:
    """Print the whole session, as ``/export`` writes it."""
    from agent.transfer.bundle import collect_bundle  # only for this
    from agent.transfer.markdown import as_markdown

    del argument
    console.say(as_markdown(await collect_bundle(console.runtime.store, open_session(console).id)))


def _path_of(folder: Path, name: str) -> Path:
    return folder / Path(name).expanduser()


async def delete(console: Console, argument: str) -> None:
    sessions = console.runtime.sessions
    session = await sessions.repository.get(argument) if argument else open_session(console)
    answer = await console.ask(f"Delete {session.title or session.id} for good? yes or no")
    if answer.strip().lower() in {"y", "yes"}:
        await sessions.delete(session.id)
        console.say("Deleted.")


async def todo(console: Console, argument: str) -> None:
    todos = await console.runtime.store.todos(open_session(console).id)
    for item in todos:
        console.say(f"{item.status.replace('_', ' ')}: {item.content}")
    if not todos:
        console.say("The list is empty.")


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
        name_of = console.runtime.catalog.access.display_name
        page = spending_page(await controls_of(console).spending(session_id), name_of)
        console.say(page(WIDTH).plain)


async def quick_question(console: Console, argument: str) -> None:
    if not argument:
        raise NothingToDo("Write the question after it: /btw why was that file changed?")
    ask = console.runtime.sessions.quick_questions.ask
    pieces = [piece async for piece in ask(open_session(console).id, argument)]
    console.say("".join(pieces))


async def import_session(console: Console, argument: str) -> None:
    if not argument:
        raise NothingToDo("Give the file: /import FILE.json.")
    path = console.runtime.directory / argument
    await console.open(await controls_of(console).import_session(path))


async def subagents(console: Console, argument: str) -> None:
    runtime = console.runtime
    children = await runtime.store.children(open_session(console).id)
    for child in children:
        state = "" if isinstance(runtime.sessions.status(child.id), Idle) else "  works"
        console.say(f"{child.id}  {child.agent}  {child.title or 'Untitled'}{state}")
    console.say("/resume ID opens one." if children else "No sub-agents yet.")
