"""Fallback models continue when the model of a prompt fails."""

import asyncio
from pathlib import Path

import pytest

from agent.records.errors import ProviderError, ProviderErrorKind
from agent.records.events import Notice, QuestionAsked
from agent.records.messages import AssistantMessage, RetryPart, Session
from agent.records.requests import QuestionReply
from agent.session.fallback import STOP, FailedStep, Fallbacks
from tests.agent.provider.switched_models import providers
from tests.support.harness import Harness, open_harness
from tests.support.script import Answer, Call, Failure, Reason, Text, answer

FIRST = "scripted/model-1"
SECOND, THIRD = "open/gpt-5.4", "chat/deepseek-v4"
NO_RETRY = {"attempts": 1}
DOWN = Failure(529, '{"error": {"message": "Overloaded"}}')


def settings(mode: str = "auto", *models: str) -> dict[str, object]:
    return {
        "provider": providers,
        "retry": NO_RETRY,
        "small_model": "none",
        "fallback": {"models": list(models or (SECOND, THIRD)), "mode": mode},
    }


async def answered(harness: Harness, session: Session) -> list[str]:
    """Return the models of the steps."""
    messages = [item.message for item in await harness.messages(session)]
    return [m.model for m in messages if isinstance(m, AssistantMessage)]


async def notes(harness: Harness, session: Session) -> list[str]:
    return [p.change for p in await harness.parts(session) if isinstance(p, RetryPart)]


@pytest.mark.parametrize(
    "failure",
    [
        DOWN,
        Failure(429, '{"error": {"message": "Rate limit reached"}}'),
        Failure(402, '{"error": {"message": "Insufficient credit"}}'),
        Failure(404, '{"error": {"message": "The model does not exist"}}'),
    ],
)
async def test_the_next_model_continues_after_a_failure(tmp_path: Path, failure: Answer) -> None:
    async with open_harness(tmp_path, **settings()) as harness:
        harness.server.script(
            answer(Call("list", {})), failure, answer(Text("done")), answer(Text("more"))
        )
        session = await harness.session()
        assert (await harness.turn(session, "go")).outcome == "completed"
        assert await answered(harness, session) == [FIRST, SECOND]
        assert await notes(harness, session) == [f"Continued with {SECOND}."]
        await harness.turn(session, "more")
        assert (await answered(harness, session))[-1] == SECOND
        assert len(await notes(harness, session)) == 1


@pytest.mark.parametrize("status", [400, 401])
async def test_other_errors_end_the_turn_as_before(tmp_path: Path, status: int) -> None:
    async with open_harness(tmp_path, **settings()) as harness:
        harness.server.script(Failure(status))
        session = await harness.session()
        assert (await harness.turn(session, "go")).outcome == "failed"
        assert await answered(harness, session) == [FIRST]


async def test_the_first_model_comes_back_when_it_recovers(tmp_path: Path) -> None:
    async with open_harness(tmp_path, **settings()) as harness:
        harness.server.script(DOWN, answer(Text("one")), answer(Text("two")), answer(Text("three")))
        session = await harness.session()
        await harness.turn(session, "go")
        harness.runtime.sessions.fallbacks.change("retry")
        await harness.turn(session, "two")
        await harness.turn(session, "three")
        assert await answered(harness, session) == [SECOND, FIRST, FIRST]
        assert await notes(harness, session) == [f"Continued with {SECOND}.", f"Back to {FIRST}."]


async def test_models_are_tried_in_order_until_none_is_left(tmp_path: Path) -> None:
    async with open_harness(tmp_path, **settings()) as harness:
        harness.server.script(DOWN, DOWN, answer(Text("third")))
        session = await harness.session()
        assert (await harness.turn(session, "go")).outcome == "completed"
        assert await answered(harness, session) == [THIRD]
        harness.server.script(DOWN)
        end = await harness.turn(session, "again")
        assert end.outcome == "failed"
        assert end.error is not None
        assert "Overloaded" in end.error.message


async def test_each_failure_on_the_way_is_recorded(tmp_path: Path) -> None:
    async with open_harness(tmp_path, **settings()) as harness:
        gone = Failure(404, '{"error": {"message": "The model `gpt-5.4` does not exist"}}')
        harness.server.script(DOWN, gone, answer(Text("third")), answer(Text("more")))
        session = await harness.session()
        await harness.turn(session, "go")
        noted = [p for p in await harness.parts(session) if isinstance(p, RetryPart)]
        assert [p.change for p in noted] == [
            f"Continued with {SECOND}.",
            f"Continued with {THIRD}.",
        ]
        assert "Overloaded" in noted[0].error.message
        assert "open does not have this model: The model `gpt-5.4`" in noted[1].error.message
        await harness.turn(session, "more")
        assert len(await notes(harness, session)) == 2


async def test_a_model_that_is_tried_again_gets_one_attempt(tmp_path: Path) -> None:
    given = settings("auto", SECOND) | {"retry": {"attempts": 3, "delay": 1}}
    async with open_harness(tmp_path, **given) as harness:
        harness.server.script(DOWN, DOWN, DOWN, answer(Text("one")), DOWN, answer(Text("two")))
        session = await harness.session()
        await harness.turn(session, "go")
        harness.runtime.sessions.fallbacks.change("retry")
        assert (await harness.turn(session, "two")).outcome == "completed"
        assert await answered(harness, session) == [SECOND, SECOND]
        assert len(harness.server.requests) == 6


