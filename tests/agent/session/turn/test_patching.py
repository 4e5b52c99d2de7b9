"""Models of the GPT family use patches; others edit and write."""

from pathlib import Path

from agent.records.messages import Completed
from tests.support.harness import open_harness, tool_names
from tests.support.script import Call, Text, answer

PATCH = """\
*** Begin Patch
*** Update File: a.txt
-one
+two
*** Add File: b.txt
+new
*** End Patch
"""


async def test_the_patch_tool_is_offered_approved_once_and_applied(tmp_path: Path) -> None:
    async with open_harness(tmp_path, model="scripted/gpt-5.4") as harness:
        (harness.folder / "a.txt").write_text("one\n")
        harness.server.script(answer(Call("apply_patch", {"patch": PATCH})), answer(Text("done")))
        session = await harness.session()
        await harness.send(session, "go")
        request = await harness.permission_request()
        assert [one.need.permission for one in request.needs] == ["edit", "edit"]
        assert [one.need.pattern for one in request.needs] == ["a.txt", "b.txt"]
        harness.answer(request, "once")
        await harness.idle(session)
        offered = tool_names(harness.server.requests[0].body)
        assert "apply_patch" in offered
        assert not offered & {"edit", "write"}
        (call,) = await harness.tools(session)
        assert isinstance(call.state, Completed)
        assert (harness.folder / "a.txt").read_text() == "two\n"
        assert (harness.folder / "b.txt").read_text() == "new\n"


async def test_other_models_are_offered_the_edit_tools(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        harness.server.script(answer(Text("hi")))
        await harness.turn(await harness.session(), "go")
        offered = tool_names(harness.server.requests[0].body)
        assert {"edit", "write"} <= offered
        assert "apply_patch" not in offered
