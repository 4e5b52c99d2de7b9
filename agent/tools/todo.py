"""The ``todowrite`` and ``todoread`` tools: the session's to-do list."""

from typing import Literal

from pydantic import Field

from agent.records.blocks import TodoBlock, TodoItem, TodoStatus, ToolLabel
from agent.records.errors import ToolError
from agent.records.frozen import frozen
from agent.records.requests import PermissionNeed, PermissionReply
from agent.records.tool_facts import ToolFacts
from agent.store.store import Store
from agent.tools.core.tool import BaseTool, Plan, Result, ToolContext, ToolSpec
from agent.tools.core.tool_args import ToolArgs

MAX_ITEMS = 200
MAX_CONTENT = 2_000

_MARKS: dict[TodoStatus, str] = {
    "pending": "[ ]",
    "in_progress": "[>]",
    "completed": "[x]",
    "cancelled": "[-]",
}


class TodoArg(ToolArgs):
    """One entry."""

    content: str = Field(min_length=1, description="The task in one sentence")
    status: TodoStatus = "pending"
    priority: Literal["high", "medium", "low"] = "medium"


class TodoWriteArgs(ToolArgs):
    """Arguments of ``todowrite``."""

    todos: list[TodoArg] = Field(description="The whole list, in order of work")


class TodoReadArgs(ToolArgs):
    """``todoread`` has no arguments."""


@frozen
class TodoPlan:
    items: tuple[TodoItem, ...]


class TodoWriteTool(BaseTool):
    """Replaces the list."""

    spec = ToolSpec(name="todowrite", verb="To-do", aliases=("todo_write", "update_todos"))
    facts = ToolFacts(
        action="allow",
        kind="think",
        claude_name="TodoWrite",
        in_claude_settings=True,
        for_subagents=False,
    )
    args = TodoWriteArgs

    def __init__(self, store: Store) -> None:
        self._store = store

    async def prepare(self, args: TodoWriteArgs, ctx: ToolContext) -> Plan[TodoPlan]:
        if len(args.todos) > MAX_ITEMS:
            raise ToolError(f"A to-do list holds at most {MAX_ITEMS} entries. Group smaller steps.")
        items = tuple(
            TodoItem(todo.content[:MAX_CONTENT], todo.status, todo.priority) for todo in args.todos
        )
        return Plan(
            label=_label(items),
            payload=TodoPlan(items),
            needs=(PermissionNeed("todowrite", "*", always="*", default_action="allow"),),
            blocks=(TodoBlock(items),),
            heading="Change the to-do list?",
            writes=(),
        )

    async def execute(
        self, plan: Plan[TodoPlan], reply: PermissionReply | None, ctx: ToolContext
    ) -> Result:
        await self._store.save_todos(ctx.session_id, plan.payload.items)
        return _result(plan.payload.items, "The to-do list is now:")


class TodoReadTool(BaseTool):
    """Reads the list."""

    spec = ToolSpec(name="todoread", verb="To-do", aliases=("todo_read",), concurrent=True)
    facts = ToolFacts(
        action="allow",
        kind="think",
        claude_name="TodoRead",
        for_subagents=False,
        covered_by="todowrite",
    )
    args = TodoReadArgs

    def __init__(self, store: Store) -> None:
        self._store = store

    async def prepare(self, args: TodoReadArgs, ctx: ToolContext) -> Plan[None]:
        need = PermissionNeed("todoread", "*", always="*", default_action="allow")
        return Plan(label=ToolLabel("To-do"), payload=None, needs=(need,))

    async def execute(
        self, plan: Plan[None], reply: PermissionReply | None, ctx: ToolContext
    ) -> Result:
        return _result(await self._store.todos(ctx.session_id), "The to-do list:")


def _label(items: tuple[TodoItem, ...]) -> ToolLabel:
    done = sum(item.status == "completed" for item in items)
    return ToolLabel("To-do", f"{done} of {len(items)} done" if items else "empty")


def _result(items: tuple[TodoItem, ...], heading: str) -> Result:
    lines = [f"{_MARKS[item.status]} {item.content} ({item.priority})" for item in items]
    return Result(
        "\n".join([heading, *lines]) if items else "The to-do list is empty.",
        label=_label(items),
        blocks=(TodoBlock(items),),
    )
