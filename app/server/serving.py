"""The web application, and its server on a socket of this machine."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from importlib.resources import files

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from agent.records.errors import ConfigError, OpencodePyError
from app.server.access import BODY_SECONDS, Access, AccessMiddleware
from app.server.connections import PatientProtocol
from app.server.endpoint import Endpoint
from app.server.errors import (
    RequestError,
    answer_program_error,
    answer_request_error,
    error_response,
)
from app.server.event_routes import HEARTBEAT, EventStreams
from app.server.folders import Folders
from app.server.openapi import describe
from app.server.own_routes import OwnRoutes
from app.server.project_routes import ProjectRoutes
from app.server.refusals import refusals
from app.server.session_routes import SessionRoutes
from app.server.tui_routes import TuiRoutes
from app.server.vcs_routes import VcsRoutes

PAGE_FILES = {
    "/": ("page.html", "text/html"),
    "/page.js": ("page.js", "text/javascript"),
    "/page.css": ("page.css", "text/css"),
}

PAGE_HEADERS = {
    "content-security-policy": "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; "
    "base-uri 'none'; form-action 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-cache",
}

CLOSE_TIMEOUT = 2
"""Seconds that requests get to end when the server closes."""


def all_endpoints(folders: Folders) -> tuple[Endpoint, ...]:
    routes = (
        SessionRoutes(folders),
        ProjectRoutes(folders),
        VcsRoutes(folders),
        TuiRoutes(folders),
        OwnRoutes(folders),
    )
    return tuple(endpoint for each in routes for endpoint in each.endpoints())


def web_app(
    folders: Folders,
    access: Access,
    heartbeat: float = HEARTBEAT,
    body_seconds: float = BODY_SECONDS,
) -> Starlette:
    """Return the whole application: the API, the event streams and the page. *heartbeat* is how
    long a stream is silent at most, *body_seconds* how long a body takes at most."""
    endpoints = all_endpoints(folders)
    streams = EventStreams(folders, heartbeat)

    async def health(_: Request) -> JSONResponse:
        return JSONResponse({"healthy": True, "version": folders.version, "server": "opencode-py"})

    async def description(_: Request) -> JSONResponse:
        return JSONResponse(describe(endpoints, folders.version))

    routes = [
        *(endpoint.route() for endpoint in endpoints),
        Route("/event", streams.folder),
        Route("/global/event", streams.everywhere),
        Route("/global/health", health),
        Route("/doc", description),
        *refusals(),
        *(Route(path, _page_file(*named)) for path, named in PAGE_FILES.items()),
    ]
    return Starlette(
        routes=routes,
        middleware=[Middleware(AccessMiddleware, access=access, body_seconds=body_seconds)],
        exception_handlers={
            RequestError: answer_request_error,
            OpencodePyError: answer_program_error,
            HTTPException: _answer_http_error,
            Exception: _answer_fault,
        },
    )


def _page_file(name: str, media_type: str) -> Callable[[Request], Awaitable[Response]]:
    async def answer(_: Request) -> Response:
        text = files("app.server.page").joinpath(name).read_text("utf-8")
        return Response(text, media_type=media_type, headers=PAGE_HEADERS)

    return answer


async def _answer_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # registered for it
    if error.status_code == 404:
        return error_response(404, f"There is no {request.method} {request.url.path}.")
    if error.status_code == 405:
        return error_response(405, f"{request.url.path} takes no {request.method}.")
    return error_response(error.status_code, error.detail)


async def _answer_fault(_: Request, __: Exception) -> Response:
    """Answer a bug. Starlette raises it again, so that it is logged."""
    return error_response(500, "A bug in opencode-py: its log has the details.")


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket. Port 0 takes a free one. Raises ``ConfigError``."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(128)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigError(
            f"The server cannot listen on {host}:{port}: {reason}. Choose another with --port."
        ) from error
    return listening


class _Server(uvicorn.Server):
    """A server without signal handlers of its own: the program has them."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


@asynccontextmanager
async def serving(
    app: ASGIApp,
    listening: socket.socket,
    protocol: type[PatientProtocol] = PatientProtocol,
) -> AsyncGenerator[None]:
    """Serve *app* on a socket for the duration of the block."""
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        timeout_graceful_shutdown=CLOSE_TIMEOUT,
        ws="none",
        http=protocol,
    )
    server = _Server(config)
    task = asyncio.create_task(server.serve([listening]), name="http server")
    try:
        yield
    finally:
        server.should_exit = True
        await asyncio.gather(task, return_exceptions=True)
        listening.close()
