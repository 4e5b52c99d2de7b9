"""The client for a model, made when it is first needed (spec 5, R1, R3 and R10)."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias

from agent.provider.catalog.access import FoundKey
from agent.provider.catalog.catalog import Catalog
from agent.provider.catalog.providers import KNOWN_PROVIDERS
from agent.provider.client import (
    Api,
    ModelClient,
    ModelInfo,
    ModelRequest,
    StreamError,
    StreamEvent,
)
from agent.records.errors import ProviderError

if TYPE_CHECKING:
    from httpx2 import AsyncClient

    from agent.provider.catalog.prices import ModelFacts
    from agent.provider.litellm.process import LitellmProcess
    from agent.provider.protocols.wire_client import Endpoint, Wire
    from agent.provider.transport.http import HttpPool, StreamLimits


KEY_HEADERS: Mapping[str, str] = {"anthropic-messages": "x-api-key", "gemini": "x-goog-api-key"}
"""The header that a protocol wants the key in, where it is no bearer token."""


RequestFilter: TypeAlias = Callable[[ModelRequest], Awaitable[ModelRequest]]
"""Gives the request that is sent instead. Raises ``ProviderError`` for one that is not to be."""


class FilteredClient:
    """A ``ModelClient`` whose requests pass a *gate*, anew for each try."""

    def __init__(self, inner: ModelClient, gate: RequestFilter) -> None:
        self._inner = inner
        self._gate = gate

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Stream the answer; the last event is ``StepFinish`` or ``StreamError``."""
        try:
            passed = await self._gate(request)
        except ProviderError as error:
            yield StreamError(error)
            return
        async with aclosing(self._inner.stream(passed)) as events:
            async for event in events:
                yield event


class ClientPool:
    """One client a provider, all over one shared HTTP pool; ``aclose`` when the program ends.

    *limits* are the rules of silence for all providers, None for those of L12a. *litellm* is a
    process that others use too, None to start one when it is needed. *gate* sees each request.
    """

    def __init__(
        self,
        catalog: Catalog,
        limits: "StreamLimits | None" = None,
        litellm: "LitellmProcess | None" = None,
        request_filter: RequestFilter | None = None,
    ) -> None:
        self._catalog = catalog
        self._limits = limits
        self._shared = litellm
        self._gate = request_filter
        self._pool: HttpPool | None = None
        self._clients: dict[tuple[str, Api, FoundKey], ModelClient] = {}
        self._processes: dict[bool, LitellmProcess] = {}

    def client_for(self, model: ModelInfo) -> ModelClient:
        """The client that can ask *model*.

        Raises ``MissingKey`` naming the variable to set, ``ConfigError`` when its proxy or CA
        can't be used.
        """
        key = (model.provider, model.api, self._catalog.access.key_of(model.provider))
        if key not in self._clients:
            made = self._make(model)
            self._clients[key] = FilteredClient(made, self._gate) if self._gate else made
        return self._clients[key]

    async def preload(self, model: ModelInfo) -> None:
        """Load what asking *model* takes, in a thread, so that the first prompt need not wait
        for it. Raises what ``client_for`` raises. litellm is loaded by the first call alone."""
        if model.api in WIRES:
            await asyncio.to_thread(self.client_for, model)
            for name in DEFERRED_IMPORTS:
                with contextlib.suppress(ImportError):  # another version has it elsewhere
                    await asyncio.to_thread(import_module, name)

    async def aclose(self) -> None:
        self._clients.clear()
        if self._pool is not None:
            await self._pool.aclose()
            self._pool = None
        processes = list(self._processes.values())
        self._processes.clear()
        for process in processes:
            await process.aclose()

    def _make(self, model: ModelInfo) -> ModelClient:
        if model.api == "demo":
            from agent.provider.demo import DemoClient  # only who uses the demo

            return DemoClient()
        if model.api == "litellm":
            return self._through_litellm(model.provider)
        return self._over_http(model.provider, model.api)

    async def fetch_models(self, provider: str) -> dict[str, "ModelFacts"]:
        """The models that the server of *provider* names, () where it names none.

        Raises ``ProviderError``, and what ``client_for`` raises.
        """
        from agent.provider import model_lists  # brings httpx2

        api = self._catalog.api_of(provider)
        if api in model_lists.APIS_WITHOUT_MODEL_LIST:
            return {}
        return await model_lists.fetch_model_list(
            self._http(provider), self._endpoint(provider, api), api
        )

    def _over_http(self, provider: str, api: Api) -> ModelClient:
        # httpx2 must stay off the start-up path; the first frame needs no network.
        from agent.provider.protocols.wire_client import WireClient  # brings httpx2

        endpoint = self._endpoint(provider, api)
        limits = self._silence(provider)
        return WireClient(endpoint, wire_of(provider, api), self._http(provider), limits)

    def _silence(self, provider: str) -> "StreamLimits":
        from agent.provider.transport.http import StreamLimits  # brings httpx2

        settings = self._catalog.access.settings_of(provider)
        limits = self._limits or StreamLimits()
        if settings.timeout is not None:
            limits = replace(limits, first_event=settings.timeout)
        if settings.idle_timeout is not None:
            limits = replace(limits, idle=settings.idle_timeout)
        return limits

    def _through_litellm(self, provider: str) -> ModelClient:
        from agent.provider.litellm import client, route  # only who goes this way

        found = route.litellm_route(self._catalog, provider)
        users = self._catalog.access.settings_of(provider).user_keys
        process = self._shared or self._process(users=users)
        return client.LitellmClient(found, process, self._silence(provider))

    def _process(self, *, users: bool) -> "LitellmProcess":
        """The process that has the user's environment, or the one without any secret of it."""
        from agent.provider.litellm import process, route  # only who goes this way

        if users not in self._processes:
            env = self._catalog.access.env
            made = process.LitellmProcess(env if users else route.environment_without_logins(env))
            self._processes[users] = made
        return self._processes[users]

    def _http(self, provider: str) -> "AsyncClient":
        from agent.provider.transport.http import HttpPool  # brings httpx2

        if self._pool is None:
            self._pool = HttpPool()
        settings = self._catalog.access.settings_of(provider)
        return self._pool.client(settings.proxy, settings.ca)

    def _endpoint(self, provider: str, api: Api) -> "Endpoint":
        from agent.provider.protocols.wire_client import Endpoint  # brings httpx2
        from agent.provider.transport.aws import AwsSigner  # only who signs

        access = self._catalog.access
        way = access.connection(provider)
        spec = KNOWN_PROVIDERS.get(provider)
        usual = spec.key_header if spec else "Authorization"
        own = access.settings_of(provider).headers
        return Endpoint(
            provider=provider,
            base_url=way.base_url,
            key=way.key,
            key_header=KEY_HEADERS.get(api, usual),
            headers={**(spec.headers if spec else {}), **own},
            signer=AwsSigner(access.env) if access.uses_aws_signing(provider) else None,
        )


DEFERRED_IMPORTS = ("httpcore2._backends.auto", "anyio._backends._asyncio")
"""What the HTTP client itself imports with its first request."""

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