async def test_a_late_answer_does_not_try_the_failed_model_again(tmp_path: Path) -> None:
    async with open_harness(tmp_path, **settings("ask")) as harness:
        now, runtime = [1_000.0], harness.runtime
        fallbacks = Fallbacks(
            runtime.catalog, (SECOND,), "ask", 10.0, runtime.questions, runtime.bus, lambda: now[0]
        )
        session = await harness.session()
        step = FailedStep(session.id, session.id, "build", FIRST, FIRST)
        error = ProviderError(ProviderErrorKind.OVERLOADED, "Overloaded")
        asking = asyncio.create_task(fallbacks.after_failure(step, error))
        event = await harness.until(lambda e: isinstance(e, QuestionAsked))
        assert isinstance(event, QuestionAsked)
        now[0] += 60
        label = event.question.options[0].label
        runtime.questions.reply(event.question.id, QuestionReply((label,)))
        assert await asking == f"Continued with {SECOND}."
        assert fallbacks.current(session.id, FIRST) == SECOND
        now[0] += 10
        assert fallbacks.current(session.id, FIRST) == FIRST


async def test_another_model_can_be_entered(tmp_path: Path) -> None:
    async with open_harness(tmp_path, **settings("ask", SECOND)) as harness:
        harness.server.script(DOWN, answer(Text("one")), DOWN, answer(Text("two")))
        session = await harness.session()
        await harness.send(session, "go")
        after = 0
        for text in ("yes please", THIRD):
            event = await harness.until(lambda e: isinstance(e, QuestionAsked), after=after)
            assert isinstance(event, QuestionAsked)
            after = len(harness.events)
            harness.runtime.questions.reply(event.question.id, QuestionReply(text=text))
        assert event.question.text.startswith("yes please cannot continue: ")
        assert (await harness.idle(session)).outcome == "completed"
        harness.runtime.sessions.fallbacks.change("retry")
        assert (await harness.turn(session, "more")).outcome == "completed"
        assert await answered(harness, session) == [THIRD, THIRD]


async def test_where_no_one_can_be_asked_a_notice_says_what_to_do(tmp_path: Path) -> None:
    async with open_harness(tmp_path, **settings("ask")) as harness:
        harness.server.script(DOWN)
        session = await harness.session()
        await harness.send(session, "go")
        event = await harness.until(lambda e: isinstance(e, QuestionAsked))
        assert isinstance(event, QuestionAsked)
        harness.runtime.questions.decline(event.question.id, "No one is there.")
        assert (await harness.idle(session)).outcome == "failed"
        (notice,) = (event for event in harness.events if isinstance(event, Notice))
        assert f"--fallback-model {SECOND}" in notice.message


async def test_the_user_is_asked_once(tmp_path: Path) -> None:
    async with open_harness(tmp_path, **settings("ask")) as harness:
        harness.server.script(DOWN, answer(Text("one")), answer(Text("two")))
        session = await harness.session()
        await harness.send(session, "go")
        event = await harness.until(lambda e: isinstance(e, QuestionAsked))
        assert isinstance(event, QuestionAsked)
        assert f"Continue with {SECOND}?" in event.question.text
        assert "Overloaded" in event.question.text
        label = event.question.options[0].label
        harness.runtime.questions.reply(event.question.id, QuestionReply((label,)))
        assert (await harness.idle(session)).outcome == "completed"
        assert (await harness.turn(session, "more")).outcome == "completed"
        harness.runtime.sessions.fallbacks.change("retry")
        harness.server.script(DOWN, answer(Text("three")))
        assert (await harness.turn(session, "still")).outcome == "completed"
        assert await answered(harness, session) == [SECOND, SECOND, SECOND]


async def test_a_declined_fallback_ends_the_turn_with_the_error(tmp_path: Path) -> None:
    async with open_harness(tmp_path, **settings("ask")) as harness:
        harness.server.script(DOWN)
        session = await harness.session()
        await harness.send(session, "go")
        event = await harness.until(lambda e: isinstance(e, QuestionAsked))
        assert isinstance(event, QuestionAsked)
        harness.runtime.questions.reply(event.question.id, QuestionReply((STOP,)))
        end = await harness.idle(session)
        assert end.outcome == "failed"
        assert end.error is not None
        assert "Overloaded" in end.error.message


async def test_signatures_stay_with_the_model_that_made_them(tmp_path: Path) -> None:
    """The server refuses a signature of another model, and a history that lost its own."""
    claude = "claude/claude-sonnet-4-5"
    given = settings("auto", SECOND) | {"model": claude}
    async with open_harness(tmp_path, **given) as harness:
        harness.server.script(
            answer(Reason("Looking."), Call("list", {})),
            DOWN,
            answer(Reason("Still looking."), Call("list", {})),
            answer(Text("one")),
            answer(Text("two")),
        )
        session = await harness.session()
        assert (await harness.turn(session, "go")).outcome == "completed"
        harness.runtime.sessions.fallbacks.change("retry")
        assert (await harness.turn(session, "go on")).outcome == "completed"
        assert await answered(harness, session) == [claude, SECOND, SECOND, claude]
        last = str(harness.server.requests[-1].body)
        assert "Looking." in last
        assert "signature" in last


async def test_unknown_models_are_named_at_the_start_and_skipped(tmp_path: Path) -> None:
    given = settings("auto", "nowhere/model", "openai/gpt-5", SECOND)
    async with open_harness(tmp_path, **given) as harness:
        found = [notice for notice in harness.runtime.notices if "fallback.models" in notice]
        assert "nowhere/model is ignored: There is no provider nowhere." in found[0]
        assert any("openai/gpt-5 is skipped because there is no key for openai" in n for n in found)
        harness.server.script(DOWN, answer(Text("done")))
        session = await harness.session()
        assert (await harness.turn(session, "go")).outcome == "completed"
        assert await answered(harness, session) == [SECOND]
