"""What an entry of the table of providers says (spec 5, R2)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from agent.provider.client import Api

Transport = Literal["http", "litellm"]
"""Asked by us in its own wire protocol, or through litellm (spec 5, R1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSpec:
    """A known provider.

    *keys* are the variables that may hold the key, the first that is set counts; none where no
    key is needed. *keys_at* is the page where keys are made. *logins* are variables that tell of
    another login than a key (AWS credentials, a Google service account), which only litellm knows
    how to use unless *signed* says that we sign requests with AWS credentials. *flagship* is the
    model used when a key is all that is configured, *small* the one for titles (R11). *prices*
    are the provider's names in litellm's list of models, *litellm* its name as a prefix of models
    there. *headers* are sent with each request; *key_header* carries the key in OpenAI's
    protocols. *local* servers run on this machine.
    """

    id: str
    name: str
    base_url: str
    keys: tuple[str, ...] = ()
    keys_at: str = ""
    logins: tuple[str, ...] = ()
    api: Api = "openai-chat"
    transport: Transport = "http"
    prices: tuple[str, ...] = ()
    litellm: str = ""
    flagship: str | None = None
    small: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    key_header: str = "Authorization"
    local: bool = False
    signed: bool = False


def local(provider: str, name: str, port: int, litellm: str) -> ProviderSpec:
    """An entry of a server of this machine that listens on *port*."""
    url = f"http://127.0.0.1:{port}/v1"
    return ProviderSpec(id=provider, name=name, base_url=url, local=True, litellm=litellm)


def remote(
    provider: str,
    name: str,
    base_url: str,
    *keys: str,
    at: str,
    prices: str | tuple[str, ...] = "",
    litellm: str = "",
    api: Api = "openai-chat",
    transport: Transport = "http",
    logins: tuple[str, ...] = (),
    flagship: str | None = None,
    small: str | None = None,
    headers: Mapping[str, str] | None = None,
    key_header: str = "Authorization",
    signed: bool = False,
) -> ProviderSpec:
    """An entry of a provider that wants a key or a login. *prices* is the provider's id where it
    is not given, *litellm* the first of *prices*."""
    listed = prices if isinstance(prices, tuple) else (prices or provider,)
    return ProviderSpec(
        id=provider,
        name=name,
        base_url=base_url,
        keys=keys,
        keys_at=at,
        logins=logins,
        api=api,
        transport=transport,
        prices=listed,
        litellm=litellm or listed[0],
        flagship=flagship,
        small=small,
        headers=headers or {},
        key_header=key_header,
        signed=signed,
    )
