"""Caps on what a session spends, and all sessions of a day."""

from pathlib import Path

import pytest

from agent.records.errors import NothingToDo
from agent.records.events import Notice, QuestionAsked, SessionIdle
from agent.records.requests import Question, QuestionReply
from agent.records.spending import SpendingCap
from agent.runtime.runtime import open_runtime
from agent.session.api import PromptInput
from agent.session.spending import NO_CAP, STOP, _offered, parse_amount, parse_cap
from tests.support.harness import Harness, environment, open_harness
from tests.support.script import Call, Hold, Text, Tokens, answer
from tests.support.subagents import Script, children, output, task

PRICED = {"cost": {"input": 10_000.0, "output": 0.0}}
"""A cent for each token of a prompt."""


async def asked(harness: Harness, *, after: int = 0) -> Question:
    event = await harness.until(lambda e: isinstance(e, QuestionAsked), after=after)
    assert isinstance(event, QuestionAsked)
    return event.question


def warnings(harness: Harness) -> list[str]:
    return [e.message for e in harness.events if isinstance(e, Notice)]


async def test_a_session_warns_stops_at_its_cap_and_continues_when_it_is_raised(
    tmp_path: Path,
) -> None:
    limits = {"session_cost": 1.0}
    async with open_harness(tmp_path, abilities=PRICED, limits=limits) as harness:
        harness.server.script(
            answer(Call("list", {}), Tokens(85, 1)),
            answer(Call("list", {}), Tokens(40, 1)),
            answer(Text("done"), Tokens(30, 1)),
        )
        session = await harness.session()
        await harness.send(session, "go")
        question = await asked(harness)
        assert "$1.25; the cap is $1.00" in question.text
        nearly, reached = warnings(harness)
        assert nearly.startswith("85% of a spending cap is used.")
        assert reached.startswith("A spending cap is reached. This session has cost $1.25")
        assert [o.label for o in question.options] == [
            "Raise to $1.50",
            "Raise to $2.00",
            "Raise to $5.00",
            NO_CAP,
            STOP,
        ]
        harness.runtime.questions.reply(question.id, QuestionReply(("Raise to $2.00",)))
        assert (await harness.idle(session)).outcome == "completed"
        (cap, *_) = await harness.runtime.sessions.spending.caps(session.id)
        assert cap.amount == 2.0
        assert warnings(harness)[2] == "The spending cap is now $2.00."


@pytest.mark.parametrize("reply", [QuestionReply((STOP,)), QuestionReply(dismissed=True)])
async def test_stop_ends_the_turn_and_says_how_to_raise(
    tmp_path: Path, reply: QuestionReply
) -> None:
    async with open_harness(tmp_path, limits={"session_tokens": 100}) as harness:
        harness.server.script(answer(Call("list", {}), Tokens(100, 10)))
        session = await harness.session()
        await harness.send(session, "go")
        harness.runtime.questions.reply((await asked(harness)).id, reply)
        end = await harness.idle(session)
        assert end.outcome == "limit_reached"
        assert end.error is not None
        assert "110 tokens; the cap is 100 tokens" in end.error.message
        assert "/budget" in end.error.message
        assert "limits.session_tokens" in end.error.message


@pytest.mark.parametrize(
    ("amount", "used", "offered"),
    [
        (0.2, 0.30, "$0.60"),  # not $0.30, which is used up
        (0.2, 0.304, "$0.60"),
        (0.2, 0.29, "$0.30"),
        (0.01, 0.0101, "$0.03"),
        (0.0001, 0.005, "$0.02"),
    ],
)
def test_what_is_offered_is_more_than_what_is_used(
    amount: float, used: float, offered: str
) -> None:
    cap = SpendingCap("session", "cost", used, amount)
    amounts = _offered(cap)
    assert next(iter(amounts)) == f"Raise to {offered}"
    assert all(each > used for each in amounts.values())


async def test_text_that_is_no_amount_asks_again(tmp_path: Path) -> None:
    async with open_harness(tmp_path, limits={"session_tokens": 100}) as harness:
        harness.server.script(answer(Call("list", {}), Tokens(100, 10)), answer(Text("done")))
        session = await harness.session()
        await harness.send(session, "go")
        question = await asked(harness)
        for text, problem in (("0", "zero"), ("lots", "Enter"), ("50", "used up"), ("$5", "Enter")):
            seen = len(harness.events)
            harness.runtime.questions.reply(question.id, QuestionReply(text=text))
            question = await asked(harness, after=seen)
            assert problem in question.text
        harness.runtime.questions.reply(question.id, QuestionReply(text="2k"))
        assert (await harness.idle(session)).outcome == "completed"


