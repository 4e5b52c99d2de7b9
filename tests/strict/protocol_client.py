"""A minimal client for each protocol, which replays the responses that it gets."""

import json
from dataclasses import dataclass, field

import httpx2

from tests.strict.cases import schema
from tests.support.model_server import ModelServer

ANTHROPIC, RESPONSES, CHAT = "/messages", "/responses", "/chat/completions"
PATHS = (CHAT, RESPONSES, ANTHROPIC)


@dataclass
class Response:
    """A response: its *status*, its raw *body*, and the *events* of a stream in order."""

    status: int
    body: bytes
    events: list[dict] = field(default_factory=list)

    @property
    def kinds(self) -> list[str]:
        return [event.get("type", "") for event in self.events]


async def post(server: ModelServer, path: str, body: dict) -> Response:
    """POST *body* to *path* and return the response, complete or not."""
    headers = {"anthropic-version": "2023-06-01"}
    read = bytearray()
    async with (
        httpx2.AsyncClient(trust_env=False) as client,
        client.stream("POST", server.url + path, json=body, headers=headers) as received,
    ):
        try:
            async for piece in received.aiter_bytes():
                read += piece
        except httpx2.RemoteProtocolError:
            pass  # the connection was cut: return the received part
    lines = bytes(read).decode(errors="replace").split("\n")
    data = [line.removeprefix("data: ") for line in lines if line.startswith("data: {")]
    events = [json.loads(text) for text in data if text.endswith("}")]
    return Response(received.status_code, bytes(read), events)


def first_request(path: str) -> dict:
    """Return a first request, with one tool."""
    text = {"role": "user", "content": "read it"}
    if path == ANTHROPIC:
        tool = {"name": "read", "input_schema": schema()}
        return {"model": "m", "max_tokens": 4096, "messages": [text], "tools": [tool]}
    if path == RESPONSES:
        tool = {"type": "function", "name": "read", "parameters": schema()}
        include = ["reasoning.encrypted_content"]
        return {"model": "m", "input": [text], "tools": [tool], "store": False, "include": include}
    function = {"name": "read", "parameters": schema()}
    tool = {"type": "function", "function": function}
    return {"model": "m", "messages": [text], "tools": [tool]}


def next_request(path: str, response: Response) -> dict:
    """Return the request after *response*: with all of it, and a result for each of its calls."""
    body = first_request(path)
    if path == ANTHROPIC:
        blocks = anthropic_blocks(response)
        ids = [block["id"] for block in blocks if block["type"] == "tool_use"]
        results = [{"type": "tool_result", "tool_use_id": i, "content": "a line"} for i in ids]
        body["messages"] += [
            {"role": "assistant", "content": blocks},
            {"role": "user", "content": results or "go on"},
        ]
    elif path == RESPONSES:
        items = [e["item"] for e in response.events if e["type"] == "response.output_item.done"]
        ids = [item["call_id"] for item in items if item["type"] == "function_call"]
        body["input"] += items
        body["input"] += [
            {"type": "function_call_output", "call_id": i, "output": "a line"} for i in ids
        ]
    else:
        made = chat_calls(response)
        body["messages"].append({"role": "assistant", "content": None, "tool_calls": made})
        body["messages"] += [
            {"role": "tool", "tool_call_id": call["id"], "content": "a line"} for call in made
        ]
    return body


def anthropic_blocks(response: Response) -> list[dict]:
    """Return the content blocks, assembled from their deltas."""
    blocks: list[dict] = []
    raw: list[str] = []
    for event in response.events:
        delta = event.get("delta") or {}
        match event["type"], delta.get("type"):
            case "content_block_start", _:
                blocks.append(dict(event["content_block"]))
                raw.append("")
            case _, "text_delta":
                blocks[-1]["text"] += delta["text"]
            case _, "thinking_delta":
                blocks[-1]["thinking"] += delta["thinking"]
            case _, "signature_delta":
                blocks[-1]["signature"] = delta["signature"]
            case _, "input_json_delta":
                raw[-1] += delta["partial_json"]
            case _:
                pass
    for block, text in zip(blocks, raw, strict=True):
        if block["type"] == "tool_use":
            block["input"] = json.loads(text or "{}")
    return blocks


def chat_calls(response: Response) -> list[dict]:
    """Return the tool calls, assembled from their deltas."""
    made: dict[int, dict] = {}
    for event in response.events:
        for choice in event.get("choices") or []:
            for part in choice["delta"].get("tool_calls") or []:
                call = made.setdefault(part["index"], {"type": "function", "function": {}})
                call.update({k: v for k, v in part.items() if k == "id"})
                for name, text in part["function"].items():
                    call["function"][name] = call["function"].get(name, "") + text
    return list(made.values())
