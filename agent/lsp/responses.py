"""Parsing of language servers' responses, whose fields can be missing or of a wrong type."""

from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

from agent.lsp.records import SEVERITIES, Diagnostic, Location
from agent.records.json import Json, JsonObject

SYMBOL_KINDS = (
    "file", "module", "namespace", "package", "class", "method", "property", "field",
    "constructor", "enum", "interface", "function", "variable", "constant", "string", "number",
    "boolean", "array", "object", "key", "null", "member", "struct", "event", "operator",
    "type parameter",
)  # fmt: skip
"""Symbol kinds by number, from 1 (LSP 3.17, SymbolKind)."""


MAX_DIAGNOSTIC = 1_000
"""Characters of one diagnostic that are kept; a C++ template can take pages."""


def parse_diagnostics(value: Json) -> tuple[Diagnostic, ...]:
    return tuple(_diagnostics(value if isinstance(value, list) else []))


def _diagnostics(items: list[Json]) -> Iterator[Diagnostic]:
    for item in items:
        if not isinstance(item, dict) or not isinstance(message := item.get("message"), str):
            continue
        severity = item.get("severity")
        at = severity if isinstance(severity, int) and 1 <= severity <= len(SEVERITIES) else 1
        line, column = _start(item.get("range"))
        code = item.get("code")
        yield Diagnostic(
            severity=SEVERITIES[at - 1],
            line=line,
            column=column,
            message=message.strip()[:MAX_DIAGNOSTIC],
            source=source if isinstance(source := item.get("source"), str) else "",
            code=str(code) if isinstance(code, str | int) else "",
        )


def _start(value: Json) -> tuple[int, int]:
    start = value.get("start") if isinstance(value, dict) else None
    if not isinstance(start, dict):
        return 1, 1
    line, column = start.get("line"), start.get("character")
    return (
        line + 1 if isinstance(line, int) and line >= 0 else 1,
        column + 1 if isinstance(column, int) and column >= 0 else 1,
    )


def path_of(uri: str) -> str:
    """Return the path of a ``file:`` URI; other URIs are returned unchanged."""
    parts = urlsplit(uri)
    return unquote(parts.path) if parts.scheme == "file" else uri


def parse_locations(value: Json) -> tuple[Location, ...]:
    """Return the locations of a definition or of references.

    The response is a location, a link, or a list of either.
    """
    items = value if isinstance(value, list) else [value]
    return tuple(place for item in items if (place := _location(item)) is not None)


def _location(item: Json) -> Location | None:
    if not isinstance(item, dict):
        return None
    uri = item.get("uri", item.get("targetUri"))
    if not isinstance(uri, str):
        return None
    where = item.get("range", item.get("targetSelectionRange"))
    return Location(path_of(uri), *_start(where))


def parse_symbols(value: Json, path: str) -> tuple[Location, ...]:
    """Return the symbols of the document *path* or of a workspace, with qualified names."""
    items = value if isinstance(value, list) else []
    return tuple(_symbols(items, path, ""))


def _symbols(items: list[Json], path: str, within: str) -> Iterator[Location]:
    for item in items:
        if not isinstance(item, dict) or not isinstance(name := item.get("name"), str):
            continue
        kind = item.get("kind")
        known = isinstance(kind, int) and 1 <= kind <= len(SYMBOL_KINDS)
        qualified = f"{within}.{name}" if within else name
        label = (
            f"{SYMBOL_KINDS[kind - 1]} {qualified}"
            if known and isinstance(kind, int)
            else qualified
        )
        location = item.get("location")
        if isinstance(location, dict):
            uri = location.get("uri")
            where = path_of(uri) if isinstance(uri, str) else path
            yield Location(where, *_start(location.get("range")), label)
        else:
            yield Location(path, *_start(item.get("selectionRange", item.get("range"))), label)
        inner = item.get("children")
        yield from _symbols(inner if isinstance(inner, list) else [], path, qualified)


def parse_hover(value: Json) -> str:
    """Return the text of a hover: markup, a string, or a list of them."""
    contents = value.get("contents") if isinstance(value, dict) else None
    pieces = contents if isinstance(contents, list) else [contents]
    return "\n\n".join(text for piece in pieces if (text := _text(piece)))


def _text(piece: Json) -> str:
    if isinstance(piece, dict):
        piece = piece.get("value")
    return piece.strip() if isinstance(piece, str) else ""


def supports(capabilities: JsonObject, name: str) -> bool:
    """Return whether a server has the capability *name*: true, or options for it."""
    value = capabilities.get(name)
    return value is True or isinstance(value, dict)
