"""What the model learns about files outside the project that it has not read."""

from pathlib import Path

import pytest

from agent.records.messages import ToolPart
from tests.support.harness import open_harness
from tests.support.script import Call, Text, answer

SECRET = "line of the stranger\n"


def calls(path: Path) -> list[Call]:
    """Return calls that would tell whether *path* exists, or what is in it."""
    name = str(path)
    patch = "*** Begin Patch\n*** {kind} File: {name}\n{rest}*** End Patch"
    return [
        Call("write", {"file_path": name, "content": "mine\n"}),
        Call("write", {"file_path": name, "content": SECRET}),
        Call("edit", {"file_path": name, "old_string": "line of", "new_string": "x"}),
        Call("edit", {"file_path": name, "old_string": "line off", "new_string": "x"}),
        Call("edit", {"file_path": name, "old_string": "", "new_string": "x"}),
        Call(
            "multiedit",
            {"file_path": name, "edits": [{"old_string": "none", "new_string": "x"}]},
        ),
        Call(
            "apply_patch",
            {"patch": patch.format(kind="Update", name=name, rest="@@\n-line offf\n+x\n")},
        ),
        Call("apply_patch", {"patch": patch.format(kind="Delete", name=name, rest="")}),
        Call("apply_patch", {"patch": patch.format(kind="Add", name=name, rest="+x\n")}),
    ]


@pytest.mark.parametrize("number", range(len(calls(Path("x")))))
async def test_an_unread_file_outside_tells_nothing_before_approval(
    tmp_path: Path, number: int
) -> None:
    """Whether it is there, has another text or is missing: the refusal is the same."""
    told: set[str] = set()
    for case, content in (("same", SECRET), ("other", "another text\n"), ("none", None)):
        folder = tmp_path / case
        folder.mkdir()
        outside = folder / "stranger.txt"
        if content is not None:
            outside.write_text(content)
        async with open_harness(folder, permission={"external_directory": "deny"}) as harness:
            harness.server.script(answer(calls(outside)[number]), answer(Text("no")))
            session = await harness.session()
            await harness.turn(session, "change it")
            (call,) = [p for p in await harness.parts(session) if isinstance(p, ToolPart)]
            told.add(str(call.state.error).replace(str(folder), "F"))
        assert (outside.read_text() if outside.exists() else None) == content
    assert len(told) == 1, told
