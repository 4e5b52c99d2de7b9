"""Errors and ends of turns in terms of the protocol."""

from collections.abc import Generator
from contextlib import contextmanager

from acp.exceptions import RequestError
from acp.schema import StopReason

from agent.records.errors import (
    AgentNotFound,
    ConfigError,
    MissingKey,
    ModelNotFound,
    OpencodePyError,
    ProviderErrorKind,
    SessionNotFound,
)
from agent.records.events import SessionIdle

INVALID_PARAMS, INTERNAL, NO_LOGIN, NOT_FOUND = -32602, -32603, -32000, -32002
"""Codes of JSON-RPC 2.0, and the protocol's own for a missing login and for something not found."""


@contextmanager
def protocol_errors() -> Generator[None]:
    """Convert errors of the agent package to errors of the protocol, with their sentences."""
    try:
        yield
    except SessionNotFound as error:
        raise RequestError(NOT_FOUND, error.message) from error
    except MissingKey as error:
        raise RequestError(NO_LOGIN, error.message) from error
    except (AgentNotFound, ModelNotFound, ConfigError) as error:
        raise RequestError(INVALID_PARAMS, error.message) from error
    except OpencodePyError as error:
        raise RequestError(INTERNAL, error.message) from error


def turn_error(end: SessionIdle) -> RequestError:
    if end.error is None:
        return RequestError(INTERNAL, "The turn failed.")
    code = NO_LOGIN if end.error.kind == ProviderErrorKind.AUTH else INTERNAL
    return RequestError(code, end.error.message, {"kind": end.error.kind})


def stop_reason(end: SessionIdle) -> StopReason:
    """Return why a turn ended that did not fail."""
    match end.outcome, end.finish:
        case "cancelled", _:
            return "cancelled"
        case "limit_reached", _:
            return "max_turn_requests"
        case _, "length":
            return "max_tokens"
        case _, "content-filter":
            return "refusal"
        case _:
            return "end_turn"


def error_sentence(error: RequestError) -> str:
    """Return a client's description of a request that failed, as a sentence."""
    match error.data:
        case {"details": str(details)} if details:
            sentence = details
        case _:
            sentence = str(error)
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."
