"""The records and events of a stream, event by event."""

import asyncio
import json

import pytest

from agent.records.events import Event, PartDelta, PartUpdated
from agent.records.messages import (
    AssistantMessage,
    ReasoningPart,
    StepFinishPart,
    TextPart,
    ToolPart,
)
from agent.session.turn.stream_processor import GatheredText
from tests.support.harness import Harness
from tests.support.script import Call, Cut, Finish, Hold, Raw, Reason, Text, Tokens, answer


def deltas(harness: Harness, part_id: str, field: str) -> str:
    """Return the published text of a part; each piece must begin where the previous one ended."""
    text = ""
    for event in harness.events:
        if isinstance(event, PartDelta) and (event.part_id, event.field) == (part_id, field):
            assert event.offset == len(text)
            text += event.delta
    return text


async def test_texts_and_thoughts_are_parts_in_their_order(harness: Harness) -> None:
    harness.server.script(
        answer(Reason("First "), Reason("I think."), Text("Then "), Text("I say."), Tokens(7, 3))
    )
    session = await harness.session()
    assert (await harness.turn(session, "go")).outcome == "completed"
    message, parts = (await harness.messages(session))[-1].message, await harness.parts(session)
    assert isinstance(message, AssistantMessage)
    thought, said = (p for p in parts if isinstance(p, TextPart | ReasoningPart) and p.text != "go")
    assert isinstance(thought, ReasoningPart)
    assert isinstance(said, TextPart)
    assert (thought.text, said.text) == ("First I think.", "Then I say.")
    assert thought.field_name == "reasoning_content"
    for part in (thought, said):
        assert part.id.startswith("prt_")
        assert (part.message_id, part.session_id) == (message.id, session.id)
        assert part.ended is not None
        assert message.created <= part.started <= part.ended
        assert not part.interrupted
        assert deltas(harness, part.id, "text") == part.text
    (end,) = (p for p in parts if isinstance(p, StepFinishPart))
    assert (end.finish, end.finish_raw) == ("stop", "stop")
    assert end.usage is not None
    assert (end.usage.input, end.usage.output) == (7, 3)
    assert (message.finish, message.usage) == ("stop", end.usage)


async def test_text_of_one_read_is_one_change(harness: Harness) -> None:
    """Whatever comes between two pieces keeps their order; nothing is left behind at the end."""
    store, published = harness.runtime.store, list[str]()

    def note(event: Event) -> bool:
        if isinstance(event, PartDelta):
            published.append(event.delta)
        return False

    parts = [
        TextPart(id=f"prt_{name}", session_id="ses_1", message_id="msg_1", text="", started=1.0)
        for name in "ab"
    ]
    with harness.runtime.bus.subscribe(note):
        for part in parts:
            store.stage(part)
        gathered = GatheredText(store)
        for piece in "one read ":
            gathered.add("prt_a", "text", piece)
        gathered.add("prt_b", "text", "another part")
        assert published == ["one read "]
        await asyncio.sleep(0)
        gathered.add("prt_b", "text", ", later")
        gathered.flush()
        gathered.flush()
    assert published == ["one read ", "another part", ", later"]


async def test_the_input_of_a_call_is_shown_as_it_comes(harness: Harness) -> None:
    args = {"file_path": "nowhere.txt", "limit": 3}
    harness.server.script(answer(Call("read", args, pieces=5)), answer(Text("done")))
    session = await harness.session()
    await harness.turn(session, "go")
    (tool,) = await harness.tools(session)
    assert tool.id.startswith("prt_")
    assert json.loads(deltas(harness, tool.id, "raw")) == args
    seen = [
        event.part.state.status
        for event in harness.events
        if isinstance(event, PartUpdated)
        and isinstance(event.part, ToolPart)
        and event.part.id == tool.id
    ]
    assert list(dict.fromkeys(seen)) == ["pending", "running", "failed"]


