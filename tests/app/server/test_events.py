"""The order of events is a contract, whoever reads them and whenever."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from agent.bus import Bus
from agent.records import events
from agent.records.messages import AssistantMessage, TextPart, UserMessage
from agent.store.store import Store
from app.server import event_feed
from app.server.event_feed import Reader
from tests.app.server.conftest import Served
from tests.support.script import Call, Finish, Hold, Text, answer


async def test_a_turn_has_one_end_and_steps_are_none(served: Served) -> None:
    (served.project / "a.txt").write_text("hi\n")
    served.model.script(
        answer(Call("read", {"file_path": "a.txt"}), Finish("tool_calls")),
        answer(Text("Done."), Finish("stop")),
    )
    session = await served.session()
    async with served.stream() as stream:
        await served.send(session, "go")
        await stream.next("session.idle")
        await served.call("GET", "/path")
    assert stream.names().count("session.idle") == 1
    idle = [one for one in stream.of("session.status") if one["status"]["type"] == "idle"]
    assert len(idle) == 1
    assert stream.of("session.idle")[0]["outcome"] == "completed"
    finishes = [
        one["part"]["reason"]
        for one in stream.of("message.part.updated")
        if one["part"]["type"] == "step-finish"
    ]
    assert finishes == ["tool-calls", "stop"]
    assert all(one["time"] > 0 for one in stream.of("message.part.updated"))


async def test_a_late_reader_ends_with_the_same_state(served: Served) -> None:
    hold = Hold()
    served.model.script(answer(Text("one "), hold, Text("two "), Text("three"), Finish("stop")))
    session = await served.session()
    async with served.stream() as early:
        await served.send(session, "go")
        await early.until(lambda stream: "one" in str(stream.state(session)))
        async with served.stream() as late:
            await late.next("server.connected")
            hold.gate.set()
            await early.next("session.idle")
            await late.next("session.idle")
    answered = [text for _, text in late.state(session)]
    assert answered == ["one two three"]
    assert set(late.state(session)) <= set(early.state(session))


async def test_a_reader_that_comes_back_gets_what_it_missed(served: Served) -> None:
    hold = Hold()
    served.model.script(answer(Text("one "), hold, Text("two"), Finish("stop")))
    session = await served.session()
    async with served.stream() as all_events:
        async with served.stream() as first:
            await served.send(session, "go")
            await first.until(lambda stream: "one" in str(stream.state(session)))
        hold.gate.set()
        await all_events.next("session.idle")
        async with served.stream(last=first.ids[-1]) as second:
            await second.next("session.idle")
    first.events += [one for one in second.events if one["type"] != "server.connected"]
    assert first.state(session) == all_events.state(session)
    numbers = [one["id"] for one in first.events]
    assert len(set(numbers)) == len(numbers)


async def test_a_reader_gets_the_state_when_events_are_no_longer_kept(served: Served) -> None:
    served.model.script(answer(Text("one"), Finish("stop")))
    session = await served.session()
    async with served.stream() as first:
        await served.send(session, "go")
        await first.next("session.idle")
    async with served.stream(last="another-start-7") as second:
        await second.next("session.idle")
    async with served.stream(last="0badf00d-7") as third:
        await third.next("session.idle")
    assert "one" in [text for _, text in third.state(session)]
    assert third.state(session) == first.state(session)


async def test_a_slow_reader_is_disconnected_and_delays_nobody(served: Served) -> None:
    folder = await served.folders.open(str(served.project))
    reader = await folder.feed.connect()
    notice = events.Notice("x" * 1_000_000)
    async with served.stream() as other:
        for number in range(1, event_feed.READER_LIMIT // 1_000_000 + 2):
            folder.runtime.bus.publish(notice)
            await other.next("tui.toast.show", number)
    assert reader.closed
    assert await reader.take(0) == []


async def test_waiting_for_events_ends_in_time_for_a_heartbeat(served: Served) -> None:
    reader = Reader()
    assert await reader.take(0) == []  # what makes the stream send a heartbeat
    assert not reader.closed


async def test_events_of_all_folders_name_their_folder(served: Served) -> None:
    other = served.project.parent / "other"
    other.mkdir()
    async with served.stream(path="/global/event") as stream:
        await stream.until(lambda each: bool(each.events))
        created = await served.call("POST", f"/session?directory={other}", {})
        await stream.until(lambda each: len(each.events) > 1)
    last = stream.events[-1]
    assert last["directory"] == str(other)
    assert last["payload"]["type"] == "session.created"
    assert last["payload"]["properties"]["info"]["id"] == created["id"]


async def test_the_first_answer_to_a_request_counts_for_all(served: Served) -> None:
    served.model.script(
        answer(Call("bash", {"command": "echo hi"}), Finish("tool_calls")),
        answer(Text("Done."), Finish("stop")),
    )
    session = await served.session()
    async with served.stream() as one, served.stream() as two:
        await served.send(session, "go")
        asked = await one.next("permission.asked")
        path = f"/permission/{asked['id']}/reply"
        replies = await asyncio.gather(
            *(served.client.post(path, json={"reply": word}) for word in ("once", "once", "reject"))
        )
        await two.next("session.idle")
        await one.next("session.idle")
    assert sorted(reply.status_code for reply in replies) == [200, 404, 404]
    assert one.of("permission.replied") == two.of("permission.replied")
    assert await served.call("GET", "/permission") == []


async def test_a_silent_stream_shows_that_it_is_alive(served: Served) -> None:
    await served.stop()
    served.heartbeat = 0.01
    await served.start()
    async with served.stream() as one, served.stream(path="/global/event") as every:
        await one.next("server.heartbeat", 2)
        await every.until(
            lambda each: "server.heartbeat" in [event["payload"]["type"] for event in each.events]
        )
        await served.session()
        await one.next("session.created")
    assert one.names()[0] == "server.connected"


async def test_editor_plugins_get_lines_of_data_alone(served: Served) -> None:
    """They read the stream with curl, and take each line for a part of the JSON."""
    accepted = [("accept", "application/json"), ("accept", "text/event-stream")]
    async with served.client.stream("GET", "/event", headers=accepted) as response:
        session = await served.session()
        async for line in response.aiter_lines():
            assert line == "" or json.loads(line.removeprefix("data: "))["type"]
            if session in line:
                break


@pytest.mark.parametrize("path", ["/event", "/global/event"])
async def test_clients_see_how_turns_end_with_the_server(served: Served, path: str) -> None:
    served.model.script(answer(Call("bash", {"command": "echo hi"}), Finish("calls")))
    session = await served.session()
    async with served.stream(path=path) as stream:
        await served.send(session, "go")
        await stream.until(lambda found: "permission.asked" in str(found.events))
        await served.stop()
        await stream.until(lambda found: "session.idle" in str(found.events))
    ended = [event.get("payload", event) for event in stream.events]
    names = [event["type"] for event in ended]
    asked = ended[names.index("permission.asked")]["properties"]
    replied = ended[names.index("permission.replied")]["properties"]
    assert (replied["requestID"], replied["reply"]) == (asked["id"], "reject")
    assert ended[names.index("session.idle")]["properties"]["outcome"] == "cancelled"
    tools = [event["properties"]["part"] for event in ended if "part" in event["properties"]]
    assert [part["state"]["status"] for part in tools if part["type"] == "tool"][-1] == "error"


async def test_clients_see_how_a_turn_ended_that_a_crash_interrupted(served: Served) -> None:
    session = await served.session()
    await served.stop()
    async with open_store(served) as store:
        now = (await store.session(session)).created
        user = UserMessage(
            id="msg_1",
            session_id=session,
            created=now,
            agent="build",
            model="scripted/model-1",
            turn_id="trn_1",
        )
        step = AssistantMessage(
            id="msg_2",
            session_id=session,
            created=now,
            parent_id="msg_1",
            turn_id="trn_1",
            step=1,
            agent="build",
            model="scripted/model-1",
        )
        part = TextPart(
            id="prt_1", session_id=session, message_id="msg_2", text="Half a se", started=now
        )
        await store.save(user)
        await store.save(step, part)
    await served.start()
    await served.session()  # opens the folder
    async with served.stream(path="/global/event") as stream:
        await stream.until(lambda found: "session.idle" in str(found.events))
    sent = [event["payload"]["properties"] for event in stream.events if "directory" in event]
    infos = {one["info"]["id"]: one["info"] for one in sent if "info" in one}
    assert "completed" in infos["msg_2"]["time"]
    parts = [one["part"] for one in sent if "part" in one]
    assert [(part["text"], "end" in part["time"]) for part in parts] == [("Half a se", True)]


@asynccontextmanager
async def open_store(served: Served) -> AsyncIterator[Store]:
    store = await Store.open(served.home / "data" / "sessions.db", Bus())
    try:
        yield store
    finally:
        await store.close()
