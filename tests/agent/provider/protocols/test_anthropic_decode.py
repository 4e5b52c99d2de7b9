"""Anthropic's events beyond the recorded ones: odd shapes, held calls, ends."""

import json
from typing import Any

import pytest

from agent.provider.client import ToolCall, ToolNames, ToolSchema
from agent.provider.protocols.anthropic import AnthropicDecoder
from agent.provider.transport.framing import BODY, SseEvent
from agent.records.errors import ProviderErrorKind
from agent.records.messages import Usage
from tests.support.provider_events import Response, decode_all, feed_all


def event(kind: str, **more: Any) -> SseEvent:
    return SseEvent(json.dumps({"type": kind, **more}), kind)


def start(index: int, kind: str, **more: Any) -> SseEvent:
    return event("content_block_start", index=index, content_block={"type": kind, **more})


def delta(index: int, kind: str, **more: Any) -> SseEvent:
    return event("content_block_delta", index=index, delta={"type": kind, **more})


def stop(index: int) -> SseEvent:
    return event("content_block_stop", index=index)


def ended(reason: str | None, **usage: int) -> SseEvent:
    return event("message_delta", delta={"stop_reason": reason}, usage=usage)


END = event("message_stop")
CALL = start(0, "tool_use", id="t1", name="read", input={})


def decoded(*events: SseEvent, names: ToolNames | None = None) -> Response:
    decoder = AnthropicDecoder("anthropic", names)
    return decode_all(decoder, *events)


def test_call_comes_as_soon_as_its_arguments_are_whole() -> None:
    decoder = AnthropicDecoder("anthropic")
    piece = delta(0, "input_json_delta", partial_json='{"a": 1}')
    events = feed_all(decoder, CALL, piece, stop(0))
    assert [e.arguments for e in events if isinstance(e, ToolCall)] == ['{"a": 1}']


def test_a_call_without_arguments_waits_for_the_next_event() -> None:
    decoder = AnthropicDecoder("anthropic")
    assert not any(isinstance(e, ToolCall) for e in feed_all(decoder, CALL, stop(0)))
    next_call = start(1, "tool_use", id="t2", name="read", input={})
    assert any(isinstance(e, ToolCall) for e in feed_all(decoder, next_call))


def test_a_call_without_arguments_at_the_limit_is_truncated() -> None:
    answer = decoded(CALL, stop(0), ended("max_tokens"), END)
    assert [call.truncated for call in answer.calls] == [True]
    assert answer.finish == "length"


def test_invalid_json_arguments_are_reported_as_they_came() -> None:
    answer = decoded(
        CALL, delta(0, "input_json_delta", partial_json='{"a'), stop(0), ended("tool_use"), END
    )
    assert [(call.arguments, call.truncated) for call in answer.calls] == [('{"a', False)]


def test_the_input_of_the_start_event_counts_without_deltas() -> None:
    whole = start(0, "tool_use", id="t1", name="read", input={"a": 1})
    assert decoded(whole, stop(0), ended("tool_use"), END).parsed_inputs == [{"a": 1}]


def test_no_call_is_emitted_after_the_stream_broke() -> None:
    for events in ((CALL,), (CALL, stop(0)), (CALL, event("error", error={"message": "x"}))):
        answer = decoded(*events)
        assert answer.calls == []
        assert answer.error is not None


def test_the_end_of_the_body_after_a_stop_reason_is_a_complete_end() -> None:
    text = (start(0, "text", text=""), delta(0, "text_delta", text="a"))
    answer = decoded(*text, ended("end_turn"))
    assert (answer.text, answer.finish, answer.error) == ("a", "stop", None)
    assert decoded(*text).error.kind is ProviderErrorKind.NETWORK


