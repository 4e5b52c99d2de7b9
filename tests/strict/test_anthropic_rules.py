"""Every rule of the strict Anthropic server, broken once and kept once."""

import pytest

from tests.strict.cases import Case, schema
from tests.support.strict_anthropic import violations
from tests.support.wire import seal

HEADERS = {"anthropic-version": "2023-06-01"}
TOOL = {"name": "read", "description": "Reads a file.", "input_schema": schema()}
MARK = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}


def text(words: str = "hello", **more: object) -> dict:
    return {"type": "text", "text": words, **more}


def call(call_id: str = "toolu_1", **more: object) -> dict:
    return {"type": "tool_use", "id": call_id, "name": "read", "input": {}, **more}


def result(call_id: str = "toolu_1", **more: object) -> dict:
    return {"type": "tool_result", "tool_use_id": call_id, "content": "a line", **more}


def thought(words: str = "hm", **more: object) -> dict:
    return {"type": "thinking", "thinking": words, "signature": seal(words), **more}


def user(*blocks: dict) -> dict:
    return {"role": "user", "content": list(blocks)}


def model(*blocks: dict) -> dict:
    return {"role": "assistant", "content": list(blocks)}


def request(*messages: dict, **more: object) -> dict:
    first = messages or (user(text()),)
    body = {"model": "m", "max_tokens": 4096, "messages": list(first), "tools": [TOOL]}
    return {name: value for name, value in {**body, **more}.items() if value is not None}


def step(assistant: dict, answer: dict, **more: object) -> dict:
    return request(user(text()), assistant, answer, **more)


