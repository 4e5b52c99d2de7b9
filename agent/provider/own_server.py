"""Connecting an OpenAI-compatible server of the user's own: its address, its check, its id."""

import re
from collections.abc import Iterable, Mapping
from urllib.parse import SplitResult, urlsplit

from agent.config.paths import is_near
from agent.provider.catalog.prices import ModelFacts
from agent.records.errors import ConfigError, ProviderError, ProviderErrorKind

ENDPOINTS = re.compile(r"/(chat/completions|completions|responses|models)$")
"""Paths below the base URL, which users copy along with it."""

NO_LIST = frozenset({404, 405, 501})
"""The statuses of a server that does not list its models, or not at this address."""


def base_url_of(typed: str) -> str:
    """Return the base URL that the user *typed*, completed. Raises ``ConfigError``."""
    text = typed.strip()
    if "://" not in text:
        host = text.partition("/")[0].partition(":")[0]
        text = f"{'http' if is_near(host) else 'https'}://{text}"
    text = ENDPOINTS.sub("", text.rstrip("/"))
    found = _split(text)
    if found is None or found.scheme not in {"http", "https"} or re.search(r"\s", text):
        raise ConfigError("That is not an address. An example: http://192.168.1.5:8000/v1")
    return text


def server_id(url: str, taken: Iterable[str]) -> str:
    """Return an id for the server at *url*: its host and port, numbered if that is *taken*."""
    found = urlsplit(url)
    host = "localhost" if found.hostname in {"127.0.0.1", "::1"} else found.hostname or "server"
    name = host.replace(":", "-") + (f"-{found.port}" if found.port else "")
    used = set(taken)
    numbered = (f"{name}-{number}" for number in range(2, len(used) + 3))
    return next(each for each in (name, *numbered) if each not in used)


async def check_server(url: str, key: str) -> tuple[str, Mapping[str, ModelFacts]]:
    """Return the base URL that works, and the models that the server lists there.

    The list is empty if the server has none. An address without a path gets ``/v1`` if that is
    where the models are. Raises ``ProviderError`` with what to do.
    """
    tried = [url] if urlsplit(url).path else [f"{url}/v1", url]
    for each in tried:
        try:
            return each, await _list_models(each, key)
        except ProviderError as error:
            if error.status not in NO_LIST:
                raise _explained(error, url, key) from error
    return tried[0], {}


async def _list_models(url: str, key: str) -> Mapping[str, ModelFacts]:
    from agent.provider.model_lists import fetch_model_list  # loads httpcore2
    from agent.provider.protocols.wire_client import Endpoint  # loads httpcore2
    from agent.provider.transport.connections import HttpPool  # loads httpcore2

    endpoint = Endpoint(provider="the server", base_url=url, key=key)
    pool = HttpPool()
    try:
        return await fetch_model_list(pool.connections(url), endpoint, "openai-chat")
    finally:
        await pool.aclose()


def _explained(error: ProviderError, url: str, key: str) -> ProviderError:
    """Return *error* in the words of someone who has just typed *url* and *key*."""
    message = error.message
    if error.kind is ProviderErrorKind.AUTH:
        message = "The server refused the key." if key else "The server needs a key."
    elif error.kind is ProviderErrorKind.NETWORK and isinstance(error.__cause__, ValueError):
        message = f"The server at {url} does not speak OpenAI's protocol. Check the address."
    elif error.kind is ProviderErrorKind.NETWORK:
        message = f"Nothing answers at {url}. Check the address, the network and the server."
    return ProviderError(error.kind, message, status=error.status)


def _split(text: str) -> SplitResult | None:
    try:
        found = urlsplit(text)
        port = found.port
    except ValueError:
        return None
    return found if found.hostname and port != 0 else None
