"""Two sessions that change the same file in one folder at the same time."""

from pathlib import Path

from agent.records.events import Notice
from agent.session.snapshots.change_tracker import ChangeTrackers
from tests.support.harness import open_harness
from tests.support.script import Call, Hold, Text, answer


async def test_the_second_session_that_is_about_to_change_a_file_warns(tmp_path: Path) -> None:
    hold = Hold()
    async with open_harness(tmp_path, permission="allow") as harness:
        write = Call("write", {"file_path": "a.txt", "content": "one\n"})
        harness.server.script(answer(write), answer(Text("waiting "), hold))
        first = await harness.session()
        await harness.send(first, "the first")
        await hold.reached.wait()
        again = Call("write", {"file_path": "b.txt", "content": "two\n"})
        shared = Call("bash", {"command": "true", "description": "x"})
        edit = Call("read", {"file_path": "a.txt"})
        change = Call("write", {"file_path": "a.txt", "content": "two\n"})
        steps = [answer(call) for call in (again, shared, edit, change, change)]
        harness.server.script(*steps, answer(Text("done")))
        second = await harness.session()
        await harness.turn(second, "the second")
        found = [event.message for event in harness.events if isinstance(event, Notice)]
        assert len(found) == 1
        assert "“the second” is about to change" in found[0]
        assert "a.txt, which “the first” has also changed" in found[0]
        hold.gate.set()
        await harness.idle(first)
        harness.server.script(answer(edit), answer(change), answer(Text("done")))
        await harness.turn(await harness.session(), "later")
        assert sum(isinstance(event, Notice) for event in harness.events) == 1


def test_files_of_a_turn_that_ended_are_nobodys() -> None:
    trackers = ChangeTrackers()
    assert trackers.claim("ses_a", ["/x", "/y"]) == {}
    assert trackers.claim("ses_b", ["/y"]) == {"/y": {"ses_a"}}
    assert trackers.claim("ses_b", ["/y"]) == {}
    trackers.end("ses_a")
    trackers.end("ses_b")
    assert trackers.claim("ses_c", ["/x", "/y"]) == {}
