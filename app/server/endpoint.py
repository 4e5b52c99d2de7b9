"""An endpoint of the API: its route and its description."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from typing import Any, TypeVar

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agent.records.frozen import frozen
from agent.records.json import Json, JsonObject
from app.server.bodies import NoBody
from app.server.errors import RequestError

Handler = Callable[[Request], Awaitable[Json | Response]]

ResultT = TypeVar("ResultT")


async def while_connected(request: Request, work: Awaitable[ResultT]) -> ResultT:
    """Return the result of *work*, which only this client wants: it is canceled if the client
    leaves before. Call it once the body was read. Raises ``RequestError`` then."""

    async def disconnected() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass  # the rest of a body

    async def run() -> ResultT:
        return await work

    working, leaving = asyncio.create_task(run()), asyncio.create_task(disconnected())
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise RequestError(499, "The client has left.")
        return working.result()
    finally:
        working.cancel()
        leaving.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


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
