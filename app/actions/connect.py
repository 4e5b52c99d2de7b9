"""Choosing a model, and connecting what has one: a provider, a server of this machine or any
other one. The demo is offered by name."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from agent.permission.saved_rules import save_setting
from agent.provider.catalog.access import ProviderAccess
from agent.provider.catalog.catalog import DEMO_MODEL, Catalog
from agent.provider.catalog.keys import key_error, mask_key
from agent.provider.catalog.provider_settings import ModelSettings, ProviderSettings
from agent.provider.catalog.providers import KNOWN_PROVIDERS, DeviceLogin
from agent.provider.client_pool import find_local_servers
from agent.provider.own_server import base_url_of, check_server, server_id
from agent.provider.transport.errors import key_fault
from agent.records.amounts import count
from agent.records.errors import ConfigError, OpencodePyError, ProviderError, ProviderErrorKind
from agent.records.json import JsonObject
from app.action_registry.context import ActionContext
from app.actions.logins import with_login_screen
from app.actions.model_picker import listed_models
from app.screens.base.picker import Picker, Row
from app.screens.base.small_dialogs import ApiKeyScreen, OwnServerScreen, TextScreen
from app.screens.code_login import CodeLoginScreen
from app.screens.model import CONNECT_PREFIX, ModelList, ModelScreen
from app.terminal.browser import browser_opener

if TYPE_CHECKING:  # loads httpx2
    from agent.provider.device_login import LoginCode

CHECK_SECONDS = 10.0
"""Seconds that a provider can take to accept a new key."""

SEARCH_SECONDS = 0.5
"""Seconds for which the list waits for the model servers of this machine."""

COMMON = ("anthropic", "openai", "google", "openrouter", "github-copilot")
"""The providers that most users have, in the order of the list."""

PROVIDERS = "Providers, with the page for API keys"

OWN_SERVER = "server:"
"""The key of the row for any other server."""


async def connect_and_choose(context: ActionContext, wanted: str) -> str | None:
    """Connect the provider *wanted*, or one that the user picks, and return the model that they
    choose of it. Return None if they close a list or a dialog."""
    while True:
        chosen = wanted or await choose_provider(context)
        if chosen is None or chosen == DEMO_MODEL.full_name:
            return chosen
        provider = await _connected(context, chosen)
        if provider is not None:
            return await choose_model(context, only=provider)
        if wanted:
            return None


async def choose_model(context: ActionContext, only: str = "") -> str | None:
    """Return the full name of the chosen model, None for none; *only* names a provider."""
    catalog = context.live.runtime.catalog

    if not only:
        await _search(catalog)

    def toggled(name: str) -> ModelList:
        catalog.preferences.toggle_favorite(name)
        return listed_models(catalog, only)

    while True:
        listed = await asyncio.to_thread(listed_models, catalog, only)
        current = _recommended(context, only)
        chosen = await context.show(ModelScreen(listed, current=current, toggle=toggled))
        if chosen is None or not chosen.startswith(CONNECT_PREFIX):
            return chosen
        provider = chosen.removeprefix(CONNECT_PREFIX)
        if await connect(context, provider):
            only = provider


def _recommended(context: ActionContext, only: str) -> str:
    """Return the model in use, or the best known one of the provider that was connected."""
    used, spec = context.live.model, KNOWN_PROVIDERS.get(only)
    if not only or used.startswith(f"{only}/") or spec is None or spec.flagship is None:
        return used
    return f"{only}/{spec.flagship}"


async def _connected(context: ActionContext, chosen: str) -> str | None:
    if chosen == OWN_SERVER:
        return await connect_server(context)
    if chosen in context.live.runtime.catalog.model_lists.local_servers:
        return chosen
    return chosen if await connect(context, chosen) else None


async def connect(context: ActionContext, provider: str) -> bool:
    """Ask for the key of *provider*, save and check it; return whether it can be used."""
    access = context.live.runtime.catalog.access
    if refused := access.key_refusal(provider):
        context.notify(refused, warning=True)
        return False
    if not access.key_variables(provider):
        context.notify(access.missing_key_message(provider), warning=True)
        return False
    title = access.display_name(provider)

    async def check(key: str) -> str:
        return key_error(key) or await _save_key(context, provider, key)

    login = access.device_login(provider)
    saved, refused = await _log_in(context, provider, login, check) if login else (False, "")
    if not saved:
        screen = ApiKeyScreen(title, access.key_page(provider), refused or "", check=check)
        if refused is None or await context.show(screen) is None:
            return False
    found = access.key_of(provider)
    if found.source != "stored":
        place = "the config" if found.source == "config" else found.source
        context.notify(f"The key is saved, but the one in {place} takes precedence.", warning=True)
    if not access.is_usable(provider):
        context.notify(
            f"{title} also needs the variable {access.missing_variable(provider)}.", warning=True
        )
    return access.is_usable(provider)


async def _log_in(
    context: ActionContext,
    provider: str,
    login: DeviceLogin,
    check: Callable[[str], Awaitable[str]],
) -> tuple[bool, str | None]:
    """Log in to *provider* and let *check* save the key. Return whether it was saved, and why not:
    None if the user closed the screen, "" if they have a token to paste."""
    pasting: list[bool] = []

    async def log_in(show: Callable[[CodeLoginScreen], None]) -> str:
        screen = CodeLoginScreen(
            context.live.runtime.catalog.access.display_name(provider),
            open_page=browser_opener(context.env),
            copy=context.app.copy_to_clipboard,
            paste=lambda: pasting.append(True),
        )
        show(screen)

        async def show_code(code: "LoginCode") -> None:
            screen.show_code(code)

        return await context.live.runtime.clients.log_in(provider, login, show_code)

    try:
        key = await with_login_screen(context, log_in)
    except OpencodePyError as error:
        return False, error.message
    if key is None:
        return False, "" if pasting else None
    refused = await check(key)
    return not refused, refused


async def _save_key(context: ActionContext, provider: str, key: str) -> str:
    """Save *key* unless the provider rejects it; return the reason, empty if it was saved."""
    runtime = context.live.runtime
    access, lists = runtime.catalog.access, runtime.catalog.model_lists
    before = access.keys.stored().get(provider)
    try:
        await asyncio.to_thread(access.keys.put, provider, key)
        async with asyncio.timeout(CHECK_SECONDS):
            models = await runtime.clients.check_key(provider)
    except ProviderError as error:
        if error.kind is ProviderErrorKind.AUTH:
            await asyncio.to_thread(_restore_key, access, provider, before and before.key)
            return key_fault(error)
        context.notify(f"The key is saved, but could not be checked. {error.message}", warning=True)
        return ""
    except TimeoutError:
        title = access.display_name(provider)
        context.notify(
            f"The key is saved, but could not be checked: {title} did not answer.", warning=True
        )
        return ""
    except OpencodePyError as error:
        return error.message if access.key_of(provider).key != key else ""
    if models:
        await asyncio.to_thread(lists.store, provider, models)
    return ""


def _restore_key(access: ProviderAccess, provider: str, before: str | None) -> None:
    if before is None:
        access.keys.remove(provider)
    else:
        access.keys.put(provider, before)


async def connect_server(context: ActionContext) -> str | None:
    """Ask for the address and the key of an OpenAI-compatible server, and check them. Return the
    id under which the server is saved, None if the dialog was closed."""
    found: list[str] = []

    async def check(typed: str, key: str) -> str:
        try:
            found[:] = [await _save_server(context, typed, key)]
        except OpencodePyError as error:
            return error.message
        except TimeoutError:
            return "The server did not answer in time. Check the address."
        return ""

    if await context.show(OwnServerScreen(check)) is None:
        return None
    (provider,) = found
    catalog = context.live.runtime.catalog
    if catalog.model_lists.models(provider) or catalog.access.settings_of(provider).models:
        return provider
    name = await context.show(TextScreen("The server does not list its models. Name one of them"))
    if name is None:
        return None
    settings = catalog.access.settings_of(provider)
    catalog.add_provider(replace(settings, models={name: ModelSettings()}))
    folder = context.live.runtime.paths.config
    await asyncio.to_thread(save_setting, folder, ("provider", provider, "models", name), {})
    return provider


async def _save_server(context: ActionContext, typed: str, key: str) -> str:
    """Check a server and save it to the user's settings; return its id. Raises
    ``OpencodePyError`` and ``TimeoutError``; then nothing was saved."""
    if key and (wrong := key_error(key)):
        raise ConfigError(wrong)
    runtime = context.live.runtime
    catalog = runtime.catalog
    async with asyncio.timeout(CHECK_SECONDS):
        url, models = await check_server(base_url_of(typed), key)
    ids = catalog.access.provider_ids()
    known = (each for each in ids if catalog.access.settings_of(each).base_url == url)
    provider = next(known, None) or server_id(url, ids)
    if provider not in ids:
        options: JsonObject = {"baseURL": url}
        await asyncio.to_thread(
            save_setting, runtime.paths.config, ("provider", provider), {"options": options}
        )
        catalog.add_provider(ProviderSettings(id=provider, base_url=url))
    if key:
        await asyncio.to_thread(catalog.access.keys.put, provider, key)
    if models:
        await asyncio.to_thread(catalog.model_lists.store, provider, models)
    return provider


async def _search(catalog: Catalog) -> None:
    """Look for model servers of this machine; a slow one is found the next time."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(SEARCH_SECONDS):
            await find_local_servers(catalog)


