"""How each provider can be reached: its key or login, its address, and what is missing."""

import difflib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from agent.provider.catalog.keys import KeyStore, NoKeyStore, key_error
from agent.provider.catalog.providers import KNOWN_PROVIDERS, Transport
from agent.provider.catalog.settings import ProviderSettings
from agent.records.errors import MissingKey

VARIABLE_ALIASES = {"AWS_REGION": "AWS_DEFAULT_REGION"}
"""A second variable for the same, which counts where the first is not set."""

PLACEHOLDER = re.compile(r"\$\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class FoundKey:
    """A provider's *key*, "" for none, and where it came from: a variable's name, or words."""

    key: str = field(default="", repr=False)
    source: str = ""

    def __bool__(self) -> bool:
        return bool(self.key)


class ProviderAccess:
    """The way to the providers of the config (by id) and the known ones, by what is in *env* and
    in *keys*; to those that are *disabled* there is none."""

    def __init__(
        self,
        settings: Mapping[str, ProviderSettings],
        env: Mapping[str, str],
        keys: KeyStore | None = None,
        disabled: Collection[str] = (),
    ) -> None:
        self._settings = dict(settings)
        self._disabled = frozenset(disabled)
        self._env = dict(env)
        self.keys = keys or NoKeyStore()

    def provider_ids(self) -> list[str]:
        """The ids of all providers, those of the config first."""
        ids = dict.fromkeys([*self._settings, *KNOWN_PROVIDERS])
        return [name for name in ids if name not in self._disabled]

    def display_name(self, provider: str) -> str:
        """The name that is shown."""
        spec = KNOWN_PROVIDERS.get(provider)
        return self.settings_of(provider).name or (spec.name if spec else provider)

    def is_local(self, provider: str) -> bool:
        """Whether *provider* is a server of this machine on its usual port."""
        spec = KNOWN_PROVIDERS.get(provider)
        return bool(spec and spec.local) and self.settings_of(provider).base_url is None

    def key_page(self, provider: str) -> str:
        """Where keys of *provider* are made, "" where that is not known."""
        spec = KNOWN_PROVIDERS.get(provider)
        return spec.key_page if spec else ""

    def key_refusal(self, provider: str) -> str:
        """Why a key for *provider* is not kept, "" where it can be."""
        spec = KNOWN_PROVIDERS.get(provider)
        if provider not in self.provider_ids():
            near = difflib.get_close_matches(provider, self.provider_ids(), n=2, cutoff=0.6)
            hint = f" Did you mean {' or '.join(near)}?" if near else ""
            return f"There is no provider {provider}.{hint} auth list --all names all."
        if not self.settings_of(provider).user_keys:
            return f"{provider} is defined by this project, so it gets no key of yours."
        if spec is not None and not spec.key_variables:
            return f"{spec.name} needs no key."
        return ""

    def settings_of(self, provider: str) -> ProviderSettings:
        """The config's settings of *provider*, empty ones where it has none."""
        return self._settings.get(provider) or ProviderSettings(id=provider)

    def key_of(self, provider: str) -> FoundKey:
        """The key of *provider*: from the config, else the first set variable, else a stored
        one."""
        settings = self.settings_of(provider)
        if settings.api_key:
            return FoundKey(settings.api_key.strip(), "config")
        if not settings.user_keys:
            return FoundKey()
        for name in self.key_variables(provider):
            if key := self._value(name):
                return FoundKey(key, name)
        stored = self.keys.stored().get(provider)
        return FoundKey(stored.key, "stored") if stored else FoundKey()

    def login_of(self, provider: str) -> str:
        """The variable that tells of another login than a key; "" without. Only known providers
        have one, and none whose base URL a project has set."""
        spec = KNOWN_PROVIDERS.get(provider)
        if spec is None or not self.settings_of(provider).user_keys:
            return ""
        return next((name for name in spec.login_variables if self._value(name)), "")

    def transport_of(self, provider: str) -> Transport:
        """How *provider* is asked: as the config says, else in its own protocol where that can
        be, else through litellm, which knows every other login than a key (R1)."""
        spec = KNOWN_PROVIDERS.get(provider)
        own = spec.transport if spec else "http"
        if own == "http" and not self.key_of(provider) and self.login_of(provider):
            own = "http" if self._can_sign(provider) else "litellm"
        return self.settings_of(provider).transport or own

    def uses_aws_signing(self, provider: str) -> bool:
        """Whether our requests to *provider* are signed with AWS credentials instead of a key."""
        through = self.transport_of(provider) == "litellm"
        return not through and not self.key_of(provider) and self._can_sign(provider)

    def _can_sign(self, provider: str) -> bool:
        """Where the region is not known, only a profile may tell it, which litellm reads."""
        spec = KNOWN_PROVIDERS.get(provider)
        if spec is None or not spec.aws_signing or not self.login_of(provider):
            return False
        return PLACEHOLDER.search(self.base_url(provider)) is None

    def key_variables(self, provider: str) -> tuple[str, ...]:
        """The variables that may hold the key of *provider*."""
        spec = KNOWN_PROVIDERS.get(provider)
        return self.settings_of(provider).key_variables or (spec.key_variables if spec else ())

    def missing_variable(self, provider: str) -> str:
        """The variable that the address of *provider* lacks, "" where it is whole."""
        missing = PLACEHOLDER.search(self.base_url(provider))
        return missing[1] if missing else ""

    def base_url(self, provider: str) -> str:
        """The base URL, with ``${NAME}`` filled from the environment where it is set."""
        spec = KNOWN_PROVIDERS.get(provider)
        url = self.settings_of(provider).base_url or (spec.base_url if spec else "")
        return PLACEHOLDER.sub(lambda match: self._value(match[1]) or match[0], url)

    def is_usable(self, provider: str) -> bool:
        """Whether nothing is missing to ask *provider*, and nothing is against it."""
        if provider in self._disabled:
            return False
        url = self.base_url(provider)
        through = self.transport_of(provider) == "litellm"
        if not (url or through) or (PLACEHOLDER.search(url) and not self.login_of(provider)):
            return False
        other = through or self._can_sign(provider)
        has_login = self.key_of(provider) or (other and self.login_of(provider))
        return bool(has_login) or not self.needs_key(provider)

    def needs_key(self, provider: str) -> bool:
        """Known remote providers do; one with a base URL of the user's may do without, unless
        the config names the variable."""
        settings = self.settings_of(provider)
        spec = KNOWN_PROVIDERS.get(provider)
        known = (
            bool(spec and (spec.key_variables or spec.login_variables))
            and settings.base_url is None
        )
        return bool(settings.key_variables) or known

    def _value(self, name: str) -> str:
        found = self._env.get(name) or self._env.get(VARIABLE_ALIASES.get(name, ""), "")
        return found.strip()

    @property
    def env(self) -> Mapping[str, str]:
        """The environment that keys are taken from."""
        return self._env

    def connection(self, provider: str) -> "Connection":
        """How to ask *provider*. Raises ``MissingKey``, which says what to do."""
        if provider in self._disabled:
            raise MissingKey(f"{provider} is off: it stands in disabled_providers of the config.")
        through = self.transport_of(provider) == "litellm"
        return Connection(
            key=self._key(provider), base_url=self._address(provider, through=through)
        )

    def _key(self, provider: str) -> str:
        found = self.key_of(provider)
        if not found and self.needs_key(provider) and not self.login_of(provider):
            raise MissingKey(self.missing_key_message(provider))
        if found and (wrong := key_error(found.key)):
            place = "" if found.source in {"config", "stored"} else f" in {found.source}"
            raise MissingKey(f"The key of {provider}{place} cannot be used. {wrong}")
        return found.key

    def missing_key_message(self, provider: str) -> str:
        """What to do about a key that is missing (R10)."""
        spec = KNOWN_PROVIDERS.get(provider)
        names = " or ".join(self.key_variables(provider))
        ways = [f"set {names}"] if names else []
        if spec is not None and spec.login_variables:
            kind = "AWS login" if spec.aws_signing else "login that litellm knows"
            ways.append(f"set {spec.login_variables[0]} or another {kind}")
        if names:
            ways.append(f"run opencode-py auth login {provider} (/connect in the program)")
        where = self.key_page(provider) if names else ""
        at = f" Keys are made at {where}." if where else ""
        todo = ", or ".join(ways)
        return f"{self.display_name(provider)} needs a key: {todo}.{at}"

    def _address(self, provider: str, *, through: bool) -> str:
        url = self.base_url(provider)
        missing = PLACEHOLDER.search(url)
        if through and (missing is None or self.login_of(provider)):
            return "" if missing else url
        if missing:
            raise MissingKey(f"{provider} needs {missing[1]}, a part of its address. Set it.")
        if not url:
            raise MissingKey(
                f"{provider} has no address. Set provider.{provider}.options.baseURL in the config."
            )
        return url


@dataclass(frozen=True, slots=True)
class Connection:
    """Where to send a request, "" where litellm knows it, and the key, "" for none."""

    base_url: str
    key: str = field(default="", repr=False)
