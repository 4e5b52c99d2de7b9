"""A short text from an address that the config names."""

from urllib.parse import urlsplit

SECONDS = 5.0
"""How long a server may take; a session's first prompt waits for it."""

MAX_BYTES = 256 * 1024
MAX_CHARACTERS = 40_000


async def fetch_text(url: str) -> tuple[str, str]:
    """The text at *url* and "", or "" and why there is none. Only https, or http of this
    machine; no redirects, no credentials."""
    parts = _parts(url)
    local = parts is not None and parts[1] in {"localhost", "127.0.0.1", "::1"}
    if parts is None or (parts[0] != "https" and not (parts[0] == "http" and local)):
        return "", "only https addresses without a password are asked"
    import httpx2  # loaded only where an address is configured

    try:
        async with (
            httpx2.AsyncClient(timeout=SECONDS, follow_redirects=False) as client,
            client.stream("GET", url) as response,
        ):
            if response.status_code != 200:
                return "", f"the server answered {response.status_code}"
            data = bytearray()
            async for piece in response.aiter_bytes():
                data += piece
                if len(data) > MAX_BYTES:
                    return "", "the text is too long"
    except httpx2.HTTPError as error:
        return "", str(error).lower() or type(error).__name__
    text = bytes(data).decode("utf-8", "replace").strip()
    if "\0" in text:
        return "", "it is no text"
    return text[:MAX_CHARACTERS], ""


def _parts(url: str) -> tuple[str, str] | None:
    """Scheme and host of *url*; None for none, and for one that holds a password."""
    try:
        parts = urlsplit(url)
        return None if "@" in parts.netloc else (parts.scheme.lower(), parts.hostname or "")
    except ValueError:
        return None
