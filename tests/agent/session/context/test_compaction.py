"""Shortening conversations that fill the model's window, over each protocol."""

import json
from pathlib import Path

import pytest

from agent.provider.client import ModelInfo
from agent.records.messages import CompactionPart, Completed, FilePart, TextPart
from agent.session.context.budget import Budget
from tests.support.harness import APIS, Harness, open_harness
from tests.support.reading import well_read
from tests.support.script import Answer, Call, Failure, Text, Tokens, answer

OVERFLOW = Failure(
    400,
    '{"error": {"message": "maximum context length is 100000 tokens", '
    '"code": "context_length_exceeded"}}',
)
SUMMARY = answer(Text("## Goal\nthe summary"))


def sent(harness: Harness, number: int = -1) -> str:
    return json.dumps(harness.server.requests[number].body, ensure_ascii=False)


def content(path: str) -> str:
    return Path(path).read_text("utf-8")


def model(**limits: int) -> ModelInfo:
    return ModelInfo(provider="p", id="m", name="M", api="openai-chat", **limits)


def test_the_usable_window_follows_the_limits_and_the_settings() -> None:
    assert Budget.for_model(model()) is None
    sizes = {
        (200_000, 64_000, None): 180_000,
        (200_000, 8_000, None): 192_000,
        (32_000, 16_000, None): 24_000,
        (32_000, 16_000, 4_000): 28_000,
        (32_000, 16_000, 90_000): 8_000,
    }
    for (window, output, reserved), usable in sizes.items():
        budget = Budget.for_model(model(context_limit=window, output_limit=output), reserved)
        assert budget is not None
        assert budget.usable == usable
    own = Budget.for_model(model(context_limit=400_000, input_limit=272_000, output_limit=128_000))
    assert own is not None
    assert own.usable == 252_000


@pytest.mark.parametrize("api", APIS)
async def test_a_compaction_in_mid_work_keeps_the_last_step_and_continues(
    tmp_path: Path, api: str
) -> None:
    async with open_harness(tmp_path, api=api) as harness:
        (harness.folder / "a.txt").write_text("the content of a\n")
        harness.server.script(
            answer(Call("read", {"file_path": "a.txt"}), Tokens(85_000, 100)),
            SUMMARY,
            answer(Text("done"), Tokens(5_000, 10)),
        )
        session = await harness.session()
        assert (await harness.turn(session, "look at a")).outcome == "completed"
        last = sent(harness)
        for kept in ("the summary", "look at a", "the content of a", "Continue the work"):
            assert kept in last
        parts = await harness.parts(session)
        markers = [p for p in parts if isinstance(p, CompactionPart)]
        assert len(markers) == 1
        assert markers[0].auto
        assert markers[0].before is not None
        assert markers[0].before >= 80_000
        assert markers[0].usage is not None
        goes_on = [p for p in parts if isinstance(p, TextPart) and p.mark == "compaction_continue"]
        assert len(goes_on) == 1
        assert len(harness.server.requests) == 3


async def test_an_unanswered_message_is_replayed_with_its_image_described(
    tmp_path: Path,
) -> None:
    async with open_harness(tmp_path, abilities={"vision": True}) as harness:
        session = await harness.session()
        harness.server.script(answer(Text("hello")), OVERFLOW, SUMMARY, answer(Text("seen")))
        await harness.turn(session, "hi")
        picture = FilePart(
            id="", session_id="", message_id="", mime="image/png", path="shot.png", data="AAAA"
        )
        before = len(harness.events)
        await harness.send(session, "what is on this?", files=(picture,))
        assert (await harness.idle(session, after=before)).outcome == "completed"
        assert "what is on this?" in sent(harness)
        assert "A picture was attached here (shot.png)" in sent(harness)
        assert "AAAA" in sent(harness, 1)
        assert "AAAA" not in sent(harness)
        assert "Continue the work" not in sent(harness)


