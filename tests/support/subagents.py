"""Scripts for sessions with sub-agents."""

from agent.records.messages import Completed, Session, ToolPart
from tests.support.harness import Harness, tool_names
from tests.support.script import Answer, Call


def task(description: str, agent: str = "general", **more: object) -> Call:
    args = {
        "description": description,
        "prompt": f"<{description}>",
        "subagent_type": agent,
        **more,
    }
    return Call("task", args)


class Script:
    """Responses by the sender of a request: *parent* in order, *children* by a word in it."""

    def __init__(self, *parent: Answer, **children: list[Answer]) -> None:
        self._parent = list(parent)
        self._children = children

    def __call__(self, body: dict) -> Answer:
        said = str(body)
        for word, answers in self._children.items():
            if f"<{word}>" in said and "task" not in tool_names(body):
                return answers.pop(0)
        return self._parent.pop(0)


async def children(harness: Harness, session: Session) -> list[Session]:
    return await harness.runtime.store.children(session.id)


def output(part: ToolPart) -> str:
    state = part.state
    return state.output if isinstance(state, Completed) else getattr(state, "error", "")
