"""Goals are worked on turn after turn until their check passes."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agent.records.context_parts import ReportPart
from agent.records.errors import NothingToDo
from agent.records.events import Event, PartUpdated, SessionError
from agent.records.goals import Goal
from agent.records.messages import Session, TextPart, ToolPart
from agent.session.goals import parse_goal
from agent.store import queries
from tests.support.harness import MODEL, Harness, open_harness
from tests.support.script import Call, Failure, Hold, Text, Tokens, answer

CHECK = "test -f done.txt"
ALLOWED = {"permission": {"bash": "allow", "edit": "allow"}, "small_model": "none"}
PRICED = {"cost": {"input": 10_000.0, "output": 0.0}}
WRITES = Call("write", {"file_path": "done.txt", "content": "yes\n"})


async def report(harness: Harness, *, after: int = 0) -> ReportPart:
    """Wait for the end of the work on a goal."""

    def ended(event: Event) -> bool:
        return isinstance(event, PartUpdated) and isinstance(event.part, ReportPart)

    event = await harness.until(ended, after=after)
    assert isinstance(event, PartUpdated)
    assert isinstance(event.part, ReportPart)
    return event.part


async def begin(harness: Harness, argument: str) -> Session:
    session = await harness.session()
    await harness.runtime.sessions.goals.start(session.id, parse_goal(argument), MODEL)
    return session


async def state(harness: Harness, session: Session) -> Goal:
    goal = await harness.runtime.sessions.goals.goal(session.id)
    assert goal is not None
    return goal


async def shown(harness: Harness, session: Session) -> list[str]:
    parts = await harness.parts(session)
    return [p.text for p in parts if isinstance(p, TextPart) and p.text.startswith("Goal")]


async def test_rounds_continue_until_the_check_passes(tmp_path: Path) -> None:
    async with open_harness(tmp_path, abilities=PRICED, **ALLOWED) as harness:
        harness.server.script(
            answer(Text("It is done!"), Tokens(10, 1)),
            answer(WRITES, Tokens(10, 1)),
            answer(Text("Now it is."), Tokens(10, 1)),
        )
        session = await begin(harness, f'Write the file --check "{CHECK}" --budget $2')
        end = await report(harness)
        assert end.headline.startswith("Goal reached: Write the file · 2 rounds · $0.30 of $2.00")
        assert (await state(harness, session)).state == "reached"
        checks = [tool for tool in await harness.tools(session) if tool.tool == "bash"]
        assert len(checks) == 3
        first, second, *_ = harness.server.requests
        assert "It is reached once the command" in str(first.body)
        assert "fails with exit code 1; its output is above" in str(second.body)


async def test_a_check_that_passes_already_needs_no_model(tmp_path: Path) -> None:
    async with open_harness(tmp_path, **ALLOWED) as harness:
        session = await begin(harness, "Nothing --check true")
        assert (await report(harness)).facts == ("0 rounds",)
        assert (await state(harness, session)).state == "reached"
        assert harness.server.requests == []


async def test_the_budget_ends_the_goal_and_success_is_not_claimed(tmp_path: Path) -> None:
    async with open_harness(tmp_path, abilities=PRICED, **ALLOWED) as harness:
        harness.server.always(answer(Text("All done."), Tokens(15, 1)))
        session = await begin(harness, f"Go on --check '{CHECK}' --budget 0.40")
        end = await report(harness)
        assert end.headline.startswith("Goal not reached: Go on · 3 rounds")
        assert "budget" in end.error
        assert (await state(harness, session)).state == "ended"


async def test_the_budget_ends_a_long_turn(tmp_path: Path) -> None:
    async with open_harness(tmp_path, limits={"repeats": 0}, **ALLOWED) as harness:
        harness.server.always(answer(Call("list", {}), Tokens(90, 10)))
        await begin(harness, f"Go on --check '{CHECK}' --budget 250 tokens")
        end = await report(harness)
        assert end.error.startswith("The goal's budget is used up. /goal resume")
        assert end.facts[0] == "1 round"
        assert len(harness.server.requests) == 3


async def test_a_goal_that_is_resumed_gets_its_budget_again(tmp_path: Path) -> None:
    async with open_harness(tmp_path, limits={"repeats": 0}, **ALLOWED) as harness:
        harness.server.always(answer(Call("list", {}), Tokens(90, 10)))
        session = await begin(harness, f"Go on --check '{CHECK}' --budget 250 tokens")
        await report(harness)
        harness.server.replace((answer(WRITES, Tokens(90, 10)), answer(Text("ok"), Tokens(90, 10))))
        seen = len(harness.events)
        resumed = await harness.runtime.sessions.goals.resume(session.id)
        assert resumed.most == 300 + 250
        assert (await report(harness, after=seen)).outcome == "completed"


async def test_rounds_are_limited(tmp_path: Path) -> None:
    async with open_harness(tmp_path, **ALLOWED) as harness:
        harness.server.always(answer(Text("ok")))
        session = await begin(harness, f"Go on --check '{CHECK}' --rounds 2")
        assert (await report(harness)).error.startswith("The limit of 2 rounds was reached.")
        seen = len(harness.events)
        assert (await harness.runtime.sessions.goals.resume(session.id)).max_rounds == 22
        harness.server.replace((answer(WRITES), answer(Text("ok"))))
        assert (await report(harness, after=seen)).outcome == "completed"


async def test_a_failed_turn_pauses_the_goal(tmp_path: Path) -> None:
    async with open_harness(tmp_path, **ALLOWED) as harness:
        harness.server.script(Failure(401))
        session = await begin(harness, f"Go on --check '{CHECK}'")
        end = await report(harness)
        assert end.headline.startswith("Goal paused")
        assert "API key" in end.error
        seen = len(harness.events)
        harness.server.script(answer(WRITES), answer(Text("ok")))
        await harness.runtime.sessions.goals.resume(session.id)
        assert (await report(harness, after=seen)).outcome == "completed"


async def test_an_interrupted_turn_pauses_and_stop_ends(tmp_path: Path) -> None:
    async with open_harness(tmp_path, **ALLOWED) as harness:
        hold = Hold()
        harness.server.script(answer(Text("Working"), hold))
        session = await begin(harness, f"Go on --check '{CHECK}'")
        await hold.reached.wait()
        goals = harness.runtime.sessions.goals
        with pytest.raises(NothingToDo, match="already working on a goal"):
            await goals.start(session.id, parse_goal("More --check true"), MODEL)
        await harness.runtime.sessions.cancel(session.id)
        assert (await report(harness)).error == "You interrupted it. /goal resume continues."
        hold.gate.set()
        await goals.end(session.id, "ended")
        assert (await state(harness, session)).state == "ended"


async def test_pause_stops_the_turn_that_runs(tmp_path: Path) -> None:
    async with open_harness(tmp_path, **ALLOWED) as harness:
        hold = Hold()
        harness.server.script(answer(Text("Working"), hold))
        session = await begin(harness, f"Go on --check '{CHECK}'")
        await hold.reached.wait()
        await harness.runtime.sessions.goals.end(session.id, "paused")
        assert (await harness.idle(session, after=0)).session_id == session.id
        assert (await state(harness, session)).state == "paused"
        hold.gate.set()


async def test_a_goal_outlives_the_program(tmp_path: Path) -> None:
    async with open_harness(tmp_path, **ALLOWED) as harness:
        hold = Hold()
        harness.server.script(answer(Text("Working"), hold))
        session = await begin(harness, f"Go on --check '{CHECK}' --rounds 7")
        await hold.reached.wait()
    async with open_harness(tmp_path, **ALLOWED) as harness:
        goal = await state(harness, session)
        assert (goal.state, goal.rounds, goal.max_rounds) == ("paused", 1, 7)
        harness.server.script(answer(WRITES), answer(Text("ok")))
        await harness.runtime.sessions.goals.resume(session.id)
        assert (await report(harness)).facts[0] == "2 rounds"


async def test_a_check_that_hangs_is_a_failed_check(tmp_path: Path) -> None:
    async with open_harness(tmp_path, bash={"max_timeout": 1_000}, **ALLOWED) as harness:
        harness.server.always(answer(Text("ok")))
        session = await begin(harness, 'Go on --check "sleep 100" --rounds 1')
        assert (await report(harness)).error.startswith("The limit of 1 round was reached.")
        assert "timed out" in str(harness.server.requests[0].body)
        assert all(isinstance(p, ToolPart) for p in await harness.tools(session))


async def test_a_check_that_a_rule_denies_pauses_the_goal(tmp_path: Path) -> None:
    denied = {"permission": {"bash": {"touch *": "deny"}}, "small_model": "none"}
    async with open_harness(tmp_path, **denied) as harness:
        await begin(harness, 'Go on --check "touch x"')
        end = await report(harness)
        assert end.outcome == "interrupted"
        assert end.error == "The check was not allowed to run. /goal resume continues."
        assert not (harness.folder / "x").exists()


async def test_the_check_needs_no_request_but_stays_in_the_sandbox(tmp_path: Path) -> None:
    async with open_harness(tmp_path, small_model="none") as harness:
        outside = Path.home() / f"opencode-py-{tmp_path.name}.txt"  # the temporary folder is open
        (harness.folder / "check.sh").write_text(f"echo x > {outside}\n")
        await begin(harness, 'Go on --check "sh check.sh" --rounds 1')
        harness.server.always(answer(Text("ok")))
        await report(harness)
        written = outside.exists()
        outside.unlink(missing_ok=True)
        assert written is not await harness.runtime.sandbox.is_in_force()


async def test_a_budget_in_dollars_needs_a_price(tmp_path: Path) -> None:
    async with open_harness(tmp_path, **ALLOWED) as harness:
        with pytest.raises(NothingToDo, match="price of scripted/model-1 is not known"):
            await begin(harness, "Go on --check true --budget $2")


async def test_a_goal_that_cannot_be_stored_any_more_is_reported(tmp_path: Path) -> None:
    async with open_harness(tmp_path, **ALLOWED) as harness:
        hold = Hold()
        harness.server.script(answer(Text("Working"), hold))
        session = await begin(harness, f"Go on --check '{CHECK}'")
        await hold.reached.wait()
        with closing(sqlite3.connect(harness.home / "data" / "sessions.db")) as connection:
            connection.execute(
                "CREATE TRIGGER full BEFORE INSERT ON goal "
                "BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"
            )
        hold.gate.set()
        event = await harness.until(lambda e: isinstance(e, SessionError))
        assert isinstance(event, SessionError)
        assert event.error.message.startswith("The goal is paused: ")
        goal = await harness.runtime.store.read(queries.goal, session.id)
        assert goal is not None
        assert goal.rounds == 1


def test_arguments() -> None:
    goal = parse_goal("""Don't break it --check "pytest -q -k 'a b'" --budget $2 --rounds 5""")
    assert (goal.text, goal.check) == ("Don't break it", "pytest -q -k 'a b'")
    assert (goal.unit, goal.budget, goal.max_rounds) == ("cost", 2.0, 5)
    goal = parse_goal("Fix it --check make test --budget=2M tokens")
    assert (goal.check, goal.unit, goal.budget) == ("make test", "tokens", 2_000_000.0)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Fix it", "A goal needs a check"),
        ("Fix it --check ''", "A goal needs a check"),
        ("--check true", "State the goal"),
        ("Fix it --check true --budget 0", "zero"),
        ("Fix it --check true --budget much", "Enter an amount"),
        ("Fix it --check true --rounds 0", "at least 1"),
    ],
)
def test_arguments_that_are_refused(text: str, problem: str) -> None:
    with pytest.raises(NothingToDo, match=problem):
        parse_goal(text)