async def test_the_daily_cap_counts_all_sessions_and_outlives_the_program(tmp_path: Path) -> None:
    limits = {"daily_tokens": 250}
    async with open_harness(tmp_path, limits=limits) as harness:
        harness.server.always(answer(Text("ok"), Tokens(100, 10)))
        for _ in range(2):
            session = await harness.session()
            await harness.turn(session, "go")
        await harness.runtime.store.delete_session(session.id)
    async with open_harness(tmp_path, limits=limits) as harness:
        harness.server.always(answer(Text("ok"), Tokens(100, 10)))
        first = await harness.session()
        await harness.turn(first, "go")
        assert any("All sessions on this machine" in w for w in warnings(harness))
        second = await harness.session()
        await harness.send(second, "go")
        question = await asked(harness)
        assert "tokens today" in question.text
        harness.runtime.questions.reply(question.id, QuestionReply((NO_CAP,)))
        assert (await harness.idle(second)).outcome == "completed"
        caps = await harness.runtime.sessions.spending.caps(None)
        assert [cap.amount for cap in caps] == [None, None]


async def test_a_raised_cap_is_remembered_after_a_restart(tmp_path: Path) -> None:
    async with open_harness(tmp_path, limits={"session_tokens": 100}) as harness:
        session = await harness.session()
        await harness.runtime.sessions.spending.set_cap(session.id, "session", "tokens", 500.0)
    async with open_harness(tmp_path, limits={"session_tokens": 100}) as harness:
        harness.server.always(answer(Text("ok"), Tokens(100, 10)))
        await harness.turn(session, "one")
        assert (await harness.turn(session, "two")).outcome == "completed"


async def test_an_unknown_price_is_reported_for_a_cap_in_dollars(tmp_path: Path) -> None:
    async with open_harness(tmp_path, limits={"daily_cost": 5.0}) as harness:
        harness.server.always(answer(Text("ok")))
        session = await harness.session()
        await harness.turn(session, "one")
        await harness.turn(session, "two")
        assert len([w for w in warnings(harness) if "price of scripted/model-1" in w]) == 1


async def test_a_sub_agent_is_not_started_once_a_cap_is_reached(tmp_path: Path) -> None:
    """The response that asks for it counts already."""
    async with open_harness(tmp_path, limits={"session_tokens": 100}) as harness:
        harness.server.always(
            Script(answer(task("look"), Tokens(100, 10)), look=[answer(Text("not asked for"))])
        )
        session = await harness.session()
        await harness.send(session, "go")
        question = await asked(harness)
        harness.runtime.questions.reply(question.id, QuestionReply((STOP,)))
        seen = len(harness.events)
        again = await asked(harness, after=seen)
        harness.runtime.questions.reply(again.id, QuestionReply((STOP,)))
        assert (await harness.idle(session)).outcome == "limit_reached"
        (call,) = await harness.tools(session)
        assert "The sub-agent was not started. Stopped. This session has used" in output(call)
        assert await children(harness, session) == []
        assert len(harness.server.requests) == 1


async def test_a_cap_is_raised_for_a_sub_agent_before_it_starts(tmp_path: Path) -> None:
    async with open_harness(tmp_path, limits={"session_tokens": 100}) as harness:
        harness.server.always(
            Script(
                answer(task("look"), Tokens(100, 10)),
                answer(Text("done")),
                look=[answer(Text("Seen."))],
            )
        )
        session = await harness.session()
        await harness.send(session, "go")
        question = await asked(harness)
        harness.runtime.questions.reply(question.id, QuestionReply((NO_CAP,)))
        assert (await harness.idle(session)).outcome == "completed"
        (call,) = await harness.tools(session)
        assert output(call).startswith("Seen.")


async def test_a_response_counts_while_its_calls_run(tmp_path: Path) -> None:
    limits = {"session_tokens": 100}
    async with open_harness(tmp_path, limits=limits, permission={"bash": "allow"}) as harness:
        run = Call("bash", {"command": "echo begun; sleep 60", "description": "x"})
        harness.server.script(answer(run, Tokens(85, 10)))
        session = await harness.session()
        await harness.send(session, "go")
        await harness.printed("begun")
        await harness.until(
            lambda e: isinstance(e, Notice) and "95% of a spending cap" in e.message
        )
        assert await harness.runtime.sessions.spending.used(session.id, "tokens") == 95
        await harness.runtime.sessions.cancel(session.id)
        await harness.idle(session)
        assert await harness.runtime.sessions.spending.used(session.id, "tokens") == 95


