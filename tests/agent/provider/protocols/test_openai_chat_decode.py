"""The chat-completions decoder on small streams of each kind."""

from typing import Any

import pytest

from agent.provider.client import StreamEvent, ToolCall, ToolNames, ToolSchema
from agent.provider.protocols.openai_chat_decode import ChatDecoder
from agent.provider.transport.framing import BodyDecoder
from agent.records.errors import ProviderErrorKind
from agent.records.messages import Usage
from tests.support.provider_events import Response, call, collect, finish, sse

USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}


def events(body: bytes) -> list[StreamEvent]:
    decoder, chat, found = BodyDecoder(), ChatDecoder("acme"), list[StreamEvent]()
    for event in [*decoder.feed(body), *decoder.close()]:
        if not chat.done:
            found.extend(chat.feed(event))
    return found + chat.close()


def decode(*chunks: Any, done: bool = True) -> Response:
    return collect(events(sse(*chunks, done=done)))


def names_and_arguments(answer: Response) -> list[tuple[str, str]]:
    return [(call.name, call.arguments) for call in answer.calls]


def test_call_assembly_same_index_with_new_id_is_a_new_call() -> None:
    answer = decode(
        call(0, id="a", name="read", arguments='{"p":1}'),
        call(0, id="b", name="read", arguments='{"p":2}'),
        finish("tool_calls"),
    )
    assert names_and_arguments(answer) == [("read", '{"p":1}'), ("read", '{"p":2}')]
    assert [c.call_id for c in answer.calls] == ["a", "b"]


def test_call_assembly_same_index_without_ids_by_name_once_complete() -> None:
    answer = decode(
        call(0, name="read", arguments='{"p":'),
        call(0, name="read", arguments="1}"),
        call(0, name="read", arguments='{"p":2}'),
        call(0, name="glob", arguments="{}"),
        finish("tool_calls"),
    )
    expected = [("read", '{"p":1}'), ("read", '{"p":2}'), ("glob", "{}")]
    assert names_and_arguments(answer) == expected


def test_call_assembly_id_and_name_repeated_with_each_delta_is_one_call() -> None:
    answer = decode(
        call(0, id="a", name="read", arguments=""),
        call(0, id="a", name="read", arguments='{"p":'),
        call(0, id="a", name="read", arguments="1}"),
        call(0, id="a", name="read", arguments='{"p":1}'),
        finish("tool_calls"),
    )
    assert names_and_arguments(answer) == [("read", '{"p":1}')]


def test_call_assembly_without_index_by_id() -> None:
    answer = decode(
        call(id="a", name="read", arguments='{"p":'),
        call(id="b", name="glob", arguments='{"q":'),
        call(id="a", arguments="1}"),
        call(id="b", arguments="2}"),
        finish("tool_calls"),
    )
    assert names_and_arguments(answer) == [("read", '{"p":1}'), ("glob", '{"q":2}')]


@pytest.mark.parametrize("more", [{"id": "a"}, {}], ids=["same id", "no id"])
@pytest.mark.parametrize(("first", "second"), [("todo", "write"), ("task", "_output")])
def test_a_name_in_two_pieces_is_one_call(first: str, second: str, more: dict[str, str]) -> None:
    tools = (ToolSchema(name, "", {}) for name in ("task", "task_output", "todowrite"))
    chat = ChatDecoder("acme", ToolNames(tools))
    body = sse(
        call(0, id="a", name=first, arguments=""),
        call(0, name=second, arguments="", **more),
        call(0, arguments='{"p":1}'),
        finish("tool_calls"),
    )
    found = [event for piece in BodyDecoder().feed(body) for event in chat.feed(piece)]
    answer = collect(found + chat.close())
    assert names_and_arguments(answer) == [(first + second, '{"p":1}')]


def test_call_whose_name_comes_after_its_arguments() -> None:
    answer = decode(
        call(0, id="a", arguments='{"p":'), call(0, name="read", arguments="1}"), finish("stop")
    )
    assert names_and_arguments(answer) == [("read", '{"p":1}')]


def test_a_call_without_a_name_is_emitted_for_the_executor_to_refuse() -> None:
    assert names_and_arguments(decode(call(0, id="a", arguments="{}"), finish("stop"))) == [
        ("", "{}")
    ]


@pytest.mark.parametrize("arguments", [{}, {"arguments": ""}, {"arguments": None}])
def test_args_json_call_without_arguments(arguments: dict[str, Any]) -> None:
    answer = decode(call(0, id="a", name="list", **arguments), finish("tool_calls"))
    assert names_and_arguments(answer) == [("list", "")]
    assert not answer.calls[0].truncated


def test_args_json_broken_arguments_come_as_they_are() -> None:
    text = '{"content":"he said "hi""}'
    answer = decode(call(0, id="a", name="write", arguments=text), finish("tool_calls"))
    assert names_and_arguments(answer) == [("write", text)]
    assert not answer.calls[0].truncated


