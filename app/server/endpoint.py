"""An endpoint of the API: its route and its description."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from typing import Any

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agent.records.frozen import frozen
from agent.records.json import Json, JsonObject
from app.server.bodies import NoBody
from app.server.errors import RequestError

Handler = Callable[[Request], Awaitable[Json | Response]]


@frozen
class Endpoint:
    """One method of one path. A handler returns the JSON of the answer, or a whole response."""

    method: str
    path: str
    summary: str
    handler: Handler
    answer: Any = JsonObject
    """The type of the answer; None for none."""
    body: type[BaseModel] = NoBody
    query: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """The parameters of the query with their JSON schemas; ``directory`` is always one."""
    media: str = "application/json"

    def route(self) -> Route:
        async def answer(request: Request) -> Response:
            self._check_query(request)
            result = await self.handler(request)
            return result if isinstance(result, Response) else JSONResponse(result)

        return Route(self.path, answer, methods=[self.method])

    def _check_query(self, request: Request) -> None:
        """Raise ``RequestError`` for a word that a parameter does not take."""
        for name, schema in self.query.items():
            words = schema.get("enum") if isinstance(schema, dict) else None
            given = request.query_params.get(name)
            if isinstance(words, list) and given is not None and given not in words:
                raise RequestError(400, f"{name} is {' or '.join(map(str, words))}.")
