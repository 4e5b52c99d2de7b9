"""Servers that ask the user during a call."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.mcp.elicitation import Elicitation
from agent.records.errors import PermissionRejected, ToolError
from agent.records.requests import Question, QuestionReply
from tests.agent.mcp.mcp_harness import context, open_mcp, raw

ASKS = "The MCP server asks asks: "

REPLIES = {
    "Wood": QuestionReply(labels=("oak",)),
    "legs": QuestionReply(text="4"),
    "painted": QuestionReply(labels=("Yes",)),
    "name": QuestionReply(),
    "tools": QuestionReply(labels=("Saw", "Glue")),
    "mail": QuestionReply(),
}


class FieldAnswers:
    """Answers each question by the field that it is about."""

    def __init__(self, **replies: object) -> None:
        self.questions: list[Question] = []
        self._replies = {**REPLIES, **replies}

    async def __call__(
        self, question: Question, on_asked: Callable[[str | None], None]
    ) -> QuestionReply:
        self.questions.append(question)
        field = question.text.removeprefix(ASKS).split("\n")[1].split(" · ")[0].split(" (")[0]
        reply = self._replies[field]
        if isinstance(reply, list):
            reply = reply.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply


async def order(tmp_path: Path, asked: FieldAnswers) -> dict:
    async with open_mcp(tmp_path, raw("asks"), ask=asked) as mcp:
        return json.loads((await mcp.call("asks_good")).output)


async def test_the_fields_of_a_form_are_asked_one_by_one(tmp_path: Path) -> None:
    asked = FieldAnswers()
    content = {"wood": "oak", "legs": 4, "painted": True, "name": "Bob", "tools": ["saw", "glue"]}
    assert await order(tmp_path, asked) == {"action": "accept", "content": content}
    wood, legs, painted, name, tools, _ = asked.questions
    assert (tools.multiple, [option.label for option in tools.options]) == (True, ["Saw", "Glue"])
    assert name.text.endswith("name (optional, default Bob)")
    assert wood.text.startswith("The MCP server asks asks: What shall it be?")
    assert [option.label for option in wood.options] == ["oak", "pine"]
    assert legs.options == ()
    assert "How many legs" in legs.text
    assert [option.label for option in painted.options] == ["Yes", "No"]
    assert (wood.number, wood.total, wood.session_id) == (1, 6, "ses_1")


async def test_an_invalid_answer_is_requested_again(tmp_path: Path) -> None:
    asked = FieldAnswers(
        legs=[QuestionReply(text="four"), QuestionReply(), QuestionReply(text="4")],
        tools=[QuestionReply(text="Hammer"), QuestionReply(text="Saw, Glue")],
        mail=[QuestionReply(text="nobody"), QuestionReply(text="somebody@home"), QuestionReply()],
    )
    server_reply = await order(tmp_path, asked)
    assert (server_reply["action"], server_reply["content"]["tools"]) == ("accept", ["saw", "glue"])
    assert "mail" not in server_reply["content"]
    wrong = [question.text.rsplit("\n", 1)[-1] for question in asked.questions]
    for words in (
        "('four' is not of type 'integer')",
        "(required)",
        "('Hammer' is not one of ['saw', 'glue'])",
        "(it must have the format email)",
        "('somebody@home' is too long)",
    ):
        assert any(words in line for line in wrong), (words, wrong)


@pytest.mark.parametrize(
    ("reply", "action"),
    [
        (QuestionReply(dismissed=True), "cancel"),
        (ToolError("Nobody is here."), "decline"),
        (PermissionRejected("withdrawn", withdrawn=True), "cancel"),
    ],
)
async def test_without_an_answer_nothing_is_sent(
    tmp_path: Path, reply: object, action: str
) -> None:
    assert await order(tmp_path, FieldAnswers(legs=reply)) == {"action": action}


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
    elicitation = Elicitation("shop", context(tmp_path), FieldAnswers())
    fields = {f"f{n}": {"type": "string"} for n in range(31)}
    assert (await elicitation.form("all", {"properties": fields})).action == "decline"
