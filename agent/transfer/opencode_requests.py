"""Whole permission requests within opencode's shape of them, for clients that are this program."""

import functools
from typing import TYPE_CHECKING, cast

from agent.records.json import Json, JsonObject
from agent.records.requests import PermissionRequest

if TYPE_CHECKING:
    from pydantic import TypeAdapter

KEY = "opencodePyRequest"
"""The key in the metadata of a request."""


@functools.cache
def _adapter() -> "TypeAdapter[PermissionRequest]":
    from pydantic import TypeAdapter  # kept off the start-up path

    return TypeAdapter(PermissionRequest)


def request_json(request: PermissionRequest) -> Json:
    return cast("Json", _adapter().dump_python(request, mode="json"))


def request_in(metadata: JsonObject) -> PermissionRequest | None:
    """Return the request in *metadata*, None if there is none, or one of another version."""
    if KEY not in metadata:
        return None
    try:
        return _adapter().validate_python(metadata[KEY])
    except ValueError:
        return None