async def test_a_pruned_output_names_the_tool_and_a_file_for_good(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        session = await well_read(harness)
        harness.server.script(OVERFLOW, answer(Text("fits")), answer(Text("again")))
        await harness.turn(session, "and now?")
        await harness.turn(session, "and then?")
        bodies = [harness.server.requests[at].body["messages"] for at in (-2, -1)]
        assert bodies[1][: len(bodies[0])] == bodies[0], "the prefix changes once"
        first = next(m["content"] for m in bodies[0] if m["role"] == "tool")
        assert first.startswith("[This output of read was shortened to save space.")
        assert "000000 the quick" in first
        tools = await harness.tools(session)
        states = [t.state for t in tools if isinstance(t.state, Completed) and t.state.compacted]
        for state in states:
            assert state.spill is not None
            assert content(state.spill) == state.output, "nothing is lost"


async def test_the_first_request_and_the_todo_list_survive_word_for_word(
    tmp_path: Path,
) -> None:
    async with open_harness(tmp_path) as harness:
        todos = [{"content": "paint the fence", "status": "in_progress"}]
        session = await harness.session()
        harness.server.script(answer(Call("todowrite", {"todos": todos})), answer(Text("planned")))
        await harness.turn(session, "my very first wish")
        for number in range(3):
            harness.server.script(answer(Text(f"answer {number}")))
            await harness.turn(session, f"question {number}")
        harness.server.script(OVERFLOW, SUMMARY, answer(Text("fits")))
        await harness.turn(session, "last")
        for kept in ("my very first wish", "[>] paint the fence (medium)", "the summary"):
            assert kept in sent(harness)


async def test_a_very_long_first_request_keeps_its_ends_and_a_file(
    tmp_path: Path,
) -> None:
    async with open_harness(tmp_path) as harness:
        long = "begin " + "lorem ipsum dolor " * 12_000 + "end"
        session = await harness.session()
        for text in (long, "two", "three"):
            harness.server.script(answer(Text("yes"), Tokens(50_000, 10)))
            await harness.turn(session, text)
        harness.server.script(OVERFLOW, SUMMARY, answer(Text("fits"), Tokens(5_000, 10)))
        assert (await harness.turn(session, "last")).outcome == "completed"
        marker = next(p for p in await harness.parts(session) if isinstance(p, CompactionPart))
        assert "begin lorem" in marker.pins
        assert marker.pins.endswith("end")
        where = marker.pins.partition("The full text is in ")[2].partition(" …]")[0]
        assert content(where) == long


async def test_a_summary_that_never_fits_ends_with_an_error_and_loses_nothing(
    harness: Harness,
) -> None:
    session = await harness.session()
    for number in range(4):
        harness.server.script(answer(Text(f"answer {number}")))
        await harness.turn(session, f"question {number}")
    before = await harness.messages(session)
    harness.server.script(OVERFLOW, OVERFLOW, OVERFLOW, OVERFLOW)
    idle = await harness.turn(session, "last")
    assert idle.outcome == "failed"
    assert idle.error is not None
    assert "Nothing was lost" in idle.error.message
    assert len(harness.server.requests) == 4 + 4, "three tries"
    assert (await harness.messages(session))[: len(before)] == before


async def test_compactions_without_progress_end_the_turn(tmp_path: Path) -> None:
    """The prompt alone fills the window: two compactions, then an error."""
    limit = {"context": 2_000, "output": 500}
    async with open_harness(tmp_path, abilities={"limit": limit}) as harness:

        def step(body: dict) -> Answer:
            if "tools" not in body:
                return SUMMARY
            return answer(Call("list", {"path": "."}), Tokens(5_000, 10))

        harness.server.always(step)
        idle = await harness.turn(await harness.session(), "go")
        assert idle.outcome == "failed"
        assert idle.error is not None
        assert "even after compaction" in idle.error.message
        assert sum("tools" not in r.body for r in harness.server.requests) == 2
