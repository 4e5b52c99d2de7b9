"""The catalog of models: those of the known providers and those of the config.

A model is named ``provider/model``; only the first slash splits. Any model name of a known
provider is accepted, since providers add models faster than lists do: a model that no list
contains has no limits and no price.
"""

import difflib
from collections.abc import Collection, Iterable, Mapping

from agent.provider.catalog.access import ProviderAccess
from agent.provider.catalog.effort_levels import NEW_OPENAI, default_effort, effort_levels
from agent.provider.catalog.keys import KeyStore
from agent.provider.catalog.model_list_cache import ModelListCache
from agent.provider.catalog.model_preferences import ModelPreferences
from agent.provider.catalog.prices import ModelFacts, PriceList
from agent.provider.catalog.provider_settings import ModelSettings, ProviderSettings
from agent.provider.catalog.providers import DEMO, KNOWN_PROVIDERS, ProviderSpec, known_provider
from agent.provider.client import Api, ModelInfo
from agent.records.errors import ModelNotFound

DEMO_MODEL = ModelInfo(
    provider=DEMO, id="offline", name="Demo (offline, no language model)", api="demo"
)


class Catalog:
    """The models of the configured *providers* (by id), and of known ones with a key.

    Keys come from *env* and from *keys*; *disabled* providers are excluded. *model_lists* are the
    models that servers themselves list, *preferences* those that the user chose before, *effort*
    is the configured reasoning effort.
    """

    def __init__(
        self,
        providers: Mapping[str, ProviderSettings],
        default_model: str | None,
        env: Mapping[str, str],
        prices: PriceList | None = None,
        keys: KeyStore | None = None,
        model_lists: ModelListCache | None = None,
        preferences: ModelPreferences | None = None,
        disabled: Collection[str] = (),
        effort: str | None = None,
    ) -> None:
        self._settings = dict(providers)
        self._default = default_model
        self._effort = effort
        self._prices = prices or PriceList()
        self.preferences = preferences or ModelPreferences()
        self.access = ProviderAccess(providers, env, keys, disabled)
        self.model_lists = model_lists or ModelListCache()
        self._made: dict[tuple[str, str], tuple[object, ModelInfo]] = {}
        """The models that were asked for, with what they were made from: a step asks for its model
        twenty times."""

    def model(self, full_name: str) -> ModelInfo:
        """Return the model *full_name*. Raises ``ModelNotFound`` with the nearest names."""
        provider, _, name = full_name.strip().partition("/")
        if provider == DEMO:
            if name == DEMO_MODEL.id:
                return DEMO_MODEL
            raise ModelNotFound(f"There is no model {full_name}. The demo is demo/offline.")
        if not self._is_provider(provider):
            raise ModelNotFound(self._unknown_model_message(full_name, provider, name))
        if not name:
            raise ModelNotFound(
                f"{full_name} names no model. Write provider/model, "
                f"for example {self._example(provider)}."
            )
        return self._model_info(provider, name)

    def unlisted(self, full_name: str) -> str:
        """Return a sentence if the provider's known models lack *full_name*, else ""; its server
        can have it anyway."""
        provider, _, name = full_name.strip().partition("/")
        listed = [*self._configured_names(provider), *self._model_facts(provider)]
        if provider == DEMO or not listed or name in listed:
            return ""
        near = difflib.get_close_matches(name, listed, n=2, cutoff=0.6)
        hint = f" Did you mean {' or '.join(f'{provider}/{each}' for each in near)}?"
        return f"{full_name} is not among the known models of {provider}.{hint if near else ''}"

    def has_model(self, full_name: str) -> bool:
        """Return whether there is a model *full_name*, of a provider that is not disabled."""
        try:
            provider = self.model(full_name).provider
        except ModelNotFound:
            return False
        return provider == DEMO or provider in self.access.provider_ids()

    def models(self) -> list[ModelInfo]:
        """Return the models that can be used now, grouped by provider; the demo last."""
        found: list[ModelInfo] = []
        for provider in self.providers():
            names = dict.fromkeys([*self._configured_names(provider), *self._model_facts(provider)])
            lists = self.access.settings_of(provider).includes
            found.extend(self._model_info(provider, name) for name in names if lists(name))
        return [*found, DEMO_MODEL]

    def configured_models(self) -> list[str]:
        """Return the full names of the config's models, of providers that can be used."""
        listed = [
            f"{one}/{name}" for one in self.providers() for name in self._configured_names(one)
        ]
        return [*([self._default] if self._default else []), *listed]

    def providers(self) -> list[str]:
        """Return the ids of providers that can be used.

        The order is: configured, known with a key, known with another login, and the servers of
        this machine that were found.
        """
        known = [spec for spec in KNOWN_PROVIDERS.values() if self.access.is_usable(spec.id)]
        keyed = [spec.id for spec in known if self.access.key_of(spec.id)]
        others = [spec.id for spec in known if not spec.local]
        ids = dict.fromkeys([*self._settings, *keyed, *others, *self.model_lists.local_servers])
        return [name for name in ids if self.access.is_usable(name)]

    def default_model(self) -> str:
        """Return the full name of the model for new sessions.

        That is the configured model; else the one that was used last, if it can still be used;
        else one of a configured provider or one with a key; else the demo. AWS credentials and
        similar logins, which can exist for other reasons, choose no model, nor does a server that
        merely runs on this machine.
        """
        return self._chosen_default() or self._connected_default() or DEMO_MODEL.full_name

    @property
    def lacks_model(self) -> bool:
        """True if no model is connected, and the demo is only the last resort."""
        return not self._chosen_default() and not self._connected_default()

    def _chosen_default(self) -> str:
        return self._default or self.last_used_model

    def _connected_default(self) -> str:
        for provider in self.providers():
            for name in self._configured_names(provider):
                return f"{provider}/{name}"
            spec = KNOWN_PROVIDERS.get(provider)
            if spec is not None and spec.flagship and self.access.key_of(provider):
                return f"{provider}/{spec.flagship}"
        return ""

    @property
    def last_used_model(self) -> str:
        """The model that the user chose last, "" if it is unusable or the config names one."""
        last = next(iter(self.preferences.recent), "")
        provider = last.partition("/")[0]
        usable = provider == DEMO or self.access.is_usable(provider)
        return last if usable and not self._default else ""

    def api_of(self, provider: str) -> Api:
        """Return the protocol of requests to *provider*."""
        if self.access.transport_of(provider) == "litellm":
            return "litellm"
        return _api(KNOWN_PROVIDERS.get(provider), self.access.settings_of(provider))

    def known_to_litellm(self, provider: str) -> bool:
        """Return whether litellm knows a provider of this very id."""
        return bool(self._prices.models(provider))

    def small_model(self, provider: str) -> str | None:
        """Return the full name of *provider*'s small model for titles, None if it is unknown."""
        spec = KNOWN_PROVIDERS.get(provider)
        name = self.access.settings_of(provider).small_model or (spec.small_model if spec else None)
        return f"{provider}/{name}" if name else None

    def add_provider(self, settings: ProviderSettings) -> None:
        """Add a provider that the user has just connected."""
        self._settings[settings.id] = settings
        self.access.add(settings)

    def _is_provider(self, provider: str) -> bool:
        return provider in self._settings or provider in KNOWN_PROVIDERS

    def _configured_names(self, provider: str) -> Iterable[str]:
        return self.access.settings_of(provider).models

    def _model_facts(self, provider: str) -> Mapping[str, ModelFacts]:
        """Return the facts of the provider's models; its server overrides the price list."""
        spec = KNOWN_PROVIDERS.get(provider)
        if spec is not None:
            names = spec.price_list_names
        else:  # litellm knows any of its providers under its own name
            through = self.access.transport_of(provider) == "litellm"
            names = (provider,) if through else ()
        listed: dict[str, ModelFacts] = {}
        for name in names:
            listed |= self._prices.models(name)
        for name, facts in self.model_lists.models(provider).items():
            listed[name] = facts.merged_over(listed.get(name))
        return listed

    def _model_info(self, provider: str, name: str) -> ModelInfo:
        transport = self.access.transport_of(provider)
        made_from = (self._settings.get(provider), self.model_lists.revision, transport)
        known = self._made.get((provider, name))
        if known is None or known[0] != made_from:
            known = made_from, self._make_model_info(provider, name)
            self._made[provider, name] = known
        return known[1]

    def _make_model_info(self, provider: str, name: str) -> ModelInfo:
        spec = KNOWN_PROVIDERS.get(provider)
        settings = self.access.settings_of(provider)
        own = settings.models.get(name) or ModelSettings()
        base_url = self.access.base_url(provider)
        site = known_provider(provider, base_url)
        wire_id = own.wire_id or name
        facts = self._model_facts(provider).get(wire_id) or self._model_facts(site).get(wire_id)
        facts, api = facts or ModelFacts(), self.api_of(provider)
        reasoning = facts.reasoning if own.reasoning is None else own.reasoning
        wire_name = (own.wire_id or name).lower()
        levels = own.efforts
        if levels is None:
            found = effort_levels(api, site, wire_name, facts.efforts)
            levels = found if reasoning else ()
        return ModelInfo(
            provider=provider,
            id=name,
            name=own.name or name,
            api=api,
            base_url=base_url,
            context_limit=_first(own.context_limit, facts.context_limit),
            input_limit=own.input_limit,
            output_limit=_first(own.output_limit, facts.output_limit),
            tools=facts.tools if own.tools is None else own.tools,
            vision=facts.vision if own.vision is None else own.vision,
            documents=facts.documents if own.documents is None else own.documents,
            reasoning=reasoning,
            temperature=_takes_temperature(spec, own.wire_id or name)
            if own.temperature is None
            else own.temperature,
            efforts=levels,
            default_effort=default_effort(wire_name, levels, own.effort, self._effort),
            price=own.price or facts.price,
            wire_id=own.wire_id,
            created=facts.created,
        )

    def _unknown_model_message(self, full_name: str, provider: str, name: str) -> str:
        ids = [*self._settings, *KNOWN_PROVIDERS, DEMO]
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
            f"There is no provider {provider}.{hint} To add your own provider, set "
            f"provider.{provider}.options.baseURL in the config."
        )

    def _example(self, provider: str) -> str:
        if provider == DEMO:
            return DEMO_MODEL.full_name
        spec = KNOWN_PROVIDERS.get(provider)
        name = next(iter(self._configured_names(provider)), spec.flagship if spec else None)
        return f"{provider}/{name or 'model'}"


def _first(*values: int | None) -> int | None:
    return next((value for value in values if value is not None), None)


def _api(spec: ProviderSpec | None, settings: ProviderSettings) -> Api:
    """Return the protocol: the config's, else the provider's own.

    A base URL of the user's instead of OpenAI's is a gateway; all gateways support chat
    completions.
    """
    own = spec.api if spec else "openai-chat"
    if own == "openai-responses" and settings.base_url:
        own = "openai-chat"
    return settings.api or own


def _takes_temperature(spec: ProviderSpec | None, name: str) -> bool:
    """Return whether the model takes a temperature: OpenAI's reasoning models refuse it."""
    openai = spec is not None and spec.id in ("openai", "azure")
    return not (openai and NEW_OPENAI.match(name))
