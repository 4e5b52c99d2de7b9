"""The type of a decoded JSON value.

At run time ``Json`` is ``Any`` so that pydantic, which reads the annotations of stored
records, takes any value without walking a recursive alias.
"""

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
else:
    Json = Any

JsonObject: TypeAlias = dict[str, Json]