def test_a_lone_signature_and_redacted_thinking_are_kept() -> None:
    answer = decoded(
        start(0, "thinking", thinking=""),
        delta(0, "signature_delta", signature="s"),
        stop(0),
        start(1, "redacted_thinking", data="xyz"),
        stop(1),
        start(2, "thinking", thinking=""),
        stop(2),
        ended("end_turn"),
        END,
    )
    assert answer.opaque == [{"signature": "s"}, {"redacted": "xyz"}]
    assert answer.reasoning == ""


def test_blocks_that_the_provider_ran_are_skipped() -> None:
    answer = decoded(
        start(0, "server_tool_use", id="s1", name="web_search", input={}),
        delta(0, "input_json_delta", partial_json="{}"),
        stop(0),
        start(1, "web_search_tool_result", content=[{"type": "text", "text": "no"}]),
        stop(1),
        start(2, "text", text="yes"),
        stop(2),
        ended("end_turn"),
        END,
    )
    assert (answer.text, answer.calls) == ("yes", [])


def test_tool_names_are_converted_back() -> None:
    names = ToolNames((ToolSchema("files.read", "", {}),))
    call = start(0, "tool_use", id="t1", name="files_read", input={})
    answer = decoded(call, stop(0), ended("tool_use"), END, names=names)
    assert answer.calls[0].name == "files.read"


def test_later_counts_replace_earlier_ones_unless_they_are_zero() -> None:
    first = {"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 1}
    begun = event("message_start", message={"usage": first})
    zeros = ended("end_turn", input_tokens=0, cache_read_input_tokens=0, output_tokens=7)
    assert decoded(begun, zeros, END).usage == Usage(15, 7, 0, 5, 0)
    assert decoded(begun, ended("end_turn", output_tokens=7), END).usage == Usage(15, 7, 0, 5, 0)
    assert decoded(event("message_start"), ended("end_turn"), END).usage is None


@pytest.mark.parametrize(
    ("word", "finish"),
    [("refusal", "content-filter"), ("pause_turn", "paused"), ("stop_sequence", "stop"),
     ("model_context_window_exceeded", "length"), (None, None)],
)  # fmt: skip
def test_finish_reasons(word: str | None, finish: str | None) -> None:
    answer = decoded(ended(word), END)
    assert (answer.finish, answer.raw) == (finish, word)


def test_a_response_that_was_not_streamed() -> None:
    message = {
        "type": "message",
        "content": [
            {"type": "thinking", "thinking": "Hm", "signature": "s"},
            {"type": "text", "text": "a"},
            {"type": "tool_use", "id": "t1", "name": "read", "input": {"a": 1}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 3, "output_tokens": 2},
    }
    answer = decoded(SseEvent(json.dumps(message), BODY))
    assert (answer.reasoning, answer.text, answer.finish) == ("Hm", "a", "tool-calls")
    assert answer.parsed_inputs == [{"a": 1}]
    assert answer.usage == Usage(3, 2)


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (SseEvent("<html>", BODY), ProviderErrorKind.INVALID_REQUEST),
        (SseEvent('{"hello": 1}', BODY), ProviderErrorKind.INVALID_REQUEST),
        (SseEvent('{"type": "content_blo', "content_block_start"), ProviderErrorKind.NETWORK),
        (event("error", error={"type": "overloaded_error"}), ProviderErrorKind.OVERLOADED),
        (event("error", error={"type": "rate_limit_error"}), ProviderErrorKind.RATE_LIMIT),
    ],
)
def test_invalid_data_and_error_events(given: SseEvent, kind: ProviderErrorKind) -> None:
    assert decoded(given).error.kind is kind


@pytest.mark.parametrize("odd", [None, 1, "x", [], {"type": 3}, {"index": "x"}])
def test_odd_event_shapes_do_no_harm(odd: Any) -> None:
    answer = decoded(
        *(event(kind, message=odd, content_block=odd, delta=odd, usage=odd, index=odd)
          for kind in ("message_start", "content_block_start", "content_block_delta",
                       "content_block_stop", "message_delta", "news")),
        END,
    )  # fmt: skip
    assert answer.error is None
