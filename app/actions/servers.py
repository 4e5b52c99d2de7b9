"""Actions on MCP servers and language servers."""

from collections.abc import Callable

from agent.mcp.records import ServerStatus
from agent.records.errors import OpencodePyError
from agent.records.events import McpChanged
from app.action_registry.context import ActionContext
from app.action_registry.registry import action
from app.actions.logins import with_login_screen
from app.screens.base.picker import Row, show_updated
from app.screens.servers import (
    LoginScreen,
    LspScreen,
    McpScreen,
    McpServerScreen,
    lsp_text,
    server_rows,
)
from app.terminal.browser import browser_opener
from app.text.sanitize import sanitize, sanitize_line

LOGIN_THERE = "The browser would return to this machine: run opencode-py mcp auth {name} there."


@action("mcp.list", "Show MCP servers", "Program", slash=("mcp", "mcps"))
async def mcp(context: ActionContext, argument: str) -> None:
    """List the MCP servers; enter shows one, and closing it returns to the list."""
    controls = context.controls
    current = argument.strip() or None

    def do(name: str, what: str) -> None:
        context.tasks.spawn(_do(context, name, what), f"{what} of an MCP server")

    async def rows() -> list[Row]:
        return server_rows(await controls.servers())

    while True:
        changes = context.live.runtime.bus.subscribe(lambda event: isinstance(event, McpChanged))
        picker = McpScreen(await rows(), do, current=current)
        current = await show_updated(context.app, picker, changes, rows, context.tasks)
        status = await _status(context, current)
        if status is None:
            return
        await context.show(McpServerScreen(status))


async def _status(context: ActionContext, name: str | None) -> ServerStatus | None:
    return next((one for one in await context.controls.servers() if one.server.name == name), None)


async def _do(context: ActionContext, name: str, what: str) -> None:
    controls = context.controls
    status = await _status(context, name)
    if status is None:
        return
    match what:
        case "switch" if status.state != "disabled":
            await controls.change_server(name, "disconnect")
            context.notify(
                'Off until the next start. "enabled": false in its settings keeps it off.'
            )
        case "login":
            await _log_in(context, name)
        case "accept":
            await _accept(context, status)
        case _:
            await controls.change_server(name, "reconnect")


async def _accept(context: ActionContext, status: ServerStatus) -> None:
    """Approve what a server says now."""
    name = sanitize_line(status.server.name)
    if not status.changed_tools and status.new_instructions is None:
        context.notify(f"{name} has no changes to accept.")
        return
    try:
        await context.controls.change_server(status.server.name, "accept")
    except OpencodePyError as error:
        context.notify(sanitize(error.message), warning=True)
    else:
        context.notify(f"What {name} says now is accepted.")


async def _log_in(context: ActionContext, name: str) -> None:
    """Log in at a remote server. Closing the screen with the address gives up."""
    if context.live.runtime.server:
        context.notify(LOGIN_THERE.format(name=sanitize_line(name)))
        return
    opener = browser_opener(context.env)

    async def log_in(show: Callable[[LoginScreen], None]) -> bool:
        async def show_address(address: str) -> None:
            copy = context.app.copy_to_clipboard
            show(LoginScreen(name, address, opened=await opener(address), copy=copy))

        await context.live.runtime.mcp.log_in(name, show_address)
        return True

    try:
        done = await with_login_screen(context, log_in)
    except OpencodePyError as error:
        context.notify(sanitize(error.message), warning=True)
    else:
        said = f"You are logged in to {sanitize_line(name)}." if done else "Login canceled."
        context.notify(said)


@action("lsp.show", "Show language servers and formatters", "Program", slash=("lsp", "formatters"))
async def lsp(context: ActionContext, argument: str) -> None:
    """Show the language servers and formatters; ctrl+r restarts them all."""
    controls = context.controls
    code = await controls.code()
    text = lsp_text(code.statuses, code.specs, code.formatters, context.env.get("HOME", ""))

    def restart() -> None:
        context.tasks.spawn(controls.restart_code(), "restarting language servers")
        context.notify("Stopped. They start again with the next file that is read or changed.")

    await context.show(LspScreen(text, restart))
