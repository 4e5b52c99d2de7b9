"""The commands of ``--plain``: what dialogs do, as typed lines; and actions that only the full
screen has."""

from collections.abc import Mapping
from typing import NamedTuple

from app.plain import folder_commands as folder
from app.plain import model_commands as model
from app.plain import session_commands as session
from app.plain import work_commands as work
from app.plain.command import Command

COMMANDS: Mapping[str, Command] = {
    "connect": Command("[provider or URL]", "connect a provider or a server", model.connect),
    "model": Command("[name]", "show or set the model", model.model),
    "models": Command("[word]", "list the models", model.models),
    "agent": Command("[name]", "show or set the agent", model.agent),
    "agents": Command("", "list the agents", model.agents),
    "mode": Command("[mode]", "show or set the permission mode", model.mode),
    "undo": Command("", "undo the last message with its changes to files", session.undo),
    "redo": Command("", "redo what was undone", session.redo),
    "cost": Command("", "show the tokens and the cost of the session", session.cost, ("usage",)),
    "stats": Command("[days]", "show usage statistics of all folders", folder.stats),
    "compact": Command(
        "[what to preserve]", "compact the session", session.compact, ("summarize",)
    ),
    "rename": Command("title", "rename the session", session.rename),
    "history": Command("", "print the session in full", session.history, ("timeline", "rewind")),
    "export": Command(
        "[file]", "write the session to a file (.md, .html or .json)", session.export
    ),
    "delete": Command("[ID]", "delete a session", session.delete),
    "todo": Command("", "show the agent's to-do list", session.todo, ("todos",)),
    "mcp": Command("", "show the MCP servers", folder.servers, ("mcps",)),
    "effort": Command("level", "set how much the model reasons", model.effort, ("variants",)),
    "fork": Command("", "fork the session", session.fork),
    "pin": Command("[number]", "list messages, or pin or unpin one", session.pin, ("unpin",)),
    "permissions": Command(
        "[number]", "list the rules, or revoke one", folder.permissions, ("rules",)
    ),
    "trust": Command("", "review the trust in this folder", folder.trust),
    "status": Command("", "show the folder, the sandbox and the settings", folder.status),
    "context": Command("", "show context usage", session.context),
    "fallback": Command(
        "[ask, auto, off or retry]", "show the models that continue when one fails", model.fallback
    ),
    "budget": Command(
        "[session or day] [amount or off]", "show or set spending caps", session.budget
    ),
    "instructions": Command(
        "", "list the loaded instructions and skills", folder.instructions, ("skills",)
    ),
    "memory": Command(
        "[propose]", "show the memory file, or let the agent propose lines", folder.memory
    ),
    "remember": Command("line", "add a line to the project's instructions", folder.remember),
    "init": Command("[what matters]", "create AGENTS.md for this project", folder.init),
    "btw": Command(
        "question", "ask a side question (not saved to the session)", session.quick_question
    ),
    "import": Command("file", "open an exported session", session.import_session),
    "subagents": Command("", "list the sub-agents of the session", session.subagents),
    "shells": Command("[ID]", "list background commands, or end one", work.shells, ("bashes",)),
    "shell": Command("command", "run a command, as !COMMAND does", work.shell),
    "lsp": Command(
        "", "show language servers and formatters", folder.language_servers, ("formatters",)
    ),
    "new": Command(
        "[--worktree [name] or --main] [prompt]",
        "start over, perhaps in a worktree",
        work.new,
        ("clear",),
    ),
    "sessions": Command("", "list the sessions of this folder", session.sessions),
    "goal": Command(
        "goal --check command, or pause, resume, stop", "work until a check passes", work.goal
    ),
    "loop": Command("10m prompt", "repeat a prompt at an interval", work.loop),
    "merge": Command(
        "[name] [merge, squash, patch or remove]", "merge or remove a worktree", work.merge
    ),
    "review": Command(
        "[turn, session, branch NAME or pr NUMBER]", "print changes", work.review, ("diff",)
    ),
}
"""The commands by name, without the slash."""


class ScreenOnly(NamedTuple):
    """Actions of the full screen that do not exist here."""

    actions: tuple[str, ...]
    """Their ids."""
    names: str
    """Their commands and keys."""
    reason: str


SCREEN_ONLY = (
    ScreenOnly(
        ("view.browse", "view.details", "view.thinking"),
        "/browse, /details, /thinking",
        "nothing is folded here; /history prints everything in full",
    ),
    ScreenOnly(
        ("view.sidebar", "view.diffs", "view.theme", "view.mouse"),
        "/sidebar, /diffs, /theme, /mouse",
        "they arrange and color the screen",
    ),
    ScreenOnly(("session.copy", "view.copy"), "/copy, /select", "your terminal copies text"),
    ScreenOnly(
        ("session.waiting", "prompt.later", "prompt.take-back"),
        "/queue, /later, /unsend",
        "a line that you type during a turn is sent when it is over",
    ),
    ScreenOnly(
        ("session.next", "family.down", "family.up", "family.next", "family.previous"),
        "/next and the keys for sub-agents",
        "/sessions and /subagents list sessions, /resume ID opens one",
    ),
    ScreenOnly(("family.stop",), "/stop", "ctrl+c stops the turn and what it started"),
    ScreenOnly(
        ("prompt.editor", "prompt.vim", "prompt.history", "prompt.stash", "prompt.paste"),
        "/editor, /vim, ctrl+r, ctrl+s, ctrl+v",
        "your terminal edits the line; rlwrap opencode-py --plain adds a history",
    ),
    ScreenOnly(("app.suspend",), "/suspend", "press ctrl+z, then type fg to come back"),
    ScreenOnly(
        ("agent.cycle", "permissions.cycle", "model.effort_next", "app.palette"),
        "tab, shift+tab, ctrl+t, ctrl+p",
        "use /agent, /mode, /effort, /help",
    ),
    ScreenOnly(
        ("shells.detach",),
        "ctrl+b",
        "ctrl+c stops a running command; ask the agent to run it in the background",
    ),
)
"""Every action of the full screen that has no command here, with the reason."""


def screen_only(name: str) -> ScreenOnly | None:
    """Return why the full screen's command *name*, such as ``/theme``, does not exist here."""
    return next((each for each in SCREEN_ONLY if name in each.names.split(", ")), None)


_NAMES = {
    name: command for first, command in COMMANDS.items() for name in (first, *command.aliases)
}


def find_plain(text: str) -> Command | None:
    """Return the command that *text*, such as ``/cost``, names."""
    return _NAMES.get(text[1:]) if text.startswith("/") else None
