"""Actions on the program itself: help, palette, status, suspend, exit."""

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from textual.content import Content

from agent.installation import VERSION
from agent.records.amounts import count, money
from agent.records.blocks import TodoItem
from agent.records.frozen import frozen
from agent.records.sandbox import PROGRAM_SANDBOXES
from app.action_registry.context import ActionContext
from app.action_registry.registry import action, actions, find
from app.screens.base.page import PageScreen
from app.screens.help import HelpScreen, PaletteScreen
from app.screens.requests.permission_details import hanging_indent
from app.session_state.folder_facts import lsp_summary, mcp_summary, short_folder
from app.session_state.notices import Level, NoticeLog
from app.session_state.session_facts import session_cost
from app.text.sanitize import sanitize_line

if TYPE_CHECKING:  # not needed for the first frame
    from agent.permission.sandbox_policy.service import SandboxStatus
    from agent.runtime.folder_controls import FolderStatus
    from agent.runtime.runtime import Runtime


@action("app.help", "Show keys and commands", "Program", slash=("help",), keys=("f1",))
async def show_help(context: ActionContext, argument: str) -> None:
    await context.show(HelpScreen(actions(), context.keys_of))


@action("app.palette", "All commands", "Program", keys=("ctrl+p",), palette=False)
async def palette(context: ActionContext, argument: str) -> None:
    chosen = await context.show(PaletteScreen(actions(), context.keys_of))
    known = find(chosen) if chosen is not None else None
    if known is None:
        return
    if known.slash and known.takes_argument:
        context.prompt.set_text(f"/{known.slash[0]} ")
    else:
        await known.run(context, "")


@action(
    "app.suspend",
    "Suspend to the shell (fg returns)",
    "Program",
    slash=("suspend",),
    keys=("ctrl+z",),
)
async def suspend(context: ActionContext, argument: str) -> None:
    if not _has_parent_shell():
        context.notify("Cannot suspend: opencode-py was not started from a shell.")
        return
    context.app.action_suspend_process()


def _has_parent_shell() -> bool:
    """Return whether the parent process runs in the same terminal, and can continue this one."""
    try:
        return os.getsid(os.getppid()) == os.getsid(0)
    except OSError:
        return False  # the parent has exited


@action(
    "app.exit",
    "Exit",
    "Program",
    slash=("exit", "quit", "q"),
    keys=("<leader>q",),
    bare_words=("exit", "quit", ":q"),
)
async def leave(context: ActionContext, argument: str) -> None:
    context.app.exit(0)


UNTRUSTED = "not trusted: /trust lists what is ignored"
TODO_GLYPHS = {"pending": "☐", "in_progress": "▸", "completed": "☑", "cancelled": "⊘"}
TODO_TONES = {
    "pending": "$tone-muted",
    "in_progress": "$tone-accent",
    "completed": "$tone-ok",
    "cancelled": "$tone-muted",
}
TODO_TEXTS = {"completed": "$tone-muted", "cancelled": "strike $tone-muted"}
NOTICE_TONES: dict[Level, str] = {
    "information": "$tone-muted",
    "warning": "$tone-warn",
    "error": "$tone-err",
}
NAME_WIDTH = 14
"""Cells for the name of a fact."""


@frozen
class Fact:
    """One line of the status page."""

    name: str
    text: str
    tone: str = ""
    """A CSS color variable, "" for the default."""


@action("session.todo", "Show the to-do list", "Session", slash=("todo", "todos"))
async def todo(context: ActionContext, argument: str) -> None:
    view = context.live.view
    if view is None or not view.todos:
        context.notify("The agent has no to-do list in this session.")
        return
    await context.show(PageScreen("To-do list", todo_text(view.todos)))


@action("app.status", "Show the status", "Program", slash=("status",))
async def status(context: ActionContext, argument: str) -> None:
    """Show the session, the model, the folder and the servers on one page."""
    found = await context.controls.status()
    page = PageScreen("Status", partial(status_text, facts(context, found)))
    context.see_notices()
    await context.show(page)


def sandbox_facts(sandbox: "SandboxStatus") -> list[Fact]:
    """Return the setting of the sandbox, what this machine has for it, and why no more."""
    if sandbox.setting == "off":
        return [Fact("Sandbox", "off: commands are not restricted", "$tone-warn")]
    missing = sandbox.name == "none"
    how = f"{sandbox.name} ({sandbox.setting})"
    return [
        Fact("Sandbox", how, "$tone-warn" if missing else ""),
        Fact("", sandbox.reason, "$tone-muted"),
    ]


