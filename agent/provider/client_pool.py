"""The pool of model clients: one per provider and protocol, created when it is first needed."""

import asyncio
import contextlib
import gc
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import aclosing
from dataclasses import replace
from importlib import import_module
from math import inf
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit

from agent.provider.catalog.access import FoundKey
from agent.provider.catalog.catalog import Catalog
from agent.provider.catalog.prices import ModelFacts
from agent.provider.catalog.providers import KNOWN_PROVIDERS, DeviceLogin
from agent.provider.client import (
    Api,
    ModelClient,
    ModelInfo,
    ModelRequest,
    StreamError,
    StreamEvent,
)
from agent.records.errors import OpencodePyError, ProviderError
from agent.records.spending import RateLimit

if TYPE_CHECKING:
    from agent.provider.device_login import Show
    from agent.provider.litellm.process import LitellmProcess
    from agent.provider.protocols.wire_client import Endpoint, WireClient
    from agent.provider.transport.connections import Connections, HttpPool
    from agent.provider.transport.http import StreamLimits

KEY_HEADERS: Mapping[str, str] = {"anthropic-messages": "x-api-key", "gemini": "x-goog-api-key"}
"""The header for the key in protocols that take no bearer token."""

WIRE_CLIENTS: Mapping[Api, tuple[str, str]] = {
    "openai-chat": ("openai_chat", "ChatClient"),
    "openai-responses": ("responses", "ResponsesClient"),
    "anthropic-messages": ("anthropic", "AnthropicClient"),
    "gemini": ("gemini", "GeminiClient"),
    "ollama": ("ollama", "OllamaClient"),
    "cohere": ("cohere", "CohereClient"),
    "bedrock": ("bedrock", "BedrockClient"),
}
"""The module (in ``agent.provider.protocols``) and the client class of each wire protocol."""

DEFERRED_IMPORTS = ("httpcore2._backends.auto", "anyio._backends._asyncio")
"""Modules that the HTTP client itself imports with its first request."""

RequestFilter: TypeAlias = Callable[[ModelRequest], Awaitable[ModelRequest]]
"""A function that returns the request to send instead.

It raises ``ProviderError`` for one that must not be sent.
"""


