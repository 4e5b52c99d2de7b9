"""One language server: its handshake, its open files and its diagnostics (LSP 3.17).

Fields of its responses can be missing or of a wrong type.
"""

import asyncio
import contextlib
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from agent.lsp.connection import (
    SEVERITIES,
    Connection,
    Diagnostic,
    Location,
    LspState,
    LspStatus,
    RequestRefused,
    ServerGone,
    ServerProcess,
    ServerSpec,
)
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


HANDSHAKE_TIMEOUT = 30.0
"""Seconds for a server to start; a slower one is ended."""

SHUTDOWN_TIMEOUT = 0.5
"""Seconds for a server to shut down by itself."""

MAX_OPEN_FILES = 64
"""Files that a server has open at most; the least recently used one is closed."""

SETTLE_TIME = 0.1
"""Seconds without an update after which the diagnostics of a file count as complete."""

MAX_SETTLE_ROUNDS = 50
"""Updates that are waited for at most."""

LANGUAGES: Mapping[str, str] = {
    ".py": "python", ".pyi": "python", ".ts": "typescript", ".mts": "typescript",
    ".cts": "typescript", ".tsx": "typescriptreact", ".js": "javascript", ".mjs": "javascript",
    ".cjs": "javascript", ".jsx": "javascriptreact", ".rs": "rust", ".c": "c", ".h": "c",
    ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp", ".hpp": "cpp", ".hh": "cpp", ".m": "objective-c",
    ".sh": "shellscript", ".bash": "shellscript", ".rb": "ruby", ".ex": "elixir",
    ".exs": "elixir", ".yml": "yaml", ".tf": "terraform", ".tex": "latex", ".bib": "bibtex",
}  # fmt: skip
"""Language ids by file extension; other files have their extension without the dot."""


def language_of(path: str) -> str:
    end = Path(path).suffix.lower()
    return LANGUAGES.get(end, end.removeprefix("."))


@dataclass(slots=True)
class _Document:
    version: int
    text: str
    diagnostics: tuple[Diagnostic, ...] = ()
    errors: int = 0
    diagnosed_version: int = 0
    """The version that the diagnostics belong to; 0 before the first."""

    def set_diagnostics(self, diagnostics: tuple[Diagnostic, ...], version: int) -> None:
        """Take the diagnostics of a *version*, unless those of a later one are known."""
        if version < self.diagnosed_version:
            return
        self.diagnostics, self.diagnosed_version = diagnostics, version
        self.errors = sum(one.severity == "error" for one in diagnostics)

    @property
    def oldest_undiagnosed(self) -> int:
        """The version that diagnostics without a version can belong to: the next one after the last
        that was diagnosed. A server can still be busy with it when a later one was sent."""
        return min(self.version, self.diagnosed_version + 1)


