"""Calls that are repeated over and over, in whole turns."""

from pathlib import Path

import pytest

from agent.records.messages import Failed
from tests.support.after_turn import assert_left_clean
from tests.support.harness import open_harness
from tests.support.script import Call, Text, Tokens, answer

FREE = {"permission": {"bash": "allow", "edit": "allow"}}
DONE = answer(Text("done"), Tokens(5_000, 10))


@pytest.mark.parametrize("name", ["unknown", "", "bash\n", "Unknown Tool!"])
async def test_calls_of_unknown_tools_do_not_continue_forever(tmp_path: Path, name: str) -> None:
    async with open_harness(tmp_path, **FREE) as harness:
        harness.server.always(answer(Call(name, {"command": "echo hi"})))
        session = await harness.session()
        await harness.send(session, "go")
        harness.answer(await harness.permission_request(), "reject")
        await harness.idle(session)
        assert len(harness.server.requests) <= 5
        for tool in await harness.tools(session):
            if isinstance(tool.state, Failed) and tool.state.kind != "denied":
                assert "read" in tool.state.error, "the error lists the tools"
        await assert_left_clean(harness, session, 0, "a tool that there is not")


@pytest.mark.parametrize("allowed", ["allow", {"*": "allow"}, {"doom*": "allow", "*": "allow"}])
async def test_the_doom_loop_asks_even_if_everything_is_allowed(
    tmp_path: Path, allowed: object
) -> None:
    async with open_harness(tmp_path, permission=allowed) as harness:
        harness.server.always(answer(Call("list", {})))
        session = await harness.session()
        await harness.send(session, "go")
        harness.answer(await harness.permission_request(), "reject")
        await harness.idle(session)
        assert len(harness.server.requests) == 3


async def test_a_loop_is_allowed_by_its_name(tmp_path: Path) -> None:
    async with open_harness(tmp_path, permission={"doom_loop": "allow"}) as harness:
        harness.server.script(*[answer(Call("list", {}))] * 6, DONE)
        assert (await harness.turn(await harness.session(), "go")).outcome == "completed"
        assert len(harness.server.requests) == 7
