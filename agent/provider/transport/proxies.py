"""The proxy that the environment names for an address."""

import os
import sys
from collections.abc import Mapping
from urllib.parse import urlsplit

PORTS = {"http": 80, "https": 443}
LOOPBACK_NAMES = frozenset({"localhost", "::1"})


def is_loopback(url: str) -> bool:
    """Return whether *url* names this machine."""
    try:
        host = (urlsplit(url).hostname or "").lower()
    except ValueError:
        return False
    return _is_this_machine(host)


def environment_proxy(url: str, env: Mapping[str, str] = os.environ) -> str | None:
    """Return the proxy of ``HTTPS_PROXY``, ``HTTP_PROXY`` or ``ALL_PROXY`` for *url*, None for
    none. Without any of them, a Mac's own settings count. This machine never has one."""
    try:
        split = urlsplit(url)
        host = (split.hostname or "").lower().rstrip(".")
        port = split.port or PORTS.get(split.scheme)
    except ValueError:
        return None
    named = _named_proxies(env)
    proxy = named.get(split.scheme) or named.get("all")
    if not proxy or _is_this_machine(host) or _is_excluded(host, port, named.get("no", "")):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _is_this_machine(host: str) -> bool:
    return host in LOOPBACK_NAMES or host.startswith("127.")


def _named_proxies(env: Mapping[str, str]) -> dict[str, str]:
    """Return the proxies by the scheme they are for, with ``all``, and the hosts without one as
    ``no``. A name in lower case wins."""
    named: dict[str, str] = {}
    for name in sorted(env):  # upper case comes first
        kind, underscore, end = name.lower().rpartition("_")
        if underscore and end == "proxy" and env[name]:
            named[kind] = env[name]
    if sys.platform == "darwin" and named.keys() <= {"no"}:
        from urllib.request import getproxies  # 15 ms

        return getproxies() | named
    return named


def _is_excluded(host: str, port: int | None, excluded: str) -> bool:
    """Return whether ``NO_PROXY`` names the host."""
    entries = [entry.strip().rpartition("://")[2] for entry in excluded.lower().split(",")]
    return "*" in entries or any(_names(entry, host, port) for entry in entries if entry)


def _names(entry: str, host: str, port: int | None) -> bool:
    """Return whether *entry* is the host, a domain around it or its network (``10.0.0.0/8``), with
    its port or none."""
    if "/" in entry:
        return _in_network(host, entry)
    if entry.count(":") > 1:  # an IPv6 address, in brackets if it has a port
        name, _, asked = entry.removeprefix("[").partition("]")
        asked = asked.removeprefix(":")
    else:
        name, _, asked = entry.partition(":")
    name = name.lstrip("*").lstrip(".")
    return bool(name) and f".{host}".endswith(f".{name}") and asked in {"", str(port)}


def _in_network(host: str, network: str) -> bool:
    from ipaddress import ip_address, ip_network  # few environments name networks

    try:
        return ip_address(host) in ip_network(network, strict=False)
    except ValueError:
        return False
