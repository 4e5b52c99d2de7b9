"""Which network addresses a fetched page may live at (security reference, 9.3).

A name is judged by every address that it resolves to, whatever it is spelled like, so that
``localhost``, ``2130706433`` and a public name that points inwards are all the same.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

Address = IPv4Address | IPv6Address

_PROTOCOLS = IPv4Network("192.0.0.0/24")
"""Kept for protocols (RFC 6890); older versions of ``ipaddress`` know a part of it only."""

_NAT64 = IPv6Network("64:ff9b::/96")
_IPV4_COMPATIBLE = IPv6Network("::/96")


def embedded(address: Address) -> Address:
    """The IPv4 address that an IPv6 one stands for, else the address itself."""
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
    """Whether *address* is one of the open internet."""
    inner = embedded(address)
    kept = inner.is_multicast or inner.is_reserved or inner in _PROTOCOLS
    return inner.is_global and not kept


def parse(text: str) -> Address:
    """An address as the resolver gives it, a scope (``%eth0``) left out."""
    return ip_address(text.partition("%")[0])


@dataclass(frozen=True, slots=True)
class Allowed:
    """What the user has opened: *names* (exact, or ``*.suffix``) and *networks*."""

    names: frozenset[str] = frozenset()
    networks: tuple[IPv4Network | IPv6Network, ...] = field(default=())

    @classmethod
    def of(cls, entries: Collection[str]) -> "Allowed":
        """From settings: names, addresses and networks (``10.0.0.0/8``) mixed."""
        names: set[str] = set()
        networks: list[IPv4Network | IPv6Network] = []
        for entry in entries:
            try:
                networks.append(ip_network(entry.strip("[]"), strict=False))
            except ValueError:
                names.add(entry.lower().rstrip("."))
        return cls(frozenset(names), tuple(networks))

    def covers(self, host: str, address: Address) -> bool:
        """Whether *address*, reached by the name *host*, is opened."""
        host = host.lower().rstrip(".")
        parts = host.split(".")
        suffixes = {f"*.{'.'.join(parts[at:])}" for at in range(1, len(parts))}
        if host in self.names or suffixes & self.names:
            return True
        # A mapped form must not be a way around a list that names the plain one.
        return any(
            inner.version == network.version and inner in network
            for network in self.networks
            for inner in (address, embedded(address))
        )

    def permits(self, host: str, address: Address) -> bool:
        return is_public(address) or self.covers(host, address)
