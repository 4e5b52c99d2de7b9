"""Requests of opencode's API that are refused, each with what to do instead."""

from collections.abc import Iterator

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.server.errors import error_response

_SETTINGS = "The settings are changed in their files, where the server runs: a client could loosen \
the permissions."
_KEYS = "Keys and logins are stored where the server runs: opencode-py auth login."
_SERVERS = "MCP servers are added and logged in to where the server runs: opencode-py mcp."
_SHARING = "Sessions are not shared: opencode-py export writes one to a file."
_PROCESS = "The server is stopped and upgraded where it runs."
_REPOSITORY = "The server changes no repository: run git in the folder."
MESSAGES = "Messages cannot be changed: POST /session/ID/revert undoes a prompt and what followed."
_TERMINALS = "The server has no terminals: POST /session/ID/shell runs a command."

_REFUSED: tuple[tuple[str, str, int, str], ...] = (
    ("PATCH", "/config", 403, _SETTINGS),
    ("PATCH", "/global/config", 403, _SETTINGS),
    ("PUT", "/auth/{provider}", 403, _KEYS),
    ("DELETE", "/auth/{provider}", 403, _KEYS),
    ("POST", "/provider/{provider}/oauth/{step}", 403, _KEYS),
    ("POST", "/mcp", 403, _SERVERS),
    ("POST", "/mcp/{server}/{action}", 403, _SERVERS),
    ("POST", "/session/{session}/share", 501, _SHARING),
    ("DELETE", "/session/{session}/share", 501, _SHARING),
    ("POST", "/instance/dispose", 501, _PROCESS),
    ("POST", "/global/dispose", 501, _PROCESS),
    ("POST", "/global/upgrade", 501, _PROCESS),
    ("POST", "/project/git/init", 501, _REPOSITORY),
    ("POST", "/vcs/apply", 501, _REPOSITORY),
    ("PATCH", "/project/{project}", 403, _SETTINGS),
    ("DELETE", "/session/{session}/message/{message}/part/{part}", 501, MESSAGES),
    ("PATCH", "/session/{session}/message/{message}/part/{part}", 501, MESSAGES),
    ("POST", "/pty", 501, _TERMINALS),
    ("GET", "/pty", 501, _TERMINALS),
)


def refusals() -> Iterator[Route]:
    for method, path, status, sentence in _REFUSED:

        async def refuse(_: Request, status: int = status, sentence: str = sentence) -> Response:
            return error_response(status, sentence)

        yield Route(path, refuse, methods=[method])