def effort_in_use(
    runtime: "Runtime", model_name: str, requested: str | None
) -> tuple[str | None, str]:
    """Return the effort that is sent, and a note if it is not the *requested* or configured one."""
    from agent.provider.catalog.effort_levels import choose_effort  # loads the provider catalog

    model, configured = runtime.catalog.model(model_name), runtime.config.config.effort
    effort, note = choose_effort(model, requested)
    if requested is None and configured is not None:
        level, configured_note = choose_effort(model, configured)
        note = configured_note if level == effort else ""
    if effort and runtime.clients.refuses_effort(model):
        return None, f"The server refused effort {effort} for {model_name}, so none is sent."
    return effort, note


def facts(context: ActionContext, found: "FolderStatus") -> list[Fact]:
    live, runtime = context.live, context.live.runtime
    effort, note = effort_in_use(runtime, live.model, live.effort)
    session = live.session
    mcp, code = mcp_summary(found.servers), lsp_summary(found.languages)
    shells = [one for one in found.shells if one.state == "running"]
    return [
        Fact("Version", VERSION),
        Fact("Folder", short_folder(runtime.directory, context.env.get("HOME", ""))),
        Fact("Server", runtime.server),
        Fact("Trust", "" if found.trusted else UNTRUSTED, "$tone-warn"),
        *sandbox_facts(found.sandbox),
        *(Fact("", line, "$tone-muted") for line in _other_sandboxes(found)),
        Fact("Session", session.title or "Untitled" if session is not None else "none yet"),
        Fact("", session.id if session is not None else "", "$tone-muted"),
        Fact("Agent", live.agent),
        Fact("Model", live.model + (f", effort {effort}" if effort else "")),
        Fact("", note, "$tone-warn"),
        Fact("Cost", money(session_cost(session)) if session is not None else ""),
        Fact("MCP", f"{mcp.connected} of {mcp.wanted} connected" if mcp.wanted else ""),
        Fact("", f"not connected: {', '.join(mcp.failing)}" if mcp.failing else "", "$tone-warn"),
        Fact("Languages", ", ".join(name for name, _ in code.running)),
        Fact("", f"failed: {', '.join(code.failing)}" if code.failing else "", "$tone-warn"),
        Fact("Background", count(len(shells), "command") if shells else ""),
        Fact("Settings", ", ".join(found.settings)),
        Fact("Log", found.log),
        *notice_facts(context.notices),
    ]


def notice_facts(log: NoticeLog) -> list[Fact]:
    """Return all notices: those that hold until something is fixed first, then the newest."""
    latest = log.all[::-1]
    ordered = [one for last in (True, False) for one in latest if one.lasting is last]
    facts = [
        Fact("", line, NOTICE_TONES[one.level])
        for one in ordered
        for line in f"{one.text}{f' ({one.times} times)' if one.times > 1 else ''}".split("\n")
    ]
    return [replace(fact, name="Notices" if at == 0 else "") for at, fact in enumerate(facts)]


def _other_sandboxes(found: "FolderStatus") -> list[str]:
    """Return the sandboxes of MCP servers and hooks, which have the one of their settings."""
    lines: list[str] = []
    for level in PROGRAM_SANDBOXES[1:]:
        servers = (one.server for one in found.servers if one.state != "disabled")
        names = [f"MCP server {server.name}" for server in servers if server.sandbox == level]
        hooks = sum(sandbox == level for sandbox in found.hooks)
        programs = [*names, *([count(hooks, "hook")] if hooks else [])]
        lines += [f"{level}: {', '.join(programs)}"] if programs else []
    return lines


def status_text(facts: Sequence[Fact], width: int) -> Content:
    rows = [
        hanging_indent(
            Content.styled(f"{fact.name:<{NAME_WIDTH}}", "$tone-muted"),
            Content.styled(sanitize_line(fact.text), fact.tone),
            width,
        )
        for fact in facts
        if fact.text
    ]
    return Content("\n").join(rows)


def todo_text(todos: Sequence[TodoItem]) -> Content:
    rows = [
        Content.assemble(
            (f"{TODO_GLYPHS[item.status]} ", TODO_TONES[item.status]),
            (sanitize_line(item.content), TODO_TEXTS.get(item.status, "")),
        )
        for item in todos
    ]
    return Content("\n").join(rows)
