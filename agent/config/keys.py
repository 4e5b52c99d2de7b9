"""How fields of the settings are spelled in files, and how pydantic reads their classes."""

from typing import Any

FILE_KEYS = {
    "base_url": "baseURL",
    "api_key": "apiKey",
    "chunk_timeout": "chunkTimeout",
    "client_id": "clientId",
    "client_secret": "clientSecret",
    "callback_port": "callbackPort",
    "argument_hint": "argument-hint",
}
"""Field name here → key in a file, where they differ."""


def file_key(name: str) -> str:
    """The key of field *name* in a file."""
    return FILE_KEYS.get(name, name)


# Read by pydantic from a plain dataclass; it is only a dictionary until then.
CHECKED: dict[str, Any] = {
    "extra": "forbid",
    "use_attribute_docstrings": True,
    "alias_generator": file_key,
}
