"""Decoding of server-sent events in any pieces."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.provider.transport.framing import (
    BODY,
    MAX_EVENT_BYTES,
    BodyDecoder,
    EventTooLong,
    SseDecoder,
    SseEvent,
)


def decode(body: bytes, *cuts: int) -> list[SseEvent]:
    decoder = SseDecoder()
    edges = [0, *sorted(cuts), len(body)]
    events = [
        event for start, end in itertools.pairwise(edges) for event in decoder.feed(body[start:end])
    ]
    return events + decoder.close()


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_fields_comments_and_line_ends(line_end: str) -> None:
    lines = [": ping", "", "event: error", "data:  two", "data:lines", "id: 7", "retry: 1", "", ""]
    assert decode(line_end.join(lines).encode()) == [SseEvent(" two\nlines", "error")]


def test_byte_order_mark_is_dropped_once() -> None:
    assert decode(b"\xef\xbb\xbfdata: a\n\n", 1, 2) == [SseEvent("a")]


def test_an_event_without_data_is_ignored_with_its_name() -> None:
    assert decode(b"event: ping\n\ndata: a\n\n") == [SseEvent("a")]


def test_the_last_event_without_blank_line_comes_at_the_end() -> None:
    assert decode(b"data: a") == [SseEvent("a")]


def test_crlf_cut_between_its_two_bytes_ends_one_line_only() -> None:
    decoder = SseDecoder()
    assert decoder.feed(b"data: a\r") == []
    assert decoder.feed(b"\n\r") == [SseEvent("a")]
    assert decoder.feed(b"\ndata: b\r\n\r\n") == [SseEvent("b")]


def test_an_event_comes_before_the_line_feed_of_its_last_crlf() -> None:
    decoder = SseDecoder()
    assert decoder.feed(b"data: a\r\n\r") == [SseEvent("a")]


def test_an_endless_event_is_refused() -> None:
    decoder = SseDecoder()
    with pytest.raises(EventTooLong):
        decoder.feed(b"data: " + b"x" * MAX_EVENT_BYTES)


@given(
    st.lists(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]))),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.data(),
)
def test_any_cuts_give_the_same_events(texts: list[str], end: str, data: st.DataObject) -> None:
    body = "".join(f"data: {text}{end}{end}" for text in texts).encode()
    cuts = data.draw(st.lists(st.integers(0, len(body)), max_size=6))
    assert decode(body, *cuts) == [SseEvent(text) for text in texts]


@pytest.mark.parametrize("body", [b'{"a": 1}', b"\xef\xbb\xbf\n [1]", b"<html>no</html>"])
def test_a_body_that_is_no_event_stream_becomes_one_event(body: bytes) -> None:
    decoder = BodyDecoder()
    assert [decoder.feed(body[i : i + 1]) for i in range(len(body))] == [[]] * len(body)
    text = body.removeprefix(b"\xef\xbb\xbf").decode().strip()
    assert decoder.close() == [SseEvent(text, BODY)]


def test_empty_body_has_no_events() -> None:
    assert BodyDecoder().close() == []