def test_legacy_function_call() -> None:
    answer = decode(
        {"function_call": {"name": "read", "arguments": '{"p":'}},
        {"function_call": {"arguments": "1}"}},
        finish("function_call"),
    )
    assert names_and_arguments(answer) == [("read", '{"p":1}')]
    assert answer.finish == "tool-calls"


def test_call_is_given_as_soon_as_the_next_one_starts() -> None:
    chat, decoder = ChatDecoder("acme"), BodyDecoder()
    body = sse(
        call(0, id="a", name="read", arguments="{}"), call(1, id="b", name="read"), done=False
    )
    found = [out for event in decoder.feed(body) for out in chat.feed(event)]
    assert [event.call_id for event in found if isinstance(event, ToolCall)] == ["a"]


@pytest.mark.parametrize("reason", ["stop", "end_turn", None])
def test_calls_are_emitted_with_any_finish_reason(reason: str | None) -> None:
    answer = decode(call(0, id="a", name="read", arguments='{"p":1}'), finish(reason))
    assert len(answer.calls) == 1
    assert answer.finish == (None if reason is None else "stop")


@pytest.mark.parametrize("arguments", ["", '{"content": "on and'])
def test_only_the_call_that_the_limit_truncated_is_marked(arguments: str) -> None:
    answer = decode(
        call(0, id="a", name="read", arguments='{"p":1}'),
        call(1, id="b", name="write", arguments=arguments),
        finish("length"),
    )
    assert [c.truncated for c in answer.calls] == [False, True]
    assert answer.finish == "length"


def test_after_a_break_no_call_is_emitted_and_all_parts_are_closed() -> None:
    answer = decode(
        {"content": "so"},
        call(0, id="a", name="read", arguments='{"p":1}'),
        call(1, id="b", name="read", arguments='{"p":2}'),
        done=False,
    )
    assert [c.call_id for c in answer.calls] == ["a"]
    assert answer.error.kind is ProviderErrorKind.NETWORK


def test_an_end_mark_without_finish_reason_is_a_complete_end() -> None:
    answer = decode({"content": "hi"})
    assert (answer.text, answer.finish, answer.error) == ("hi", None, None)


def test_a_finish_reason_without_end_mark_is_a_complete_end() -> None:
    answer = decode({"content": "hi"}, finish("stop"), done=False)
    assert (answer.finish, answer.error) == ("stop", None)


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning", "reasoning_text"])
def test_reasoning_echo_field_name_is_kept(name: str) -> None:
    answer = decode({name: "Hm"}, {name: "."}, {"content": "Yes"}, finish("stop"))
    assert (answer.reasoning, answer.field_names, answer.text) == ("Hm.", [name], "Yes")


def test_reasoning_in_two_fields_at_once_is_added_once() -> None:
    both = {"reasoning": "Hm", "reasoning_content": "Hm"}
    assert decode(both, both, finish("stop")).reasoning == "HmHm"


def test_signature_goes_with_the_reasoning_before_it() -> None:
    text = {"type": "reasoning.text", "text": "Hm"}
    signature = {"type": "reasoning.text", "signature": "s"}
    answer = decode(
        {"reasoning": "Hm", "reasoning_details": [text]},
        {"reasoning_details": [signature]},
        {"content": "Yes"},
        finish("stop"),
    )
    assert answer.opaque == [{"reasoning_details": [text, signature]}]


def test_encrypted_reasoning_of_a_call_goes_with_the_call() -> None:
    detail = {"type": "reasoning.encrypted", "id": "a", "data": "x"}
    answer = decode(
        {"reasoning_details": [detail]},
        call(0, id="a", name="read", arguments="{}"),
        finish("tool_calls"),
    )
    assert answer.calls[0].opaque == {"reasoning_details": [detail]}
    assert answer.opaque == []


def test_encrypted_reasoning_alone_is_kept_as_a_part_without_text() -> None:
    detail = {"type": "reasoning.encrypted", "data": "x"}
    answer = decode({"content": "Hi", "reasoning_details": [detail]}, finish("stop"))
    assert answer.opaque == [{"reasoning_details": [detail]}]
    assert answer.reasoning == ""


def test_thought_signature_in_extra_content_is_kept() -> None:
    extra = {"google": {"thought_signature": "x"}}
    answer = decode(call(0, id="a", name="read", extra_content=extra), finish("stop"))
    assert answer.calls[0].opaque == {"extra_content": extra}


def test_content_as_list_of_parts() -> None:
    answer = decode(
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}]},
        {"content": [{"type": "text", "text": "Yes"}, {"type": "reference", "ids": [1]}]},
        finish("stop"),
    )
    assert (answer.reasoning, answer.field_names, answer.text) == ("Hm", ["content"], "Yes")


def test_refusal_is_text_marked_as_refusal() -> None:
    answer = decode({"refusal": "I "}, {"refusal": "won't"}, finish("stop"))
    assert (answer.refusal, answer.text) == ("I won't", "")


