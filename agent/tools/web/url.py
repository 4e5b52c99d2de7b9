"""Web addresses: what may be asked at all, and by which proxy (security reference, 9.3)."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from agent.records.errors import ToolError

if TYPE_CHECKING:  # kept off the start-up path
    import httpx2

PORTS = {"http": 80, "https": 443}


def environment_proxy(url: "httpx2.URL", env: Mapping[str, str] = os.environ) -> str | None:
    """The proxy that ``HTTPS_PROXY``, ``HTTP_PROXY`` or ``ALL_PROXY`` names for *url*."""
    lower = {name.lower(): value for name, value in env.items() if value}
    proxy = lower.get(f"{url.scheme}_proxy") or lower.get("all_proxy")
    if not proxy or _direct(host_of(url), lower.get("no_proxy", "")):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _direct(host: str, no_proxy: str) -> bool:
    """Whether *host* is one that ``NO_PROXY`` names, or this machine."""
    if host in {"localhost", "::1"} or host.startswith("127."):
        return True
    names = [name.strip().lower().lstrip("*").lstrip(".") for name in no_proxy.split(",")]
    everything = "*" in no_proxy.replace(" ", "").split(",")
    return everything or any(name and f".{host}".endswith(f".{name}") for name in names)


def parse_url(text: str) -> "httpx2.URL":
    """The web address in *text*. Raises ``ToolError`` for what must not be asked."""
    import httpx2  # kept off the start-up path

    text = text.strip()
    if any(char.isspace() or ord(char) < 32 or char in "\\\x7f" for char in text):
        raise ToolError("The URL holds blanks, backslashes or control characters. Encode them.")
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
        raise ToolError("The URL holds a user name or password, which is never sent. Leave it out.")
    if not url.host:
        raise ToolError("The URL names no host.")
    return url.copy_with(fragment=None)


def host_of(url: "httpx2.URL") -> str:
    """The host as it goes over the wire: other alphabets in their ASCII form."""
    return url.raw_host.decode("ascii").strip("[]").rstrip(".").lower()