async def test_a_call_without_an_id_and_one_with_the_same_get_their_own(
    harness: Harness,
) -> None:
    harness.server.script(
        answer(
            Call("read", {"file_path": "a"}, id="one", index=0),
            Call("read", {"file_path": "b"}, id="one", index=1),
            Call("read", {"file_path": "c"}, id=None, index=2),
        ),
        answer(Text("done")),
    )
    session = await harness.session()
    assert (await harness.turn(session, "go")).outcome == "completed"
    ids = [tool.call_id for tool in await harness.tools(session)]
    assert ids[0] == "one"
    assert len(set(ids)) == 3
    assert all(id_.startswith("cal_") for id_ in ids[1:])


@pytest.mark.parametrize("piece", [Text("so far"), Reason("so far")])
async def test_text_received_before_a_cancel_stays_and_is_marked(
    harness: Harness, piece: Text | Reason
) -> None:
    hold = Hold()
    harness.server.script((piece, hold))
    session = await harness.session()
    before = len(harness.events)
    await harness.send(session, "go")
    await harness.until(lambda e: getattr(e, "delta", "") == "so far", after=before)
    await harness.runtime.sessions.cancel(session.id)
    assert (await harness.idle(session, after=before)).outcome == "cancelled"
    hold.gate.set()
    (part,) = (
        p
        for p in await harness.parts(session)
        if isinstance(p, TextPart | ReasoningPart) and p.text != "go"
    )
    assert (part.text, part.interrupted) == ("so far", True)
    assert isinstance(part, TextPart) == isinstance(piece, Text)
    assert part.ended is not None


async def test_a_retried_step_leaves_no_records(harness: Harness) -> None:
    harness.server.script(
        answer(Reason("lost"), Text("lost too"), Cut()), answer(Reason("kept"), Text("kept too"))
    )
    session = await harness.session()
    assert (await harness.turn(session, "go")).outcome == "completed"
    said = [
        part.text
        for part in await harness.parts(session)
        if isinstance(part, TextPart | ReasoningPart)
    ]
    assert said == ["go", "kept", "kept too"]


async def test_an_empty_response_leaves_no_empty_part(harness: Harness) -> None:
    harness.server.script(answer(Text(""), Reason(""), Finish("end")))
    session = await harness.session()
    await harness.turn(session, "go")
    texts = [p.text for p in await harness.parts(session) if isinstance(p, TextPart)]
    assert texts == ["go"]
    assert not any(isinstance(p, ReasoningPart) for p in await harness.parts(session))


async def test_a_providers_call_signature_is_sent_back(harness: Harness) -> None:
    """Gemini refuses a call in the history without its signature."""
    signature = {"google": {"thought_signature": "c2lnbmVk"}}
    call = {
        "index": 0,
        "id": "one",
        "type": "function",
        "function": {"name": "list", "arguments": "{}"},
        "extra_content": signature,
    }
    body = {"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}
    harness.server.script(
        answer(Raw(f"data: {json.dumps(body)}\n\n".encode()), Finish("calls")), answer(Text("ok"))
    )
    session = await harness.session()
    assert (await harness.turn(session, "go")).outcome == "completed"
    (tool,) = await harness.tools(session)
    assert tool.opaque == {"extra_content": signature}
    assert json.dumps(signature) in json.dumps(harness.server.requests[1].body["messages"])


async def test_a_long_read_is_applied_in_pieces(harness: Harness) -> None:
    """Everything else of the program gets its turn between them."""
    chunk = {"choices": [{"index": 0, "delta": {"content": "word "}}]}
    read = f"data: {json.dumps(chunk)}\n\n".encode() * 500
    harness.server.script(answer(Raw(read)))
    session = await harness.session()
    assert (await harness.turn(session, "go")).outcome == "completed"
    pieces = [event for event in harness.events if isinstance(event, PartDelta)]
    assert "".join(piece.delta for piece in pieces) == "word " * 500
    assert max(len(piece.delta) for piece in pieces) < 400 * len("word ")
