"""Whole permission requests within opencode's shape of them, for clients that are this program."""

from agent.records.json import Json, JsonObject
from agent.records.requests import PermissionRequest
from agent.transfer.record_json import record_json, record_of

KEY = "opencodePyRequest"
"""The key in the metadata of a request."""


def request_json(request: PermissionRequest) -> Json:
    return record_json(PermissionRequest, request)


def request_in(metadata: JsonObject) -> PermissionRequest | None:
    """Return the request in *metadata*, None if there is none, or one of another version."""
    if KEY not in metadata:
        return None
    try:
        return record_of(PermissionRequest, metadata[KEY])
    except ValueError:
        return None
