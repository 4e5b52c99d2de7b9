"""Commands of ``--plain`` on providers, models, agents and permission modes."""

import asyncio
import sys
import termios
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, get_args

from agent.records.errors import NothingToDo, OpencodePyError, ProviderError, ProviderErrorKind
from agent.records.requests import PermissionMode
from app.plain.command import WIDTH, Console, controls_of
from app.text.sanitize import sanitize_line

if TYPE_CHECKING:  # loads httpx2
    from agent.provider.device_login import LoginCode


CHECK_SECONDS = 15.0
"""Seconds that a provider or a server can take to answer a first request."""

MAX_LISTED = 40
"""Models that are listed."""


async def connect(console: Console, argument: str) -> None:
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


async def model(console: Console, argument: str) -> None:
    if not argument:
        raise NothingToDo(f"The model is {console.model}. /models lists others.")
    full_name = console.runtime.catalog.model(argument).full_name
    session = await console.ensure_session()
    await console.runtime.sessions.repository.set_model(session.id, full_name)


async def models(console: Console, argument: str) -> None:
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


async def agent(console: Console, argument: str) -> None:
    if not argument:
        raise NothingToDo(f"The agent is {console.agent}. /agents lists others.")
    name = console.runtime.agents.get(argument).name
    session = await console.ensure_session()
    await console.runtime.sessions.repository.set_agent(session.id, name)


async def agents(console: Console, argument: str) -> None:
    for agent in console.runtime.agents.primary():
        console.say(f"{agent.name}  {agent.description}")


async def effort(console: Console, argument: str) -> None:
    levels = console.runtime.catalog.model(console.model).efforts
    if not levels:
        raise NothingToDo(f"{console.model} has no reasoning levels.")
    if argument not in (*levels, "default"):
        raise NothingToDo(f"The levels are {', '.join(levels)}, and default.")
    session = await console.ensure_session()
    chosen = None if argument == "default" else argument
    await console.runtime.sessions.repository.set_model(session.id, console.model, chosen)
    console.say(f"The effort is {argument}.")


async def fallback(console: Console, argument: str) -> None:
    from app.screens.model import fallback_text  # loads Textual

    if argument:
        console.say(await controls_of(console).change_fallback(argument))
    else:
        found = await controls_of(console).fallback()
        console.say(fallback_text(found, console.model, time.time(), WIDTH).plain)


async def mode(console: Console, argument: str) -> None:
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