class LspClient:
    """A language server running in *root*."""

    def __init__(
        self, spec: ServerSpec, root: str, env: Mapping[str, str], changed: Callable[[], None]
    ) -> None:
        """*changed* is called when the status changes."""
        self.spec = spec
        self.root = root
        self.capabilities: JsonObject = {}
        self._env = env
        self._changed = changed
        self._program: ServerProcess | None = None
        self._connection: Connection | None = None
        self._documents: OrderedDict[str, _Document] = OrderedDict()
        self._updated = asyncio.Event()
        self._notify_timer: asyncio.TimerHandle | None = None
        self._state: LspState = "starting"
        self._reason = ""

    @property
    def state(self) -> LspState:
        return self._state

    @property
    def status(self) -> LspStatus:
        return LspStatus(
            id=self.spec.id,
            root=self.root,
            state=self._state,
            reason=self._reason,
            files=len(self._documents),
            errors=sum(document.errors for document in self._documents.values()),
        )

    async def start(self) -> None:
        """Start the server. A failure becomes its status and is never raised."""
        try:
            self._program = await ServerProcess.start(
                self.spec.command, self.root, {**self._env, **self.spec.env}
            )
            self._connection = Connection(
                self._program,
                self.spec.initialization,
                self._on_notification,
                self._connection_lost,
            )
            async with asyncio.timeout(HANDSHAKE_TIMEOUT):
                await self._handshake(self._connection)
        except TimeoutError:
            await self.end("failed", f"did not start within {HANDSHAKE_TIMEOUT:.0f} s")
        except OSError as error:
            await self.end("failed", f"cannot be started: {error.strerror or error}")
        except (ServerGone, RequestRefused) as error:
            await self.end("failed", self._crash_reason() or str(error))
        else:
            self._set_state("ready", "")

    async def _handshake(self, connection: Connection) -> None:
        uri = Path(self.root).as_uri()
        answer = await connection.request(
            "initialize",
            {
                "processId": os.getpid(),
                "clientInfo": {"name": "opencode-py"},
                "rootUri": uri,
                "rootPath": self.root,
                "workspaceFolders": [{"uri": uri, "name": Path(self.root).name}],
                "initializationOptions": self.spec.initialization,
                "capabilities": CLIENT_CAPABILITIES,
            },
            HANDSHAKE_TIMEOUT,
        )
        given = answer.get("capabilities") if isinstance(answer, dict) else None
        self.capabilities = given if isinstance(given, dict) else {}
        await connection.notify("initialized", {})
        settings: JsonObject = {"settings": self.spec.initialization}
        await connection.notify("workspace/didChangeConfiguration", settings)

    async def sync_file(self, path: str, text: str) -> None:
        """Send the current text of a file. Raises ``ServerGone``."""
        connection = self._ready_connection()
        uri = Path(path).as_uri()
        document = self._documents.get(path)
        if document is None:
            self._documents[path] = document = _Document(1, text)
            opened: JsonObject = {
                "uri": uri,
                "languageId": language_of(path),
                "version": 1,
                "text": text,
            }
            await connection.notify("textDocument/didOpen", {"textDocument": opened})
            await self._close_oldest(connection)
        elif document.text != text:
            document.version += 1
            document.text = text
            identified: JsonObject = {"uri": uri, "version": document.version}
            await connection.notify(
                "textDocument/didChange",
                {"textDocument": identified, "contentChanges": [{"text": text}]},
            )
            await connection.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
        self._documents.move_to_end(path)

    async def diagnose(self, path: str, wait: float) -> tuple[Diagnostic, ...] | None:
        """Return the diagnostics of a file, None if they did not come within *wait* seconds.

        Raises ``ServerGone``.
        """
        connection = self._ready_connection()
        document = self._documents[path]
        if supports(self.capabilities, "diagnosticProvider"):
            return await self._pull_diagnostics(connection, path, document, wait)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait):
                while document.diagnosed_version < document.version:
                    self._ready_connection()  # raises if it has ended
                    self._updated.clear()
                    await self._updated.wait()
                await self._wait_until_settled()
        return document.diagnostics if document.diagnosed_version >= document.version else None

    async def _wait_until_settled(self) -> None:
        """Wait until no update came for a moment: some servers send quick results first.

        A server that sends updates without end is not waited for.
        """
        for _ in range(MAX_SETTLE_ROUNDS):
            self._updated.clear()
            try:
                async with asyncio.timeout(SETTLE_TIME):
                    await self._updated.wait()
            except TimeoutError:
                return

    async def _pull_diagnostics(
        self, connection: Connection, path: str, document: _Document, wait: float
    ) -> tuple[Diagnostic, ...] | None:
        params: JsonObject = {"textDocument": {"uri": Path(path).as_uri()}}
        version = document.version
        try:
            answer = await connection.request("textDocument/diagnostic", params, wait)
        except (TimeoutError, RequestRefused):
            return None
        found = document.diagnostics
        if isinstance(answer, dict) and answer.get("kind") == "full":
            found = parse_diagnostics(answer.get("items"))
        document.set_diagnostics(found, version)
        return document.diagnostics if document.diagnosed_version >= document.version else None

    async def request(self, method: str, params: JsonObject, timeout: float) -> Json:
        """Send a request. Raises ``ServerGone``, ``RequestRefused`` and ``TimeoutError``."""
        return await self._ready_connection().request(method, params, timeout)

    async def memory(self) -> int:
        """Return the bytes of memory that the server uses, 0 if unknown."""
        return await asyncio.to_thread(self._program.memory) if self._program else 0

    async def end(self, state: LspState = "ended", reason: str = "") -> None:
        """End the server, whatever it is doing; *reason* becomes part of its status."""
        self._set_state(state, reason)
        connection, self._connection = self._connection, None
        program, self._program = self._program, None
        if connection is not None:
            if program is not None and program.code is None and state == "ended":
                with contextlib.suppress(ServerGone, RequestRefused, TimeoutError):
                    await connection.request("shutdown", {}, SHUTDOWN_TIMEOUT)
                    await connection.notify("exit", {})
            await connection.close()
        if program is not None:
            await program.end()
        self._documents.clear()

    async def _close_oldest(self, connection: Connection) -> None:
        while len(self._documents) > MAX_OPEN_FILES:
            path, _ = self._documents.popitem(last=False)
            closed: JsonObject = {"textDocument": {"uri": Path(path).as_uri()}}
            await connection.notify("textDocument/didClose", closed)

    def _ready_connection(self) -> Connection:
        if self._connection is None or self._state != "ready":
            raise ServerGone(self._reason or "it is not running")
        return self._connection

    def _on_notification(self, method: str, params: JsonObject) -> None:
        if method != "textDocument/publishDiagnostics" or not isinstance(params.get("uri"), str):
            return
        document = self._documents.get(path_of(str(params["uri"])))
        if document is None:
            return
        version = params.get("version")
        document.set_diagnostics(
            parse_diagnostics(params.get("diagnostics")),
            version if isinstance(version, int) else document.oldest_undiagnosed,
        )
        self._updated.set()
        if self._notify_timer is None:  # some say thousands of things in a row
            self._notify_timer = asyncio.get_running_loop().call_later(
                SETTLE_TIME, self._notify_changed
            )

    def _notify_changed(self) -> None:
        self._notify_timer = None
        self._changed()

    def _connection_lost(self, reason: str) -> None:
        if self._state == "ready":
            self._set_state("failed", reason or self._crash_reason() or "it has ended")
            self._updated.set()

    def _crash_reason(self) -> str:
        return self._program.crash_reason if self._program is not None else ""

    def _set_state(self, state: LspState, reason: str) -> None:
        self._state, self._reason = state, reason
        if self._notify_timer is not None:
            self._notify_timer.cancel()
        self._notify_changed()


CLIENT_CAPABILITIES: JsonObject = {
    "workspace": {
        "configuration": True,
        "workspaceFolders": False,
        "didChangeConfiguration": {"dynamicRegistration": False},
    },
    "textDocument": {
        "synchronization": {"didSave": True},
        "publishDiagnostics": {"versionSupport": True},
        "diagnostic": {"dynamicRegistration": False},
        "hover": {"contentFormat": ["plaintext", "markdown"]},
        "definition": {"linkSupport": True},
        "implementation": {"linkSupport": True},
        "references": {},
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
    },
    "window": {"workDoneProgress": False},
    "general": {"positionEncodings": ["utf-16"]},
}
"""The capabilities that this client announces in the handshake."""
