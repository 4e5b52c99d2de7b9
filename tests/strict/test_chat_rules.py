"""Every rule of the strict chat-completions server, broken once and kept once."""

import pytest

from tests.strict.cases import Case, schema
from tests.support.strict_chat import violations

TOOL = {"type": "function", "function": {"name": "read", "parameters": schema()}}
SYSTEM = {"role": "system", "content": "Be brief."}
USER = {"role": "user", "content": "hello"}
ANSWER = {"role": "assistant", "content": "done"}


def request(*messages: dict, **more: object) -> dict:
    body = {"model": "m", "messages": list(messages) or [USER], "tools": [TOOL]}
    return {name: value for name, value in {**body, **more}.items() if value is not None}


def call(call_id: str | None = "c1", name: str = "read", arguments: str = "{}") -> dict:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def calls(*made: dict, content: str | None = None) -> dict:
    return {"role": "assistant", "content": content, "tool_calls": list(made)}


def result(call_id: str = "c1", content: str | None = "a line") -> dict:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def tool(**more: object) -> dict:
    return request(tools=[{**TOOL, "function": {**TOOL["function"], **more}}])


ASKED = request(USER, calls(call()), result())
CASES = [
    Case("a message", "non-empty list", request(messages=[]), request()),
    Case("model", "model", request(model=None), request()),
    Case("system first", "at the start", request(USER, SYSTEM, USER), request(SYSTEM, USER)),
    Case("user last", "last message", request(USER, ANSWER), request(USER, ANSWER, USER)),
    Case("role", "unknown", request({"role": "owner"}, USER), request(USER, USER)),
    Case("text", "content: empty", request({**USER, "content": " "}), request()),
    Case("content", "required", request({**USER, "content": None}), request()),
    Case(
        "text part",
        "empty text part",
        request({**USER, "content": [{"type": "text", "text": ""}]}),
        request({**USER, "content": [{"type": "text", "text": "x"}]}),
    ),
    Case(
        "kind of part",
        "part type",
        request({**USER, "content": [{"type": "picture"}]}),
        request({**USER, "content": [{"type": "image_url"}]}),
    ),
    Case("calls or none", "empty list", request(USER, calls(content="x"), USER), ASKED),
    Case(
        "no empty text with calls",
        "beside calls",
        request(USER, calls(call(), content=""), result()),
        request(USER, calls(call(), content="x"), result()),
    ),
    Case("id of a call", "id required", request(USER, calls(call(None)), result()), ASKED),
    Case("name of a call", "name", request(USER, calls(call(name="a b")), result()), ASKED),
    Case("arguments", "no JSON", request(USER, calls(call(arguments="{")), result()), ASKED),
    Case("an object", "no object", request(USER, calls(call(arguments="[]")), result()), ASKED),
    Case("unanswered call", "without a result", request(USER, calls(call()), USER), ASKED),
    Case("call at the end", "without a result", request(USER, calls(call())), ASKED),
    Case("result of no call", "without its call", request(USER, result()), ASKED),
    Case(
        "one result a call",
        "without its call",
        request(USER, calls(call()), result(), result()),
        request(USER, calls(call(), call("c2")), result("c2"), result()),
    ),
    Case(
        "ids once in a message",
        "repeat",
        request(USER, calls(call(), call()), result(), result()),
        request(USER, calls(call()), result(), calls(call()), result()),
    ),
    Case("result's call", "tool_call_id", request(USER, calls(call()), result("")), ASKED),
    Case("result", "required", request(USER, calls(call()), result(content=None)), ASKED),
    Case("no empty tools", "empty list", request(tools=[]), request(tools=None)),
    Case("kind of tool", "must be function", request(tools=[{**TOOL, "type": "x"}]), request()),
    Case("tool name", "name", tool(name="a.b"), tool(name="a-b_c")),
    Case("tool names", "repeats", request(tools=[TOOL, TOOL]), request()),
    Case("schema", "type object", tool(parameters={"type": "array"}), tool()),
    Case("subset", "not in the subset", tool(parameters=schema(oneOf=[])), tool()),
    Case(
        "required properties",
        "has no property",
        tool(parameters=schema(required=["path"])),
        tool(parameters=schema(required=[])),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.rule)
def test_rule(case: Case) -> None:
    assert any(case.phrase in complaint for complaint in violations(case.refused))
    assert violations(case.accepted) == []
