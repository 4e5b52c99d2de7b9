"""Sub-agents that work side by side: their requests and their reports."""

from pathlib import Path

from tests.support.harness import open_harness
from tests.support.script import Call, Finish, Text, Tokens, answer
from tests.support.subagents import Script, output, task

DONE = answer(Text("done"), Tokens(5_000, 10))


async def test_three_sub_agents_that_ask_at_once(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        names = ("alpha", "beta", "gamma")
        work = {
            name: [answer(Call("bash", {"command": f"touch {name}"})), answer(Text(f"end {name}"))]
            for name in names
        }
        harness.server.always(Script(answer(*map(task, names)), DONE, **work))
        session = await harness.session()
        await harness.send(session, "go")
        await harness.until(lambda _: len(harness.runtime.permissions.pending()) == 3)
        for request in harness.runtime.permissions.pending():
            refused = "touch beta" in str(request.blocks)
            harness.answer(request, "reject" if refused else "once", "not this" * refused)
        assert (await harness.idle(session)).outcome == "completed"
        assert sorted(p.name for p in harness.folder.iterdir()) == ["alpha", "gamma"]
        for name, tool in zip(names, await harness.tools(session), strict=True):
            assert f"end {name}" in output(tool)


async def test_a_child_with_an_empty_or_cut_response_is_reported_as_such(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        cut = answer(Text("a long rep"), Finish("limit"))
        harness.server.always(
            Script(
                answer(task("mute"), task("cut")),
                DONE,
                mute=[answer(Call("list", {})), *[answer(Finish("end"))] * 5],
                cut=[cut] * 10,
            )
        )
        session = await harness.session()
        assert (await harness.turn(session, "go")).outcome == "completed"
        mute, half = map(output, await harness.tools(session))
        assert "without a report" in mute
        assert "a long rep" * 4 in half
        assert "output limit" in half
