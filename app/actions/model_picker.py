"""Choosing a model and connecting its provider."""

import asyncio
from collections.abc import Sequence

from agent.provider.catalog.catalog import Catalog
from agent.provider.catalog.keys import key_error, mask_key
from agent.provider.catalog.providers import KNOWN_PROVIDERS
from agent.records.errors import OpencodePyError, ProviderError, ProviderErrorKind
from app.commands.context import ActionContext
from app.screens.base.picker import Picker, Row
from app.screens.base.questions import ApiKeyScreen
from app.screens.model import CONNECT_PREFIX, UNCONNECTED, ModelList, ModelScreen

CHECK_SECONDS = 10.0
"""Seconds that a provider can take to accept a new key."""


async def choose_model(context: ActionContext, only: str = "") -> str | None:
    """Return the full name of the chosen model, None for none; *only* names a provider."""
    catalog = context.live.runtime.catalog

    def toggled(name: str) -> ModelList:
        catalog.preferences.toggle_favorite(name)
        return listed_models(catalog, only)

    while True:
        listed = await asyncio.to_thread(listed_models, catalog, only)
        current = context.live.model
        chosen = await context.show(ModelScreen(listed, current=current, toggle=toggled))
        if chosen is None or not chosen.startswith(CONNECT_PREFIX):
            return chosen
        provider = chosen.removeprefix(CONNECT_PREFIX)
        if await connect(context, provider):
            only = provider


def listed_models(catalog: Catalog, only: str = "") -> ModelList:
    """Return what the picker shows: all models, or those of *only* one provider."""
    models = [model for model in catalog.models() if only in ("", model.provider)]
    access = catalog.access
    titles = {model.provider: access.display_name(model.provider) for model in models}
    return ModelList(
        models=models,
        titles=titles,
        recent=catalog.preferences.recent,
        favorites=catalog.preferences.favorites,
        unconnected=() if only else _unconnected(catalog),
    )


def _unconnected(catalog: Catalog) -> list[Row]:
    access = catalog.access
    return [
        Row(
            f"{CONNECT_PREFIX}{name}",
            access.display_name(name),
            _missing_text(catalog, name),
            UNCONNECTED,
        )
        for name in access.provider_ids()
        if not access.is_usable(name) and (access.key_variables(name) or _logins(name))
    ]


def _missing_text(catalog: Catalog, provider: str) -> str:
    """Return what is missing to use *provider*, in a few words."""
    access = catalog.access
    names = access.key_variables(provider)
    if access.key_of(provider):
        return f"needs {access.missing_variable(provider)}"
    if names:
        return f"needs {names[0]}; enter adds it"
    return f"needs {_logins(provider)[0]}"


def _logins(provider: str) -> Sequence[str]:
    """Return the variables of other logins than a key."""
    spec = KNOWN_PROVIDERS.get(provider)
    return spec.login_variables if spec else ()


async def connect(context: ActionContext, provider: str) -> bool:
    """Ask for the key of *provider*, save and check it; return whether it can be used."""
    access = context.live.runtime.catalog.access
    if refused := access.key_refusal(provider):
        context.notify(refused, warning=True)
        return False
    if not access.key_variables(provider):
        context.notify(access.missing_key_message(provider), warning=True)
        return False
    title, fault = access.display_name(provider), ""
    while True:
        screen = ApiKeyScreen(title, access.key_page(provider), fault)
        key = await context.show(screen)
        if key is None:
            return False
        fault = key_error(key) or await _save_key(context, provider, key)
        if not fault:
            break
    found = access.key_of(provider)
    if found.source == "stored":
        context.notify(f"The key of {title} is kept.")
    else:
        place = "the config" if found.source == "config" else found.source
        context.notify(f"The key is kept, but the one in {place} goes before it.", warning=True)
    if not access.is_usable(provider):
        context.notify(
            f"{title} also needs {access.missing_variable(provider)}. Set it.", warning=True
        )
    return access.is_usable(provider)


async def _save_key(context: ActionContext, provider: str, key: str) -> str:
    """Save *key* unless the provider rejects it; return the reason, empty if it was saved."""
    runtime = context.live.runtime
    access, lists = runtime.catalog.access, runtime.catalog.model_lists
    before = access.keys.stored().get(provider)
    await asyncio.to_thread(access.keys.put, provider, key)
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            models = await runtime.clients.fetch_models(provider)
    except ProviderError as error:
        if error.kind is not ProviderErrorKind.AUTH:
            return ""
        if before is None:
            await asyncio.to_thread(access.keys.remove, provider)
        else:
            await asyncio.to_thread(access.keys.put, provider, before.key)
        return error.message
    except (OpencodePyError, TimeoutError):
        return ""  # unknown whether the key works: the first prompt will tell
    if models:
        await asyncio.to_thread(lists.store, provider, models)
    return ""


async def choose_provider(context: ActionContext) -> str | None:
    """Return the id of the provider that the user picks to connect."""
    catalog = context.live.runtime.catalog
    rows = provider_rows(catalog)
    return await context.show(Picker("Connect a provider", rows, empty="No provider fits"))


def provider_rows(catalog: Catalog) -> Sequence[Row]:
    """Return the model servers of this machine, then the providers that need a key."""
    access = catalog.access
    here = [
        Row(
            name,
            access.display_name(name),
            "needs no key; enter lists its models",
            "On this machine",
        )
        for name in catalog.model_lists.local_servers
    ]
    keyed = [name for name in access.provider_ids() if access.key_variables(name)]
    rows: list[Row] = []
    for name in sorted(keyed, key=lambda name: not access.key_of(name)):
        found = access.key_of(name)
        place = "kept here" if found.source == "stored" else f"from {found.source}"
        note = f"key {mask_key(found.key)} {place}" if found else access.key_variables(name)[0]
        group = "Connected" if found else "To connect"
        rows.append(Row(name, access.display_name(name), note, group))
    return [*here, *rows]
