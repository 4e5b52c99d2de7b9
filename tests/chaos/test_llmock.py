"""Turns against LLMock, an independent server that fails as providers do and judges the client.
Runs where it is installed (``make soak`` installs it)."""

from pathlib import Path

import pytest

from agent.records.events import SessionIdle
from agent.runtime.runtime import open_runtime
from agent.session.api import PromptInput
from tests.support.harness import environment, write_config

pytest.importorskip("llmock")

WAYS = {
    "openai-chat": ("openai", ""),
    "openai-responses": ("openai", ""),
    "anthropic-messages": ("anthropic", "/v1"),
    "gemini": ("gemini", "/v1beta"),
}
FAULTS: dict[str, dict[str, object]] = {
    "none": {"type": "delay", "seconds": 0},
    "limited": {"type": "fail", "status": 429, "retry_after": 1, "times": 2},
    "overloaded": {"type": "fail", "status": 503, "times": 2},
    "stalls": {"type": "stream_fault", "kind": "stall", "after_chunks": 3},
    "no arguments": {"type": "tool_fault", "kind": "malformed_arguments"},
    "no such tool": {"type": "tool_fault", "kind": "unknown_tool"},
    **{
        kind: {"type": "stream_fault", "kind": kind, "after_chunks": 3}
        for kind in ("disconnect", "truncate", "malformed")
    },
}
FATAL: dict[str, dict[str, object]] = {
    "bad key": {"type": "fail", "status": 401, "times": None},
    "bad request": {"type": "fail", "status": 400, "times": None},
    "outage": {"type": "fail", "status": 503, "times": None},
}
HARMLESS = {"malformed_chunk_ignored", "gave_up"}
"""Findings that are right: a broken chunk ends the stream at once, though data sent after it counts
as read; giving up is right during an outage."""


@pytest.mark.timeout(600)
@pytest.mark.parametrize("fault", [*FAULTS, *FATAL])
@pytest.mark.parametrize("api", WAYS)
async def test_a_turn_survives_faults_of_a_provider(tmp_path: Path, api: str, fault: str) -> None:
    from llmock.scenarios import behavior_from_dict
    from llmock.testing import LLMockServer
    from llmock.verdict import judge

    home, folder = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    folder.mkdir()
    provider, version = WAYS[api]
    with LLMockServer() as server:
        base = server.base_url(provider) + version
        options = {"baseURL": base, "apiKey": "sk-0001", "chunkTimeout": 2_000}
        models = {"gpt-4o": {"limit": {"context": 100_000, "output": 8_000}}}
        named = {"m": {"api": api, "options": options, "models": models}}
        retry = {"attempts": 4, "delay": 200}
        allowed = {"*": "deny", "glob": "allow"}
        write_config(
            home,
            {"model": "m/gpt-4o", "provider": named, "retry": retry, "permission": allowed},
        )
        server.state.scenarios.add(behavior_from_dict({**FAULTS, **FATAL}[fault]))
        runtime = await open_runtime(folder, env=environment(home))
        try:
            with runtime.bus.subscribe(lambda e: isinstance(e, SessionIdle)) as ends:
                session = await runtime.sessions.repository.create(title="a title")
                sent = PromptInput(text="find the files with glob")
                await runtime.sessions.prompt(session.id, sent)
                idle = await anext(aiter(ends))
        finally:
            await runtime.close()
        found = judge(server.state.journal.records(wait=2)).to_dict()["findings"]
    assert isinstance(idle, SessionIdle)
    assert idle.outcome == ("failed" if fault in FATAL else "completed"), idle
    assert [each for each in found if each["code"] not in HARMLESS] == []