class FilteredClient:
    """A ``ModelClient`` whose requests pass a *request_filter*, again for each retry."""

    def __init__(self, inner: ModelClient, request_filter: RequestFilter) -> None:
        self._inner = inner
        self._request_filter = request_filter

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Stream the response; the last event is ``StepFinish`` or ``StreamError``."""
        try:
            filtered = await self._request_filter(request)
        except ProviderError as error:
            yield StreamError(error)
            return
        async with aclosing(self._inner.stream(filtered)) as events:
            async for event in events:
                yield event


class ClientPool:
    """All model clients, over one shared HTTP pool. Call ``aclose`` when the program ends.

    *limits* are the timeouts for all providers, None for the defaults. *litellm* is a process that
    others use too, None to start one when it is needed. *request_filter* sees each request.
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
        self._shared_litellm = litellm
        self._request_filter = request_filter
        self._http_pool: HttpPool | None = None
        self._clients: dict[tuple[str, Api, FoundKey], ModelClient] = {}
        self._unfiltered: dict[tuple[str, Api, FoundKey], ModelClient] = {}
        """The clients without the filter of requests."""
        self._litellm_processes: dict[bool, LitellmProcess] = {}

    def client_for(self, model: ModelInfo) -> ModelClient:
        """Return the client for *model*.

        Raises ``MissingKey`` naming the variable to set, ``ConfigError`` when its proxy or CA
        can't be used.
        """
        key = (model.provider, model.api, self._catalog.access.key_of(model.provider))
        if key not in self._clients:
            client = self._unfiltered[key] = self._create(model)
            if self._request_filter is not None:
                client = FilteredClient(client, self._request_filter)
            self._clients[key] = client
        return self._clients[key]

    def refuses_effort(self, model: ModelInfo) -> bool:
        """Return whether the server of *model* has refused a reasoning effort for it."""
        key = (model.provider, model.api, self._catalog.access.key_of(model.provider))
        refuses = getattr(self._unfiltered.get(key), "refuses_effort", None)
        return refuses is not None and refuses(model.id)

    def rate_limits(self) -> dict[str, tuple[float, tuple[RateLimit, ...]]]:
        """Return the newest limits of each provider that sent any, with the time of each."""
        found: dict[str, tuple[float, tuple[RateLimit, ...]]] = {}
        for (provider, _, _), client in self._unfiltered.items():
            received, limits = getattr(client, "rate_limits", lambda: (0.0, ()))()
            if limits and received > found.get(provider, (0.0, ()))[0]:
                found[provider] = received, limits
        return found

    async def preload(self, model: ModelInfo) -> None:
        """Load the modules for *model* in a thread, so that the first prompt need not wait.

        Raises what ``client_for`` raises. litellm is loaded by the first call only.
        """
        if model.api in WIRE_CLIENTS:
            await asyncio.to_thread(self.client_for, model)
            for name in DEFERRED_IMPORTS:
                with contextlib.suppress(ImportError):  # another version has it elsewhere
                    await asyncio.to_thread(import_module, name)

    async def aclose(self) -> None:
        self._clients.clear()
        self._unfiltered.clear()
        if self._http_pool is not None:
            await self._http_pool.aclose()
            self._http_pool = None
        processes = list(self._litellm_processes.values())
        self._litellm_processes.clear()
        for process in processes:
            await process.aclose()

    async def fetch_models(self, provider: str) -> dict[str, "ModelFacts"]:
        """Return the models that the server of *provider* lists, none where it has no list.

        Raises ``ProviderError``, and what ``client_for`` raises.
        """
        from agent.provider import model_lists  # loads httpcore2

        api = self._catalog.api_of(provider)
        if api in model_lists.APIS_WITHOUT_MODEL_LIST:
            return {}
        endpoint = self._endpoint(provider, api)
        http = self._http(provider, endpoint.base_url)
        return await model_lists.fetch_model_list(http, endpoint, api)

    async def check_key(self, provider: str) -> dict[str, "ModelFacts"]:
        """Check the key of *provider* with one request that costs nothing, and return the models
        that its server lists. Raises as ``fetch_models``."""
        from agent.provider import model_lists  # loads httpcore2

        spec = KNOWN_PROVIDERS.get(provider)
        if (
            spec is not None
            and spec.key_check
            and not self._catalog.access.settings_of(provider).base_url
        ):
            endpoint = self._endpoint(provider, self._catalog.api_of(provider))
            http = self._http(provider, endpoint.base_url)
            await model_lists.request(http, endpoint, spec.key_check)
        return await self.fetch_models(provider)

    async def log_in(self, provider: str, login: DeviceLogin, show: "Show") -> str:
        """Log in at *provider* with a code, and return the key. Raises ``ProviderError`` and
        ``ConfigError``."""
        from agent.provider import device_login  # loads httpcore2

        return await device_login.log_in(self._http(provider, login.url), login, show)

    def _create(self, model: ModelInfo) -> ModelClient:
        if model.api == "demo":
            from agent.provider.demo import DemoClient  # most sessions never use the demo

            return DemoClient()
        if model.api == "litellm":
            return self._litellm_client(model.provider)
        with collection_paused():  # the first client loads 200 modules
            endpoint = self._endpoint(model.provider, model.api)
            limits = self._stream_limits(model.provider)
            http = self._http(model.provider, endpoint.base_url)
            return wire_client_class(model.api)(endpoint, http, limits)

    def _stream_limits(self, provider: str) -> "StreamLimits":
        from agent.provider.transport.http import StreamLimits  # loads httpcore2

        settings = self._catalog.access.settings_of(provider)
        limits = self._limits or StreamLimits()
        if settings.timeout is not None:
            limits = replace(limits, first_event_anywhere=settings.timeout)
        if settings.idle_timeout is not None:
            limits = replace(limits, idle=settings.idle_timeout)
            if settings.timeout is None and settings.idle_timeout != inf:
                limits = replace(limits, first_event_anywhere=settings.idle_timeout)
        return limits

    def _litellm_client(self, provider: str) -> ModelClient:
        from agent.provider.litellm import client, route  # most sessions never use litellm

        found = route.litellm_route(self._catalog, provider)
        user_keys = self._catalog.access.settings_of(provider).user_keys
        process = self._shared_litellm or self._litellm_process(user_keys=user_keys)
        return client.LitellmClient(found, process, self._stream_limits(provider))

    def _litellm_process(self, *, user_keys: bool) -> "LitellmProcess":
        """Return the process with the user's environment, or the one without any secret of it."""
        from agent.provider.litellm import process, route  # most sessions never use litellm

        if user_keys not in self._litellm_processes:
            env = self._catalog.access.env
            if not user_keys:
                env = route.environment_without_logins(env)
            self._litellm_processes[user_keys] = process.LitellmProcess(env)
        return self._litellm_processes[user_keys]

    def _http(self, provider: str, url: str) -> "Connections":
        # httpcore2 must stay off the start-up path; the first frame needs no network.
        from agent.provider.transport.connections import HttpPool  # loads httpcore2

        if self._http_pool is None:
            self._http_pool = HttpPool()
        settings = self._catalog.access.settings_of(provider)
        return self._http_pool.connections(url, settings.proxy, settings.ca)

    def _endpoint(self, provider: str, api: Api) -> "Endpoint":
        from agent.provider.protocols.wire_client import Endpoint  # loads httpcore2
        from agent.provider.transport.aws import AwsSigner  # only Bedrock signs requests

        access = self._catalog.access
        connection = access.connection(provider)
        spec = KNOWN_PROVIDERS.get(provider)
        key_header = spec.key_header if spec else "Authorization"
        user_headers = access.settings_of(provider).headers
        return Endpoint(
            provider=provider,
            base_url=connection.base_url,
            key=connection.key,
            key_header=KEY_HEADERS.get(api, key_header),
            headers={**(spec.headers if spec else {}), **user_headers},
            signer=AwsSigner(access.env) if access.uses_aws_signing(provider) else None,
        )


