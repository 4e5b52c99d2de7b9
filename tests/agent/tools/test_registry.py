"""The registry, its schemas and descriptions."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, Field

from agent.bus import Bus
from agent.process import SpillStore
from agent.records import tool_facts
from agent.store.store import Store
from agent.tools.builtin_tools import FILE, BuiltinTool, facts_of_tools, fixed_parts
from agent.tools.core.schema import fill_slots, parameters
from agent.tools.core.tool import ToolSpec
from agent.tools.core.tool_args import ToolArgs
from agent.tools.core.truncate import Limits, Truncator
from agent.tools.registry import Registry, ToolServices, build_tools
from agent.tools.shell.shells import Shells
from tests.agent.tools.probe import ProbeTool


async def built_in(tmp_path: Path) -> Registry:
    store = await Store.open(tmp_path / "store.db", Bus())
    try:
        truncator = Truncator(Limits(), SpillStore(tmp_path / "spill"))
        return build_tools(ToolServices(store=store, shells=Shells(Bus()), truncator=truncator))
    finally:
        await store.close()


async def test_all_tools_are_listed_in_a_stable_order(tmp_path: Path) -> None:
    registry = await built_in(tmp_path)
    names = [schema.name for schema in registry.schemas()]
    assert names == sorted(names)
    assert {
        "apply_patch",
        "bash",
        "edit",
        "glob",
        "grep",
        "list",
        "read",
        "todoread",
        "todowrite",
        "write",
    } <= set(names)
    assert [schema.name for schema in registry.schemas({"write", "bash"})] == ["bash", "write"]


@pytest.mark.parametrize("model", ["gpt-5.4", "openai/gpt-5-mini", "gpt-5.1-codex", "GPT-6"])
async def test_models_of_the_gpt_family_patch(tmp_path: Path, model: str) -> None:
    """Apply_patch in place of edit and write."""
    offered = set((await built_in(tmp_path)).names_for(model))
    assert "apply_patch" in offered
    assert not offered & {"edit", "write"}
    assert {"bash", "read", "grep"} <= offered


@pytest.mark.parametrize(
    "model", ["claude-opus-4-5", "gpt-oss-120b", "gpt-4.1", "gemini-3", "offline"]
)
async def test_other_models_edit(tmp_path: Path, model: str) -> None:
    registry = await built_in(tmp_path)
    assert set(registry.names) - set(registry.names_for(model)) == {"apply_patch"}


async def test_every_description_is_filled_and_every_field_described(tmp_path: Path) -> None:
    for schema in (await built_in(tmp_path)).schemas():
        assert len(schema.description) > 20, schema.name
        assert "{{" not in schema.description
        for name, field in properties(schema.parameters).items():
            assert field.get("description"), f"{schema.name}.{name}"


def test_the_fixed_parts_of_tools_are_up_to_date() -> None:
    """``make docs`` writes them."""
    assert FILE.read_text("utf-8") == fixed_parts()
    assert tool_facts.FILE.read_text("utf-8") == facts_of_tools()


async def test_every_tool_is_what_its_class_says(tmp_path: Path) -> None:
    """Before and after the first call has loaded it."""
    for tool in await built_in(tmp_path):
        assert isinstance(tool, BuiltinTool)
        assert tool.loaded.spec == tool.spec
        assert parameters(tool.args) == tool.schema


def properties(schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return schema["properties"]


async def test_schemas_are_clean(tmp_path: Path) -> None:
    for schema in (await built_in(tmp_path)).schemas():
        text = json.dumps(schema.parameters)
        assert "$ref" not in text
        assert "$defs" not in text
        assert schema.parameters["type"] == "object"
        assert schema.parameters["additionalProperties"] is False


async def test_the_bash_description_is_true_to_the_tool(tmp_path: Path) -> None:
    """It says whether ``cd`` persists, and the unit of the time limit."""
    (schema,) = (await built_in(tmp_path)).schemas({"bash"})
    assert "`cd`, variables and functions do not last" in schema.description
    assert "milliseconds: 120000 by default, 600000 at most" in schema.description


@pytest.mark.parametrize(
    "name", ["probe", "Probe", " probe\n", "PROBE", "test_probe", "TestProbe", "functions.probe"]
)
def test_names_are_repaired(name: str) -> None:
    tool = ProbeTool()
    assert Registry([tool]).find(name) is tool


@pytest.mark.parametrize(
    ("name", "tool", "implied"),
    [
        ("multiedit", "edit", {}),
        ("MultiEdit", "edit", {}),
        ("multi_edit", "edit", {}),
        ("bash_kill", "bash_output", {"kill": True}),
        ("KillShell", "bash_output", {"kill": True}),
        ("KillBash", "bash_output", {"kill": True}),
        ("bash_output", "bash_output", {}),
    ],
)
async def test_names_of_former_tools_are_routed(
    tmp_path: Path, name: str, tool: str, implied: dict[str, bool]
) -> None:
    registry = await built_in(tmp_path)
    found = registry.find(name)
    assert found is not None
    assert found.spec.name == tool
    assert registry.implied_arguments(name) == implied
    with pytest.raises(ValueError, match="already"):
        registry.replace_tools("a", (named(name),))


def test_unknown_names_are_not_guessed() -> None:
    assert Registry([ProbeTool()]).find("prob") is None


def test_two_tools_of_one_name_are_an_error() -> None:
    class OtherTool(ProbeTool):
        pass

    with pytest.raises(ValueError, match="both claim"):
        Registry([ProbeTool(), OtherTool()])


def test_a_variable_without_value_is_an_error() -> None:
    with pytest.raises(ValueError, match="unknown variables: shell"):
        fill_slots("Runs {{shell}} on {{platform}}.", {"platform": "linux"})


def test_a_variable_that_is_not_used_is_an_error() -> None:
    tool = ProbeTool()
    tool.spec.variables["spare"] = "x"
    with pytest.raises(ValueError, match="does not use the variables spare"):
        Registry([tool])


def test_a_broken_slot_is_an_error() -> None:
    with pytest.raises(ValueError, match="could not be filled"):
        fill_slots("At most {{max lines}}.", {})


class Inner(BaseModel):
    title: str = Field(description="A field whose name is a key word of schemas")
    other: "Inner | None" = None


class Flat(BaseModel):
    """Not for models."""

    title: str
    count: int | None = None


class Args(ToolArgs):
    items: list[Flat] = Field(description="Things")
    one: Flat | None = Field(default=None, description="One thing")
    either: int | str | None = Field(default=None, description="Number or text")


def test_schema_is_inlined_and_plain() -> None:
    flat = {
        "type": "object",
        "properties": {"title": {"type": "string"}, "count": {"type": "integer"}},
        "required": ["title"],
        "additionalProperties": False,
    }
    assert parameters(Args) == {
        "type": "object",
        "properties": {
            "items": {"type": "array", "items": flat, "description": "Things"},
            "one": {**flat, "description": "One thing"},
            "either": {
                "anyOf": [{"type": "integer"}, {"type": "string"}],
                "description": "Number or text",
            },
        },
        "required": ["items"],
        "additionalProperties": False,
    }


class Endless(ToolArgs):
    inner: Inner


def test_a_schema_without_end_is_an_error() -> None:
    with pytest.raises(ValueError, match="refers to itself"):
        parameters(Endless)


def named(name: str) -> ProbeTool:
    """A tool that comes while the program runs, and brings its own description."""
    tool = ProbeTool()
    tool.spec = ToolSpec(name=name, verb=name)
    tool.description, tool.parameters = f"Does {name}.", {"type": "object"}
    return tool


async def test_it_grows_and_shrinks(tmp_path: Path) -> None:
    """Added tools follow the built-in ones, in a stable order."""
    registry = await built_in(tmp_path)
    before = registry.names
    registry.replace_tools("a", (named("zebra"), named("ape")))
    registry.replace_tools("b", (named("bee"),))
    assert registry.names == (*before, "ape", "bee", "zebra")
    assert [s.name for s in registry.schemas()] == list(registry.names)
    assert registry.find("Zebra") is registry.find("zebra")
    for name in ("todo_write", "Read", "bee"):
        with pytest.raises(ValueError, match=name):
            registry.replace_tools("a", (named(name),))
    assert "zebra" in registry.names
    registry.replace_tools("a", ())
    assert registry.names == (*before, "bee")


async def test_tools_that_come_later_follow_those_that_were_offered(tmp_path: Path) -> None:
    """A provider's prompt cache begins with the tools."""
    registry = await built_in(tmp_path)
    first = [schema.name for schema in registry.offer(registry.names)]
    assert first == sorted(first)
    registry.replace_tools("server", (named("aardvark"), named("zebra")))
    assert len(registry.schemas()) == len(first) + 2  # looking at all of them offers none
    later = [schema.name for schema in registry.offer({*first, "zebra"})]
    assert later == [*first, "zebra"]
    assert [s.name for s in registry.offer(registry.names)] == [*first, "zebra", "aardvark"]
    registry.replace_tools("server", ())
    registry.replace_tools("server", (named("zebra"),))
    assert [s.name for s in registry.offer(registry.names)] == [*first, "zebra"]
