"""The scripted server over HTTP in each of its protocols."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from tests.strict.protocol_client import (
    ANTHROPIC,
    CHAT,
    PATHS,
    RESPONSES,
    anthropic_blocks,
    chat_calls,
    first_request,
    next_request,
    post,
)
from tests.support.model_server import ModelServer
from tests.support.script import (
    Call,
    Cut,
    Failure,
    Finish,
    Hold,
    Opaque,
    Reason,
    StreamFailure,
    Text,
    Tokens,
    answer,
)

READ = Call("read", {"file_path": "a.txt"})
EVERYTHING = answer(Reason("I "), Reason("think"), Text("I "), Text("read"), READ, READ)

each_path = pytest.mark.parametrize("path", PATHS)


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer() as opened:
        yield opened


@each_path
async def test_a_response_is_accepted_when_it_is_replayed(server: ModelServer, path: str) -> None:
    server.script(EVERYTHING, answer(Text("done")))
    response = await post(server, path, first_request(path))
    again = await post(server, path, next_request(path, response))
    assert (response.status, again.status) == (200, 200)
    assert server.refused == []
    assert b"done" in again.body


@each_path
async def test_a_refusal_has_the_form_of_the_api(server: ModelServer, path: str) -> None:
    response = await post(server, path, {**first_request(path), "model": ""})
    assert response.status == 400
    error = json.loads(response.body)
    assert "model" in error["error"]["message"]
    assert error["error"]["type"] == "invalid_request_error"
    assert error.get("type") == ("error" if path == ANTHROPIC else None)
    assert len(server.refused) == 1


@each_path
async def test_a_lost_result_is_refused(server: ModelServer, path: str) -> None:
    server.script(answer(READ))
    body = next_request(path, await post(server, path, first_request(path)))
    body["input" if path == RESPONSES else "messages"].pop()
    assert (await post(server, path, body)).status == 400


@each_path
async def test_bytes_split_anywhere_are_the_same_bytes(server: ModelServer, path: str) -> None:
    server.script(EVERYTHING)
    whole = await post(server, path, first_request(path))
    async with ModelServer(chunk=1) as splitting:
        splitting.script(EVERYTHING)
        assert (await post(splitting, path, first_request(path))).body == whole.body


@each_path
async def test_a_response_is_cut_after_a_number_of_bytes(server: ModelServer, path: str) -> None:
    server.script(EVERYTHING)
    server.cut_after = 100
    assert len((await post(server, path, first_request(path))).body) == 100


@each_path
async def test_a_cut_has_no_end_mark(server: ModelServer, path: str) -> None:
    server.script(answer(Text("half"), Cut()))
    response = await post(server, path, first_request(path))
    assert b"half" in response.body
    assert not any(mark in response.body for mark in (b"[DONE]", b"message_stop", b"completed"))


@each_path
async def test_an_error_in_mid_stream(server: ModelServer, path: str) -> None:
    server.script(answer(Text("half"), StreamFailure("overloaded_error", "too busy")))
    last = (await post(server, path, first_request(path))).events[-1]
    error = last if path == RESPONSES else last["error"]
    assert error["message"] == "too busy"
    assert error["code" if path == RESPONSES else "type"] == "overloaded_error"


@each_path
async def test_an_error_instead_of_a_response(server: ModelServer, path: str) -> None:
    server.script(Failure(529, "{}"))
    assert (await post(server, path, first_request(path))).status == 529


@each_path
async def test_a_hold_delays_the_response_and_a_disconnect_is_noticed(
    server: ModelServer, path: str
) -> None:
    hold = Hold()
    server.script(answer(Text("before"), hold, Text("after")))
    task = asyncio.create_task(post(server, path, first_request(path)))
    await hold.reached.wait()
    task.cancel()
    await asyncio.wait([task])
    await server.requests[0].closed.wait()
    assert task.cancelled()


async def test_nothing_is_served_elsewhere(server: ModelServer) -> None:
    assert (await post(server, "/embeddings", {})).status == 404
    assert server.refused == ["/v1/embeddings: nothing is served there"]


async def test_a_query_string_does_not_change_the_endpoint(server: ModelServer) -> None:
    assert (await post(server, f"{ANTHROPIC}?beta=true", first_request(ANTHROPIC))).status == 200


async def test_anthropic_blocks(server: ModelServer) -> None:
    server.script(answer(Reason("hm"), Opaque("x"), Text("I read"), READ, Tokens(50, 5, 20)))
    response = await post(server, ANTHROPIC, first_request(ANTHROPIC))
    blocks = anthropic_blocks(response)
    kinds = ["thinking", "redacted_thinking", "text", "tool_use"]
    assert [block["type"] for block in blocks] == kinds
    assert blocks[3]["input"] == {"file_path": "a.txt"}
    starts = [e["index"] for e in response.events if e["type"] == "content_block_start"]
    stops = [e["index"] for e in response.events if e["type"] == "content_block_stop"]
    assert starts == stops == [0, 1, 2, 3]
    assert response.kinds[0] == "message_start"
    assert response.kinds[-2:] == ["message_delta", "message_stop"]
    assert response.events[-2]["delta"]["stop_reason"] == "tool_use"
    usage = response.events[-2]["usage"]
    assert (usage["input_tokens"], usage["cache_read_input_tokens"]) == (30, 20)


async def test_anthropic_tokens_at_the_start(server: ModelServer) -> None:
    server.script((Tokens(70), *answer(Text("x"), Finish("limit"))))
    response = await post(server, ANTHROPIC, first_request(ANTHROPIC))
    assert response.events[0]["message"]["usage"]["input_tokens"] == 70
    assert response.events[-2]["delta"]["stop_reason"] == "max_tokens"


async def test_responses_items(server: ModelServer) -> None:
    server.script(answer(Reason("hm"), Text("I "), Text("read"), READ, Tokens(50, 5, 20, 3)))
    response = await post(server, RESPONSES, first_request(RESPONSES))
    last = response.events[-1]
    assert last["type"] == "response.completed"
    output = last["response"]["output"]
    assert [item["type"] for item in output] == ["reasoning", "message", "function_call"]
    assert output[1]["content"][0]["text"] == "I read"
    assert json.loads(output[2]["arguments"]) == {"file_path": "a.txt"}
    assert [e["sequence_number"] for e in response.events] == list(range(len(response.events)))
    assert last["response"]["usage"]["output_tokens_details"]["reasoning_tokens"] == 3


async def test_responses_encrypt_reasoning_only_on_request(server: ModelServer) -> None:
    server.script(*[answer(Opaque("x"), Text("done"))] * 2)
    sealed = await post(server, RESPONSES, first_request(RESPONSES))
    bare = await post(server, RESPONSES, {**first_request(RESPONSES), "include": []})
    held = [response.events[-1]["response"]["output"][0] for response in (sealed, bare)]
    assert held[0]["encrypted_content"] == "x"
    assert "encrypted_content" not in held[1]


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("end", "response.completed"),
        ("limit", "response.incomplete"),
        ("content_filter", "response.incomplete"),
        ("failed", "response.failed"),
    ],
)
async def test_responses_ends(server: ModelServer, reason: str, kind: str) -> None:
    server.script(answer(Text("x"), Finish(reason)))
    assert (await post(server, RESPONSES, first_request(RESPONSES))).kinds[-1] == kind


async def test_chat_calls(server: ModelServer) -> None:
    server.script(answer(READ, READ))
    made = chat_calls(await post(server, CHAT, first_request(CHAT)))
    assert [json.loads(call["function"]["arguments"]) for call in made] == [READ.args] * 2
    assert len({call["id"] for call in made}) == 2


async def test_pieces_are_requested_one_by_one(server: ModelServer) -> None:
    hold = Hold()
    sent: list[str] = []

    def pieces() -> object:
        yield Text("one")
        sent.append("one was sent")
        yield hold
        sent.append("the gate opened")
        yield from answer(Text("two"))

    server.script(pieces())
    task = asyncio.create_task(post(server, CHAT, first_request(CHAT)))
    await hold.reached.wait()
    assert sent == ["one was sent"]
    hold.gate.set()
    assert b"two" in (await task).body
