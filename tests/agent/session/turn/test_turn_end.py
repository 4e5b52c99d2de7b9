"""The error with which a turn ended stays with the session."""

from pathlib import Path

from agent.records.messages import (
    AssistantMessage,
)
from tests.support.harness import open_harness
from tests.support.script import Call, Text, Tokens, answer


async def test_why_a_turn_ended_stays_with_the_session(tmp_path: Path) -> None:
    async with open_harness(tmp_path, limits={"tokens": 100}) as harness:
        harness.server.always(answer(Call("list", {}), Tokens(100, 10)))
        session = await harness.session()
        await harness.turn(session, "go")
        last = (await harness.messages(session))[-1].message
        assert isinstance(last, AssistantMessage)
        assert last.error is not None
        assert "of 100 tokens" in last.error.message


async def test_a_turn_that_fails_before_its_first_step_has_an_error(tmp_path: Path) -> None:
    async with open_harness(tmp_path, compaction={"auto": False}) as harness:
        session = await harness.session()
        harness.server.script(answer(Text("long"), Tokens(85_000, 100)))
        await harness.turn(session, "first")
        await harness.turn(session, "second")
        last = (await harness.messages(session))[-1].message
        assert isinstance(last, AssistantMessage)
        assert last.error is not None
        assert "/compact" in last.error.message
        harness.server.script(answer(Text("ok")))
