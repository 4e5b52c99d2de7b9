"""Permission rules for the commands of one shell line."""

from pathlib import Path

import pytest

from tests.support.harness import open_harness
from tests.support.script import Call, Text, Tokens, answer

DONE = answer(Text("done"), Tokens(5_000, 10))


@pytest.mark.parametrize("joint", [" && ", "; ", " | ", " || ", "\n", " & "])
async def test_a_rule_for_one_command_covers_no_other_of_the_line(
    tmp_path: Path, joint: str
) -> None:
    line = f"npm test a{joint}touch b"
    async with open_harness(tmp_path, permission={"bash": {"npm test *": "allow"}}) as harness:
        harness.server.script(answer(Call("bash", {"command": line})), DONE)
        session = await harness.session()
        await harness.send(session, "go")
        request = await harness.permission_request()
        assert [need.need.pattern for need in request.needs if need.action == "ask"] == ["touch b"]
        harness.answer(request, "reject", "not that")
        await harness.idle(session)
        assert not (harness.folder / "b").exists()
    rules = {"*": "allow", "npm test *": "allow", "touch *": "deny"}
    async with open_harness(tmp_path, permission={"bash": rules}) as harness:
        harness.server.script(answer(Call("bash", {"command": line})), DONE)
        await harness.turn(await harness.session(), "go")
        assert not (harness.folder / "b").exists(), "a deny wins in a chain"