THINK = {"type": "enabled", "budget_tokens": 1024}
ADAPTIVE = {"type": "adaptive"}
ASKED = step(model(call()), user(result()))
CASES = [
    Case("known fields", "extra inputs", request(input="x"), request(stop_sequences=["x"])),
    Case("model", "model: field required", request(model=None), request()),
    Case("output cap", "max_tokens", request(max_tokens=None), request(max_tokens=1)),
    Case("a message", "at least one message", request(messages=[]), request()),
    Case("roles", "neither", request({"role": "system", "content": "x"}), request(system="x")),
    Case("user first", "first message", request(model(text()), user(text())), request()),
    Case(
        "user last",
        "must end with a user",
        request(user(text()), model(text())),
        request(user(text()), model(text()), user(text())),
    ),
    Case(
        "alternate roles",
        "alternate",
        request(user(text()), user(text())),
        request(user(text(), text())),
    ),
    Case("content", "non-empty content", request(user()), request(user(text()))),
    Case("text", "non-whitespace", request(user(text(" \n"))), request(user(text(" x")))),
    Case("plain text", "non-whitespace", request({"role": "user", "content": ""}), request()),
    Case("system text", "system", request(system=[text("")]), request(system=[text("x")])),
    Case("blocks by role", "a block of type", request(user(call())), ASKED),
    Case("unanswered call", "without tool_result", step(model(call()), user(text())), ASKED),
    Case(
        "call at the end",
        "without tool_result",
        request(user(text()), model(call())),
        ASKED,
    ),
    Case(
        "result in the very next message",
        "immediately after",
        request(user(text()), model(call()), user(text()), model(text()), user(result())),
        request(user(text()), model(call()), user(result()), model(text()), user(text())),
    ),
    Case(
        "result of no call",
        "unexpected tool_use_id",
        step(model(text()), user(result(), text())),
        ASKED,
    ),
    Case(
        "one result a call",
        "single result",
        step(model(call()), user(result(), result())),
        step(model(call(), call("toolu_2")), user(result(), result("toolu_2"))),
    ),
    Case(
        "results first",
        "come first",
        step(model(call()), user(text(), result())),
        step(model(call()), user(result(), text())),
    ),
    Case(
        "ids unique",
        "must be unique",
        request(user(text()), *[model(call()), user(result())] * 2),
        request(
            user(text()),
            *(model(call()), user(result())),
            *(model(call("b")), user(result("b"))),
        ),
    ),
    Case(
        "id alphabet",
        "tool_use.id",
        step(model(call("call:1.a")), user(result("call:1.a"))),
        step(model(call("call-1_a")), user(result("call-1_a"))),
    ),
    Case("name of a call", "tool_use.name", step(model(call(name="a b")), user(result())), ASKED),
    Case("input", "should be an object", step(model(call(input="{}")), user(result())), ASKED),
    Case(
        "empty error",
        "if is_error",
        step(model(call()), user(result(content="", is_error=True))),
        step(model(call()), user(result(content=""))),
    ),
    Case(
        "picture of an error",
        "must be type text",
        step(
            model(call()),
            user(
                result(
                    is_error=True,
                    content=[{"type": "image", "source": {"type": "url", "url": "x"}}],
                )
            ),
        ),
        step(model(call()), user(result(is_error=True))),
    ),
    Case(
        "kind of picture",
        "media_type",
        request(user({"type": "image", "source": {"type": "base64", "media_type": "image/bmp"}})),
        request(user({"type": "image", "source": {"type": "base64", "media_type": "image/png"}})),
    ),
    Case("tools for calls", "must define tools", {**ASKED, "tools": []}, ASKED),
    Case("no empty tools", "empty list", request(tools=[]), request(tools=None)),
    Case("tool names", "unique", request(tools=[TOOL, TOOL]), request(tools=[TOOL])),
    Case("tool name", "name", request(tools=[{**TOOL, "name": "a.b"}]), request()),
    Case(
        "schema",
        "type object",
        request(tools=[{**TOOL, "input_schema": {"type": "string"}}]),
        request(),
    ),
    Case(
        "schema subset",
        "not in the subset",
        request(tools=[{**TOOL, "input_schema": schema(**{"$defs": {}})}]),
        request(tools=[{**TOOL, "input_schema": schema(additionalProperties=False)}]),
    ),
    Case(
        "no choice at the top",
        "anyOf",
        request(tools=[{**TOOL, "input_schema": schema(anyOf=[])}]),
        request(),
    ),
    Case(
        "signed thinking",
        "signature: field required",
        step(model(thought(signature=""), call()), user(result())),
        step(model(thought(), call()), user(result())),
    ),
    Case(
        "unchanged thinking",
        "invalid signature",
        step(model(thought(signature=seal("other")), call()), user(result())),
        step(model(thought("other"), call()), user(result())),
    ),
    Case(
        "thinking leads",
        "must lead",
        step(model(text(), thought(), call()), user(result())),
        step(model(thought(), text(), call()), user(result())),
    ),
    Case(
        "thinking alone",
        "cannot be thinking",
        step(model(thought()), user(text())),
        step(model(thought(), text()), user(text())),
    ),
    Case(
        "thinking before the last calls",
        "must start with thinking",
        step(model(call()), user(result()), thinking=THINK),
        step(model(thought(), call()), user(result()), thinking=THINK),
    ),
    Case(
        "redacted thinking",
        "data: field required",
        step(model({"type": "redacted_thinking"}, call()), user(result()), thinking=THINK),
        step(
            model({"type": "redacted_thinking", "data": "x"}, call()),
            user(result()),
            thinking=THINK,
        ),
    ),
    Case(
        "least thinking",
        "at least 1024",
        request(thinking={**THINK, "budget_tokens": 1000}),
        request(thinking=THINK),
    ),
    Case(
        "room for an answer",
        "greater than thinking",
        request(thinking=THINK, max_tokens=1024),
        request(thinking=THINK, max_tokens=1025),
    ),
    Case(
        "temperature of thinking",
        "only be set to 1",
        request(thinking=THINK, temperature=0.5),
        request(thinking=THINK, temperature=1),
    ),
    Case(
        "adaptive thinking has no budget",
        "not for adaptive",
        request(thinking={**ADAPTIVE, "budget_tokens": 1024}),
        request(thinking={**ADAPTIVE, "display": "omitted"}),
    ),
    Case(
        "adaptive thinking needs no thinking before it",
        "must start with thinking",
        step(model(call()), user(result()), thinking=THINK),
        step(model(call()), user(result()), thinking=ADAPTIVE),
    ),
    Case("kind of thinking", "is unknown", request(thinking={"type": "on"}), request()),
    Case(
        "display of thinking",
        "summarized or omitted",
        request(thinking={**ADAPTIVE, "display": "all"}),
        request(thinking={**ADAPTIVE, "display": "summarized"}),
    ),
    Case(
        "effort",
        "effort: 'minimal'",
        request(thinking=ADAPTIVE, output_config={"effort": "minimal"}),
        request(thinking=ADAPTIVE, output_config={"effort": "low"}),
    ),
    Case("top_k of thinking", "top_k", request(thinking=THINK, top_k=5), request(top_k=5)),
    Case(
        "forced calls and thinking",
        "forces tool use",
        request(thinking=THINK, tool_choice={"type": "any"}),
        request(thinking=THINK, tool_choice={"type": "auto"}),
    ),
    Case("temperature", "range", request(temperature=1.5), request(temperature=1)),
    Case("one way to sample", "both", request(temperature=1, top_p=1), request(top_p=1)),
    Case("stop words", "stop_sequences", request(stop_sequences=[" "]), request()),
    Case(
        "four marks",
        "maximum of 4",
        request(user(*[text(cache_control=MARK)] * 4), system=[text("x", cache_control=MARK)]),
        request(user(*[text(cache_control=MARK)] * 4)),
    ),
    Case(
        "kind of mark",
        "type ephemeral",
        request(user(text(cache_control={"type": "forever"}))),
        request(user(text(cache_control=MARK))),
    ),
    Case(
        "long marks first",
        "must not come after",
        request(user(text(cache_control=MARK), text(cache_control=HOUR))),
        request(user(text(cache_control=HOUR), text(cache_control=MARK))),
    ),
    Case(
        "no mark on thinking",
        "cannot be set on thinking",
        step(model(thought(cache_control=MARK), call()), user(result())),
        step(model(thought(), call(cache_control=MARK)), user(result())),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.rule)
def test_rule(case: Case) -> None:
    assert any(case.phrase in complaint for complaint in violations(case.refused, HEADERS))
    assert violations(case.accepted, HEADERS) == []


def test_the_version_header_is_required() -> None:
    assert violations(request(), {}) == ["anthropic-version: header is required"]