def wire_client_class(api: Api) -> "type[WireClient]":
    """Return the client class of the wire protocol *api*, loading its module."""
    module, name = WIRE_CLIENTS[api]
    return getattr(import_module(f"agent.provider.protocols.{module}"), name)


CONNECT_SECONDS = 0.5
ANSWER_SECONDS = 2.0


async def find_local_servers(catalog: Catalog) -> Mapping[str, Mapping[str, ModelFacts]]:
    """Return the models of the local servers, and put them into ``catalog.model_lists``.

    If nothing listens, this takes no time and does not load the HTTP client. A program that
    listens but is no model server, or is slow, is ignored.
    """
    names = [
        spec.id
        for spec in KNOWN_PROVIDERS.values()
        if spec.local and catalog.access.is_usable(spec.id)
    ]
    answers = await asyncio.gather(*(_models(catalog, name) for name in names))
    found = {name: models for name, models in zip(names, answers, strict=True) if models}
    catalog.model_lists.local_servers = found
    return found


async def _models(catalog: Catalog, provider: str) -> Mapping[str, ModelFacts]:
    if not await _listens(catalog.access.base_url(provider)):
        return {}
    clients = ClientPool(catalog)
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            return await clients.fetch_models(provider)
    except (OpencodePyError, TimeoutError):
        return {}
    finally:
        await clients.aclose()


async def _listens(url: str) -> bool:
    try:
        place = urlsplit(url)
        async with asyncio.timeout(CONNECT_SECONDS):
            _, writer = await asyncio.open_connection(place.hostname, place.port or 80)
    except (OSError, TimeoutError, ValueError):
        return False
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return True


@contextlib.contextmanager
def collection_paused() -> Generator[None]:
    """Make no garbage collections meanwhile: nothing of what is loaded is garbage."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
