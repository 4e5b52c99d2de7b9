"""Access to each provider: its key or login, its address, and what is missing."""

import difflib
import re
from collections.abc import Collection, Mapping
from dataclasses import field, replace

from agent.provider.catalog.keys import KeyStore, NoKeyStore, key_error
from agent.provider.catalog.provider_settings import ProviderSettings
from agent.provider.catalog.providers import KNOWN_PROVIDERS, DeviceLogin, Transport
from agent.records.errors import MissingKey
from agent.records.frozen import frozen

VARIABLE_ALIASES = {"AWS_REGION": "AWS_DEFAULT_REGION"}
"""The variable that counts where the first one is not set."""

PLACEHOLDER = re.compile(r"\$\{(\w+)\}")


@frozen
class FoundKey:
    """A provider's key and its source."""

    key: str = field(default="", repr=False)
    """The key, "" for none."""

    source: str = ""
    """The name of a variable, ``config`` or ``stored``."""

    def __bool__(self) -> bool:
        return bool(self.key)


class ProviderAccess:
    """Access to the providers of the config (by id) and the known ones.

    Keys come from *env* and from *keys*. *disabled* providers are never used.
    """

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
        """Return the ids of all providers, those of the config first."""
        ids = dict.fromkeys([*self._settings, *KNOWN_PROVIDERS])
        return [name for name in ids if name not in self._disabled]

    def display_name(self, provider: str) -> str:
        """Return the name that users see."""
        spec = KNOWN_PROVIDERS.get(provider)
        return self.settings_of(provider).name or (spec.name if spec else provider)

    def is_local(self, provider: str) -> bool:
        """Return whether *provider* is a server of this machine on its default port."""
        spec = KNOWN_PROVIDERS.get(provider)
        return bool(spec and spec.local) and self.settings_of(provider).base_url is None

    def is_own_server(self, provider: str) -> bool:
        """Return whether *provider* is a server that the user runs or has configured."""
        spec = KNOWN_PROVIDERS.get(provider)
        address = self.settings_of(provider).base_url
        return bool(address) if spec is None else spec.local

    def key_page(self, provider: str) -> str:
        """Return the page where keys of *provider* are made, "" where it is unknown."""
        spec = KNOWN_PROVIDERS.get(provider)
        return spec.key_page if spec else ""

    def device_login(self, provider: str) -> DeviceLogin | None:
        """Return the login with a code that gives a key of *provider*, None if there is none."""
        spec = KNOWN_PROVIDERS.get(provider)
        login = spec.device_login if spec else None
        if login is None:
            return None
        return replace(login, url=self._variable(login.url_variable).rstrip("/") or login.url)

    def key_refusal(self, provider: str) -> str:
        """Return the reason why no key for *provider* is stored, "" where one can be."""
        spec = KNOWN_PROVIDERS.get(provider)
        if provider not in self.provider_ids():
            near = difflib.get_close_matches(provider, self.provider_ids(), n=2, cutoff=0.6)
            hint = f" Did you mean {' or '.join(near)}?" if near else ""
            return f"There is no provider {provider}.{hint} auth list --all lists all of them."
        if not self.settings_of(provider).user_keys:
            return f"{provider} is defined by this project, so it gets none of your keys."
        if spec is not None and not spec.key_variables:
            return f"{spec.name} needs no key."
        return ""

    def add(self, settings: ProviderSettings) -> None:
        """Add a provider that the user has just connected."""
        self._settings[settings.id] = settings

    def settings_of(self, provider: str) -> ProviderSettings:
        """Return the config's settings of *provider*, empty ones where it has none."""
        return self._settings.get(provider) or ProviderSettings(id=provider)

    def key_of(self, provider: str) -> FoundKey:
        """Return the key from the config, else from the first set variable, else a stored one."""
        settings = self.settings_of(provider)
        if settings.api_key:
            return FoundKey(settings.api_key.strip(), "config")
        if not settings.user_keys:
            return FoundKey()
        for name in self.key_variables(provider):
            if key := self._variable(name):
                return FoundKey(key, name)
        stored = self.keys.stored().get(provider)
        return FoundKey(stored.key, "stored") if stored else FoundKey()

    def login_of(self, provider: str) -> str:
        """Return the set variable of another login than a key, "" without one.

        Only known providers have such a login, and none whose base URL a project has set.
        """
        spec = KNOWN_PROVIDERS.get(provider)
        if spec is None or not self.settings_of(provider).user_keys:
            return ""
        return next((name for name in spec.login_variables if self._variable(name)), "")

    def transport_of(self, provider: str) -> Transport:
        """Return the transport of requests to *provider*.

        That is the one of the config, else the provider's own protocol where that is possible,
        else litellm, which supports every other login than a key.
        """
        spec = KNOWN_PROVIDERS.get(provider)
        own = spec.transport if spec else "http"
        if own == "http" and not self.key_of(provider) and self.login_of(provider):
            own = "http" if self._can_sign(provider) else "litellm"
        return self.settings_of(provider).transport or own

    def uses_aws_signing(self, provider: str) -> bool:
        """Return whether requests to *provider* are signed with AWS credentials."""
        through = self.transport_of(provider) == "litellm"
        return not through and not self.key_of(provider) and self._can_sign(provider)

    def _can_sign(self, provider: str) -> bool:
        """Return whether AWS credentials and the region are known.

        A profile can hold the region too, but only litellm reads it.
        """
        spec = KNOWN_PROVIDERS.get(provider)
        if spec is None or not spec.aws_signing or not self.login_of(provider):
            return False
        return PLACEHOLDER.search(self.base_url(provider)) is None

    def key_variables(self, provider: str) -> tuple[str, ...]:
        """Return the variables that can hold the key of *provider*."""
        spec = KNOWN_PROVIDERS.get(provider)
        return self.settings_of(provider).key_variables or (spec.key_variables if spec else ())

    def missing_variable(self, provider: str) -> str:
        """Return the variable that the address of *provider* lacks, "" where it is complete."""
        missing = PLACEHOLDER.search(self.base_url(provider))
        return missing[1] if missing else ""

    def base_url(self, provider: str) -> str:
        """Return the base URL, with ``${NAME}`` replaced by variables that are set."""
        spec = KNOWN_PROVIDERS.get(provider)
        url = self.settings_of(provider).base_url or (spec.base_url if spec else "")
        return PLACEHOLDER.sub(lambda match: self._variable(match[1]) or match[0], url)

    def is_usable(self, provider: str) -> bool:
        """Return whether requests to *provider* are possible: enabled, nothing missing."""
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
        """Return whether *provider* needs a key.

        Known remote providers do. One with a base URL of the user's does only if the config names
        a variable for the key.
        """
        settings = self.settings_of(provider)
        spec = KNOWN_PROVIDERS.get(provider)
        known = (
            bool(spec and (spec.key_variables or spec.login_variables))
            and settings.base_url is None
        )
        return bool(settings.key_variables) or known

    def _variable(self, name: str) -> str:
        found = self._env.get(name) or self._env.get(VARIABLE_ALIASES.get(name, ""), "")
        return found.strip()

    @property
    def env(self) -> Mapping[str, str]:
        """The environment that keys are taken from."""
        return self._env

    def connection(self, provider: str) -> "Connection":
        """Return where to send requests to *provider*. Raises ``MissingKey`` with what to do."""
        if provider in self._disabled:
            raise MissingKey(f"{provider} is disabled by disabled_providers in the config.")
        through = self.transport_of(provider) == "litellm"
        return Connection(
            key=self._valid_key(provider), base_url=self._address(provider, through=through)
        )

    def _valid_key(self, provider: str) -> str:
        found = self.key_of(provider)
        if not found and self.needs_key(provider) and not self.login_of(provider):
            raise MissingKey(self.missing_key_message(provider))
        if found and (wrong := key_error(found.key)):
            place = "" if found.source in {"config", "stored"} else f" in {found.source}"
            raise MissingKey(f"The API key of {provider}{place} cannot be used. {wrong}")
        return found.key

    def missing_key_message(self, provider: str) -> str:
        """Return the message about a missing key: all ways to provide one."""
        spec = KNOWN_PROVIDERS.get(provider)
        names = " or ".join(self.key_variables(provider))
        ways = [f"set {names}"] if names else []
        if spec is not None and spec.login_variables:
            kind = "AWS login" if spec.aws_signing else "login that litellm knows"
            ways.append(f"set {spec.login_variables[0]} or another {kind}")
        if names:
            ways.append(f"run opencode-py auth login {provider} (/connect in the program)")
        where = self.key_page(provider) if names else ""
        at = f" Create keys at {where}." if where else ""
        todo = ", or ".join(ways)
        return f"{self.display_name(provider)} needs a key: {todo}.{at}"

    def _address(self, provider: str, *, through: bool) -> str:
        url = self.base_url(provider)
        missing = PLACEHOLDER.search(url)
        if through and (missing is None or self.login_of(provider)):
            return "" if missing else url
        if missing:
            raise MissingKey(
                f"{provider} needs {missing[1]}, which is part of its address. Set this variable."
            )
        if not url:
            raise MissingKey(
                f"{provider} has no address. Set provider.{provider}.options.baseURL in the config."
            )
        return url


@frozen
class Connection:
    """The address of requests to a provider, with its key."""

    base_url: str
    """"" where litellm knows the address."""

    key: str = field(default="", repr=False)
    """"" for none."""
