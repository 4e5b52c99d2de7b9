"""Validation of a Gemini request, as strict as the real API."""

import re
from itertools import pairwise
from typing import Any

from tests.support.strict_schema import repeated

TOP = {"contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings"}
GENERATION = {
    "maxOutputTokens", "temperature", "topP", "topK", "stopSequences", "thinkingConfig", "seed",
}  # fmt: skip
SCHEMA = {
    "type", "format", "title", "description", "nullable", "enum", "items", "properties", "required",
    "minItems", "maxItems", "minimum", "maximum", "minLength", "maxLength", "pattern", "anyOf",
    "propertyOrdering",
}  # fmt: skip
TYPES = {"string", "number", "integer", "boolean", "array", "object"}
DATA = {"text", "inlineData", "functionCall", "functionResponse", "fileData"}
USERS = {"args", "response", "properties"}
"""Objects whose keys are user-defined."""

NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.-]{0,63}")


def violations(body: dict, headers: dict[str, str]) -> list[str]:
    """Return what the API would refuse in *body*, [] for a valid request."""
    body = _camel(body)
    found = [f"Unknown name {name!r}" for name in body if name not in TOP]
    if not headers.get("x-goog-api-key"):
        found.append("x-goog-api-key: required")
    contents = body.get("contents")
    if not isinstance(contents, list) or not contents:
        return [*found, "contents: a non-empty list is required"]
    found += _roles(contents)
    for number, content in enumerate(contents):
        found += [f"contents[{number}]: {text}" for text in _content(content)]
    found += _pairs(contents)
    system = body.get("systemInstruction")
    if system is not None and not all(p.get("text") for p in system.get("parts") or [{}]):
        found.append("systemInstruction: parts with text are required")
    generation = body.get("generationConfig", {})
    found += [f"generationConfig: unknown {k}" for k in generation if k not in GENERATION]
    return found + _tools(body.get("tools"))


def _camel(value: object) -> Any:
    """Return *value* with names such as ``function_call`` in camel case: the API accepts both."""
    if isinstance(value, list):
        return [_camel(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        re.sub(r"_([a-z])", lambda m: m[1].upper(), name): inner if name in USERS else _camel(inner)
        for name, inner in value.items()
    }


def _roles(contents: list[dict]) -> list[str]:
    roles = [content.get("role") for content in contents]
    found = [f"role {role!r} is unknown" for role in roles if role not in {"user", "model"}]
    if roles[0] != "user":
        found.append("the first content must be of the user")
    if roles[-1] != "user":
        found.append("the last content must be of the user")
    if any(a == b for a, b in pairwise(roles)):
        found.append("roles must alternate")
    return found


def _content(content: dict) -> list[str]:
    parts = content.get("parts")
    if not isinstance(parts, list) or not parts:
        return ["parts: must not be empty"]
    found = []
    for part in parts:
        data = DATA & part.keys()
        if len(data) != 1:
            found.append(f"a part has one kind of data, not {sorted(data)}")
        if extra := part.keys() - DATA - {"thoughtSignature", "thought"}:
            found.append(f"unknown in a part: {sorted(extra)}")
        if part.get("text") == "":
            found.append("text must not be empty")
        call = part.get("functionCall") or part.get("functionResponse")
        if call is not None:
            if not NAME.fullmatch(str(call.get("name"))):
                found.append(f"name {call.get('name')!r} is not valid")
            inside = call.get("args", call.get("response"))
            if not isinstance(inside, dict):
                found.append("args and response must be objects")
            role = "model" if "functionCall" in part else "user"
            if content.get("role") != role:
                found.append(f"this part belongs to role {role}")
    return found


def _pairs(contents: list[dict]) -> list[str]:
    """Check that the calls are followed by the same number of responses in the same order."""
    found = []
    calls: list[str] = []
    for number, content in enumerate(contents):
        parts = content.get("parts") or []
        answers = [p["functionResponse"].get("name") for p in parts if "functionResponse" in p]
        if answers != calls:
            found.append(
                f"contents[{number}]: the number of function response parts must equal the "
                f"number of function call parts of the function call turn ({answers}, {calls})"
            )
        calls = [p["functionCall"].get("name") for p in parts if "functionCall" in p]
    return found


def _tools(tools: list[dict] | None) -> list[str]:
    if tools is None:
        return []
    declared = [f for tool in tools for f in tool.get("functionDeclarations", [])]
    if not declared:
        return ["tools: no function is declared"]
    found = [f"tools: name {name} repeats" for name in repeated([f.get("name") for f in declared])]
    for function in declared:
        if not NAME.fullmatch(str(function.get("name"))):
            found.append(f"tools: name {function.get('name')!r} is not valid")
        if "parameters" in function:
            found += _schema(function["parameters"], str(function.get("name")))
    return found


def _schema(schema: dict, where: str) -> list[str]:
    found = [f"{where}: unknown field {name!r}" for name in schema if name not in SCHEMA]
    kind = schema.get("type")
    if "anyOf" not in schema and kind not in TYPES:
        found.append(f"{where}: type {kind!r} is unknown")
    choices = schema.get("enum", [])
    if choices and (kind != "string" or not all(isinstance(v, str) for v in choices)):
        found.append(f"{where}: only strings can be enumerated")
    if kind == "object" and schema.get("properties") == {}:
        found.append(f"{where}: properties should be non-empty for an object")
    if kind == "array" and "items" not in schema:
        found.append(f"{where}: items missing")
    for name, inner in schema.get("properties", {}).items():
        found += _schema(inner, f"{where}.{name}")
    for inner in schema.get("anyOf", []):
        found += _schema(inner, f"{where}|")
    if "items" in schema:
        found += _schema(schema["items"], f"{where}[]")
    missing = set(schema.get("required", [])) - schema.get("properties", {}).keys()
    return found + [f"{where}: required {name!r} is not a property" for name in missing]
