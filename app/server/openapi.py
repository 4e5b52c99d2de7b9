"""The description of the API in the OpenAPI format, made from the endpoints."""

import re
from collections.abc import Iterable
from typing import Any, cast

from pydantic import TypeAdapter

from agent.records.json import Json, JsonObject
from app.server.bodies import NoBody
from app.server.endpoint import Endpoint

SCHEMAS = "#/components/schemas/{model}"


ERROR: JsonObject = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "data": {
            "type": "object",
            "properties": {"message": {"type": "string"}},
            "required": ["message"],
        },
    },
    "required": ["name", "data"],
}
"""The schema of an error."""


def describe(endpoints: Iterable[Endpoint], version: str) -> JsonObject:
    """Return the OpenAPI description of *endpoints*."""
    endpoints = tuple(endpoints)
    adapters: list[tuple[tuple[int, str], Any, TypeAdapter[Any]]] = []
    for number, each in enumerate(endpoints):
        if each.body is not NoBody:
            adapters.append(((number, "body"), "validation", TypeAdapter(each.body)))
        if each.answer is not None:
            adapters.append(((number, "answer"), "validation", TypeAdapter(each.answer)))
    made, shared = TypeAdapter.json_schemas(adapters, ref_template=SCHEMAS)
    schemas = {(number, what): schema for ((number, what), _), schema in made.items()}
    paths: dict[str, Json] = {}
    for number, each in enumerate(endpoints):
        methods = paths.setdefault(each.path, {})
        assert isinstance(methods, dict)  # set in the line above
        methods[each.method.lower()] = _operation(
            each,
            cast("JsonObject | None", schemas.get((number, "body"))),
            cast("JsonObject | None", schemas.get((number, "answer"))),
        )
    return {
        "openapi": "3.1.0",
        "info": {"title": "opencode-py", "version": version},
        "paths": paths,
        "components": {"schemas": cast("JsonObject", shared).get("$defs", {})},
    }


def _operation(
    endpoint: Endpoint, body: JsonObject | None, answer: JsonObject | None
) -> JsonObject:
    parameters: list[Json] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"{(\w+)}", endpoint.path)
    ]
    queried: JsonObject = {"directory": {"type": "string"}, **endpoint.query}
    parameters += [
        {"name": name, "in": "query", "schema": schema} for name, schema in queried.items()
    ]
    success: JsonObject = {"description": "Success"}
    if answer is not None:
        success["content"] = {endpoint.media: {"schema": answer}}
    operation: JsonObject = {
        "summary": endpoint.summary,
        "parameters": parameters,
        "responses": {
            "204" if answer is None else "200": success,
            "default": {
                "description": "An error: its name, and a sentence in data.message",
                "content": {"application/json": {"schema": ERROR}},
            },
        },
    }
    if body is not None:
        operation["requestBody"] = {"content": {"application/json": {"schema": body}}}
    return operation
