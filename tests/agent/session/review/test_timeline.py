"""The timeline of a session, its changes and its past requests."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from agent.bus import Bus
from agent.records.messages import (
    AssistantMessage,
    CacheMiss,
    CompactionPart,
    PatchPart,
    StepFinishPart,
    Usage,
)
from agent.session.review.past_request import past_request
from agent.session.review.timeline import find_text, timeline
from agent.session.snapshots.by_project import ProjectSnapshots
from agent.session.undo import ChangeReader
from agent.store.store import Store
from tests.support import records


def step(message_id: str, *parts, **more):
    item = records.assistant(message_id, *parts)
    assert isinstance(item.message, AssistantMessage)
    return replace(item, message=replace(item.message, **more))


FAILED = records.tool("prt_2", "msg_b", records.failed("Bash", "make", "exit code 2"), name="bash")
TURN = (
    records.user("msg_a", "do it"),
    step("msg_b", FAILED, cost=0.25, usage=Usage(input=5, output=7), created=1000.0),
    records.user("msg_c", "and that", steered=True),
    step("msg_d", interrupted=True, created=1010.0, completed=1012.0, usage=Usage(output=3)),
)


def test_a_turn_has_its_usage() -> None:
    waiting = records.user("msg_e", "later", turn=None)
    (turn,) = timeline((*TURN, waiting))
    assert turn.text == "do it"
    assert [item.message.id for item in turn.messages] == ["msg_a", "msg_b", "msg_c", "msg_d"]
    assert (turn.seconds, turn.cost, turn.failures) == (12.0, 0.25, 1)
    assert turn.usage == Usage(input=5, output=10)
    assert turn.cancelled
    assert turn.steps[1].seconds == 2.0
    assert turn.cache_misses == 0
    miss = CacheMiss(cause="expired", lost=5_000)
    end = StepFinishPart(
        id="prt_9", session_id="s", message_id="msg_b", finish="stop", cache_miss=miss
    )
    assert timeline((TURN[0], step("msg_b", end)))[0].cache_misses == 1
    running = step("msg_b", completed=None)
    assert timeline((TURN[0], running))[0].seconds is None


SUMMARY = CompactionPart(
    id="prt_s", session_id=records.SESSION, message_id="msg_b5", summary="it was *done*", auto=True
)


def notice(message_id: str, part, turn: str = "trn_1"):
    """Return a synthetic message with *part*."""
    return records.user(message_id, "for the model", part, turn=turn, synthetic=True)


def test_a_turn_has_the_visible_synthetic_messages() -> None:
    """Reports of sub-agents, compactions and commands of the user."""
    report = notice("msg_c5", records.report("msg_c5", "Two."))
    own = notice(
        "msg_f", records.tool("prt_f", "msg_f", records.completed("Bash", "make")), "trn_2"
    )
    hidden = records.user("msg_d1", "Go on.", synthetic=True)
    first, second = timeline((*TURN[:2], notice("msg_b5", SUMMARY), TURN[2], report, hidden, own))
    ids = [item.message.id for item in first.messages]
    assert ids == ["msg_a", "msg_b", "msg_b5", "msg_c", "msg_c5"]
    assert (first.text, second.text) == ("do it", "! make")
    assert second.steps == ()


def test_a_turn_started_by_a_report_is_marked_and_excludes_queue_time() -> None:
    report = notice("msg_a", records.report("msg_a", "Two."))
    (turn,) = timeline((report, step("msg_b", created=2000.0, completed=2003.0)))
    assert turn.text == "Explore reports: find the readers · 3 tool calls"
    assert (turn.started, turn.seconds) == (2000.0, 3.0)


def test_search_finds_visible_synthetic_messages() -> None:
    messages = (
        notice("msg_b5", SUMMARY),
        notice("msg_c5", records.report("msg_c5", "Two readers.")),
    )
    assert find_text(messages, "DONE") == [("msg_b5", "prt_s")]
    assert find_text(messages, "two readers") == [("msg_c5", "msg_c5r")]
    assert find_text(messages, "for the model") == []


def test_search_covers_text_calls_and_results() -> None:
    assert find_text(TURN, "DO IT") == [("msg_a", "msg_aa")]
    assert find_text(TURN, "make") == [("msg_b", "prt_2")]
    assert find_text(TURN, "code 2") == [("msg_b", "prt_2")]
    assert find_text(TURN, " ") == []


def test_a_past_request_starts_with_the_newest_summary() -> None:
    """Compacted messages are not sent again."""
    marker = records.user("msg_b5", "", synthetic=True)
    part = CompactionPart(
        id="prt_s",
        session_id=records.SESSION,
        message_id="msg_b5",
        summary="it was done",
        auto=True,
        tail_start_id="msg_b5",
    )
    history = (*TURN[:2], replace(marker, parts=(part,)), *TURN[2:])
    before = past_request(history, "msg_b")
    assert before == (("user", "do it"),)
    text = "\n".join(text for _, text in past_request(history, "msg_d"))
    assert "it was done" in text
    assert "and that" in text
    assert "exit code 2" not in text


async def test_changes_are_net_and_fall_back_to_the_edits(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    store = await Store.open(tmp_path / "sessions.db", Bus())
    every = ProjectSnapshots(tmp_path / "snapshots", store)
    snapshots = every.of(str(project))
    file, other = project / "a.txt", project / "b.txt"
    file.write_text("one\n")
    trees = [await snapshots.take()]
    for text in ("two\n", "three\n"):
        file.write_text(text)
        other.write_text(text)
        trees.append(await snapshots.take())
    other.unlink()
    trees.append(await snapshots.take())
    patches = [
        PatchPart(
            id=f"prt_{n}",
            session_id=records.SESSION,
            message_id="msg_b",
            base=base,
            tree=tree,
            files=("a.txt", "b.txt"),
        )
        for n, (base, tree) in enumerate(pairwise(trees))
        if base and tree
    ]
    diff = records.diff("elsewhere.txt", "+x")
    edit = records.tool("prt_e", "msg_b", records.completed("Edit", "elsewhere.txt", diff))
    await store.save(replace(records.session(), project=str(project)))
    blocks = await ChangeReader(store, every).diffs([step("msg_b", edit, *patches)])
    await every.close()
    await store.close()
    assert [block.path for block in blocks] == ["a.txt", "elsewhere.txt"]
    lines = [(line.kind, line.text) for hunk in blocks[0].hunks for line in hunk.lines]
    assert lines == [("remove", "one"), ("add", "three")]
