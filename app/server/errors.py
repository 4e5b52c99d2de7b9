"""Errors in the shape of opencode's API: ``{"name": …, "data": {"message": …}}``."""

from starlette.requests import Request
from starlette.responses import JSONResponse

from agent.records.errors import (
    AgentNotFound,
    CommandError,
    ConfigError,
    MissingKey,
    ModelNotFound,
    NothingToDo,
    OpencodePyError,
    SessionBusy,
    SessionNotFound,
    ToolError,
)

NAMES = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFoundError",
    405: "MethodNotAllowed",
    408: "RequestTimeout",
    409: "BusyError",
    413: "PayloadTooLarge",
    415: "UnsupportedMediaType",
    421: "MisdirectedRequest",
    501: "NotSupported",
}

_STATUS: dict[type[OpencodePyError], int] = {
    SessionNotFound: 404,
    SessionBusy: 409,
    AgentNotFound: 400,
    ModelNotFound: 400,
    ConfigError: 400,
    CommandError: 400,
    MissingKey: 400,
    NothingToDo: 400,
    ToolError: 400,
}


class RequestError(Exception):
    """A request that cannot be answered: a status code and a sentence."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def error_response(status: int, message: str) -> JSONResponse:
    """Return the answer to a request that failed."""
    # Named Basic, a browser would ask for the token itself, over the page's own form.
    headers = {"www-authenticate": 'Bearer realm="opencode-py"'} if status == 401 else None
    name = NAMES.get(status, "UnknownError")
    return JSONResponse({"name": name, "data": {"message": message}}, status, headers)


async def answer_request_error(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestError)  # registered for it
    return error_response(error.status, error.message)


async def answer_program_error(_: Request, error: Exception) -> JSONResponse:
    """Answer an error of the agent package with its sentence."""
    assert isinstance(error, OpencodePyError)  # registered for it
    status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 500)
    return error_response(status, error.message)
