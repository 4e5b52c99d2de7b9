"""Actions that export and import sessions, and show the usage statistics."""

import time
from pathlib import Path

from agent.records.errors import NothingToDo
from agent.redact import secrets_of
from app.commands.context import ActionContext
from app.commands.registry import action
from app.screens.base.page import PageScreen
from app.screens.base.text_input import TextScreen
from app.screens.stats import DEFAULT_DAYS, stats_text
from app.text.sanitize import sanitize_line
from app.toolkit.tasks import show_dialog

DAY = 86_400.0


def resolve_path(folder: Path, name: str) -> Path:
    """Return the file of a typed name, relative to *folder*."""
    return folder / Path(name).expanduser()


@action(
    "session.export",
    "Export the session",
    "Session",
    slash=("export",),
    keys=("<leader>x",),
    argument="[file.html, .md or .json]",
)
async def export(context: ActionContext, argument: str) -> None:
    """Write the open session to a file, without what looks like a key."""
    session = context.live.session
    if session is None:
        context.notify("No session is open yet: send a prompt first.")
        return
    await export_session(context, session.id, argument)


async def export_session(context: ActionContext, session_id: str, name: str = "") -> None:
    """Write a session to the file *name*, or to one that the user names."""
    from agent.transfer.exporter import default_name  # as above
    from agent.transfer.exporter import export as write  # only for an export or import

    runtime = context.live.runtime
    if not name:
        session = await runtime.store.session(session_id)
        question = "Export to which file? The ending tells the form: .html, .md or .json"
        dialog = TextScreen(question, default_name(session, "html"))
        name = await show_dialog(context.app, dialog) or ""
    if not name:
        return
    path = resolve_path(runtime.directory, name)
    await write(runtime.store, session_id, path, secrets=secrets_of(context.env))
    context.notify(f"Exported to {sanitize_line(str(path))}. What looks like a key was left out.")


@action(
    "session.import",
    "Import a session",
    "Session",
    slash=("import",),
    argument="[file.json]",
)
async def import_session(context: ActionContext, argument: str) -> None:
    """Read a session that this program or opencode exported, and open it."""
    from agent.transfer.importer import import_file  # only for an export or import

    runtime = context.live.runtime
    name = argument or await show_dialog(context.app, TextScreen("Import which file? (.json)"))
    if not name:
        return
    session = await import_file(
        runtime.store,
        resolve_path(runtime.directory, name),
        directory=str(runtime.directory),
        project=str(runtime.project),
    )
    await context.live.open(session.id)


@action("app.stats", "What was used", "Program", slash=("stats",), argument="[days]")
async def stats(context: ActionContext, argument: str) -> None:
    """Show tokens and cost by day, model and project."""
    if argument and not (argument.isdigit() and int(argument)):
        raise NothingToDo("Give a number of days, such as /stats 7.")
    days = int(argument) if argument else DEFAULT_DAYS
    rows = await context.live.runtime.store.usage_rows(time.time() - days * DAY)
    title = f"Tokens of the last {days} days, in all folders"
    await show_dialog(context.app, PageScreen(title, lambda width: stats_text(rows, width)))
