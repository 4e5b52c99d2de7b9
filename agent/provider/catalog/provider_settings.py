"""Settings of providers and their models, from the config."""

from collections.abc import Mapping
from dataclasses import field

from agent.provider.catalog.providers import Transport
from agent.provider.client import Api, Price
from agent.records.frozen import frozen


@frozen(kw_only=True)
class ModelSettings:
    """The config's settings of a model; None keeps the value of the lists."""

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
    effort: str | None = None
    price: Price | None = None


@frozen(kw_only=True)
class ProviderSettings:
    """The config's settings of a provider: a known one that is changed, or a new one."""

    id: str
    name: str | None = None
    api: Api | None = None
    transport: Transport | None = None
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    key_variables: tuple[str, ...] = ()
    """The variables that can hold its key, () for those of the known provider."""

    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    timeout: float | None = None
    """The longest wait for the first event in seconds, infinity for no limit, None for the
    default."""

    idle_timeout: float | None = None
    """The longest wait between events, in the same form."""

    proxy: str | None = None
    """The URL of the proxy for this provider."""

    ca: str | None = None
    """A file or folder of certificates for this provider."""

    models: Mapping[str, ModelSettings] = field(default_factory=dict[str, ModelSettings])
    user_keys: bool = True
    """False to keep the user's keys, stored or in the environment, from this provider: a project,
    not the user, has set its base URL."""

    small_model: str | None = None
    """The model for titles, None for that of the known provider."""

    included: frozenset[str] = frozenset()
    """The only models that are listed, if any are named."""

    excluded: frozenset[str] = frozenset()
    """Models that are not listed."""

    def includes(self, model: str) -> bool:
        """Return whether *model* is to be listed."""
        return model not in self.excluded and (not self.included or model in self.included)
