"""Conversion of the config's providers and models to the settings of the catalog."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from agent.config.loading import LoadedConfig
from agent.config.paths import Paths
from agent.config.settings_schema import Config, CostConfig, ModelConfig, ProviderConfig
from agent.provider.catalog import model_preferences
from agent.provider.catalog.catalog import Catalog
from agent.provider.catalog.keys import AuthFile
from agent.provider.catalog.model_list_cache import FILE_NAME, ModelListCache
from agent.provider.catalog.model_preferences import ModelPreferences
from agent.provider.catalog.provider_settings import ModelSettings, ProviderSettings
from agent.provider.catalog.providers import KNOWN_PROVIDERS, SECRET_VARIABLES
from agent.provider.client import Price

LONG_PROMPT = 200_000
"""The number of prompt tokens above which ``context_over_200k`` applies."""


def catalog_from_config(loaded: LoadedConfig, paths: Paths, env: Mapping[str, str]) -> Catalog:
    """Return the catalog for the config *loaded*.

    A provider that only the project defines gets no key of the user's, stored or in *env*.
    """
    return Catalog(
        {
            name: provider_settings(name, given, from_project=name in loaded.project_providers)
            for name, given in loaded.config.provider.items()
        },
        loaded.config.model,
        env,
        keys=AuthFile(paths.data),
        model_lists=ModelListCache(paths.cache / FILE_NAME),
        preferences=ModelPreferences(paths.data / model_preferences.FILE_NAME),
        disabled=_disabled(loaded.config),
        effort=loaded.config.effort,
    )


def _disabled(config: Config) -> frozenset[str]:
    """Return the providers that are never used."""
    only = config.enabled_providers
    beside = {name for name in (*KNOWN_PROVIDERS, *config.provider) if only and name not in only}
    return frozenset({*config.disabled_providers, *beside})


def secret_variables(loaded: LoadedConfig) -> frozenset[str]:
    """Return the variables that hold API keys, and those that the settings read: no command is
    started with them."""
    own = (name for provider in loaded.config.provider.values() for name in provider.env)
    return SECRET_VARIABLES.union(own, loaded.variables)


def provider_settings(
    name: str, given: ProviderConfig, *, from_project: bool = False
) -> ProviderSettings:
    """Return the settings of a configured provider, with times in seconds.

    A provider *from_project*, which a project has defined, gets no key of the user's.
    """
    options = given.options
    return ProviderSettings(
        id=name,
        name=given.name,
        api=given.api,
        transport=given.transport,
        small_model=given.small_model,
        base_url=options.base_url,
        api_key=options.api_key,
        key_variables=given.env,
        headers=options.headers,
        timeout=_seconds(options.timeout),
        idle_timeout=_seconds(options.chunk_timeout),
        proxy=options.proxy,
        ca=options.ca,
        models={id_: _model_settings(model) for id_, model in given.models.items()},
        user_keys=not from_project,
        included=frozenset(given.whitelist),
        excluded=frozenset(given.blacklist) | {n for n, m in given.models.items() if m.disabled},
    )


def _seconds(milliseconds: int | Literal[False] | None) -> float | None:
    if milliseconds is None:
        return None
    return float("inf") if milliseconds is False else milliseconds / 1000


def _model_settings(given: ModelConfig) -> ModelSettings:
    return ModelSettings(
        name=given.name,
        wire_id=given.id or "",
        context_limit=given.limit.context,
        input_limit=given.limit.input,
        output_limit=given.limit.output,
        tools=given.tool_call,
        vision=given.vision,
        documents=given.documents,
        reasoning=given.reasoning,
        temperature=given.temperature,
        efforts=given.efforts,
        effort=given.effort,
        price=_price(given.cost),
    )


def _price(cost: CostConfig | None) -> Price | None:
    """Return the price, None if the input or output price is missing.

    The tier for long prompts inherits the prices that it does not name.
    """
    if cost is None or cost.input is None or cost.output is None:
        return None
    plain = Price(cost.input, cost.output, cost.cache_read, cost.cache_write)
    long = cost.context_over_200k
    if long is None:
        return plain
    then = Price(
        plain.input if long.input is None else long.input,
        plain.output if long.output is None else long.output,
        plain.cache_read if long.cache_read is None else long.cache_read,
        plain.cache_write if long.cache_write is None else long.cache_write,
    )
    return replace(plain, beyond=LONG_PROMPT, then=then)
