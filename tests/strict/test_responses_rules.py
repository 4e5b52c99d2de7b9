"""Every rule of the strict Responses server, broken once and kept once."""

import pytest

from tests.strict.cases import Case, schema
from tests.support.strict_responses import violations
from tests.support.wire import seal

TOOL = {"type": "function", "name": "read", "parameters": schema()}
USER = {"role": "user", "content": "hello"}
CALL = {"type": "function_call", "call_id": "call_1", "name": "read", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "a line"}
THOUGHT = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "hm"}],
    "encrypted_content": seal("rs_1hm"),
}
SHOWN = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [],
    "content": [{"type": "reasoning_text", "text": "hm"}],
}
ANSWER = {
    "type": "message",
    "role": "assistant",
    "id": "msg_1",
    "content": [{"type": "output_text", "text": "done"}],
}


def request(*items: dict, **more: object) -> dict:
    body = {"model": "m", "input": list(items) or [USER], "tools": [TOOL], "store": False}
    return {name: value for name, value in {**body, **more}.items() if value is not None}


def tool(**more: object) -> dict:
    return request(tools=[{**TOOL, **more}])


def message(role: str, *parts: dict) -> dict:
    return {"role": role, "content": list(parts)}


STRICT = {"strict": True, "parameters": schema(additionalProperties=False)}
FOLLOWER = {**CALL, "id": "fc_1_of_rs_1"}
CASES = [
    Case("known fields", "unknown", request(max_tokens=9), request(max_output_tokens=16)),
    Case("model", "'model'", request(model=None), request()),
    Case("input", "not empty", request(input=[]), request(input="hello")),
    Case("input text", "not empty", request(input=" "), request()),
    Case("cap", "at least 16", request(max_output_tokens=15), request(max_output_tokens=16)),
    Case(
        "no temperature with reasoning",
        "not supported",
        request(reasoning={"effort": "low"}, temperature=1),
        request(temperature=1),
    ),
    Case("instructions", "instructions", request(instructions=""), request(instructions="x")),
    Case("no empty tools", "empty list", request(tools=[]), request(tools=None)),
    Case("flat tools", "'function'", tool(function={"name": "read"}), tool()),
    Case("kind of tool", "must be function", tool(type="tool"), tool()),
    Case("tool name", "name", tool(name="a.b"), tool(name="a-b_c")),
    Case("tool names", "repeats", request(tools=[TOOL, TOOL]), request()),
    Case("schema", "type object", tool(parameters={"type": "array"}), tool()),
    Case("subset", "not in the subset", tool(parameters=schema(oneOf=[])), tool()),
    Case("strict schema", "must be false", tool(strict=True), tool(**STRICT)),
    Case(
        "strict properties",
        "must be required",
        tool(**{**STRICT, "parameters": {**STRICT["parameters"], "required": []}}),
        tool(**STRICT),
    ),
    Case("kind of item", "is unknown", request({"type": "thought"}), request(USER)),
    Case("role", "role", request(message("tool")), request({**USER, "role": "developer"})),
    Case("content", "content", request(message("user")), request()),
    Case("empty text", "content: empty", request({**USER, "content": " "}), request()),
    Case(
        "empty part",
        "empty text part",
        request(message("user", {"type": "input_text", "text": ""})),
        request(message("user", {"type": "input_text", "text": "x"})),
    ),
    Case(
        "parts by role",
        "supported are",
        request(USER, message("assistant", {"type": "input_text", "text": "x"}), USER),
        request(USER, message("assistant", {"type": "output_text", "text": "x"}), USER),
    ),
    Case(
        "ids by kind",
        "begins with 'msg'",
        request(USER, {**ANSWER, "id": "fc_1"}, USER),
        request(USER, ANSWER, USER),
    ),
    Case(
        "id alphabet",
        "letters, digits",
        request(USER, {**ANSWER, "id": "msg.1"}, USER),
        request(USER, ANSWER, USER),
    ),
    Case(
        "ids once",
        "duplicate item",
        request(USER, ANSWER, USER, ANSWER, USER),
        request(USER, ANSWER, USER, {**ANSWER, "id": "msg_2"}, USER),
    ),
    Case("name of a call", "name", request(USER, {**CALL, "name": ""}, OUTPUT), request()),
    Case(
        "id of a call",
        "call_id",
        request(USER, {**CALL, "call_id": "a b"}, {**OUTPUT, "call_id": "a b"}),
        request(USER, {**CALL, "call_id": "a-b"}, {**OUTPUT, "call_id": "a-b"}),
    ),
    Case(
        "arguments",
        "no JSON",
        request(USER, {**CALL, "arguments": '{"a'}, OUTPUT),
        request(USER, CALL, OUTPUT),
    ),
    Case(
        "arguments are text",
        "no text",
        request(USER, {**CALL, "arguments": {}}, OUTPUT),
        request(USER, CALL, OUTPUT),
    ),
    Case(
        "output",
        "output: required",
        request(USER, CALL, {**OUTPUT, "output": None}),
        request(USER, CALL, {**OUTPUT, "output": ""}),
    ),
    Case("unanswered call", "no tool output", request(USER, CALL), request(USER, CALL, OUTPUT)),
    Case("output of no call", "no tool call", request(USER, OUTPUT), request(USER, CALL, OUTPUT)),
    Case(
        "output after its call",
        "no tool call",
        request(USER, OUTPUT, CALL),
        request(USER, CALL, OUTPUT),
    ),
    Case(
        "one output a call",
        "a second output",
        request(USER, CALL, OUTPUT, OUTPUT),
        request(USER, CALL, OUTPUT, USER),
    ),
    Case(
        "call ids once",
        "repeats",
        request(USER, CALL, OUTPUT, CALL, OUTPUT),
        request(USER, CALL, OUTPUT, {**CALL, "call_id": "b"}, {**OUTPUT, "call_id": "b"}),
    ),
    Case(
        "reasoning is followed",
        "required following item",
        request(USER, THOUGHT, USER),
        request(USER, THOUGHT, ANSWER, USER),
    ),
    Case(
        "reasoning of a call",
        "without its reasoning item",
        request(USER, FOLLOWER, OUTPUT),
        request(USER, THOUGHT, FOLLOWER, OUTPUT),
    ),
    Case(
        "reasoning is whole",
        "id and summary",
        request(USER, {**THOUGHT, "summary": None}, ANSWER, USER),
        request(USER, THOUGHT, ANSWER, USER),
    ),
    Case(
        "reasoning is not kept",
        "not persisted",
        request(USER, {**THOUGHT, "encrypted_content": None}, ANSWER, USER),
        request(USER, {**THOUGHT, "encrypted_content": None}, ANSWER, USER, store=True),
    ),
    Case(
        "reasoning in full",
        "parts of reasoning_text",
        request(USER, {**SHOWN, "content": [{"type": "text", "text": "hm"}]}, ANSWER, USER),
        request(USER, SHOWN, ANSWER, USER),
    ),
    Case(
        "phase",
        "phase 'end'",
        request(USER, {**ANSWER, "phase": "end"}, USER),
        request(USER, {**ANSWER, "phase": "final_answer"}, USER),
    ),
    Case(
        "phase of the assistant",
        "assistant only",
        request({**USER, "phase": "commentary"}),
        request(USER, {**ANSWER, "phase": "commentary"}, USER),
    ),
    Case(
        "reasoning is unchanged",
        "could not be verified",
        request(USER, {**THOUGHT, "encrypted_content": "x"}, ANSWER, USER),
        request(USER, THOUGHT, ANSWER, USER),
    ),
    Case(
        "references",
        "not persisted",
        request(USER, {"type": "item_reference", "id": "msg_1"}),
        request(USER, {"type": "item_reference", "id": "msg_1"}, store=True),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.rule)
def test_rule(case: Case) -> None:
    assert any(case.phrase in complaint for complaint in violations(case.refused))
    assert violations(case.accepted) == []
