"""The todo tools."""

from collections.abc import Sequence

import pytest
from pydantic import ValidationError

from agent.records.blocks import TodoBlock, TodoItem, ToolLabel
from agent.records.errors import ToolError
from agent.tools.todo import TodoReadTool, TodoWriteTool
from tests.agent.tools.conftest import MakeContext
from tests.agent.tools.run import plan, run


class Lists:
    """Todo lists in memory."""

    def __init__(self) -> None:
        self.items: dict[str, tuple[TodoItem, ...]] = {}

    async def todos(self, session_id: str) -> tuple[TodoItem, ...]:
        return self.items.get(session_id, ())

    async def save_todos(self, session_id: str, items: Sequence[TodoItem]) -> None:
        self.items[session_id] = tuple(items)


TODOS = [
    {"content": "Plan", "status": "completed", "priority": "high"},
    {"content": "Build", "status": "in_progress"},
    {"content": "Test"},
]


async def test_the_list_is_replaced_and_read_back(make_context: MakeContext) -> None:
    lists, ctx = Lists(), make_context()
    made = await plan(TodoWriteTool(lists), ctx, todos=TODOS)
    assert lists.items == {}
    assert made.label == ToolLabel("To-do", "1 of 3 done")
    result = await TodoWriteTool(lists).execute(made, None, ctx)
    items = lists.items[ctx.session_id]
    assert [item.status for item in items] == ["completed", "in_progress", "pending"]
    assert result.blocks == (TodoBlock(items),)
    read = await run(TodoReadTool(lists), ctx)
    assert read.output == (
        "The to-do list:\n[x] Plan (high)\n[>] Build (medium)\n[ ] Test (medium)"
    )
    await run(TodoWriteTool(lists), ctx, todos=[])
    assert (await run(TodoReadTool(lists), ctx)).output == "The to-do list is empty."


async def test_bad_lists_are_refused(make_context: MakeContext) -> None:
    with pytest.raises(ValidationError):
        await plan(TodoWriteTool(Lists()), make_context(), todos=[{"content": "x", "status": "?"}])
    with pytest.raises(ToolError, match="at most"):
        await plan(TodoWriteTool(Lists()), make_context(), todos=[{"content": "x"}] * 201)
