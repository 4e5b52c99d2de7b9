"""What the config says of providers and their models (spec 10, K5)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from agent.provider.catalog.providers import Transport
from agent.provider.client import Api, Price


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """What the config says of a model; None leaves what the lists say."""

    name: str | None = None
    wire_id: str = ""
    context_limit: int | None = None
    input_limit: int | None = None
    output_limit: int | None = None
    tools: bool | None = None
    vision: bool | None = None
    documents: bool | None = None
    reasoning: bool | None = None
    temperature: bool | None = None
    efforts: tuple[str, ...] | None = None
    price: Price | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSettings:
    """A provider of the config (spec 10, K5): a known one that is changed, or one of its own.

    *env* names the variables that may hold its key, () keeps those that are known. *timeout* is
    the longest wait for the first event and *idle_timeout* the one between events, in seconds
    (infinity for no limit); None keeps the rules of L12a. *env_key* false keeps keys of the
    environment and stored ones from this provider: for a base URL that a project, not the user,
    has set. *small* is the model for titles, None for the one that is known. Models *without* are
    not listed, nor is any but *only* where that names some.
    """

    id: str
    name: str | None = None
    api: Api | None = None
    transport: Transport | None = None
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    key_variables: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    timeout: float | None = None
    idle_timeout: float | None = None
    proxy: str | None = None
    ca: str | None = None
    models: Mapping[str, ModelSettings] = field(default_factory=dict[str, ModelSettings])
    user_keys: bool = True
    small_model: str | None = None
    included: frozenset[str] = frozenset()
    excluded: frozenset[str] = frozenset()

    def includes(self, model: str) -> bool:
        """Whether *model* is to be listed."""
        return model not in self.excluded and (not self.included or model in self.included)
