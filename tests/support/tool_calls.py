"""One call of a tool by the model, in a session of its own."""

from agent.records.messages import Completed, ToolPart
from agent.records.requests import PermissionReply
from tests.support.harness import Harness
from tests.support.script import Call, Text, answer


async def call_tool(
    harness: Harness, tool: str, reply: PermissionReply | None = None, **arguments: object
) -> ToolPart:
    """Have the model call *tool* in a new session; *reply* answers the request that it makes."""
    harness.server.script(answer(Call(tool, arguments)), answer(Text("done")))
    session = await harness.session()
    before = len(harness.events)
    await harness.send(session, "go")
    if reply is not None:
        request = await harness.permission_request(after=before)
        assert harness.runtime.permissions.reply(request.id, reply)
    await harness.idle(session, after=before)
    return (await harness.tools(session))[-1]


def output(part: ToolPart) -> str:
    """Return what the model reads of a call that has to have a result."""
    assert isinstance(part.state, Completed), part.state
    return part.state.output
