"""The model's questions as forms of the client (``elicitation/create``)."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from acp.exceptions import RequestError
from acp.schema import (
    AcceptElicitationResponse,
    CancelElicitationResponse,
    ClientCapabilities,
    DeclineElicitationResponse,
    ElicitationCapabilities,
    ElicitationFormCapabilities,
)

from tests.app.acp.conftest import Editor, Home
from tests.support.script import Call, Text, answer

FORMS = ClientCapabilities(elicitation=ElicitationCapabilities(form=ElicitationFormCapabilities()))
WAYS = [{"label": "left"}, {"label": "right", "description": "the long way"}]


@dataclass
class Forms(Editor):
    """A client that shows forms. *says* is the response to each."""

    says: Any = None
    shown: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    async def create_elicitation(self, message: str, mode: Any, **_: Any) -> Any:
        form = mode.requested_schema.model_dump(mode="json", by_alias=True, exclude_none=True)
        self.shown.append((message, form))
        if isinstance(self.says, Exception):
            raise self.says
        return self.says


def accepted(**content: Any) -> AcceptElicitationResponse:
    return AcceptElicitationResponse(action="accept", content=content)


async def ask(home: Home, client: Forms, **question: Any) -> str:
    """Return the result of the model's question, empty if the turn ended with it."""
    async with home.desk(client, FORMS) as desk:
        session = await desk.new()
        call = Call("question", {"questions": [{"question": "Which way?", **question}]})
        desk.server.script(answer(call), answer(Text("on")))
        await desk.prompt(session.session_id, "go")
        last = desk.server.requests[-1].body["messages"][-1]
        return str(last["content"]) if last["role"] == "tool" else ""


async def test_a_form_has_the_options_and_a_field_for_text(home: Home) -> None:
    client = Forms(says=accepted(choice="1", text="slowly"))
    result = await ask(home, client, options=WAYS, header="Way")
    assert "right" in result
    assert "slowly" in result
    message, form = client.shown[0]
    choice = form["properties"]["choice"]
    assert (message, choice["type"], choice["title"]) == ("Which way?", "string", "Way")
    assert [(o["const"], o["title"]) for o in choice["oneOf"]] == [("0", "left"), ("1", "right")]
    assert choice["oneOf"][1]["description"] == "the long way"
    assert form["properties"]["text"]["type"] == "string"
    assert client.permission_requests == []


async def test_several_options_can_be_chosen(home: Home) -> None:
    client = Forms(says=accepted(choice=["0", "1", "7"]))
    result = await ask(home, client, options=WAYS, multiple=True)
    assert "left" in result
    assert "right" in result
    assert client.shown[0][1]["properties"]["choice"]["type"] == "array"


async def test_a_question_without_options_is_asked(home: Home) -> None:
    client = Forms(says=accepted(text="north"))
    assert "north" in await ask(home, client)
    assert client.shown[0][1]["required"] == ["text"]


@pytest.mark.parametrize(
    "says",
    [
        DeclineElicitationResponse(action="decline"),
        CancelElicitationResponse(action="cancel"),
        accepted(),
        accepted(choice="9", text=" "),
    ],
)
async def test_a_closed_form_is_a_dismissal(home: Home, says: Any) -> None:
    assert await ask(home, Forms(says=says), options=WAYS) == ""


async def test_a_client_that_fails_to_show_a_form_gets_buttons(home: Home) -> None:
    fault = RequestError.method_not_found("elicitation/create")
    client = Forms(says=fault, answers=["0"])
    assert "left" in await ask(home, client, options=WAYS)
    assert client.permission_requests[0][1] == ["0", "1", "skip"]
