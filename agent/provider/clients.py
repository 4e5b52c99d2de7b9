"""The client for a model, made when it is first needed (spec 5, R1, R3 and R10)."""

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING

from agent.errors import MissingKey
from agent.provider.catalog import PLACEHOLDER, Catalog
from agent.provider.client import Api, ModelClient, ModelInfo
from agent.provider.providers import KNOWN

if TYPE_CHECKING:
    from agent.provider.http import HttpPool, StreamLimits
    from agent.provider.protocols.wire import Wire

KEY_HEADERS: Mapping[str, str] = {"anthropic-messages": "x-api-key", "gemini": "x-goog-api-key"}
"""The header that a protocol wants the key in, where it is no bearer token."""


class Clients:
    """One client a provider, all over one shared HTTP pool; ``aclose`` when the program ends.

    *limits* are the rules of silence for all providers, None for those of L12a.
    """

    def __init__(self, catalog: Catalog, limits: "StreamLimits | None" = None) -> None:
        self._catalog = catalog
        self._limits = limits
        self._pool: HttpPool | None = None
        self._clients: dict[tuple[str, Api], ModelClient] = {}

    def client_for(self, model: ModelInfo) -> ModelClient:
        """The client that can ask *model*.

        Raises ``MissingKey`` naming the variable to set, ``ConfigError`` when its proxy or CA
        can't be used.
        """
        key = (model.provider, model.api)
        if key not in self._clients:
            self._clients[key] = self._make(model)
        return self._clients[key]

    async def aclose(self) -> None:
        self._clients.clear()
        if self._pool is not None:
            await self._pool.aclose()
            self._pool = None

    def _make(self, model: ModelInfo) -> ModelClient:
        if model.api == "demo":
            from agent.provider.demo import DemoClient  # noqa: PLC0415 - only who uses the demo

            return DemoClient()
        return self._over_http(model.provider, model.api)

    def _over_http(self, provider: str, api: Api) -> ModelClient:
        # httpx2 must stay off the start-up path; the first frame needs no network.
        from agent.provider.http import HttpPool, StreamLimits  # noqa: PLC0415 - brings httpx2
        from agent.provider.protocols.wire import (  # noqa: PLC0415 - brings httpx2
            Endpoint,
            WireClient,
        )

        key = self._key(provider)
        settings = self._catalog.settings_of(provider)
        spec = KNOWN.get(provider)
        limits = self._limits or StreamLimits()
        if settings.timeout is not None:
            limits = replace(limits, first=settings.timeout)
        if settings.idle_timeout is not None:
            limits = replace(limits, idle=settings.idle_timeout)
        if self._pool is None:
            self._pool = HttpPool()
        usual = spec.key_header if spec else "Authorization"
        endpoint = Endpoint(
            provider=provider,
            base_url=self._base_url(provider),
            key=key,
            key_header=KEY_HEADERS.get(api, usual),
            headers=settings.headers,
        )
        return WireClient(
            endpoint,
            wire_of(provider, api),
            self._pool.client(settings.proxy, settings.ca),
            limits,
        )

    def _key(self, provider: str) -> str:
        key = self._catalog.key_of(provider)
        if not key and self._catalog.needs_key(provider):
            name = KNOWN[provider].name if provider in KNOWN else provider
            names = " or ".join(self._catalog.key_names(provider))
            raise MissingKey(
                f"{name} needs a key. Set {names}, or provider.{provider}."
                "options.apiKey in the config."
            )
        if not (key.isascii() and key.isprintable()):
            raise MissingKey(
                f"The key of {provider} holds characters that no key has. Copy it again."
            )
        return key

    def _base_url(self, provider: str) -> str:
        url = self._catalog.base_url(provider)
        if not url:
            raise MissingKey(
                f"{provider} has no address. Set provider.{provider}.options.baseURL in the config."
            )
        if missing := PLACEHOLDER.search(url):
            raise MissingKey(f"{provider} needs {missing[1]}, a part of its address. Set it.")
        return url


WIRES: Mapping[str, tuple[str, str]] = {
    "openai-chat": ("openai_chat", "ChatWire"),
    "openai-responses": ("responses", "ResponsesWire"),
    "anthropic-messages": ("anthropic", "AnthropicWire"),
    "gemini": ("gemini", "GeminiWire"),
    "ollama": ("ollama", "OllamaWire"),
    "cohere": ("cohere", "CohereWire"),
    "bedrock": ("bedrock", "BedrockWire"),
}
"""The module of each protocol and what speaks it there."""


def wire_of(provider: str, api: Api) -> "Wire":
    """What speaks *api* with *provider*, loaded when a model that speaks it is first asked."""
    module, name = WIRES[api]
    return getattr(import_module(f"agent.provider.protocols.{module}"), name)(provider)
