"""Which models there are: the known providers, those of the config, and what is known of each.

A model is named ``provider/model``; only the first slash splits. Any model name of a known
provider is taken, since providers add models faster than lists do: what the lists don't know
has no limits and no price.
"""

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from agent.errors import ModelNotFound
from agent.provider.client import Api, ModelInfo, Price
from agent.provider.prices import ModelFacts, PriceList
from agent.provider.providers import DEMO, KNOWN, NEW_OPENAI, ProviderSpec, site_of
from agent.provider.quirks.levels import levels_of

DEMO_MODEL = ModelInfo(
    provider=DEMO, id="offline", name="Demo (offline, no language model)", api="demo"
)
PLACEHOLDER = re.compile(r"\$\{(\w+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """What the config says of a model; None leaves what the lists say."""

    name: str | None = None
    wire_id: str = ""
    context_limit: int | None = None
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
    environment from this provider: for a base URL that a project, not the user, has set.
    """

    id: str
    name: str | None = None
    api: Api | None = None
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    env: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    timeout: float | None = None
    idle_timeout: float | None = None
    proxy: str | None = None
    ca: str | None = None
    models: Mapping[str, ModelSettings] = field(default_factory=dict[str, ModelSettings])
    env_key: bool = True


class Catalog:
    """The models of *providers* (by id) and of the known ones whose key is in *env*."""

    def __init__(
        self,
        providers: Mapping[str, ProviderSettings],
        default_model: str | None,
        env: Mapping[str, str],
        prices: PriceList | None = None,
    ) -> None:
        self._settings = dict(providers)
        self._default = default_model
        self._env = dict(env)
        self._prices = prices or PriceList()

    def model(self, full_name: str) -> ModelInfo:
        """The model *full_name*. Raises ``ModelNotFound``, with the nearest names."""
        provider, _, name = full_name.strip().partition("/")
        if provider == DEMO:
            if name == DEMO_MODEL.id:
                return DEMO_MODEL
            raise ModelNotFound(f"There is no model {full_name}. The demo is demo/offline.")
        if not self._is_provider(provider):
            raise ModelNotFound(self._no_such(full_name, provider, name))
        if not name:
            raise ModelNotFound(
                f"{full_name} names no model. Write provider/model, "
                f"for example {self._example(provider)}."
            )
        return self._info(provider, name)

    def models(self) -> list[ModelInfo]:
        """The models that can be used now, sorted by provider; the demo last."""
        found: list[ModelInfo] = []
        for provider in self.providers():
            names = dict.fromkeys([*self._own(provider), *self._listed(provider)])
            found.extend(self._info(provider, name) for name in names)
        return [*found, DEMO_MODEL]

    def providers(self) -> list[str]:
        """The ids of providers that can be used: configured, or known with a key in the
        environment."""
        ids = dict.fromkeys(self._settings)
        ids |= dict.fromkeys(name for name in KNOWN if self.key_of(name) and name not in ids)
        return [name for name in ids if self.usable(name)]

    def default_model(self) -> str:
        """The configured model; else one of a configured or keyed provider; else the demo."""
        if self._default:
            return self._default
        for provider in self.providers():
            for name in self._own(provider):
                return f"{provider}/{name}"
            spec = KNOWN.get(provider)
            if spec is not None and spec.flagship:
                return f"{provider}/{spec.flagship}"
        return DEMO_MODEL.full_name

    def settings_of(self, provider: str) -> ProviderSettings:
        """The config's settings of *provider*, empty ones where it has none."""
        return self._settings.get(provider) or ProviderSettings(id=provider)

    def key_of(self, provider: str) -> str:
        """The key of *provider*: from the config, else the first set variable; "" without."""
        settings = self.settings_of(provider)
        if settings.api_key:
            return settings.api_key.strip()
        if not settings.env_key:
            return ""
        return next((key for name in self.key_names(provider) if (key := self._value(name))), "")

    def key_names(self, provider: str) -> tuple[str, ...]:
        """The variables that may hold the key of *provider*."""
        spec = KNOWN.get(provider)
        return self.settings_of(provider).env or (spec.keys if spec else ())

    def base_url(self, provider: str) -> str:
        """The base URL, with ``${NAME}`` filled from the environment where it is set."""
        spec = KNOWN.get(provider)
        url = self.settings_of(provider).base_url or (spec.base_url if spec else "")
        return PLACEHOLDER.sub(lambda match: self._value(match[1]) or match[0], url)

    def usable(self, provider: str) -> bool:
        """Whether nothing is missing to ask *provider*."""
        url = self.base_url(provider)
        if not url or PLACEHOLDER.search(url):
            return False
        return bool(self.key_of(provider)) or not self.needs_key(provider)

    def needs_key(self, provider: str) -> bool:
        """Known remote providers do; one with a base URL of the user's may do without, unless
        the config names the variable."""
        settings = self.settings_of(provider)
        return bool(settings.env or (self.key_names(provider) and settings.base_url is None))

    def _value(self, name: str) -> str:
        return self._env.get(name, "").strip()

    def _is_provider(self, provider: str) -> bool:
        return provider in self._settings or provider in KNOWN

    def _own(self, provider: str) -> Iterable[str]:
        return self.settings_of(provider).models

    def _listed(self, provider: str) -> Mapping[str, ModelFacts]:
        spec = KNOWN.get(provider)
        return self._prices.models(spec.prices) if spec and spec.prices else {}

    def _info(self, provider: str, name: str) -> ModelInfo:
        spec = KNOWN.get(provider)
        settings = self.settings_of(provider)
        own = settings.models.get(name) or ModelSettings()
        site = site_of(provider, self.base_url(provider))
        facts = self._listed(site).get(own.wire_id or name) or ModelFacts()
        api, base_url = _api(spec, settings), self.base_url(provider)
        reasoning = facts.reasoning if own.reasoning is None else own.reasoning
        wire_name = (own.wire_id or name).lower()
        levels = levels_of(api, site, wire_name, facts.listed)
        return ModelInfo(
            provider=provider,
            id=name,
            name=own.name or name,
            api=api,
            base_url=base_url,
            context_limit=_first(own.context_limit, facts.context_limit),
            output_limit=_first(own.output_limit, facts.output_limit),
            tools=facts.tools if own.tools is None else own.tools,
            vision=facts.vision if own.vision is None else own.vision,
            documents=facts.documents if own.documents is None else own.documents,
            reasoning=reasoning,
            temperature=_takes_temperature(spec, own.wire_id or name)
            if own.temperature is None
            else own.temperature,
            efforts=own.efforts if own.efforts is not None else levels if reasoning else (),
            price=own.price or facts.price,
            wire_id=own.wire_id,
        )

    def _no_such(self, full_name: str, provider: str, name: str) -> str:
        ids = [*self._settings, *KNOWN, DEMO]
        near = difflib.get_close_matches(provider, ids, n=2, cutoff=0.6)
        names = [f"{other}/{name}" if name else self._example(other) for other in near]
        if not name:
            # A bare model name: look whether some provider has it.
            everywhere = [model.full_name for model in self.models()]
            by_id = [full for full in everywhere if full.partition("/")[2] == provider]
            close = difflib.get_close_matches(full_name, everywhere, n=3, cutoff=0.6)
            names = list(dict.fromkeys([*by_id, *names, *close]))[:3]
        hint = f" Did you mean {' or '.join(names)}?" if names else ""
        if not name:
            return f"There is no model {full_name}: models are named provider/model.{hint}"
        return (
            f"There is no provider {provider}.{hint} A provider of your own goes into the config "
            f"as provider.{provider} with options.baseURL."
        )

    def _example(self, provider: str) -> str:
        if provider == DEMO:
            return DEMO_MODEL.full_name
        spec = KNOWN.get(provider)
        name = next(iter(self._own(provider)), spec.flagship if spec else None)
        return f"{provider}/{name or 'model'}"


def _first(*values: int | None) -> int | None:
    return next((value for value in values if value is not None), None)


def _api(spec: ProviderSpec | None, settings: ProviderSettings) -> Api:
    """The protocol: the config's, else the provider's own. Behind a base URL of the user's in
    place of OpenAI's stands a gateway, and what all of those speak is chat completions."""
    own = spec.api if spec else "openai-chat"
    if own == "openai-responses" and settings.base_url:
        own = "openai-chat"
    return settings.api or own


def _takes_temperature(spec: ProviderSpec | None, name: str) -> bool:
    """OpenAI's reasoning models refuse any temperature but their own."""
    openai = spec is not None and spec.id in ("openai", "azure")
    return not (openai and NEW_OPENAI.match(name))
