"""What a server asks in the middle of a call (spec 10, X4)."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.errors import PermissionRejected, ToolError
from agent.questions import Question, QuestionReply
from tests.mcp.shop import open_shop, raw

REPLIES = {
    "Wood": QuestionReply(labels=("oak",)),
    "legs": QuestionReply(text="4"),
    "painted": QuestionReply(labels=("Yes",)),
    "name": QuestionReply(),
}


class Asked:
    """Answers each question by the field that it is about."""

    def __init__(self, **replies: object) -> None:
        self.questions: list[Question] = []
        self._replies = {**REPLIES, **replies}

    async def __call__(
        self, question: Question, on_asked: Callable[[str | None], None]
    ) -> QuestionReply:
        self.questions.append(question)
        field = question.text.rsplit("\n", 1)[-1].split(" · ")[0].split(" (")[0]
        reply = self._replies[field]
        if isinstance(reply, list):
            reply = reply.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply


async def order(tmp_path: Path, asked: Asked) -> dict:
    async with open_shop(tmp_path, raw("asks"), ask=asked) as shop:
        return json.loads((await shop.call("asks_good")).output)


async def test_a_form_is_asked_field_by_field(tmp_path: Path) -> None:
    asked = Asked()
    content = {"wood": "oak", "legs": 4, "painted": True, "name": "Bob"}
    assert await order(tmp_path, asked) == {"action": "accept", "content": content}
    wood, legs, painted, name = asked.questions
    assert name.text.endswith("name (may be left empty, then it is Bob)")
    assert wood.text.startswith("The MCP server asks asks: What shall it be?")
    assert [option.label for option in wood.options] == ["oak", "pine"]
    assert legs.options == ()
    assert "How many legs" in legs.text
    assert [option.label for option in painted.options] == ["Yes", "No"]
    assert (wood.number, wood.total, wood.session_id) == (1, 4, "ses_1")


async def test_an_answer_that_does_not_fit_is_asked_for_again(tmp_path: Path) -> None:
    asked = Asked(legs=[QuestionReply(text="four"), QuestionReply(text="4")])
    assert (await order(tmp_path, asked))["action"] == "accept"
    assert len(asked.questions) == 5


@pytest.mark.parametrize(
    ("reply", "action"),
    [
        (QuestionReply(dismissed=True), "cancel"),
        (ToolError("Nobody is here."), "decline"),
        (PermissionRejected("withdrawn", withdrawn=True), "cancel"),
    ],
)
async def test_without_an_answer_nothing_is_given(
    tmp_path: Path, reply: object, action: str
) -> None:
    assert await order(tmp_path, Asked(legs=reply)) == {"action": action}
