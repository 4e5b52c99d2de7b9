"""Responses events beyond the recorded ones: odd shapes, order, ends."""

import json
from typing import Any

import pytest

from agent.provider.client import ReasoningStart, ToolCall, ToolNames, ToolSchema
from agent.provider.protocols.responses import ResponsesDecoder
from agent.provider.transport.framing import BODY, SseEvent
from agent.records.errors import ProviderErrorKind
from agent.records.messages import Usage
from tests.support.provider_events import Response, collect, decode_all, feed_all


def event(kind: str, **more: Any) -> SseEvent:
    return SseEvent(json.dumps({"type": f"response.{kind}", **more}), f"response.{kind}")


def added(index: int, kind: str, **more: Any) -> SseEvent:
    return event("output_item.added", output_index=index, item={"type": kind, **more})


def done(index: int, kind: str, **more: Any) -> SseEvent:
    return event("output_item.done", output_index=index, item={"type": kind, **more})


def arguments(index: int, text: str) -> SseEvent:
    return event("function_call_arguments.delta", output_index=index, delta=text)


def ended(status: str = "completed", **more: Any) -> SseEvent:
    return event(status, response={"status": status, **more})


def decoded(*events: SseEvent, names: ToolNames | None = None) -> Response:
    decoder = ResponsesDecoder("openai", names)
    return decode_all(decoder, *events)


CALL = added(0, "function_call", call_id="c1", name="read")


def test_call_comes_as_soon_as_its_item_is_done() -> None:
    decoder = ResponsesDecoder("openai")
    whole = done(0, "function_call", call_id="c1", name="read", arguments='{"a": 1}')
    events = feed_all(decoder, CALL, arguments(0, '{"a": 1}'), whole)
    assert [e.arguments for e in events if isinstance(e, ToolCall)] == ['{"a": 1}']


def test_data_for_replay_is_kept() -> None:
    shown = [{"type": "reasoning_text", "text": "Hm"}]
    text = [{"type": "output_text", "text": "Hello"}]
    answer = decoded(
        done(0, "reasoning", id="rs_1", content=shown),
        done(1, "reasoning", id="rs_2", encrypted_content="x", summary=[]),
        done(2, "reasoning", id="rs_3", summary=[]),
        done(3, "message", id="msg_1", phase="commentary", content=text),
        ended(),
    )
    assert (answer.reasoning, answer.text) == ("Hm", "Hello")
    assert answer.opaque == [
        {"id": "rs_1", "summary": [], "content": shown},
        {"id": "rs_2", "summary": [], "encrypted_content": "x"},
        {"phase": "commentary"},
    ]


def test_tools_that_xai_ran_itself_are_no_calls() -> None:
    search = done(0, "custom_tool_call", call_id="x", name="x_keyword_search", input="{}")
    for provider, calls in (("xai", 0), ("openai", 1)):
        decoder = ResponsesDecoder(provider)
        answer = decode_all(decoder, search, ended())
        assert (len(answer.calls), answer.finish) == (calls, "tool-calls" if calls else "stop")


def test_interleaved_pieces_of_two_calls_are_separated() -> None:
    answer = decoded(
        CALL,
        added(1, "function_call", call_id="c2", name="grep"),
        arguments(1, '{"b": '),
        arguments(0, '{"a": 1}'),
        arguments(1, "2}"),
        done(1, "function_call", call_id="c2", name="grep"),
        done(0, "function_call", call_id="c1", name="read"),
        ended(),
    )
    assert [(call.name, call.arguments) for call in answer.calls] == [
        ("grep", '{"b": 2}'),
        ("read", '{"a": 1}'),
    ]


def test_a_call_that_appears_only_when_done() -> None:
    whole = done(0, "function_call", call_id="c1", name="read", arguments='{"a": 1}')
    assert decoded(whole, ended()).parsed_inputs == [{"a": 1}]


def test_a_call_that_the_limit_truncated() -> None:
    reason = {"reason": "max_output_tokens"}
    cut = done(0, "function_call", name="read", arguments='{"a', status="incomplete")
    end = ended("incomplete", incomplete_details=reason)
    for events in ((CALL, arguments(0, '{"a')), (CALL, arguments(0, '{"a'), cut)):
        answer = decoded(*events, end)
        assert [call.truncated for call in answer.calls] == [True]
        assert (answer.finish, answer.raw) == ("length", "incomplete:max_output_tokens")


def test_no_call_is_emitted_after_the_stream_broke() -> None:
    failed = ended("failed", error={"code": "server_error", "message": "x"})
    for events in ((CALL, arguments(0, "{}")), (CALL, failed)):
        answer = decoded(*events)
        assert answer.calls == []
        assert answer.error is not None


def test_the_end_of_the_body_without_the_last_event_is_an_error() -> None:
    text = event("output_text.delta", output_index=0, delta="a")
    answer = decoded(text, SseEvent("[DONE]"))
    assert answer.text == "a"
    assert answer.error.kind is ProviderErrorKind.NETWORK


