"""Servers that ask the user during a call."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.mcp.forms import Elicitation
from agent.records.errors import PermissionRejected, ToolError
from agent.records.json import Json
from agent.records.requests import Question, QuestionReply
from tests.agent.mcp.mcp_harness import context, open_mcp, raw

GIVEN = {"wood": "oak", "legs": 4, "painted": True, "name": "Bob", "tools": ["saw", "glue"]}


class Answers:
    """Answers the questions of a server in turn."""

    def __init__(self, *replies: QuestionReply | Exception) -> None:
        self.questions: list[Question] = []
        self._replies = list(replies)

    async def __call__(
        self, question: Question, on_asked: Callable[[str | None], None]
    ) -> QuestionReply:
        self.questions.append(question)
        reply = self._replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply


def values(**changes: Json) -> QuestionReply:
    return QuestionReply(values={**GIVEN, **changes})


async def order(tmp_path: Path, asked: Answers) -> dict:
    async with open_mcp(tmp_path, raw("asks"), ask=asked) as mcp:
        return json.loads((await mcp.call("asks_good")).output)


async def test_a_form_is_one_question(tmp_path: Path) -> None:
    asked = Answers(values(unknown="dropped"))
    assert await order(tmp_path, asked) == {"action": "accept", "content": GIVEN}
    (question,) = asked.questions
    assert (question.header, question.session_id) == ("asks", "ses_1")
    assert question.text == "The MCP server asks asks: What shall it be?"
    wood, legs, painted, name, tools, mail = question.fields
    assert (wood.label, list(wood.choices), wood.required) == ("Wood", ["oak", "pine"], True)
    assert (legs.label, legs.note, legs.choices) == ("legs", "How many legs", {})
    assert painted.choices == {"Yes": True, "No": False}
    assert (name.default, name.required) == (("Bob",), False)
    assert (tools.multiple, tools.choices) == (True, {"Saw": "saw", "Glue": "glue"})
    assert mail.schema["format"] == "email"


async def test_values_that_do_not_fit_are_requested_again(tmp_path: Path) -> None:
    asked = Answers(values(legs="four", mail="nobody"), values())
    assert (await order(tmp_path, asked))["content"] == GIVEN
    assert asked.questions[1].text == (
        "The MCP server asks asks: What shall it be?\n"
        "legs: enter a whole number\nmail: enter it as name@example.com"
    )


async def test_a_form_is_given_up_after_three_attempts(tmp_path: Path) -> None:
    asked = Answers(*[QuestionReply(values={})] * 3)
    assert await order(tmp_path, asked) == {"action": "cancel"}


@pytest.mark.parametrize(
    ("reply", "action"),
    [
        (QuestionReply(dismissed=True), "cancel"),
        (QuestionReply(text="no form"), "cancel"),
        (QuestionReply(declined=True), "decline"),
        (ToolError("Nobody is here."), "decline"),
        (PermissionRejected("withdrawn", withdrawn=True), "cancel"),
    ],
)
async def test_without_an_answer_nothing_is_sent(
    tmp_path: Path, reply: QuestionReply | Exception, action: str
) -> None:
    assert await order(tmp_path, Answers(reply)) == {"action": action}


@pytest.mark.parametrize(
    ("reply", "action"),
    [
        (QuestionReply(labels=("Continue",)), "accept"),
        (QuestionReply(labels=("Refuse",)), "decline"),
        (QuestionReply(text="yes"), "decline"),
        (QuestionReply(dismissed=True), "cancel"),
    ],
)
async def test_a_url_is_shown_and_never_opened(
    tmp_path: Path, reply: QuestionReply, action: str
) -> None:
    seen: list[str] = []

    async def ask(question: Question, on_asked: object) -> QuestionReply:
        seen.append(question.text)
        return reply

    elicitation = Elicitation("shop", context(tmp_path), ask)
    given = await elicitation.open_url("Pay here", "https://pay.test/\u202ex?a=b")
    assert (given.action, given.content) == (action, {})
    assert seen == [
        ("The MCP server shop asks: Pay here\nThe server asks you to open: https://pay.test/x?a=b")
    ]


async def test_a_form_with_too_many_fields_is_declined(tmp_path: Path) -> None:
    elicitation = Elicitation("shop", context(tmp_path), Answers())
    fields = {f"f{n}": {"type": "string"} for n in range(31)}
    assert (await elicitation.form("all", {"properties": fields})).action == "decline"
