"""The commands of ``--plain`` that need no screen: what the dialogs do, as typed lines."""

import asyncio
import sys
import termios
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, get_args

from agent.mcp.records import STATE_LABELS
from agent.records.errors import NothingToDo, OpencodePyError, ProviderError, ProviderErrorKind
from agent.records.requests import PermissionMode
from app.plain.more_commands import MORE_COMMANDS, WIDTH, Command, Console, open_session
from app.plain.work_commands import WORK_COMMANDS
from app.text.sanitize import sanitize_line

if TYPE_CHECKING:  # loads httpx2
    from agent.provider.device_login import LoginCode

CHECK_SECONDS = 15.0
"""Seconds that a provider or a server can take to answer a first request."""

MAX_LISTED = 40
"""Models that are listed."""


async def _connect(console: Console, argument: str) -> None:
    """Save and check the key of a provider, or connect a server by its address."""
    access = console.runtime.catalog.access
    wanted = argument
    if not wanted:
        names = [name for name in access.provider_ids() if access.key_variables(name)]
        console.say(", ".join(names))
        wanted = (await console.ask("Which provider? Or the address of a server:")).strip()
    if "://" in wanted:
        await _connect_server(console, wanted)
    elif wanted:
        await _connect_provider(console, wanted)


async def _connect_provider(console: Console, provider: str) -> None:
    from agent.provider.catalog.keys import key_error  # loads the agent package
    from agent.provider.transport.errors import key_fault

    runtime = console.runtime
    access = runtime.catalog.access
    if refused := access.key_refusal(provider):
        raise NothingToDo(refused)
    title = access.display_name(provider)
    key = await _ask_key(console, provider)
    if wrong := key_error(key):
        raise NothingToDo(f"{wrong} Nothing was changed.")
    before = access.keys.stored().get(provider)
    access.keys.put(provider, key)
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            models = await runtime.clients.check_key(provider)
    except (TimeoutError, OpencodePyError) as error:
        if isinstance(error, ProviderError) and error.kind is ProviderErrorKind.AUTH:
            if before is None:
                access.keys.remove(provider)
            else:
                access.keys.put(provider, before.key)
            raise NothingToDo(key_fault(error)) from error
        console.say("The key is saved, but could not be checked.")
        return
    if models:
        runtime.catalog.model_lists.store(provider, models)
    console.say(f"{title} is connected.")
    await _choose_model(console, provider)


async def _ask_key(console: Console, provider: str) -> str:
    """Return the key that the user types, or gets by a login where the provider has one."""
    access = console.runtime.catalog.access

    async def show(code: "LoginCode") -> None:
        page, text = sanitize_line(code.page), sanitize_line(code.user_code)
        console.say(f"Open {page} in a browser and enter the code {text}")
        console.say("Waiting for the login; Ctrl+C cancels.")

    title, login = access.display_name(provider), access.device_login(provider)
    question = f"API key of {title} (not shown)."
    if login is not None:
        question += f" Type login to log in at {login.name}."
    elif access.key_page(provider):
        question += f" Create keys at {access.key_page(provider)}."
    with _no_echo():
        key = (await console.ask(question)).strip()
    if login is None or key != "login":
        return key
    return await console.interruptible(console.runtime.clients.log_in(provider, login, show))


async def _connect_server(console: Console, address: str) -> None:
    from agent.permission.saved_rules import save_setting  # rarely needed
    from agent.provider.catalog.provider_settings import ProviderSettings
    from agent.provider.own_server import base_url_of, check_server, server_id

    runtime = console.runtime
    with _no_echo():
        key = (await console.ask("Its API key (not shown), an empty line for none:")).strip()
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            url, models = await check_server(base_url_of(address), key)
    except TimeoutError:
        raise NothingToDo("The server did not answer in time. Check the address.") from None
    catalog = runtime.catalog
    ids = catalog.access.provider_ids()
    provider = server_id(url, ids)
    save_setting(runtime.paths.config, ("provider", provider), {"options": {"baseURL": url}})
    catalog.add_provider(ProviderSettings(id=provider, base_url=url))
    if key:
        catalog.access.keys.put(provider, key)
    catalog.model_lists.store(provider, models)
    console.say(f"The server is connected as {provider}.")
    await _choose_model(console, provider)


