"""The keys of settings in a file, and how pydantic reads their classes."""

from typing import Any

FILE_KEYS = {
    "base_url": "baseURL",
    "api_key": "apiKey",
    "chunk_timeout": "chunkTimeout",
    "client_id": "clientId",
    "client_secret": "clientSecret",
    "callback_port": "callbackPort",
    "argument_hint": "argument-hint",
    "allowed_env": "allowedEnvVars",
    "status_line": "statusLine",
}
"""Field names with another key in a file."""


def file_key(name: str) -> str:
    """Return the key of field *name* in a file."""
    return FILE_KEYS.get(name, name)


# Read by pydantic from a plain dataclass; it is only a dictionary until then.
CHECKED: dict[str, Any] = {
    "extra": "forbid",
    "use_attribute_docstrings": False,  # True for the schema: this reads the source
    "alias_generator": file_key,
}
