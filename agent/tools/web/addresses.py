"""Web addresses: URLs that can be requested, their proxy, and the allowed network addresses.

A host name is judged by every address that it resolves to, whatever its spelling, so that
``localhost``, ``2130706433`` and a public name that points to an internal address are alike.
"""

from collections.abc import Collection
from dataclasses import field
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import TYPE_CHECKING

from agent.records.errors import ToolError
from agent.records.frozen import frozen

if TYPE_CHECKING:  # kept off the start-up path
    import httpx2


PORTS = {"http": 80, "https": 443}


def parse_url(text: str) -> "httpx2.URL":
    """Return the URL in *text*. Raises ``ToolError`` for one that must not be requested."""
    import httpx2  # kept off the start-up path

    text = text.strip()
    if any(char.isspace() or ord(char) < 32 or char in "\\\x7f" for char in text):
        raise ToolError("The URL contains spaces, backslashes or control characters. Encode them.")
    try:
        url = httpx2.URL(text)
    except (httpx2.InvalidURL, ValueError) as error:
        raise ToolError(f"{text[:200]!r} is not a URL: {error}.") from None
    if url.scheme not in PORTS:
        raise ToolError(
            f"Only http and https addresses are fetched, not {url.scheme or 'one without a scheme'}"
            ". Give the whole address, for example https://example.org/page."
        )
    if url.port is not None and not 0 < url.port < 65_536:
        raise ToolError(f"{text[:200]!r} is not a URL: there is no port {url.port}.")
    if url.userinfo:
        raise ToolError("The URL contains a user name or password, which is never sent. Remove it.")
    if not url.host:
        raise ToolError("The URL names no host.")
    return url.copy_with(fragment=None)


def host_of(url: "httpx2.URL") -> str:
    """Return the host in the form that is sent: other alphabets in ASCII."""
    return url.raw_host.decode("ascii").strip("[]").rstrip(".").lower()


Address = IPv4Address | IPv6Address

_PROTOCOLS = IPv4Network("192.0.0.0/24")
"""Reserved for protocols (RFC 6890); older versions of ``ipaddress`` know only a part."""

_NAT64 = IPv6Network("64:ff9b::/96")
_IPV4_COMPATIBLE = IPv6Network("::/96")


def embedded_ipv4(address: Address) -> Address:
    """Return the IPv4 address inside an IPv6 one, else the address itself."""
    if isinstance(address, IPv4Address):
        return address
    found = address.ipv4_mapped or address.sixtofour
    if found is not None:
        return found
    if address.teredo is not None:
        return address.teredo[1]
    if address in _NAT64 or (address in _IPV4_COMPATIBLE and int(address) > 0xFFFF):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def is_public(address: Address) -> bool:
    """Return whether *address* is on the public internet."""
    inner = embedded_ipv4(address)
    kept = inner.is_multicast or inner.is_reserved or inner in _PROTOCOLS
    return inner.is_global and not kept


def parse_address(text: str) -> Address:
    """Return the address in *text*, without its scope (``%eth0``)."""
    return ip_address(text.partition("%")[0])


@frozen
class AllowedHosts:
    """The hosts that the user has allowed: *names* (exact, or ``*.suffix``) and *networks*."""

    names: frozenset[str] = frozenset()
    networks: tuple[IPv4Network | IPv6Network, ...] = field(default=())

    @classmethod
    def from_settings(cls, entries: Collection[str]) -> "AllowedHosts":
        """Return the hosts in settings: names, addresses and networks (``10.0.0.0/8``)."""
        names: set[str] = set()
        networks: list[IPv4Network | IPv6Network] = []
        for entry in entries:
            try:
                networks.append(ip_network(entry.strip("[]"), strict=False))
            except ValueError:
                names.add(entry.lower().rstrip("."))
        return cls(frozenset(names), tuple(networks))

    def covers(self, host: str, address: Address) -> bool:
        """Return whether the user has allowed *address*, reached by the name *host*."""
        host = host.lower().rstrip(".")
        parts = host.split(".")
        suffixes = {f"*.{'.'.join(parts[at:])}" for at in range(1, len(parts))}
        if host in self.names or suffixes & self.names:
            return True
        # A mapped form must not bypass a list that names the plain one.
        return any(
            inner.version == network.version and inner in network
            for network in self.networks
            for inner in (address, embedded_ipv4(address))
        )

    def permits(self, host: str, address: Address) -> bool:
        return is_public(address) or self.covers(host, address)