async def choose_provider(context: ActionContext) -> str | None:
    """Return the id of the provider that the user picks to connect, ``OWN_SERVER``, or the
    demo's full name."""
    catalog = context.live.runtime.catalog
    await _search(catalog)
    title = "Connect a provider"
    if catalog.lacks_model:
        title = "Connect a provider: no model is connected yet"
    rows = provider_rows(catalog)
    return await context.show(Picker(title, rows, enter="connect", empty="No matching providers"))


def provider_rows(catalog: Catalog) -> list[Row]:
    """Return what can be connected: the model servers of this machine, what most users have, any
    other server, the demo, and all other providers."""
    access, here = catalog.access, catalog.model_lists.local_servers
    rows = [
        Row(
            name,
            access.display_name(name),
            f"{count(len(models), 'model')}, no key needed",
            "On this machine",
        )
        for name, models in here.items()
    ]
    keyed = [name for name in access.provider_ids() if access.key_variables(name)]
    rows += _key_rows(access, (name for name in COMMON if name in keyed), PROVIDERS)
    rows.append(
        Row(
            OWN_SERVER,
            "Another OpenAI-compatible server",
            "address, and a key if it needs one",
            PROVIDERS,
        )
    )
    rows.append(
        Row(
            DEMO_MODEL.full_name,
            "Demo",
            "simple requests, no language model",
            "Without a model",
        )
    )
    others = sorted(
        (name for name in keyed if name not in COMMON), key=lambda name: not access.key_of(name)
    )
    return [*rows, *_key_rows(access, others, "More providers")]


def _key_rows(access: ProviderAccess, names: Iterable[str], group: str) -> list[Row]:
    rows: list[Row] = []
    for name in names:
        found = access.key_of(name)
        place = "saved here" if found.source == "stored" else f"from {found.source}"
        note = f"key {mask_key(found.key)} {place}" if found else _needed(access, name)
        rows.append(Row(name, access.display_name(name), note, group))
    return rows


def _needed(access: ProviderAccess, provider: str) -> str:
    if login := access.device_login(provider):
        return f"log in at {login.name} in a browser"
    page = access.key_page(provider)
    known = provider in KNOWN_PROVIDERS and page
    return page if known else access.key_variables(provider)[0]