def test_summary_parts_are_reasoning_parts_and_the_last_has_the_opaque_data() -> None:
    def piece(number: int, text: str) -> SseEvent:
        name = "reasoning_summary_text.delta"
        return event(name, output_index=0, summary_index=number, delta=text)

    summary = [{"type": "summary_text", "text": text} for text in ("one", "two")]
    decoder = ResponsesDecoder("openai")
    events = feed_all(
        decoder,
        added(0, "reasoning", id="rs_0"),
        piece(0, "one"),
        piece(1, "two"),
        done(0, "reasoning", id="rs_9", encrypted_content="x", summary=summary),
        ended(),
    )
    assert len([e for e in events if isinstance(e, ReasoningStart)]) == 2
    answer = collect(events)
    assert answer.reasoning == "onetwo"
    assert answer.opaque == [{"id": "rs_9", "encrypted_content": "x", "summary": summary}]


def test_text_that_comes_only_at_the_end_of_its_item() -> None:
    content = [{"type": "output_text", "text": "a"}, {"type": "refusal", "refusal": "no"}]
    summary = [{"type": "summary_text", "text": "hm"}]
    answer = decoded(
        done(0, "reasoning", id="rs", summary=summary),
        done(1, "message", content=content),
        ended(),
    )
    assert (answer.reasoning, answer.text, answer.refusal) == ("hm", "a", "no")


def test_the_whole_text_after_its_deltas_is_not_repeated() -> None:
    answer = decoded(
        event("output_text.delta", output_index=0, content_index=0, delta="a"),
        event("output_text.done", output_index=0, content_index=0, text="a"),
        event("output_text.done", output_index=0, content_index=1, text="b"),
        done(0, "message", content=[{"type": "output_text", "text": "a"}]),
        ended(),
    )
    assert answer.text == "ab"


def test_items_that_the_provider_ran_are_skipped() -> None:
    answer = decoded(
        added(0, "web_search_call", id="ws"),
        event("web_search_call.searching", output_index=0),
        done(0, "web_search_call", id="ws", status="completed"),
        ended(),
    )
    assert (answer.calls, answer.order, answer.finish) == ([], [], "stop")


def test_tool_names_are_converted_back() -> None:
    names = ToolNames((ToolSchema("files.read", "", {}),))
    whole = done(0, "function_call", call_id="c", name="files_read", arguments="{}")
    assert decoded(whole, ended(), names=names).calls[0].name == "files.read"


def test_a_response_that_was_not_streamed() -> None:
    message = {"type": "message", "content": [{"type": "output_text", "text": "a"}]}
    call = {"type": "function_call", "call_id": "c", "name": "read", "arguments": "{}"}
    whole = {
        "object": "response",
        "status": "completed",
        "output": [message, call],
        "usage": {"input_tokens": 3, "output_tokens": 2},
    }
    answer = decoded(SseEvent(json.dumps(whole), BODY))
    assert (answer.text, answer.finish, answer.usage) == ("a", "tool-calls", Usage(3, 2))
    assert len(answer.calls) == 1


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (SseEvent("<html>", BODY), ProviderErrorKind.INVALID_REQUEST),
        (SseEvent('{"hello": 1}', BODY), ProviderErrorKind.INVALID_REQUEST),
        (SseEvent('{"type": "response.outp'), ProviderErrorKind.NETWORK),
        (ended("cancelled"), ProviderErrorKind.NETWORK),
        (SseEvent('{"type": "error", "code": "rate_limit_exceeded", "message": "Rate limit"}'),
         ProviderErrorKind.RATE_LIMIT),
        (SseEvent('{"error": {"message": "prompt is too long"}}'), ProviderErrorKind.OVERFLOW),
        (ended("failed", error={"code": "server_error", "message": "The server had an error"}),
         ProviderErrorKind.OVERLOADED),
    ],
)  # fmt: skip
def test_invalid_data_and_error_events(given: SseEvent, kind: ProviderErrorKind) -> None:
    assert decoded(given).error.kind is kind


def test_a_content_filter_is_reported() -> None:
    end = ended("incomplete", incomplete_details={"reason": "content_filter"})
    assert decoded(end).finish == "content-filter"


@pytest.mark.parametrize("odd", [None, 1, "x", [], {"type": 3}])
def test_odd_event_shapes_do_no_harm(odd: Any) -> None:
    kinds = ("created", "output_item.added", "output_item.done", "output_text.delta",
             "output_text.done", "function_call_arguments.delta", "news")  # fmt: skip
    odds = [
        event(kind, item=odd, delta=odd, output_index=odd, text=odd, response=odd) for kind in kinds
    ]
    call = done(0, "function_call", name=odd, call_id=odd, arguments=odd)
    message = done(1, "message", content=odd)
    thought = done(2, "reasoning", id=odd, encrypted_content=odd, summary=odd)
    assert decoded(*odds, call, message, thought, event("completed", response=odd)).error is None