async def _choose_model(console: Console, provider: str) -> None:
    """Use a model of a connected provider from now on: the only one, or the one that is chosen."""
    catalog = console.runtime.catalog
    names = [m.full_name for m in catalog.models() if m.provider == provider]
    chosen = names[0] if len(names) == 1 else ""
    if len(names) > 1:
        for number, name in enumerate(names[:MAX_LISTED], 1):
            console.say(f"{number}  {name}")
        typed = (await console.ask("Which model? A number or a name:")).strip()
        number = int(typed) if typed.isdecimal() else 0
        wanted = names[number - 1] if 0 < number <= len(names) else typed
        chosen = next((name for name in names if wanted in {name, name.partition("/")[2]}), "")
    if not chosen:
        console.say("No model was chosen. /models lists them, /model NAME uses one.")
        return
    await asyncio.to_thread(catalog.preferences.add_recent, chosen)
    session = await console.ensure_session()
    await console.runtime.sessions.repository.set_model(session.id, chosen)
    console.say(f"The model is {chosen}.")


@contextmanager
def _no_echo() -> Generator[None]:
    """Have a terminal not show what is typed."""
    try:
        before = termios.tcgetattr(sys.stdin.fileno())
    except (termios.error, ValueError, OSError):  # not a terminal
        yield
        return
    quiet = termios.tcgetattr(sys.stdin.fileno())
    quiet[3] &= ~termios.ECHO
    termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, before)


async def _models(console: Console, argument: str) -> None:
    words = argument.lower().split()
    found = [
        model.full_name
        for model in console.runtime.catalog.models()
        if all(word in model.full_name.lower() for word in words)
    ]
    for name in found[:MAX_LISTED]:
        console.say(name)
    if not found:
        console.say(f"There is no model with {argument} in its name.")
    if len(found) > MAX_LISTED:
        console.say(f"and {len(found) - MAX_LISTED} more: /models WORD lists those with a word")


async def _agents(console: Console, argument: str) -> None:
    for agent in console.runtime.agents.primary():
        console.say(f"{agent.name}  {agent.description}")


async def _mode(console: Console, argument: str) -> None:
    permissions = console.runtime.permissions
    modes: dict[str, PermissionMode] = {mode: mode for mode in get_args(PermissionMode)}
    if argument not in modes:
        console.say(f"The mode is {permissions.mode}. The modes are {', '.join(modes)}.")
        return
    if argument == "auto" and permissions.mode != "auto":
        answer = await console.ask("Run everything without asking? yes or no")
        if answer.strip().lower() not in {"y", "yes"}:
            return
    permissions.mode = modes[argument]


async def _undo(console: Console, argument: str) -> None:
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


async def _redo(console: Console, argument: str) -> None:
    failed = await console.runtime.sessions.undo.redo(open_session(console).id)
    if failed is None:
        raise NothingToDo("Nothing to redo.")
    _say_failed(console, failed)
    console.say("Redone.")


def _say_failed(console: Console, failed: tuple[str, ...]) -> None:
    for path in failed:
        console.say(f"{path} could not be changed.")


async def _cost(console: Console, argument: str) -> None:
    from agent.session.review.costs import session_costs  # loads the agent package
    from app.screens.usage import cost_text  # loads Textual

    found = await session_costs(console.runtime.store, open_session(console).id)
    console.say(cost_text(found, WIDTH).plain)


async def _stats(console: Console, argument: str) -> None:
    from app.screens.usage import DEFAULT_DAYS, stats_text  # loads Textual

    if argument and not (argument.isdigit() and int(argument)):
        raise NothingToDo("Give a number of days, such as /stats 7.")
    days = int(argument) if argument else DEFAULT_DAYS
    rows = await console.runtime.store.usage_rows(time.time() - days * 86_400)
    console.say(stats_text(rows, WIDTH).plain)


