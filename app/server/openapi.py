"""The description of the API in the OpenAPI format, made from the endpoints."""

import re
from collections.abc import Iterable

from pydantic.json_schema import models_json_schema

from agent.records.json import Json, JsonObject
from app.server.bodies import NoBody
from app.server.endpoint import Endpoint


def describe(endpoints: Iterable[Endpoint], version: str) -> JsonObject:
    """Return the OpenAPI description of *endpoints*."""
    endpoints = tuple(endpoints)
    bodies = {each.body for each in endpoints if each.body is not NoBody}
    _, schemas = models_json_schema(
        [(body, "validation") for body in sorted(bodies, key=lambda body: body.__name__)],
        ref_template="#/components/schemas/{model}",
    )
    paths: dict[str, Json] = {}
    for each in endpoints:
        methods = paths.setdefault(each.path, {})
        assert isinstance(methods, dict)  # set in the line above
        methods[each.method.lower()] = _operation(each)
    return {
        "openapi": "3.1.0",
        "info": {"title": "opencode-py", "version": version},
        "paths": paths,
        "components": {"schemas": schemas.get("$defs", {})},
    }


def _operation(endpoint: Endpoint) -> JsonObject:
    parameters: list[Json] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"{(\w+)}", endpoint.path)
    ]
    parameters.append({"name": "directory", "in": "query", "schema": {"type": "string"}})
    operation: JsonObject = {
        "summary": endpoint.summary,
        "parameters": parameters,
        "responses": {
            "200": {"description": "Success"},
            "default": {"description": "An error: its name, and a sentence in data.message"},
        },
    }
    if endpoint.body is not NoBody:
        schema: JsonObject = {"$ref": f"#/components/schemas/{endpoint.body.__name__}"}
        operation["requestBody"] = {"content": {"application/json": {"schema": schema}}}
    return operation
