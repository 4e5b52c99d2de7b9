"""Prompts to a served session."""

from tests.app.server.conftest import Served


async def prompted(served: Served, session: str, text: str, **more: object) -> dict:
    body = {"parts": [{"type": "text", "text": text}], **more}
    return await served.call("POST", f"/session/{session}/message", body)
