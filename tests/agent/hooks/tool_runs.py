"""Runs of a tool with hooks."""

from agent.records.events import Notice, PermissionAsked
from tests.support.harness import open_harness
from tests.support.script import Call, Text, answer

ECHO = answer(Call("bash", {"command": "echo one"}))


async def run(tmp_path, hooks, *answers, reply=None, **settings):
    """Return the tool parts of a turn under *hooks*; *reply* answers the first question."""
    async with open_harness(tmp_path, hooks=hooks, **settings) as harness:
        harness.server.script(*answers, answer(Text("Done.")))
        session = await harness.session()
        before = len(harness.events)
        await harness.send(session, "Go.")
        if reply is not None:
            harness.answer(await harness.permission_request(), reply)
        end = await harness.idle(session, after=before)
        asked = [e for e in harness.events if isinstance(e, PermissionAsked)]
        notices = [e.message for e in harness.events if isinstance(e, Notice)]
        return end, await harness.tools(session), asked, notices
