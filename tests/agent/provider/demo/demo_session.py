"""A loop for the demo model in which every call gets a result from a table."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field

from agent.provider.client import (
    AssistantTurn,
    ModelInfo,
    ModelRequest,
    ReasoningContent,
    ReasoningDelta,
    StepFinish,
    TextContent,
    TextDelta,
    ToolCall,
    ToolCallContent,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
    ToolResultContent,
    ToolSchema,
    ToolTurn,
    Turn,
    UserTurn,
)
from agent.provider.demo import DemoClient

MODEL = ModelInfo(provider="demo", id="offline", name="Demo", api="demo")
TOOLS = ("bash", "edit", "glob", "grep", "list", "read", "todowrite", "write")

Outcome = str | tuple[str, bool]
Tool = Callable[[dict], Outcome]


@dataclass
class Step:
    reasoning: str
    text: str
    calls: list[tuple[str, dict]]
    finish: StepFinish


@dataclass
class DemoSession:
    """A conversation in which the calls of each step get results from *answers*, by tool name.

    An answer is a text or a function of the arguments; (text, True) is an error. A rejection
    without a comment ends the turn after the step.
    """

    answers: dict[str, Outcome | Tool] = field(default_factory=dict)
    tools: tuple[str, ...] = TOOLS
    turns: list[Turn] = field(default_factory=list)

    async def say(self, text: str, *, steps: int = 20) -> list[Step]:
        self.turns.append(UserTurn((TextContent(text),)))
        made: list[Step] = []
        for _ in range(steps):
            step, ids = await self.step()
            made.append(step)
            if not step.calls:
                return made
            results = [
                self._result(call_id, *call) for call_id, call in zip(ids, step.calls, strict=True)
            ]
            self.turns.append(ToolTurn(tuple(results)))
            if any(r.is_error and "rejected this call." in r.output for r in results):
                return made
        raise AssertionError("the demo model never ends")

    def _result(self, call_id: str, name: str, arguments: dict) -> ToolResultContent:
        answer = self.answers.get(name, "done")
        outcome = answer(arguments) if callable(answer) else answer
        output, failed = outcome if isinstance(outcome, tuple) else (outcome, False)
        return ToolResultContent(call_id, name, output, failed)

    async def step(self) -> tuple[Step, list[str]]:
        parameters = {"type": "object", "properties": {"replace_all": {"type": "boolean"}}}
        request = ModelRequest(
            model=MODEL,
            system=(),
            turns=tuple(self.turns),
            tools=tuple(ToolSchema(name, "", parameters) for name in self.tools),
        )
        events = [event async for event in DemoClient(pace=0).stream(request)]
        reasoning = "".join(e.text for e in events if isinstance(e, ReasoningDelta))
        text = "".join(e.text for e in events if isinstance(e, TextDelta))
        calls = [e for e in events if isinstance(e, ToolCall)]
        for call in calls:
            start = events.index(ToolInputStart(call.key, call.name, call.call_id))
            end = events.index(ToolInputEnd(call.key))
            pieces = [e.text for e in events[start:end] if isinstance(e, ToolInputDelta)]
            assert "".join(pieces) == call.arguments
            assert events[end + 1] is call
        finish = events[-1]
        assert isinstance(finish, StepFinish)
        assert finish.finish == ("tool-calls" if calls else "stop")
        parsed = [(call.name, json.loads(call.arguments)) for call in calls]
        ids = [call.call_id or "" for call in calls]
        content = [ReasoningContent(reasoning)] if reasoning else []
        content += [TextContent(text)] if text else []
        content += [ToolCallContent(i, n, a) for i, (n, a) in zip(ids, parsed, strict=True)]
        self.turns.append(AssistantTurn(tuple(content), "demo/offline"))
        return Step(reasoning, text, parsed, finish), ids


def calls(steps: list[Step]) -> list[tuple[str, dict]]:
    return [call for step in steps for call in step.calls]


REJECTED = ("The user rejected this call.", True)


def rejected_with(comment: str) -> Outcome:
    return (f"The user rejected this call and said: {comment}", True)
