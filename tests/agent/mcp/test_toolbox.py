"""Names of servers' tools."""

import pytest

from agent.mcp.toolbox import tool_names


def none(_: str) -> bool:
    return False


def test_a_name_consists_of_server_and_tool() -> None:
    assert tool_names([("docs", "search")], none) == {("docs", "search"): "docs_search"}


@pytest.mark.parametrize(
    ("server", "tool", "name"),
    [
        ("my docs", "a.b/c", "my_docs_a_b_c"),
        ("dôcs", "søk", "d_cs_s_k"),
        ("", "", "___"),
        ("docs-2", "get-page", "docs-2_get-page"),
    ],
)
def test_other_characters_become_an_underscore(server: str, tool: str, name: str) -> None:
    assert tool_names([(server, tool)], none)[server, tool] == name


def test_a_built_in_tool_is_never_shadowed() -> None:
    names = tool_names([("todo", "write")], lambda name: name == "todo_write")
    assert names["todo", "write"] == "mcp_todo_write"


def test_two_tools_with_the_same_name_both_get_another() -> None:
    """A rule that allows ``a_b_c`` was made for one of them; it must not cover the other."""
    both = [("a", "b_c"), ("a_b", "c")]
    names = tool_names(both, none)
    assert names == {("a", "b_c"): "a__b_c", ("a_b", "c"): "a_b__c"}
    assert tool_names(reversed(both), none) == names


def test_names_are_always_unique() -> None:
    tools = [(s, t) for s in ("a", "a.", "a_", "a-") for t in ("b", "b.", "_b", "b/", "b_")]
    names = tool_names(tools, none)
    assert len(set(names.values())) == len(tools)
