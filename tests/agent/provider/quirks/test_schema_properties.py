"""Tool schemas of any form become valid for each provider."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agent.provider.client import ToolSchema
from tests.support import strict_gemini
from tests.support.provider_requests import USER, body

KINDS = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])
LEAVES: st.SearchStrategy[Any] = st.one_of(
    st.builds(dict), st.booleans(), st.none(), st.integers(),
    st.fixed_dictionaries({"type": KINDS}),
    st.fixed_dictionaries({"type": st.lists(KINDS, max_size=3)}),
    st.fixed_dictionaries({"enum": st.lists(st.one_of(st.integers(), st.text(max_size=3)))}),
    st.fixed_dictionaries({"const": st.one_of(st.integers(), st.text(max_size=3), st.none())}),
    st.fixed_dictionaries({"$ref": st.sampled_from(["#/$defs/A", "#", "#/none", "http://x"])}),
    st.fixed_dictionaries({"$schema": st.just("x"), "format": st.just("uuid"), "not": st.none()}),
)  # fmt: skip


def grown(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    named = st.dictionaries(st.sampled_from(["a", "b", "$id", "type", "items"]), inner, max_size=3)
    several = st.lists(inner, max_size=3)
    word = st.sampled_from(["anyOf", "oneOf", "allOf", "items", "prefixItems"])
    return st.one_of(
        st.fixed_dictionaries({"type": st.just("object"), "properties": named}),
        st.fixed_dictionaries({"properties": named, "required": st.just(["a", "c", 1])}),
        st.builds(lambda key, value: {key: value}, word, several),
        st.builds(lambda one: {"type": "array", "items": one}, inner),
        st.builds(lambda one, more: {**more, "$defs": {"A": one}}, inner, several.map(
            lambda list_: {"anyOf": list_})),
    )  # fmt: skip


SCHEMAS = st.recursive(LEAVES, grown, max_leaves=12).filter(lambda schema: isinstance(schema, dict))


@settings(max_examples=250)
@given(SCHEMAS)
def test_gemini_accepts_every_schema(schema: dict[str, Any]) -> None:
    made = body("google/gemini-3-pro", USER, tools=(ToolSchema("t", "", schema),))
    assert strict_gemini.violations(made, {"x-goog-api-key": "k"}) == []


@settings(max_examples=250)
@given(SCHEMAS, st.sampled_from(["openai/gpt-5.4", "moonshot/kimi-k3", "anthropic/claude-x"]))
def test_other_providers_get_an_object_whose_arrays_have_items(
    schema: dict[str, Any], name: str
) -> None:
    (tool,) = body(name, USER, tools=(ToolSchema("t", "", schema),))["tools"]
    made = tool.get("input_schema") or tool.get("parameters") or tool["function"]["parameters"]
    assert made["type"] == "object"
    assert not {"anyOf", "oneOf", "allOf", "enum", "not", "$schema"} & made.keys()
    assert set(made.get("required", [])) <= made["properties"].keys()
    assert all(
        "items" in one
        for one in made["properties"].values()
        if isinstance(one, dict) and one.get("type") == "array"
    )