async def _compact(console: Console, argument: str) -> None:
    session = open_session(console)
    await console.follow(console.runtime.sessions.compaction.start(session.id, argument))


async def _rename(console: Console, argument: str) -> None:
    if not argument:
        raise NothingToDo("Give the new title: /rename TITLE.")
    await console.runtime.sessions.repository.rename(open_session(console).id, argument)


async def _export(console: Console, argument: str) -> None:
    from agent.redact import all_secrets  # only for an export
    from agent.transfer.exporter import default_name, export

    runtime, session = console.runtime, open_session(console)
    name = argument or default_name(session, "md")
    path = _path_of(runtime.directory, name)
    await export(runtime.store, session.id, path, secrets=all_secrets(console.env))
    console.say(f"Exported to {path}, without what looks like a key.")


async def _history(console: Console, argument: str) -> None:
    """Print the whole session, as ``/export`` writes it."""
    from agent.transfer.bundle import collect_bundle  # only for this
    from agent.transfer.markdown import as_markdown

    del argument
    console.say(as_markdown(await collect_bundle(console.runtime.store, open_session(console).id)))


def _path_of(folder: Path, name: str) -> Path:
    return folder / Path(name).expanduser()


async def _delete(console: Console, argument: str) -> None:
    sessions = console.runtime.sessions
    session = await sessions.repository.get(argument) if argument else open_session(console)
    answer = await console.ask(f"Delete {session.title or session.id} for good? yes or no")
    if answer.strip().lower() in {"y", "yes"}:
        await sessions.delete(session.id)
        console.say("Deleted.")


async def _todo(console: Console, argument: str) -> None:
    todos = await console.runtime.store.todos(open_session(console).id)
    for item in todos:
        console.say(f"{item.status.replace('_', ' ')}: {item.content}")
    if not todos:
        console.say("The list is empty.")


async def _servers(console: Console, argument: str) -> None:
    statuses = console.runtime.mcp.statuses()
    for status in statuses:
        state = STATE_LABELS[status.state]
        console.say(f"{status.server.name}: {state} {status.reason}".rstrip())
    if not statuses:
        console.say("No MCP server is configured.")


async def _model(console: Console, argument: str) -> None:
    if not argument:
        raise NothingToDo(f"The model is {console.model}. /models lists others.")
    full_name = console.runtime.catalog.model(argument).full_name
    session = await console.ensure_session()
    await console.runtime.sessions.repository.set_model(session.id, full_name)


async def _agent(console: Console, argument: str) -> None:
    if not argument:
        raise NothingToDo(f"The agent is {console.agent}. /agents lists others.")
    name = console.runtime.agents.get(argument).name
    session = await console.ensure_session()
    await console.runtime.sessions.repository.set_agent(session.id, name)


COMMANDS: Mapping[str, Command] = {
    "connect": Command("[provider or URL]", "connects a provider or a server", _connect),
    "model": Command("[name]", "shows or sets the model", _model),
    "models": Command("[word]", "lists the models", _models),
    "agent": Command("[name]", "shows or sets the agent", _agent),
    "agents": Command("", "lists the agents", _agents),
    "mode": Command("[mode]", "shows or sets the permission mode", _mode),
    "undo": Command("", "undoes the last message with its changes to files", _undo),
    "redo": Command("", "redoes what was undone", _redo),
    "cost": Command("", "shows the tokens and the cost of the session", _cost, ("usage",)),
    "stats": Command("[days]", "shows usage statistics of all folders", _stats),
    "compact": Command("[what to preserve]", "compacts the session", _compact, ("summarize",)),
    "rename": Command("title", "renames the session", _rename),
    "history": Command("", "prints the session in full", _history, ("timeline", "rewind")),
    "export": Command("[file]", "writes the session to a file (.md, .html or .json)", _export),
    "delete": Command("[ID]", "deletes a session", _delete),
    "todo": Command("", "shows the agent's to-do list", _todo, ("todos",)),
    "mcp": Command("", "shows the MCP servers", _servers, ("mcps",)),
    **MORE_COMMANDS,
    **WORK_COMMANDS,
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
