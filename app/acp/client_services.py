"""The client's terminals: ``terminal/*`` as those that the agent runs commands in.

Clients implement the protocol differently: some keep the first bytes of an output and not the last,
some kill one process of many, and each reports the end of a command in its own way. So the relay of
the agent package reports these things where it can; otherwise the client's word is taken.
"""

import asyncio
import concurrent.futures
import logging
import re
from collections.abc import Awaitable, Callable
from typing import Any

from acp.exceptions import RequestError
from acp.interfaces import Client
from acp.schema import ClientCapabilities, EnvVariable
from pydantic import ValidationError

from agent.files import EditorRefused
from agent.process import (
    Terminal,
    TerminalCommand,
    TerminalExit,
    TerminalLost,
    TerminalMissing,
    TerminalRefused,
    TerminalText,
)
from app.acp.errors import error_sentence

log = logging.getLogger(__name__)

_DENIED = re.compile(r"denied|refused|rejected|declined|not (allowed|permitted)", re.IGNORECASE)
"""Matches a client's refusal of a command by its user: the protocol has no code for it."""


class ClientTerminals:
    """Opens terminals of the client."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._late: set[asyncio.Task[Terminal]] = set()

    async def open(self, session_id: str, command: TerminalCommand) -> Terminal:
        opening = asyncio.create_task(self._open(session_id, command), name="open a terminal")
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            # The client can still ask its user, and open a terminal that is no longer needed.
            self._late.add(opening)
            opening.add_done_callback(self._release_late)
            raise

    async def _open(self, session_id: str, command: TerminalCommand) -> Terminal:
        program, *arguments = command.argv
        try:
            answer = await self._client.create_terminal(
                session_id=session_id,
                command=program,
                args=arguments,
                env=[EnvVariable(name=name, value=value) for name, value in command.env.items()],
                cwd=command.directory,
                output_byte_limit=command.max_output,
            )
        except RequestError as error:
            sentence = error_sentence(error)
            if _DENIED.search(sentence):
                raise TerminalRefused(sentence) from error
            raise TerminalMissing(sentence) from error
        except ConnectionError as error:
            raise TerminalRefused("It is gone.") from error
        except ValidationError as error:
            raise TerminalRefused("Its response names no terminal.") from error
        return ClientTerminal(self._client, session_id, answer.terminal_id)

    def _release_late(self, opening: asyncio.Task[Terminal]) -> None:
        self._late.discard(opening)
        if not opening.cancelled() and opening.exception() is None:
            releasing = asyncio.ensure_future(_kill_and_release(opening.result()))
            self._late.add(releasing)
            releasing.add_done_callback(self._late.discard)


async def _kill_and_release(terminal: Terminal) -> Terminal:
    await terminal.kill()
    await terminal.release()
    return terminal


class ClientTerminal:
    """One terminal of the client."""

    def __init__(self, client: Client, session_id: str, terminal_id: str) -> None:
        self.id = terminal_id
        self._client = client
        self._named = {"session_id": session_id, "terminal_id": terminal_id}

    async def exit(self) -> TerminalExit:
        exited = await self._request(self._client.wait_for_terminal_exit)
        return TerminalExit(exited.exit_code, exited.signal or "")

    async def text(self) -> TerminalText:
        output = await self._request(self._client.terminal_output)
        return TerminalText(output.output, output.truncated)

    async def kill(self) -> None:
        await self._request_quietly(self._client.kill_terminal)

    async def release(self) -> None:
        await self._request_quietly(self._client.release_terminal)

    async def _request(self, method: Callable[..., Awaitable[Any]]) -> Any:
        try:
            return await method(**self._named)
        except RequestError as error:
            raise TerminalLost(error_sentence(error)) from error
        except ConnectionError as error:
            raise TerminalLost("It is gone.") from error
        except ValidationError as error:
            raise TerminalLost("Its response is not valid.") from error

    async def _request_quietly(self, method: Callable[..., Awaitable[Any]]) -> None:
        try:
            await self._request(method)
        except TerminalLost as lost:
            log.info("the client does not give up the terminal %s: %s", self.id, lost)


def terminals_of(client: Client, capabilities: ClientCapabilities | None) -> ClientTerminals | None:
    """Return the terminals of a client that offers them, else None."""
    offered = capabilities is not None and capabilities.terminal
    return ClientTerminals(client) if offered else None


READ_TIMEOUT = 10.0
"""Seconds that a client can take for the text of a file, which it has in memory or on disk."""

METHOD_NOT_FOUND = -32601
"""JSON-RPC's code for an unknown method."""


class ClientEditor:
    """The files as the client sees them. Create it in the event loop of the connection."""

    writes = True

    def __init__(self, client: Client) -> None:
        self._client = client
        self._loop = asyncio.get_running_loop()

    def text(self, session_id: str, path: str) -> str | None:
        reading = asyncio.run_coroutine_threadsafe(self._text(session_id, path), self._loop)
        try:
            return reading.result(READ_TIMEOUT)
        except TimeoutError:
            reading.cancel()
            log.warning("the client did not return the text of %s", path)
        except concurrent.futures.CancelledError:
            pass  # the program exits
        return None

    async def save(self, session_id: str, path: str, text: str) -> None:
        """Write a file, on disk where the client offers the method but does not know it."""
        try:
            await self._client.write_text_file(session_id=session_id, path=path, content=text)
        except RequestError as error:
            if error.code != METHOD_NOT_FOUND:
                raise EditorRefused(error_sentence(error)) from error
            log.warning("the client offers fs/write_text_file and does not know it")
        except ConnectionError as error:
            raise EditorRefused("It is gone.") from error

    async def _text(self, session_id: str, path: str) -> str | None:
        """Return the text of a file, None to read it from disk if the client cannot."""
        try:
            answer = await self._client.read_text_file(session_id=session_id, path=path)
        except (RequestError, ConnectionError, ValidationError) as error:
            log.info("the client does not read %s: %s", path, error)
            return None
        return answer.content


def editor_of(client: Client, capabilities: ClientCapabilities | None) -> ClientEditor | None:
    """Return the editor of a client that reads and writes files, else None."""
    files = capabilities.fs if capabilities is not None else None
    both = files is not None and files.read_text_file and files.write_text_file
    return ClientEditor(client) if both else None
