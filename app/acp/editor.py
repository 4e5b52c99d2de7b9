"""The client's files: ``fs/read_text_file`` and ``fs/write_text_file`` as the agent's editor.

Both are used or neither: writing past buffers that cannot be read would overwrite the user's
unsaved changes.
"""

import asyncio
import concurrent.futures
import logging

from acp.exceptions import RequestError
from acp.interfaces import Client
from acp.schema import ClientCapabilities
from pydantic import ValidationError

from agent.files import EditorRefused
from app.acp.errors import error_sentence

log = logging.getLogger(__name__)

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
        """Write a file. Where the client offers the method but does not know it, it is written on
        disk."""
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
