"""The type of a decoded JSON value, and texts that JSON can carry.

At run time ``Json`` is ``Any`` so that pydantic, which reads the annotations of stored
records, takes any value without walking a recursive alias.
"""

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
else:
    Json = Any

JsonObject: TypeAlias = dict[str, Json]


def encodable(text: str) -> str:
    """Return *text* as UTF-8 can encode it: surrogate pairs joined, U+FFFD in place of each lone
    surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
