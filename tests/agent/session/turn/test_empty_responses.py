"""Responses without an answer are reported, with the cause and what to do next."""

from pathlib import Path

import pytest

from agent.records.messages import AssistantMessage
from tests.support.harness import APIS, open_harness
from tests.support.script import Answer, Call, Finish, Reason, Text, answer

FILTER_WORDS = {
    "openai-chat": "content_filter",
    "openai-responses": "content_filter",
    "anthropic-messages": "refusal",
    "gemini": "SAFETY",
}
LIMIT = {"limit": {"context": 100_000, "output": 4_000}}
CALL = answer(Call("glob", {"pattern": "*.none"}))

CASES: dict[str, tuple[tuple[Answer, ...], str, tuple[str, ...]]] = {
    "nothing": ((answer(Finish("end")),), "completed", ("empty response", "continue", "/model")),
    "blank text": ((answer(Text(" \n")),), "completed", ("empty response",)),
    "reasoning only": (
        (answer(Reason("Hm.")),),
        "completed",
        ("after its reasoning", "continue", "/effort"),
    ),
    "nothing after calls": ((CALL, answer(Finish("end"))), "completed", ("tool calls", "continue")),
    "reasoning took the room": (
        (answer(Reason("Hm."), Finish("limit")),),
        "limit_reached",
        ("4,000 tokens", "for reasoning", "/effort", "--effort", "larger limit"),
    ),
    "cut before anything": (
        (answer(Finish("limit")),),
        "limit_reached",
        ("output limit of 4,000 tokens", "larger limit"),
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("api", APIS)
async def test_an_empty_response_is_reported(tmp_path: Path, api: str, name: str) -> None:
    answers, outcome, words = CASES[name]
    async with open_harness(tmp_path, api=api, abilities=LIMIT) as harness:
        session = await harness.session()
        harness.server.script(*answers)
        idle = await harness.turn(session, "go")
        assert idle.outcome == outcome
        assert idle.error is not None
        assert all(word in idle.error.message for word in words), idle.error.message
        assert len(harness.server.requests) == len(answers)
        shown = (await harness.messages(session))[-1].message
        assert isinstance(shown, AssistantMessage)
        assert shown.error == idle.error
        harness.server.script(answer(Text("here it is")))
        idle = await harness.turn(session, "continue")
        assert (idle.outcome, idle.error) == ("completed", None)


@pytest.mark.parametrize("api", APIS)
async def test_a_filter_is_named(tmp_path: Path, api: str) -> None:
    async with open_harness(tmp_path, api=api) as harness:
        session = await harness.session()
        harness.server.script(answer(Finish(FILTER_WORDS[api])))
        idle = await harness.turn(session, "go")
        assert idle.outcome == "failed"
        assert idle.error is not None
        assert "filter" in idle.error.message
        assert "Rephrase" in idle.error.message


async def test_an_answer_is_no_empty_response(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        session = await harness.session()
        harness.server.script(CALL, answer(Reason("Hm."), Text("done")))
        assert (await harness.turn(session, "go")).error is None
