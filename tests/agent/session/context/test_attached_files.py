"""Refusals of the number or size of attached files are recovered, in every protocol."""

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from agent.records.errors import FileLimit
from agent.records.events import SessionIdle
from agent.records.messages import FilePart, MessageWithParts, RetryPart, Session, UserMessage
from agent.session.turn.compactor import omit_files
from tests.agent.tools.pictures import png
from tests.support.harness import APIS, Harness, open_harness
from tests.support.script import Answer, Call, Failure, Text, answer

SEES = {"modalities": {"input": ["text", "image"]}}
LIMIT = 4


def sent_images(body: dict) -> int:
    """Return the number of images in a request, in any protocol."""
    return json.dumps(body).count(base64.b64encode(png())[:24].decode())


def refuses_more_than(limit: int, message: str) -> Callable[[dict], Answer]:
    def script(body: dict) -> Answer:
        if sent_images(body) <= limit:
            return answer(Text("ok"))
        return Failure(400, json.dumps({"error": {"message": message}}))

    return script


def picture(name: str, size: int = 0) -> FilePart:
    data = base64.b64encode(png() + b"\0" * size).decode()
    return FilePart(id=name, session_id="", message_id="", mime="image/png", path=name, data=data)


async def show(harness: Harness, session: Session, *names: str) -> SessionIdle:
    before = len(harness.events)
    await harness.send(session, "see", files=tuple(map(picture, names)))
    return await harness.idle(session, after=before)


@pytest.mark.parametrize("api", APIS)
async def test_one_image_too_many_costs_one_request_and_the_oldest_images(
    tmp_path: Path, api: str
) -> None:
    async with open_harness(tmp_path, api=api, abilities=SEES) as harness:
        session = await harness.session()
        message = f"request contains 5 images, exceeding the maximum of {LIMIT} allowed per request"
        harness.server.always(refuses_more_than(LIMIT, message))
        for number in range(LIMIT + 1):
            idle = await show(harness, session, f"shot{number}.png")
            assert idle.outcome == "completed"
        counts = [sent_images(request.body) for request in harness.server.requests]
        assert counts == [1, 2, 3, 4, 5, 3]
        sent = json.dumps(harness.server.requests[-1].body)
        assert "shot0.png" in sent  # named in the line that replaces it
        note = next(p for p in await harness.parts(session) if isinstance(p, RetryPart))
        assert "2 attached files" in note.change
        assert message in note.error.message

        await harness.turn(session, "and now?")
        assert len(harness.server.requests) == len(counts) + 1  # remembered: no second refusal
        last = harness.server.requests[-1].body
        assert sent_images(last) == 3


@pytest.mark.parametrize("api", APIS)
async def test_images_of_tool_results_are_omitted_too(tmp_path: Path, api: str) -> None:
    async with open_harness(tmp_path, api=api, abilities=SEES) as harness:
        for number in range(LIMIT + 1):
            (harness.folder / f"shot{number}.png").write_bytes(png())
        session = await harness.session()
        reads = [Call("read", {"file_path": f"shot{n}.png"}) for n in range(LIMIT + 1)]
        message = f"too many images and documents: 5 + 0 > {LIMIT}"
        harness.server.script(answer(*reads))
        harness.server.always(refuses_more_than(LIMIT, message))
        assert (await harness.turn(session, "look")).outcome == "completed"
        assert [sent_images(r.body) for r in harness.server.requests] == [0, 5, 4]
        assert "no longer sent" in json.dumps(harness.server.requests[-1].body)


async def test_a_refused_file_alone_is_named_to_the_model(tmp_path: Path) -> None:
    async with open_harness(tmp_path, abilities=SEES) as harness:
        session = await harness.session()
        harness.server.always(refuses_more_than(0, "image exceeds 5 MB maximum: 6 MB > 5 MB"))
        idle = await show(harness, session, "large.png")
        assert idle.outcome == "completed"
        sent = json.dumps(harness.server.requests[-1].body)
        assert "large.png" in sent
        assert "no longer sent" in sent


async def test_a_refusal_without_any_file_ends_the_turn_with_its_words(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        session = await harness.session()
        harness.server.always(Failure(400, '{"error": {"message": "Too many images"}}'))
        idle = await harness.turn(session, "hello")
        assert idle.outcome == "failed"
        assert idle.error is not None
        assert "Too many images" in idle.error.message
        assert len(harness.server.requests) == 1


async def test_refusals_that_do_not_end_are_not_repeated_forever(tmp_path: Path) -> None:
    async with open_harness(tmp_path, abilities=SEES) as harness:
        session = await harness.session()
        harness.server.always(Failure(400, '{"error": {"message": "Too many images"}}'))
        idle = await show(harness, session, *(f"{n}.png" for n in range(6)))
        assert idle.outcome == "failed"
        assert [sent_images(r.body) for r in harness.server.requests] == [6, 3, 0]


async def test_omitted_images_stay_omitted_in_a_resumed_session(tmp_path: Path) -> None:
    async with open_harness(tmp_path, abilities=SEES) as harness:
        session = await harness.session()
        harness.server.always(refuses_more_than(2, "Too many images in request. Max is 2."))
        await show(harness, session, "a.png", "b.png", "c.png")
        session_id = session.id
    async with open_harness(tmp_path, abilities=SEES) as harness:
        resumed = await harness.runtime.sessions.repository.get(session_id)
        await harness.turn(resumed, "go on")
        assert sent_images(harness.server.requests[-1].body) == 2


def message_of(*files: FilePart) -> MessageWithParts:
    message = UserMessage(
        id="m", session_id="s", created=0, agent="build", model="p/m", turn_id="t"
    )
    return MessageWithParts(message, files)


@pytest.mark.parametrize(
    ("limit", "omitted"),
    [
        (FileLimit(count=4), {"0", "1"}),  # of a message that is new, as many as allowed stay
        (FileLimit(size=1_000), {"4"}),
        (FileLimit(pixels=2), {"0", "1", "2", "3", "4", "5"}),
        (FileLimit(), {"0", "1", "2"}),
        (FileLimit(whole_request=True), set()),  # too small to be the reason
    ],
)
def test_files_are_chosen_by_the_limit(limit: FileLimit, omitted: set[str]) -> None:
    files = [picture(str(n), size=2_000 if n == 4 else 0) for n in range(6)]
    parts, count = omit_files([message_of(*files)], limit, 1.0)
    assert {part.id for part in parts} == omitted
    assert count == len(omitted)


def test_documents_stay_where_only_images_count() -> None:
    document = replace(picture("x.pdf"), mime="application/pdf")
    limit = FileLimit(count=1, images_only=True)
    parts, _ = omit_files([message_of(document, picture("a"), picture("b"))], limit, 1.0)
    assert [part.id for part in parts] == ["a"]
