"""Hooks that are an address: the input is posted there, the response is the answer."""

import os
import re
from collections.abc import Mapping

from agent.hooks.records import Hook

MAX_RESPONSE = 1_048_576
"""Bytes of a response that are read."""

_VARIABLE = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?")


async def post(hook: Hook, body: str, env: Mapping[str, str]) -> str:
    """Return the response of *hook* to the JSON text *body*.

    Raises ``OSError``, ``ValueError`` or ``TimeoutError`` with the reason.
    """
    import httpx2  # slow to import, and few users have such a hook

    headers = {"content-type": "application/json"} | {
        name: _filled(text, hook, env) for name, text in hook.headers
    }
    try:
        async with (
            httpx2.AsyncClient(timeout=hook.timeout) as client,
            client.stream("POST", hook.url, content=body.encode(), headers=headers) as response,
        ):
            read = b""
            async for chunk in response.aiter_bytes():
                read += chunk
                if len(read) > MAX_RESPONSE:
                    raise ValueError("sent too long a response")
    except httpx2.TimeoutException as error:
        raise TimeoutError from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise OSError(str(error) or type(error).__name__) from error
    if not response.is_success:
        raise ValueError(f"failed (status {response.status_code})")
    return read.decode("utf-8", "replace")


def _filled(text: str, hook: Hook, env: Mapping[str, str]) -> str:
    """Return a header with the variables that *hook* may use; others are empty."""

    def value(found: re.Match[str]) -> str:
        name = found[1]
        own = env if hook.from_project else os.environ
        return own.get(name, "") if name in hook.variables else ""

    return _VARIABLE.sub(value, text).strip()
