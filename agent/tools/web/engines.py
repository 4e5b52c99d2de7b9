"""The search engines that ``websearch`` can query."""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Literal, TypeAlias

from agent.records.frozen import frozen
from agent.records.json import JsonObject

MAX_RESULTS = 10
"""The maximum number of results."""

MAX_SNIPPET = 400
"""Characters of a page's text in a result."""

Provider = Literal["searxng", "brave", "tavily", "exa"]
Fields: TypeAlias = tuple[str, str, tuple[str, ...]]


@frozen(kw_only=True)
class Engine:
    """A configured engine. *key* is "" if it needs none."""

    provider: Provider
    url: str
    key: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)


@frozen(kw_only=True)
class EngineSpec:
    """The interface of a kind of engine."""

    url: str
    key: str
    """The environment variable of its key."""

    header: str
    """The header of its key."""

    post: bool
    query: Callable[[str], JsonObject]
    """Builds the query of the URL, or the body."""

    results: tuple[str, ...]
    """The path to the list of results."""

    fields: Fields
    """The names of title, URL and text in a result; of text the first that exists."""


ENGINES: dict[Provider, EngineSpec] = {
    "searxng": EngineSpec(
        url="",
        key="",
        header="",
        post=False,
        query=lambda words: {"q": words, "format": "json"},
        results=("results",),
        fields=("title", "url", ("content",)),
    ),
    "brave": EngineSpec(
        url="https://api.search.brave.com/res/v1/web/search",
        key="BRAVE_API_KEY",
        header="x-subscription-token",
        post=False,
        query=lambda words: {"q": words, "count": MAX_RESULTS},
        results=("web", "results"),
        fields=("title", "url", ("description",)),
    ),
    "tavily": EngineSpec(
        url="https://api.tavily.com/search",
        key="TAVILY_API_KEY",
        header="authorization",
        post=True,
        query=lambda words: {"query": words, "max_results": MAX_RESULTS},
        results=("results",),
        fields=("title", "url", ("content",)),
    ),
    "exa": EngineSpec(
        url="https://api.exa.ai/search",
        key="EXA_API_KEY",
        header="x-api-key",
        post=True,
        query=lambda words: {
            "query": words,
            "numResults": MAX_RESULTS,
            "contents": {"text": {"maxCharacters": MAX_SNIPPET}},
        },
        results=("results",),
        fields=("title", "url", ("text", "summary")),
    ),
}


def engine_of(
    provider: Provider | None,
    url: str | None,
    key: str | None,
    headers: Mapping[str, str],
    env: Mapping[str, str],
) -> Engine | None:
    """Return the configured engine, None without one or without its URL or key."""
    if provider is None:
        return None
    spec = ENGINES[provider]
    found = key or (env.get(spec.key, "") if spec.key else "")
    where = url or spec.url
    if not where or (spec.key and not found):
        return None
    return Engine(provider=provider, url=where, key=found, headers=headers)
