"""JSON lines and AWS' frames, in any pieces."""

import json

import pytest

from agent.provider.transport.framing import (
    BODY,
    AwsFrames,
    BrokenFrame,
    Framing,
    JsonLines,
    SseEvent,
)
from tests.support.aws_frames import frame


def read(framing: Framing, data: bytes, size: int) -> list[SseEvent]:
    events: list[SseEvent] = []
    for at in range(0, len(data), size):
        events += framing.feed(data[at : at + size])
    return [*events, *framing.close()]


FRAMES = frame("messageStart", {"role": "assistant"}) + frame("x", {"é": "漢"}, ":exception-type")


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_frames_are_decoded(size: int) -> None:
    events = read(AwsFrames(), FRAMES, size)
    assert [event.event for event in events] == ["messageStart", "x"]
    assert json.loads(events[1].data) == {"é": "漢"}


@pytest.mark.parametrize("at", [0, 5, 9, 20, len(FRAMES) - 1])
def test_a_damaged_frame_is_an_error(at: int) -> None:
    damaged = bytearray(FRAMES)
    damaged[at] ^= 0xFF
    with pytest.raises(BrokenFrame):
        read(AwsFrames(), bytes(damaged), 1000)


def test_half_a_frame_is_no_event() -> None:
    assert read(AwsFrames(), FRAMES[:-1], 7)[1:] == []


@pytest.mark.parametrize("framing", [AwsFrames, JsonLines])
def test_a_web_page_becomes_an_event(framing: type) -> None:
    (event, *_) = read(framing(), b"<html>no</html>", 4)
    assert "html" in event.data


def test_an_error_body_instead_of_frames_becomes_one_event() -> None:
    (event,) = read(AwsFrames(), b'{"message": "no"}', 4)
    assert event == SseEvent('{"message": "no"}', BODY)


def test_an_error_in_the_headers_becomes_an_error_event() -> None:
    failed = frame("InternalFailure", None, ":error-code")
    (event,) = read(AwsFrames(), failed, 1000)
    assert (event.event, json.loads(event.data)["type"]) == ("error", "InternalFailure")


@pytest.mark.parametrize("size", [1, 4, 1000])
def test_json_lines_are_decoded(size: int) -> None:
    data = '\ufeff{"a": "é"}\r\n\n{"b": 2}'.encode()
    assert [json.loads(e.data) for e in read(JsonLines(), data, size)] == [{"a": "é"}, {"b": 2}]


def test_server_sent_events_instead_of_lines_are_decoded() -> None:
    events = read(JsonLines(), b'event: x\ndata: {"a": 1}\n\n', 3)
    assert events == [SseEvent('{"a": 1}', "x")]
