"""One language server: its handshake, its open files, what it says of them (LSP 3.17)."""

import asyncio
import contextlib
import os
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from agent.lsp.connection import Connection, RequestRefused, ServerGone
from agent.lsp.records import Diagnostic, LspState, LspStatus, ServerSpec
from agent.lsp.responses import parse_diagnostics, path_of, supports
from agent.lsp.server_process import ServerProcess
from agent.records.json import Json, JsonObject

HANDSHAKE_TIMEOUT = 30.0
"""Seconds for a server to come up; one that takes longer is ended."""

SHUTDOWN_TIMEOUT = 0.5
"""Seconds for a server to take its leave."""

MAX_OPEN_FILES = 64
"""Files that a server has open at most; the one that was not touched for longest is closed."""

SETTLE_TIME = 0.1
"""Seconds without news after which what a server said of a file counts as all."""

MAX_SETTLE_ROUNDS = 50
"""Times that it may have more to say before that moment."""

LANGUAGES: Mapping[str, str] = {
    ".py": "python", ".pyi": "python", ".ts": "typescript", ".mts": "typescript",
    ".cts": "typescript", ".tsx": "typescriptreact", ".js": "javascript", ".mjs": "javascript",
    ".cjs": "javascript", ".jsx": "javascriptreact", ".rs": "rust", ".c": "c", ".h": "c",
    ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp", ".hpp": "cpp", ".hh": "cpp", ".m": "objective-c",
    ".sh": "shellscript", ".bash": "shellscript", ".rb": "ruby", ".ex": "elixir",
    ".exs": "elixir", ".yml": "yaml", ".tf": "terraform", ".tex": "latex", ".bib": "bibtex",
}  # fmt: skip
"""What the protocol calls the language of a file; else its name's end without the dot."""


def language_of(path: str) -> str:
    end = Path(path).suffix.lower()
    return LANGUAGES.get(end, end.removeprefix("."))


@dataclass(slots=True)
class _Document:
    version: int
    text: str
    said: tuple[Diagnostic, ...] = ()
    errors: int = 0
    heard: int = -1

    def hear(self, said: tuple[Diagnostic, ...], version: int) -> None:
        self.said, self.heard = said, version
        self.errors = sum(one.severity == "error" for one in said)


class LspClient:
    """A server at work in *root*. *changed* is called when its status is another one."""

    def __init__(
        self, spec: ServerSpec, root: str, env: Mapping[str, str], changed: Callable[[], None]
    ) -> None:
        self.spec = spec
        self.root = root
        self.capabilities: JsonObject = {}
        self._env = env
        self._changed = changed
        self._program: ServerProcess | None = None
        self._connection: Connection | None = None
        self._documents: OrderedDict[str, _Document] = OrderedDict()
        self._news = asyncio.Event()
        self._telling: asyncio.TimerHandle | None = None
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
        """Bring it up. What fails is its status, never an error of the caller's."""
        try:
            self._program = await ServerProcess.start(
                self.spec.command, self.root, {**self._env, **self.spec.env}
            )
            self._connection = Connection(
                self._program, self.spec.initialization, self._notified, self._lost
            )
            async with asyncio.timeout(HANDSHAKE_TIMEOUT):
                await self._handshake(self._connection)
        except TimeoutError:
            await self.end("failed", f"did not come up within {HANDSHAKE_TIMEOUT:.0f} s")
        except OSError as error:
            await self.end("failed", f"cannot be started: {error.strerror or error}")
        except (ServerGone, RequestRefused) as error:
            await self.end("failed", self._last_words() or str(error))
        else:
            self._become("ready", "")

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
        can = answer.get("capabilities") if isinstance(answer, dict) else None
        self.capabilities = can if isinstance(can, dict) else {}
        await connection.notify("initialized", {})
        settings: JsonObject = {"settings": self.spec.initialization}
        await connection.notify("workspace/didChangeConfiguration", settings)

    async def show(self, path: str, text: str) -> None:
        """Tell it what stands in a file now. Raises ``ServerGone``."""
        connection = self._ready()
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
        """What it says of a file that was shown, None if that did not come within *wait*
        seconds. Raises ``ServerGone``."""
        connection = self._ready()
        document = self._documents[path]
        if supports(self.capabilities, "diagnosticProvider"):
            return await self._pulled(connection, path, document, wait)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait):
                while document.heard < document.version:
                    self._ready()  # it may have ended
                    self._news.clear()
                    await self._news.wait()
                await self._settled()
        return document.said if document.heard >= document.version else None

    async def _settled(self) -> None:
        """Wait until nothing was said for a moment: some servers speak twice, the quick things
        first. One that speaks on and on is not waited for."""
        for _ in range(MAX_SETTLE_ROUNDS):
            self._news.clear()
            try:
                async with asyncio.timeout(SETTLE_TIME):
                    await self._news.wait()
            except TimeoutError:
                return

    async def _pulled(
        self, connection: Connection, path: str, document: _Document, wait: float
    ) -> tuple[Diagnostic, ...] | None:
        asked: JsonObject = {"textDocument": {"uri": Path(path).as_uri()}}
        try:
            answer = await connection.request("textDocument/diagnostic", asked, wait)
        except (TimeoutError, RequestRefused):
            return None
        if isinstance(answer, dict) and answer.get("kind") == "full":
            document.hear(parse_diagnostics(answer.get("items")), document.version)
        document.heard = document.version
        return document.said

    async def ask(self, method: str, params: JsonObject, timeout: float) -> Json:
        """Raises ``ServerGone``, ``RequestRefused`` and ``TimeoutError``."""
        return await self._ready().request(method, params, timeout)

    async def memory(self) -> int:
        """Bytes that it holds, 0 where that cannot be told."""
        return await asyncio.to_thread(self._program.memory) if self._program else 0

    async def end(self, state: LspState = "ended", reason: str = "") -> None:
        """End it, whatever it is doing; *reason* is what its status tells."""
        self._become(state, reason)
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

    def _ready(self) -> Connection:
        if self._connection is None or self._state != "ready":
            raise ServerGone(self._reason or "it is not running")
        return self._connection

    def _notified(self, method: str, params: JsonObject) -> None:
        if method != "textDocument/publishDiagnostics" or not isinstance(params.get("uri"), str):
            return
        document = self._documents.get(path_of(str(params["uri"])))
        if document is None:
            return
        version = params.get("version")
        document.hear(
            parse_diagnostics(params.get("diagnostics")),
            version if isinstance(version, int) else document.version,
        )
        self._news.set()
        if self._telling is None:  # some say thousands of things in a row
            self._telling = asyncio.get_running_loop().call_later(SETTLE_TIME, self._tell)

    def _tell(self) -> None:
        self._telling = None
        self._changed()

    def _lost(self, reason: str) -> None:
        if self._state == "ready":
            self._become("failed", reason or self._last_words() or "it has ended")
            self._news.set()

    def _last_words(self) -> str:
        return self._program.last_words if self._program is not None else ""

    def _become(self, state: LspState, reason: str) -> None:
        self._state, self._reason = state, reason
        if self._telling is not None:
            self._telling.cancel()
        self._tell()


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
"""What this client tells of itself in the handshake."""
