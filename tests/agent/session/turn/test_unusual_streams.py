"""Streams with shared indexes, no arguments or very many pieces."""

from pathlib import Path

import pytest

from agent.records.messages import Completed, ReasoningPart
from tests.support.harness import open_harness
from tests.support.script import Call, Reason, Text, Tokens, answer

DONE = answer(Text("done"), Tokens(5_000, 10))


async def test_two_calls_under_one_index_are_two(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        for name in "ab":
            (harness.folder / name).write_text(f"text of {name}\n")
        calls = [Call("read", {"file_path": name}, id=name, index=0) for name in "ab"]
        harness.server.script(answer(*calls), DONE)
        session = await harness.session()
        assert (await harness.turn(session, "go")).outcome == "completed"
        sent = harness.server.requests[1].body["messages"]
        results = [message["content"] for message in sent if message["role"] == "tool"]
        assert ["text of a" in results[0], "text of b" in results[1]] == [True, True]


async def test_a_thought_of_very_many_pieces_is_one_part(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        harness.server.script(answer(*(Reason("think") for _ in range(20_000)), Text("so")))
        session = await harness.session()
        assert (await harness.turn(session, "go")).outcome == "completed"
        thoughts = [p for p in await harness.parts(session) if isinstance(p, ReasoningPart)]
        assert [len(part.text) for part in thoughts] == [100_000]


@pytest.mark.parametrize("arguments", ["", " ", "null", None])
async def test_a_call_without_arguments_runs_and_is_sent_back_as_that(
    tmp_path: Path, arguments: str | None
) -> None:
    async with open_harness(tmp_path) as harness:
        harness.server.script(answer(Call("list", arguments)), DONE)
        session = await harness.session()
        assert (await harness.turn(session, "go")).outcome == "completed"
        (call,) = harness.server.requests[1].body["messages"][-2]["tool_calls"]
        assert call["function"]["arguments"] == "{}"
        (tool,) = await harness.tools(session)
        assert isinstance(tool.state, Completed)
