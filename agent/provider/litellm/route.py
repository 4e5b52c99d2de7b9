"""The route of a provider's requests through litellm: its name there, address and key."""

from collections.abc import Mapping
from dataclasses import field

from agent.process import strict_environment
from agent.provider.catalog.catalog import Catalog
from agent.provider.catalog.provider_settings import ProviderSettings
from agent.provider.catalog.providers import KNOWN_PROVIDERS, ProviderSpec
from agent.provider.client import Api
from agent.records.errors import ConfigError
from agent.records.frozen import frozen

NO_KEY = "none"
"""The key that is sent without a key, so that litellm uses none of another provider's."""

API_PREFIXES: Mapping[Api, str] = {
    "openai-chat": "openai",
    "openai-responses": "openai/responses",
    "anthropic-messages": "anthropic",
    "gemini": "gemini",
    "ollama": "ollama_chat",
    "cohere": "cohere_chat",
    "bedrock": "bedrock/converse",
}
"""litellm's name for the generic provider of each protocol."""


@frozen(kw_only=True)
class Route:
    """The route of a provider's requests through litellm."""

    provider: str
    prefix: str
    """litellm's name of the provider."""

    base_url: str = ""
    """"" for the address that litellm knows."""

    key: str = field(default="", repr=False)
    """"" for the login in the environment of the process."""

    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    ca: str | None = None


def litellm_route(catalog: Catalog, provider: str) -> Route:
    """Return the route to *provider*.

    Raises ``MissingKey`` and ``ConfigError``, whose messages say what to do.
    """
    access, spec = catalog.access, KNOWN_PROVIDERS.get(provider)
    settings, way = access.settings_of(provider), access.connection(provider)
    if settings.proxy:
        raise ConfigError(
            f"{provider} is used through litellm, which takes its proxy only from HTTPS_PROXY: "
            f"remove provider.{provider}.options.proxy from the config."
        )
    prefix = _prefix(spec, settings, listed=spec is None and catalog.known_to_litellm(provider))
    knows_address = prefix.partition("/")[0] not in ("openai", "ollama_chat") and not (
        spec is not None and (spec.local or "${" in spec.base_url)
    )
    own_address = settings.base_url is not None or not knows_address
    own = provider == "openai" and settings.base_url is None
    login = access.login_of(provider) if settings.user_keys else ""
    return Route(
        provider=provider,
        prefix=prefix,
        base_url=way.base_url if own_address and not own else "",
        key=way.key or ("" if login else NO_KEY),
        headers={**(spec.headers if spec else {}), **settings.headers},
        ca=settings.ca,
    )


def _prefix(spec: ProviderSpec | None, settings: ProviderSettings, *, listed: bool) -> str:
    """Return litellm's name of the provider. *listed*: litellm knows a provider of the same id."""
    if settings.api is not None and settings.api in API_PREFIXES:
        return API_PREFIXES[settings.api]
    if spec is not None:
        responses = spec.api == "openai-responses" and settings.base_url is None
        return f"{spec.litellm_name}/responses" if responses else spec.litellm_name
    return settings.id if listed or settings.base_url is None else API_PREFIXES["openai-chat"]


def environment_without_logins(env: Mapping[str, str]) -> Mapping[str, str]:
    """Return *env* without anything by which litellm finds a login.

    It is for a provider whose address a project has set: it must get no login of the user's.
    """
    kept = strict_environment(env, ())
    for name in [name for name in kept if name == "HOME" or name.startswith("XDG_")]:
        del kept[name]
    return {**kept, "AWS_EC2_METADATA_DISABLED": "true"}