@pytest.mark.parametrize(
    "chunks",
    [
        [{**finish("stop"), "usage": USAGE}],
        [finish("stop"), {"choices": [], "usage": USAGE}],
        [{**finish(None), "usage": USAGE}, finish("stop"), {"choices": [], "usage": None}],
        [{**finish(None, content=""), "usage": {"prompt_tokens": 3, "completion_tokens": 1}},
         {**finish("stop"), "usage": USAGE}],
        [{**finish("stop"), "x_groq": {"usage": USAGE}}],
        [{**finish("stop"), "usage": USAGE},
         {"choices": [], "usage": {"prompt_tokens": 0, "completion_tokens": 0}}],
    ],
)  # fmt: skip
def test_usage_is_found_in_every_place(chunks: list[dict[str, Any]]) -> None:
    assert decode({"content": "x"}, *chunks).usage == Usage(input=3, output=2)


def test_usage_is_never_estimated() -> None:
    assert decode({"content": "x"}, finish("stop")).usage is None


def test_usage_of_a_failed_stream_is_kept() -> None:
    answer = decode({**finish(None), "usage": USAGE}, {"error": "boom"}, done=False)
    assert answer.usage == Usage(input=3, output=2)
    assert answer.error.kind is ProviderErrorKind.OVERLOADED


@pytest.mark.parametrize(
    ("raw", "expected"),
    [("STOP", "stop"), ("max_tokens", "length"), ("sensitive", "content-filter"),
     ("error", "error"), ("banana", "other")],
)  # fmt: skip
def test_finish_reasons(raw: str, expected: str) -> None:
    answer = decode({"content": "x"}, finish(raw))
    assert (answer.finish, answer.raw) == (expected, raw)


def test_a_malformed_function_call_is_an_error_with_one_retry() -> None:
    answer = decode(finish("function_call_filter: MALFORMED_FUNCTION_CALL"))
    assert answer.error.kind is ProviderErrorKind.INVALID_REQUEST
    assert answer.error.retry_once


@pytest.mark.parametrize(
    "chunk",
    [{"error": {"message": "Slow down", "code": 429}},
     {"choices": [{"index": 0, "error": {"message": "Rate limit"}, "finish_reason": "error"}]}],
)  # fmt: skip
def test_errors_inside_the_stream(chunk: dict[str, Any]) -> None:
    answer = decode({"content": "so"}, chunk)
    assert answer.text == "so"
    assert answer.error.kind is ProviderErrorKind.RATE_LIMIT


def test_named_error_event() -> None:
    body = sse({"content": "so"}, done=False) + b'event: error\ndata: {"message": "Overloaded"}\n\n'
    assert collect(events(body)).error.kind is ProviderErrorKind.OVERLOADED


def test_events_after_the_end_are_ignored() -> None:
    body = sse({"content": "a"}, finish("stop")) + sse({"content": "b"})
    assert collect(events(body)).text == "a"


def test_events_without_blank_lines_between_them() -> None:
    body = sse({"content": "a"}, {"content": "b"}, finish("stop")).replace(b"\n\n", b"\n")
    assert collect(events(body)).text == "ab"


def test_other_choices_and_odd_shapes_are_ignored() -> None:
    answer = decode(
        {"choices": [{"index": 1, "delta": {"content": "no"}}, {"delta": {"content": "yes"}}]},
        {"choices": [None]},
        {"choices": None},
        {"choices": [{"delta": None}]},
        {"choices": [{"delta": {"content": 7, "tool_calls": [None, 3]}}]},
        finish("stop"),
    )
    assert (answer.text, answer.calls, answer.error) == ("yes", [], None)


def test_web_page_instead_of_an_answer_points_at_the_base_url() -> None:
    error = collect(events(b"<!doctype html><title>Welcome</title>")).error
    assert error.kind is ProviderErrorKind.INVALID_REQUEST
    assert "base URL" in str(error)


def test_error_object_with_status_200() -> None:
    error = collect(events(b'{"error": {"message": "Invalid API key", "code": 401}}')).error
    assert error.kind is ProviderErrorKind.AUTH


def test_a_message_after_deltas_is_not_added_twice() -> None:
    whole = {"choices": [{"index": 0, "message": {"content": "ab"}, "finish_reason": "stop"}]}
    assert decode({"content": "a"}, {"content": "b"}, whole).text == "ab"


def test_minimax_reports_errors_in_its_own_field() -> None:
    fine = {"choices": [], "base_resp": {"status_code": 0, "status_msg": ""}}
    failed = {"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}
    assert decode({"content": "a"}, finish("stop"), fine).error is None
    answer = decode({"content": "a"}, failed | {"choices": []})
    assert answer.error.kind is ProviderErrorKind.QUOTA
    assert "insufficient balance" in answer.error.message


def test_reasoning_among_the_parts_of_the_content() -> None:
    part = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm"}]}
    answer = decode({"content": [part]}, {"content": [{"type": "text", "text": "a"}]})
    assert (answer.reasoning, answer.text) == ("Hm", "a")
