"""The facts about the built-in tools."""

from pathlib import Path

import agent.tools
from agent.permission.rules import DEFAULT_RULES
from agent.records.tool_facts import TOOL_FACTS, claude_name_of, kind_of, permission_of


def test_every_built_in_tool_has_facts() -> None:
    described = {path.stem for path in Path(agent.tools.__path__[0]).glob("*.txt")}
    assert set(TOOL_FACTS) == described


def test_a_permission_has_a_default_rule_where_a_tool_has_its_name() -> None:
    ruled = {rule.permission for rule in DEFAULT_RULES}
    assert {facts.permission for facts in TOOL_FACTS.values()} - ruled == {"tool_search"}


def test_a_tool_that_is_not_built_in_is_its_own_permission() -> None:
    assert permission_of("shop_echo") == "shop_echo"
    assert kind_of("shop_echo") == "other"
    assert claude_name_of("shop_echo") == ""
