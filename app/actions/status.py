"""Actions that show the todo list and the status page."""

from importlib.metadata import version

from app.commands.context import ActionContext
from app.commands.registry import action
from app.screens.base.page import PageScreen
from app.screens.status import Fact, status_text, todo_text
from app.session.summary import session_cost
from app.session.workspace import lsp_summary, mcp_summary
from app.text.units import count, money
from app.toolkit.tasks import show_dialog

UNTRUSTED = "not trusted: /trust tells what is left out"


@action("session.todo", "The agent's list of what is to do", "Session", slash=("todo", "todos"))
async def todo(context: ActionContext, argument: str) -> None:
    del argument
    view = context.live.view
    if view is None or not view.todos:
        context.notify("The agent keeps no list in this session.")
        return
    await show_dialog(context.app, PageScreen("Todo", todo_text(view.todos)))


@action("app.status", "How things stand", "Program", slash=("status",))
async def status(context: ActionContext, argument: str) -> None:
    """Show the session, the model, the folder and the servers on one page."""
    del argument
    if not context.live.is_ready:
        context.notify("Still starting. Try again in a moment.")
        return
    await show_dialog(context.app, PageScreen("Status", status_text(facts(context))))


def facts(context: ActionContext) -> list[Fact]:
    live, runtime = context.live, context.live.runtime
    session = live.session
    mcp, code = mcp_summary(runtime.mcp.statuses()), lsp_summary(runtime.code.servers.statuses)
    trusted = runtime.trust.status in {"trusted", "nothing"}
    shells = [one for one in runtime.shells.snapshot() if one.state == "running"]
    return [
        Fact("Version", version("opencode-py")),
        Fact("Folder", str(runtime.directory)),
        Fact("Trust", "" if trusted else UNTRUSTED, "$tone-warn"),
        Fact("Session", session.title or "Untitled" if session is not None else "none yet"),
        Fact("", session.id if session is not None else "", "$tone-muted"),
        Fact("Agent", live.agent),
        Fact("Model", live.model + (f", effort {live.effort}" if live.effort else "")),
        Fact("Cost", money(session_cost(session)) if session is not None else ""),
        Fact("MCP", f"{mcp.connected} of {mcp.wanted} connected" if mcp.wanted else ""),
        Fact("", ", ".join(mcp.failing), "$tone-warn"),
        Fact("Languages", ", ".join(name for name, _ in code.running)),
        Fact("", ", ".join(code.failing), "$tone-warn"),
        Fact("Background", count(len(shells), "command") if shells else ""),
        Fact("Settings", ", ".join(dict.fromkeys(runtime.config.sources.values()))),
        Fact("Log", str(runtime.paths.log)),
    ]
