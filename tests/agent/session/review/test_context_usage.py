"""The content of the window, by source."""

from pathlib import Path

from tests.support.harness import Harness
from tests.support.prompts import trusted
from tests.support.script import Call, Text, Tokens, answer


async def measure(harness: Harness, session):
    return await harness.runtime.context_usage.measure(session.id, "scripted/model-1", "build")


async def test_the_sources_add_up_to_the_reported_tokens(tmp_path: Path) -> None:
    files = {"AGENTS.md": "Use tabs.\n" * 300, "a.txt": "the quick brown fox\n" * 500}
    async with trusted(tmp_path, files) as harness:
        harness.server.script(
            answer(Call("read", {"file_path": "a.txt"}), Tokens(9_000, 30)),
            answer(Text("It is about a fox."), Tokens(12_000, 40)),
        )
        session = await harness.session()
        await harness.turn(session, "What is in a.txt?")
        contents = await measure(harness, session)
    assert contents.measured
    assert contents.used == 12_040
    assert sum(source.tokens for source in contents.sources) == 12_040
    assert all(source.tokens >= 0 for source in contents.sources)
    assert (contents.window, contents.reserved) == (100_000, 20_000)
    assert contents.free == 100_000 - 20_000 - 12_040
    assert [source.name for source in contents.in_group("output")] == ["read"]
    assert {"read", "edit", "bash"} <= {source.name for source in contents.in_group("tools")}
    system = {source.name for source in contents.in_group("system")}
    assert system == {"built-in instructions", "instruction files", "environment and mode"}
    messages = {source.name: source.tokens for source in contents.in_group("messages")}
    assert messages["your messages"] > 0
    assert messages["responses"] > 0
    assert contents.total("output") > messages["responses"]


async def test_an_unknown_window_and_a_missing_report_are_marked(tmp_path: Path) -> None:
    limit = {"abilities": {"limit": {}}}
    async with trusted(tmp_path, {}, **limit) as harness:
        harness.server.script(answer(Text("yes"), Tokens(0, 0)))
        session = await harness.session()
        await harness.turn(session, "Well?")
        contents = await measure(harness, session)
    assert not contents.measured
    assert (contents.window, contents.free) == (None, None)
    assert contents.used > 1_000
    assert sum(source.tokens for source in contents.sources) == contents.used


async def test_the_usage_before_the_first_prompt_is_that_of_a_new_session(
    tmp_path: Path,
) -> None:
    async with trusted(tmp_path, {"AGENTS.md": "Use tabs.\n" * 300}) as harness:
        before = await harness.runtime.context_usage.measure(None, "scripted/model-1", "build")
        assert await harness.runtime.sessions.repository.list() == []
        harness.server.script(answer(Text("yes"), Tokens(0, 0)))
        session = await harness.session()
        await harness.turn(session, "Well?")
        after = await measure(harness, session)
    assert before.total("messages") == before.total("output") == 0
    assert not before.measured
    assert before.in_group("system") == after.in_group("system")
    assert before.in_group("tools") == after.in_group("tools")
    assert "instruction files" in {source.name for source in before.in_group("system")}


async def test_the_usage_of_a_new_session_includes_the_mode_of_its_agent(tmp_path: Path) -> None:
    async with trusted(tmp_path, {}) as harness:
        window = harness.runtime.context_usage
        build = await window.measure(None, "scripted/model-1", "build")
        plan = await window.measure(None, "scripted/model-1", "plan")
    assert plan.total("system") > build.total("system")
