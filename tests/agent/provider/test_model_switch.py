"""A session that changes its model between protocols, on servers as strict as the real ones."""

from pathlib import Path

import pytest

from agent.records.messages import Completed
from tests.agent.provider.switched_models import ORDER, SERVED, providers
from tests.support.harness import APIS, open_harness
from tests.support.script import Call, Opaque, Reason, Text, answer


@pytest.mark.parametrize("effort", [None, "none", "low"])
async def test_the_model_can_change_from_turn_to_turn(tmp_path: Path, effort: str) -> None:
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
                keeps = SERVED[model] != "gemini"  # only its signatures are sent back
                assert sent == (other == model and keeps), (number, before)
                assert f"I look, {before}." in said
        tools = await harness.tools(session)
        assert len(tools) == 2 * len(ORDER)
        assert all(isinstance(tool.state, Completed) for tool in tools)
