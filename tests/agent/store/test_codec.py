"""Records to JSON and back."""

import json
import logging
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import get_args

import pytest
from pydantic import TypeAdapter
from pydantic_core import SchemaValidator

from agent.records.blocks import ToolLabel
from agent.records.decisions import Decision, Verdict
from agent.records.json import encodable
from agent.records.messages import ErrorInfo, Part, Running, ToolPart, Usage
from agent.store.codec import (
    decode_all,
    decode_message,
    decode_part,
    decode_session,
    encode_message,
    encode_part,
    encode_session,
    stored_schema,
)
from tests.agent.store.samples import (
    ROOT,
    every_part,
    make_assistant,
    make_session,
    make_text,
    make_tool,
    make_user,
)
from tests.support.changed_values import changed

SESSION = make_session(parent_id="ses_0", forked_from="ses_1", cost=0.5, usage=Usage(1, 2, 3, 4, 5))
MESSAGE = make_assistant(SESSION)


@pytest.mark.parametrize("part", every_part(MESSAGE), ids=lambda part: part.type)
def test_every_part_is_read_back_equal(part: Part):
    assert decode_part(encode_part(part)) == part


def test_the_samples_contain_every_kind_of_part():
    assert {type(part) for part in every_part(MESSAGE)} == set(get_args(get_args(Part)[0]))


def test_sessions_and_messages_are_read_back_equal():
    assert decode_session(encode_session(SESSION)) == SESSION
    user = make_user(SESSION, turn_id="trn_1", delivery="follow_up", steered=True)
    assert decode_message(encode_message(user)) == user
    step = replace(
        MESSAGE, completed=3.0, finish="stop", usage=Usage(1), cost=0.0, error=ErrorInfo("a", "b")
    )
    assert decode_message(encode_message(step)) == step


def test_nested_unions_are_decided_by_their_tag():
    schema = stored_schema(TypeAdapter(ToolPart).core_schema)
    found: list[str] = []

    def collect(node):
        if isinstance(node, dict):
            if node.get("type") in {"union", "tagged-union"}:
                found.append(node["type"])
            for key, value in node.items():
                if key != "metadata":
                    collect(value)
        elif isinstance(node, list):
            for value in node:
                collect(value)

    collect(schema)
    assert found
    assert set(found) == {"tagged-union"}


def test_surrogates_never_make_a_record_unwritable():
    part = make_text(MESSAGE, "smile \ud83d\ude00 and half \ud83d.", ended=1.0)
    assert decode_part(encode_part(part)) == replace(part, text="smile 😀 and half \ufffd.")
    assert encodable("ok é 😀") == "ok é 😀"


def test_deeply_nested_tool_input_is_read_back_equal():
    deep: dict = {}
    inner = deep
    for _ in range(400):
        inner["k"] = {}
        inner = inner["k"]
    part = make_tool(MESSAGE, Running(input=deep, label=ToolLabel("Run"), started=1.0))
    assert decode_part(encode_part(part)) == part


def test_fields_of_a_later_version_are_ignored():
    part = make_text(MESSAGE, "x", ended=1.0)
    data = encode_part(part).replace('"text":"x"', '"text":"x","mood":"later"')
    assert decode_part(data) == part


@pytest.mark.parametrize("part", every_part(MESSAGE), ids=lambda part: part.type)
def test_changed_parts_are_read_as_pydantic_reads_them(part: Part):
    validator = SchemaValidator(stored_schema(TypeAdapter(Part).core_schema))
    for values in changed(json.loads(encode_part(part))):
        data = json.dumps(values)
        assert outcome(decode_part, data) == outcome(validator.validate_json, data), data


def outcome(decode: Callable[[str], object], data: str) -> str:
    """Return the record, or the kind of the error. Texts that only Python can hold are left out."""
    if "\\ud800" in data:
        return ""
    try:
        return repr(decode(data))
    except ValueError as error:
        return type(error).__name__


def test_records_are_written_as_pydantic_writes_them():
    for part in every_part(MESSAGE):
        adapter = TypeAdapter(type(part))
        assert decode_part(encode_part(part)) == adapter.validate_json(adapter.dump_json(part))
    odd = Running(input={"n": [float("nan"), 1]}, label=ToolLabel("Run"), started=1.0)
    stored = json.loads(encode_part(make_tool(MESSAGE, odd)))
    assert stored["state"]["input"] == {"n": [None, 1]}


def test_an_unreadable_row_is_skipped_and_logged(caplog: pytest.LogCaptureFixture):
    part = make_text(MESSAGE, "x", ended=1.0)
    with caplog.at_level(logging.WARNING):
        found = decode_all(decode_part, ['{"type":"hologram"}', encode_part(part), "{"])
    assert found == [part]
    assert len(caplog.records) == 2


def test_importing_the_store_builds_no_schemas():
    code = (
        "import sys, agent.store.store; print(sorted({'pydantic', 'textual'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_a_verdict_is_stored_with_its_decision_and_takes_no_space_without_one():
    plain = Decision(answer="once", by="mode", at=1.0)
    verdict = Verdict(answer="allow", model="x/small", reason="it runs the tests")
    part = make_tool(MESSAGE, Running(input={}, label=ToolLabel("Run"), started=1.0))
    for decision in (plain, replace(plain, verdict=verdict)):
        given = replace(part, decisions=(decision,))
        text = encode_part(given)
        assert ("verdict" in text) == (decision.verdict is not None)
        assert decode_part(text) == given
