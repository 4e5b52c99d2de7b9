"""The question tool and its service."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from agent.bus import Bus
from agent.records.blocks import TableBlock, ToolLabel
from agent.records.errors import PermissionRejected, ToolError
from agent.records.events import QuestionAsked, QuestionReplied
from agent.records.requests import Question, QuestionOption, QuestionReply
from agent.tools.core.arguments import validate
from agent.tools.core.questions import QuestionService
from agent.tools.question import QuestionTool
from tests.agent.tools.conftest import MakeContext
from tests.agent.tools.run import plan, run
from tests.support.harness import Harness, open_harness
from tests.support.script import Call, Text, answer

GUARD = 30.0
WAY = {
    "question": "Which way?",
    "header": "Way",
    "options": [{"label": "left", "description": "the short one"}, {"label": "right"}],
}
NAME = {"question": "What is it called?"}


class Answers:
    """Answers each question that is asked with the next of *replies*."""

    def __init__(self, *replies: QuestionReply) -> None:
        self.bus = Bus()
        self.service = QuestionService(self.bus)
        self.asked: list[Question] = []
        self._replies = list(replies)
        self._events = self.bus.subscribe(lambda event: isinstance(event, QuestionAsked))

    async def serve(self) -> None:
        async for event in self._events:
            assert isinstance(event, QuestionAsked)
            self.asked.append(event.question)
            assert self.service.reply(event.question.id, self._replies.pop(0))

    async def ask(self, ctx, *questions: dict):
        serving = asyncio.create_task(self.serve())
        try:
            async with asyncio.timeout(GUARD):
                return await run(QuestionTool(self.service), ctx, questions=list(questions))
        finally:
            serving.cancel()


async def test_questions_are_asked_one_by_one_and_reported(make_context: MakeContext) -> None:
    waited: list[str | None] = []
    ctx = replace(make_context(), on_request=waited.append)
    answers = Answers(QuestionReply(("right",)), QuestionReply(text="Shop [/x]"))
    result = await answers.ask(ctx, WAY, NAME)
    assert result.output == (
        "Question: Which way?\nAnswer: right\n\nQuestion: What is it called?\nAnswer: Shop [/x]"
    )
    rows = (("Way", "right"), ("What is it called?", "Shop [/x]"))
    assert result.blocks == (TableBlock(("question", "answer"), rows),)
    assert result.label == ToolLabel("Ask", "Way", "and 1 more")
    first, second = answers.asked
    assert first.options == (QuestionOption("left", "the short one"), QuestionOption("right"))
    assert [(q.number, q.total, q.agent) for q in answers.asked] == [
        (1, 2, "build"),
        (2, 2, "build"),
    ]
    assert waited == [first.id, None, second.id, None]
    assert answers.service.pending() == ()


async def test_a_free_text_answer_next_to_the_options(make_context: MakeContext) -> None:
    answers = Answers(QuestionReply(("left", "right"), "but slowly"))
    result = await answers.ask(make_context(), {**WAY, "multiple": True})
    assert result.output.endswith("Answer: left, right; in their own words: but slowly")


async def test_a_closed_dialog_ends_it(make_context: MakeContext) -> None:
    answers = Answers(QuestionReply(("left",)), QuestionReply(dismissed=True))
    with pytest.raises(PermissionRejected) as raised:
        await answers.ask(make_context(), WAY, NAME, WAY)
    assert not raised.value.withdrawn
    assert raised.value.feedback is None
    assert len(answers.asked) == 2


async def test_the_first_answer_wins_and_a_late_one_is_refused() -> None:
    bus = Bus()
    service = QuestionService(bus)
    events = bus.subscribe()
    question = Question("que_1", "ses_1", "ses_0", "", "x?", ())
    asking = asyncio.create_task(service.ask(question, lambda _: None))
    async with asyncio.timeout(GUARD):
        await events.wait()
    assert service.pending("ses_0") == (question,)
    assert service.pending("ses_1") == ()
    assert service.reply("que_1", QuestionReply(text="a"))
    assert not service.reply("que_1", QuestionReply(text="b"))
    assert not service.decline("que_1", "no")
    assert (await asking).text == "a"
    asked, replied = events.drain()
    assert asked == QuestionAsked(question)
    assert replied == QuestionReplied("que_1", "ses_1", QuestionReply(text="a"))


@pytest.mark.parametrize("how", ["withdraw", "decline", "cancel"])
async def test_a_question_ends_with_its_requester(how: str) -> None:
    bus = Bus()
    service = QuestionService(bus)
    events = bus.subscribe()
    question = Question("que_1", "ses_1", "ses_1", "", "x?", ())
    asking = asyncio.create_task(service.ask(question, lambda _: None))
    async with asyncio.timeout(GUARD):
        await events.wait()
    if how == "withdraw":
        service.cancel_session("ses_other")
        assert service.pending()
        service.cancel_session("ses_1")
        with pytest.raises(PermissionRejected) as raised:
            await asking
        assert raised.value.withdrawn
    elif how == "decline":
        assert service.decline("que_1", "Nobody is here.")
        with pytest.raises(ToolError, match="Nobody is here"):
            await asking
    else:
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    assert service.pending() == ()
    assert events.drain()[-1] == QuestionReplied("que_1", "ses_1", None)


async def test_argument_names_of_other_tools_are_accepted(make_context: MakeContext) -> None:
    given = {"questions": '[{"text": "x?", "multiSelect": true, "options": [{"label": "a"}]}]'}
    args, _ = validate(QuestionTool.args, given)
    made = await QuestionTool(QuestionService(Bus())).prepare(args, make_context())
    assert made.payload.questions[0].multiple
    assert [(need.permission, need.default_action) for need in made.needs] == [
        ("question", "allow")
    ]
    assert made.label == ToolLabel("Ask", "x?")


async def next_question(harness: Harness) -> Question:
    event = await harness.until(lambda e: isinstance(e, QuestionAsked))
    assert isinstance(event, QuestionAsked)
    return event.question


async def test_in_a_session_the_call_waits_and_continues(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        harness.server.script(
            answer(Call("question", {"questions": [WAY]})), answer(Text("Left it is."))
        )
        session = await harness.session()
        await harness.send(session, "go")
        question = await next_question(harness)
        # A front end that attaches now sees the question too.
        subscription, snapshot = await harness.runtime.sessions.attach(session.id)
        subscription.close()
        assert snapshot.questions == (question,)
        assert harness.runtime.questions.reply(question.id, QuestionReply(("left",)))
        end = await harness.idle(session)
        assert end.outcome == "completed"
        (call,) = await harness.tools(session)
        assert call.state.output == "Question: Which way?\nAnswer: left"


async def test_no_answer_stops_the_turn(tmp_path: Path) -> None:
    """As a rejection does."""
    async with open_harness(tmp_path) as harness:
        harness.server.script(answer(Call("question", {"questions": [NAME]})))
        session = await harness.session()
        await harness.send(session, "go")
        question = await next_question(harness)
        harness.runtime.questions.reply(question.id, QuestionReply(dismissed=True))
        assert (await harness.idle(session)).outcome == "rejected"
        assert len(harness.server.requests) == 1
        harness.server.script(answer(Text("fine")))
        assert (await harness.turn(session, "go on")).outcome == "completed"


async def test_a_cancel_withdraws_the_question(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        harness.server.script(answer(Call("question", {"questions": [NAME]})))
        session = await harness.session()
        await harness.send(session, "go")
        question = await next_question(harness)
        await harness.runtime.sessions.cancel(session.id)
        assert (await harness.idle(session)).outcome == "cancelled"
        assert not harness.runtime.questions.reply(question.id, QuestionReply(text="late"))


async def test_the_schema_is_flat_enough(make_context: MakeContext) -> None:
    made = await plan(QuestionTool(QuestionService(Bus())), make_context(), questions=[NAME])
    assert made.heading
