"""R4: a conversation that changes its model goes on in each protocol, with thoughts and calls of
the other models in its history; the servers are as strict as the real ones."""

from pathlib import Path

import pytest

from agent.records.messages import Completed
from tests.support.harness import APIS, open_harness
from tests.support.script import Call, Opaque, Reason, Text, answer

SERVED = {
    "claude/claude-sonnet-4-5": "anthropic-messages",
    "claude/claude-opus-4-7": "anthropic-messages",
    "open/gpt-5.4": "openai-responses",
    "chat/deepseek-v4": "openai-chat",
    "google/gemini-3-pro": "gemini",
}
ORDER = (
    "claude/claude-sonnet-4-5", "open/gpt-5.4", "claude/claude-sonnet-4-5", "google/gemini-3-pro",
    "chat/deepseek-v4", "open/gpt-5.4", "google/gemini-3-pro", "claude/claude-opus-4-7",
    "chat/deepseek-v4", "claude/claude-sonnet-4-5",
)  # fmt: skip


def providers(url: str) -> dict[str, object]:
    found: dict[str, dict[str, object]] = {}
    for full_name, api in SERVED.items():
        provider, _, name = full_name.partition("/")
        options = {"baseURL": url, "apiKey": "sk-scripted-0001"}
        settings = found.setdefault(provider, {"api": api, "options": options, "models": {}})
        models = settings["models"]
        assert isinstance(models, dict)
        limit = {"context": 100_000, "output": 32_000}
        models[name] = {"limit": limit, "reasoning": True}
    return dict(found)


@pytest.mark.parametrize("effort", [None, "none", "low"])
async def test_r4_the_model_may_change_from_turn_to_turn(tmp_path: Path, effort: str) -> None:
    assert set(SERVED.values()) == set(APIS)
    async with open_harness(tmp_path, provider=providers) as harness:
        (harness.folder / "a.txt").write_text("one\n", "utf-8")
        read = Call("read", {"file_path": str(harness.folder / "a.txt")}, id="call.0:x")
        harness.server.always(answer(Text("A title")))
        session = await harness.session()
        for number, model in enumerate(ORDER):
            thoughts = (Reason(f"<thought {number} of {model}>"), Text(f"I look, {number}."))
            harness.server.script(
                answer(*thoughts, read, read),
                answer(Opaque("c2VjcmV0"), Reason(f"<end {number} of {model}>"), Text("Done.")),
            )
            await harness.runtime.sessions.repository.set_model(session.id, model, effort)
            assert (await harness.turn(session, f"look {number}")).outcome == "completed"
            said = str(harness.server.requests[-1].body)
            for before, other in enumerate(ORDER[: number + 1]):
                sent = f"<thought {before} of {other}>" in said
                keeps = SERVED[model] != "gemini"  # whose signatures alone go back
                assert sent == (other == model and keeps), (number, before)
                assert f"I look, {before}." in said
        tools = await harness.tools(session)
        assert len(tools) == 2 * len(ORDER)
        assert all(isinstance(tool.state, Completed) for tool in tools)
