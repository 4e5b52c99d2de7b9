"""Actions on sessions: open, review, copy, export, import, undo."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from agent.records.messages import MessageWithParts, Session, UserMessage
from agent.redact import all_secrets
from agent.session.review.timeline import user_text
from app.action_registry.context import ActionContext, with_session
from app.action_registry.registry import action
from app.screens.base.small_dialogs import ConfirmScreen, TextScreen
from app.screens.review.screen import ReviewChoice, ReviewScreen
from app.screens.session_list.screen import SessionListScreen
from app.screens.undo import UndoScreen
from app.session_state.view import SessionView
from app.text.sanitize import sanitize_line

if TYPE_CHECKING:  # loads the agent package
    from agent.session.undo import UndoPlan

NONE_TO_REVIEW = "No session is open. /sessions lists them; ctrl+o there shows the history of one."
NOTHING_TO_UNDO = "Nothing to undo."


@action(
    "session.new",
    "Start a new session",
    "Session",
    slash=("new", "clear"),
    keys=("<leader>n",),
    argument="[--worktree [name] | --main]",
)
async def new(context: ActionContext, argument: str) -> None:
    """Start an empty session, in a new worktree or the folder that this one was made from if the
    argument says so; a running turn of the one before continues."""
    option, _, rest = argument.partition(" ")
    with context.live.switching():
        if option in {"--worktree", "-w"}:
            name, _, argument = rest.strip().partition(" ")
            context.notify("Creating a worktree…")
            await context.new_worktree(name)
        elif option == "--main":
            await context.leave_worktree("keep")
            argument = rest
        context.live.close()
    if argument.strip():
        await context.live.send(argument.strip())


@action(
    "session.list",
    "Switch to another session",
    "Session",
    slash=("sessions", "resume", "continue"),
    keys=("<leader>l",),
)
async def sessions(context: ActionContext, argument: str) -> None:
    """List the sessions, or open the one whose id is given."""
    live = context.live
    if argument:
        await live.open(argument)
        return
    current = live.session.id if live.session is not None else None
    screen = SessionListScreen(
        live.runtime,
        current=current,
        tasks=context.tasks,
        live=context.live_sessions,
        home=context.env.get("HOME", ""),
    )
    chosen = await context.show(screen)
    if chosen is None:
        return
    session_id, _, message_id = chosen.partition(" ")
    if screen.open_mode == "review":
        await review(context, session_id, message_id)
        return
    if screen.open_mode == "fork":
        await open_copy(context, session_id)
        return
    await _go_to(context, session_id, message_id)


@action(
    "session.next", "Go to the next active session", "Session", slash=("next",), keys=("<leader>w",)
)
async def next_live(context: ActionContext, argument: str) -> None:
    """Answer what the open session asked; else open another live session: one that needs you, else
    one that ended, else one that works."""
    others = context.live_sessions.others
    if context.take_up_requests():
        return
    if others:
        await context.live.open(others[0].session.id)
    else:
        context.notify("No other session is active.")


async def _go_to(context: ActionContext, session_id: str, message_id: str) -> None:
    session = context.live.session
    if session is None or session.id != session_id:
        await context.live.open(session_id)
    if message_id:
        await context.paging.go_to(context.transcript, message_id)


async def open_copy(context: ActionContext, session_id: str, at_message: str | None = None) -> None:
    """Continue in a copy of a session: all of it, or what is before *at_message*."""
    copy = await context.live.runtime.sessions.repository.fork(session_id, at_message)
    await context.live.open(copy.id)
    context.notify("Forked. The original session is unchanged.")


@action("session.rename", "Rename the session", "Session", slash=("rename",), argument="[title]")
@with_session
async def rename(context: ActionContext, argument: str, session: Session) -> None:
    title = argument or await context.show(
        TextScreen("Rename the session", session.title, enter="rename")
    )
    if title:
        await context.live.runtime.sessions.repository.rename(session.id, title)


@action("session.fork", "Fork the session", "Session", slash=("fork",))
@with_session
async def fork(context: ActionContext, argument: str, session: Session) -> None:
    await open_copy(context, session.id)


@action("session.delete", "Delete the session", "Session", slash=("delete",))
@with_session
async def delete(context: ActionContext, argument: str, session: Session) -> None:
    question = ConfirmScreen(
        f"Delete “{session.title or 'Untitled'}”?",
        "This cannot be undone.",
        yes="delete",
        destructive=True,
    )
    if await context.show(question):
        await context.live.runtime.sessions.delete(session.id)


@action("session.copy", "Copy the last response", "Session", slash=("copy",), keys=("<leader>y",))
async def copy_answer(context: ActionContext, argument: str) -> None:
    from agent.session.subagents.subagents import last_response  # loads the agent package

    text = last_response(visible_messages(context.live.view))
    if text:
        context.app.copy_to_clipboard(text)
    else:
        context.notify("There is no response to copy yet.")


def visible_messages(view: SessionView | None) -> list[MessageWithParts]:
    """Return the messages that are on the screen, without those that were undone."""
    if view is None:
        return []
    entries = (view.entry(message_id) for message_id in view.message_ids)
    return [MessageWithParts(entry.message, tuple(entry.parts)) for entry in entries if entry]


def _local_path(context: ActionContext, name: str) -> Path:
    """Return the file of a typed name, relative to the open folder; for a session on a server, to
    the folder that the program was started in."""
    runtime = context.live.runtime
    return (Path.cwd() if runtime.server else runtime.directory) / Path(name).expanduser()


@action(
    "session.export",
    "Export the session",
    "Session",
    slash=("export",),
    keys=("<leader>x",),
    argument="[file.html, .md or .json]",
)
@with_session
async def export(context: ActionContext, argument: str, session: Session) -> None:
    """Write the open session to a file, without what looks like a key."""
    await export_session(context, session.id, argument)


async def export_session(context: ActionContext, session_id: str, name: str = "") -> None:
    """Write a session to the file *name*, or to one that the user names."""
    from agent.transfer.exporter import default_name  # as above
    from agent.transfer.exporter import export as write  # only for an export or import

    runtime = context.live.runtime
    if not name:
        session = await runtime.store.session(session_id)
        question = "Export to which file? (.html, .md or .json)"
        dialog = TextScreen(question, default_name(session, "html"), enter="export")
        name = await context.show(dialog) or ""
    if not name:
        return
    path = _local_path(context, name)
    await write(runtime.store, session_id, path, secrets=all_secrets(context.env))
    context.notify(
        f"Exported to {sanitize_line(str(path))}. Text that looks like a key was removed."
    )


@action(
    "session.import",
    "Import a session",
    "Session",
    slash=("import",),
    argument="[file.json]",
)
async def import_session(context: ActionContext, argument: str) -> None:
    """Read a session that this program or opencode exported, and open it."""
    name = argument or await context.show(TextScreen("Import which file? (.json)", enter="import"))
    if not name:
        return
    session = await context.controls.import_session(_local_path(context, name))
    await context.live.open(session.id)


@action(
    "session.review",
    "Show the session's history",
    "Session",
    slash=("history", "timeline", "rewind"),
    keys=("<leader>g",),
    argument="[id]",
)
async def history(context: ActionContext, argument: str) -> None:
    """Show the timeline of the open session, or of the one whose id is given."""
    session = context.live.session
    if not argument and session is None:
        context.notify(NONE_TO_REVIEW)
        return
    await review(context, argument or (session.id if session is not None else ""))


async def review(context: ActionContext, session_id: str, message_id: str = "") -> None:
    """Show a session read-only, then do what the user chose there."""
    screen = ReviewScreen(
        context.live.runtime,
        session_id,
        context.tasks,
        at_message=message_id,
        secrets=all_secrets(context.env),
    )
    chosen = await context.show(screen)
    if chosen is None:
        return
    if chosen.action == "export":
        await export_session(context, chosen.session_id)
        await review(context, chosen.session_id, chosen.message_id)
        return
    if chosen.action == "fork":
        await fork_from(context, chosen)
        return
    if chosen.action == "restore":
        await restore_checkpoint(context, chosen)
        return
    if chosen.action == "worktree":
        await worktree_from(context, chosen)
        return
    await _go_to(context, chosen.session_id, chosen.message_id)
    if chosen.action == "comment":
        await context.send(chosen.text, "steer")


async def restore_checkpoint(context: ActionContext, chosen: ReviewChoice) -> None:
    """Restore the files, the conversation or both as they were after a step."""
    await _go_to(context, chosen.session_id, "")
    plan = await context.live.runtime.sessions.undo.plan(chosen.session_id, chosen.message_id)
    if plan is None:
        context.notify("Nothing came after this checkpoint.")
        return
    await _carry_out(context, plan, "Restore this checkpoint?")


async def worktree_from(context: ActionContext, chosen: ReviewChoice) -> None:
    """Continue in a fork of the session that ends with a step, in a new worktree with the files as
    they were then."""
    from agent.runtime.worktrees import write_files  # only with a worktree

    source = context.live.runtime
    messages = await source.store.messages(chosen.session_id)
    ids = [item.message.id for item in messages]
    until = ids.index(chosen.message_id) + 1
    texts, left = await source.sessions.undo.files_after(messages[:until])
    following = ids[until] if until < len(ids) else None
    await context.new_worktree("")
    runtime = context.live.runtime
    failed = await asyncio.to_thread(write_files, runtime.project, texts)
    copy = await source.sessions.repository.fork(chosen.session_id, following)
    await runtime.sessions.repository.take(copy.id)
    await context.live.open(copy.id)
    _notify_failed(context, (*left, *failed))


async def fork_from(context: ActionContext, chosen: ReviewChoice) -> None:
    """Continue in a copy that ends with a response or before a prompt, which can be edited."""
    messages = await context.live.runtime.store.messages(chosen.session_id)
    ids = [item.message.id for item in messages]
    at: str | None = chosen.message_id or None
    text = ""
    if at in ids:
        item = messages[ids.index(at)]
        if isinstance(item.message, UserMessage):
            text = user_text(item)
        else:
            following = ids.index(at) + 1
            at = ids[following] if following < len(ids) else None
    await open_copy(context, chosen.session_id, at)
    if text and not context.prompt.text:
        context.prompt.set_text(text)


@action("session.undo", "Undo the last message", "Session", slash=("undo",), keys=("<leader>u",))
async def undo(context: ActionContext, argument: str) -> None:
    """Undo the last message with its file changes; its text returns to the prompt."""
    session, service = context.live.session, context.live.runtime.sessions.undo
    plan = await service.plan(session.id) if session is not None else None
    if plan is None:
        context.notify(NOTHING_TO_UNDO)
        return
    await _carry_out(context, plan, "Undo your last message?")


async def _carry_out(context: ActionContext, plan: "UndoPlan", question: str) -> None:
    service = context.live.runtime.sessions.undo
    choice = await context.show(UndoScreen(plan, question))
    if choice is None:
        return
    failed = await service.undo(
        plan, files=choice.files, conversation=choice.conversation, overwrite=choice.overwrite
    )
    if choice.conversation and plan.text:
        context.prompt.restore(plan.text)
    _notify_failed(context, failed)
    if not failed:
        context.notify("Undone. /redo restores it until you send another message.")


@action(
    "session.redo",
    "Redo the undone message",
    "Session",
    slash=("redo",),
    keys=("<leader>r",),
)
async def redo(context: ActionContext, argument: str) -> None:
    session, service = context.live.session, context.live.runtime.sessions.undo
    failed = await service.redo(session.id) if session is not None else None
    if failed is None:
        context.notify("Nothing to redo.")
        return
    context.prompt.discard_restored()
    _notify_failed(context, failed)
    if not failed:
        context.notify("Redone.")


def _notify_failed(context: ActionContext, failed: tuple[str, ...]) -> None:
    if failed:
        names = ", ".join(sanitize_line(path) for path in failed[:5])
        more = f" and {len(failed) - 5} more" if len(failed) > 5 else ""
        context.notify(f"These files could not be changed: {names}{more}.", warning=True)