async def test_calls_go_on_when_a_cap_is_reached_and_nothing_follows(tmp_path: Path) -> None:
    limits = {"session_tokens": 100}
    async with open_harness(tmp_path, limits=limits, permission={"bash": "allow"}) as harness:
        go = harness.folder / "go"
        command = f"echo begun; while [ ! -e {go} ]; do sleep 0.01; done; echo ended"
        harness.server.script(
            answer(
                Call("bash", {"command": command}),
                Call("bash", {"command": "echo second"}),
                Tokens(100, 10),
            )
        )
        session = await harness.session()
        await harness.send(session, "go")
        await harness.printed("begun")
        await harness.until(lambda e: isinstance(e, Notice) and "cap is reached" in e.message)
        assert not any(isinstance(event, QuestionAsked) for event in harness.events)
        go.touch()
        harness.runtime.questions.reply((await asked(harness)).id, QuestionReply((STOP,)))
        assert (await harness.idle(session)).outcome == "limit_reached"
        first, second = await harness.tools(session)
        assert output(first).endswith("ended")
        assert output(second) == "second"
        assert len(harness.server.requests) == 1
        assert sum("cap is reached" in warning for warning in warnings(harness)) == 1


async def test_a_cap_that_is_raised_meanwhile_asks_nothing(tmp_path: Path) -> None:
    limits = {"session_tokens": 100}
    async with open_harness(tmp_path, limits=limits, permission={"bash": "allow"}) as harness:
        go = harness.folder / "go"
        command = f"echo begun; while [ ! -e {go} ]; do sleep 0.01; done"
        harness.server.script(
            answer(Call("bash", {"command": command}), Tokens(100, 10)), answer(Text("done"))
        )
        session = await harness.session()
        await harness.send(session, "go")
        await harness.printed("begun")
        await harness.runtime.sessions.spending.set_cap(session.id, "session", "tokens", 5_000.0)
        go.touch()
        assert (await harness.idle(session)).outcome == "completed"


async def test_the_daily_cap_counts_and_is_raised_for_other_programs(tmp_path: Path) -> None:
    """Two programs with one store: the second hears of the first one's use, and of its cap."""
    hold = Hold()
    limits = {"daily_tokens": 200}
    async with open_harness(tmp_path, limits=limits) as harness:
        other_folder = tmp_path / "other"
        other_folder.mkdir()
        other = await open_runtime(other_folder, env=environment(harness.home))
        harness.server.script(
            answer(Text("first "), hold, Tokens(100, 10)),
            answer(Text("in the other program"), Tokens(100, 10)),
        )
        session = await harness.session()
        await harness.send(session, "go")
        await hold.reached.wait()
        theirs = await other.sessions.repository.create()
        with other.bus.subscribe(lambda e: isinstance(e, SessionIdle)) as ended:
            await other.sessions.prompt(theirs.id, PromptInput(text="go"))
            await ended.wait()
        hold.gate.set()
        await harness.idle(session)
        seen = len(harness.events)
        harness.server.script(answer(Text("more"), Tokens(10, 1)))
        await harness.send(session, "more")
        question = await asked(harness, after=seen)
        assert "220 tokens today" in question.text
        harness.runtime.questions.reply(question.id, QuestionReply(("Raise to 300 tokens",)))
        await harness.idle(session, after=seen)
        harness.server.script(answer(Text("more"), Tokens(10, 1)))
        with other.bus.subscribe(lambda e: isinstance(e, SessionIdle)) as ended:
            await other.sessions.prompt(theirs.id, PromptInput(text="more"))
            await ended.wait()
            (end,) = ended.drain()
        assert isinstance(end, SessionIdle)
        assert end.outcome == "completed"
        await other.close()


async def test_a_cap_of_zero_in_the_settings_is_explained(tmp_path: Path) -> None:
    limits = {"daily_cost": 0, "session_tokens": 0}
    async with open_harness(tmp_path, limits=limits) as harness:
        told = " ".join(harness.runtime.notices)
        assert "limits.daily_cost" in told
        assert "at least 0.01" in told
        assert "at least 1" in told
        harness.server.script(answer(Text("ok")))
        assert (await harness.turn(await harness.session(), "go")).outcome == "completed"


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("$5", ("cost", 5.0)),
        ("0.50", ("cost", 0.5)),
        ("2M tokens", ("tokens", 2_000_000.0)),
        ("200k", ("tokens", 200_000.0)),
        ("1500 tokens", ("tokens", 1_500.0)),
        ("5 usd", ("cost", 5.0)),
        ("off", ("cost", None)),
    ],
)
def test_amounts(text: str, parsed: tuple[str, float | None]) -> None:
    assert parse_amount(text) == parsed


@pytest.mark.parametrize(
    "text", ["", "session", "session 0", "day $0", "day -1", "week $5", "day x"]
)
def test_arguments_that_set_no_cap_are_explained(text: str) -> None:
    with pytest.raises(NothingToDo, match="Enter an amount"):
        parse_cap(text)


def test_off_is_for_both_units() -> None:
    assert parse_cap("day off") == ("day", ("cost", "tokens"), None)
    assert parse_cap("session $5") == ("session", ("cost",), 5.0)
